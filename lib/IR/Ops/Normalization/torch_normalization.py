"""Normalisations in PyTorch; statistics are in 32 bits or more."""


def precise(x):
    return x if x.dtype == torch.float64 else x.float()


def by_rows(function, x, axis):
    """A function along a dim taken along all dims from `axis` on, as opsets before 13 have it."""
    first = 1 if axis is None else axis
    rows = x.unsqueeze(-1) if first == x.dim() else x.flatten(first)
    return function(rows, -1).reshape(x.shape)


def softmax(input, axis, opset_version):
    if opset_version < 13:
        return by_rows(torch.softmax, input, axis)
    if axis is None:
        return input.softmax(-1)
    return input.softmax(axis)


def log_softmax(input, axis, opset_version):
    if opset_version < 13:
        return by_rows(torch.log_softmax, input, axis)
    if axis is None:
        return input.log_softmax(-1)
    return input.log_softmax(axis)


def hardmax(input, axis, opset_version):
    def first_greatest(x, dim):
        return torch.zeros_like(x).scatter_(dim, x.argmax(dim, keepdim=True), 1)

    if opset_version < 13:
        return by_rows(first_greatest, input, axis)
    return first_greatest(input, -1 if axis is None else axis)


def softmax_dims(x, axis, opset_version):
    """The dims along which a softmax is taken."""
    if opset_version < 13:
        return list(range(x.dim()))[1 if axis is None else axis:] or [x.dim()]
    return [-1 if axis is None else axis]


def softmax_grad(dY, Y, axis, opset_version):
    if axis is not None and not opset_version < 13:
        return Y * (dY - (dY * Y).sum(axis, keepdim=True))
    return Y * (dY - (dY * Y).sum(softmax_dims(Y, axis, opset_version), keepdim=True))


def log_softmax_grad(dY, Y, axis, opset_version):
    if axis is not None and not opset_version < 13:
        return dY - Y.exp() * dY.sum(axis, keepdim=True)
    return dY - Y.exp() * dY.sum(softmax_dims(Y, axis, opset_version), keepdim=True)


def softmax_by(input, log_sum, log, dtype):
    less = precise(input) - log_sum
    return (less if log else less.exp()).to(dtype)


def softmax_grad_sum(dY, Y, axis):
    dY = precise(dY)
    return (dY if Y is None else dY * Y).sum(axis, keepdim=True)


def softmax_grad_by(dY, Y, sum, log, dtype):
    dY, Y = precise(dY), precise(Y)
    return (dY - Y.exp() * sum if log else Y * (dY - sum)).to(dtype)


def row_moments(x, axis, epsilon, centred):
    """The normalised rows, and the mean and 1 / deviation of each."""
    dims = list(range(axis % x.dim(), x.dim()))
    mean = x.mean(dims, keepdim=True) if centred else torch.zeros_like(x[(0,) * x.dim()])
    inverse = ((x - mean).square().mean(dims, keepdim=True) + epsilon).rsqrt()
    return (x - mean) * inverse, mean, inverse


def layer_normalization(X, Scale, B, epsilon, axis=-1):
    normal, mean, inverse = row_moments(precise(X), axis, epsilon, True)
    result = normal.to(Scale.dtype) * Scale
    return (result if B is None else result + B).to(Scale.dtype), mean, inverse


def rms_normalization(X, scale, epsilon, axis=-1):
    return (row_moments(precise(X), axis, epsilon, False)[0].to(scale.dtype) * scale).to(scale.dtype)


def simplified_layer_normalization(X, scale, axis, epsilon, dtype):
    normal, _, inverse = row_moments(precise(X), axis, epsilon, False)
    return (normal.to(dtype) * scale).to(dtype), inverse


def skip_layer_normalization(input, skip, gamma, beta, bias, epsilon, dtype):
    total = input + skip if bias is None else input + skip + bias
    normal, mean, inverse = row_moments(precise(total), -1, epsilon, True)
    result = normal.to(dtype) * gamma
    return result if beta is None else result + beta, mean, inverse, total


def skip_simplified_layer_normalization(input, skip, gamma, bias, epsilon, dtype):
    total = input + skip if bias is None else input + skip + bias
    normal, mean, inverse = row_moments(precise(total), -1, epsilon, False)
    return normal.to(dtype) * gamma, mean, inverse, total


def rows_of(table, ids):
    """The rows of a table; zeros for those that it does not have, for which padding may ask."""
    here = (ids >= 0) & (ids < len(table))
    return F.embedding(ids.where(here, torch.zeros_like(ids)), table) * here.unsqueeze(-1)


def embed_layer_normalization(input_ids, segment_ids, word_embedding, position_embedding, segment_embedding, gamma,
                              beta, mask, position_ids, epsilon, dtype):
    if position_ids is None:
        position_ids = torch.arange(input_ids.shape[1], device=input_ids.device)
    total = rows_of(word_embedding, input_ids) + rows_of(position_embedding, position_ids)
    if segment_ids is not None and segment_embedding is not None:
        total = total + rows_of(segment_embedding, segment_ids)
    lengths = input_ids.new_zeros(len(input_ids)) if mask is None else (mask == 1).sum(1)
    normal = row_moments(precise(total), -1, epsilon, True)[0].to(dtype)
    return normal * gamma + beta, lengths.int(), total


def layer_normalization_grad(dY, X, scale, axis, epsilon, centred=1):
    normal, _, inverse = row_moments(precise(X), axis, epsilon, centred)
    q = precise(dY) if scale is None else precise(dY) * scale
    dims = list(range(axis % X.dim(), X.dim()))
    result = q - normal * (q * normal).mean(dims, keepdim=True)
    if centred:
        result = result - q.mean(dims, keepdim=True)
    return (inverse * result).to(X.dtype)


def layer_normalization_scale_grad(dY, X, axis, epsilon, dims, centred=1):
    normal = row_moments(precise(X), axis, epsilon, centred)[0]
    return (precise(dY) * normal).sum_to_size(dims).to(dY.dtype)


def moments_of(statistics, x):
    """Mean and variance of rows, [..., 1, 1] as x has dims, of their mean and mean square or of the latter alone."""
    shape = statistics.shape[:-1] + (1,) * (x.dim() - statistics.dim() + 1)
    square = statistics[..., -1].reshape(shape)
    mean = statistics[..., 0].reshape(shape) if statistics.shape[-1] == 2 else torch.zeros_like(square)
    return mean, (square - mean * mean).clamp(min=0)


def layer_statistics(X, skip, bias, axis, centred, count, dtype):
    x = precise(X)
    for other in (skip, bias):
        x = x if other is None else x + other
    rows = x.flatten(axis % x.dim())
    count = count or rows.shape[-1]
    means = [rows.sum(-1)] * bool(centred) + [rows.square().sum(-1)]
    return (torch.stack(means, -1) / count).to(dtype)


def layer_normalize(X, statistics, scale, B, skip, bias, epsilon, dtype):
    x = precise(X)
    for other in (skip, bias):
        x = x if other is None else x + other
    mean, variance = moments_of(statistics, x)
    result = (x - mean) * (variance + epsilon).rsqrt() * scale
    return (result if B is None else result + B).to(dtype), x.to(X.dtype)


def layer_gradient_statistics(dY, X, statistics, scale, epsilon, axis, centred, count, dtype):
    q = precise(dY) * scale
    mean, variance = moments_of(statistics, q)
    normal = (precise(X) - mean) * (variance + epsilon).rsqrt()
    rows, along = q.flatten(axis % q.dim()), (q * normal).flatten(axis % q.dim())
    means = [rows.sum(-1)] * bool(centred) + [along.sum(-1)]
    return (torch.stack(means, -1) / (count or rows.shape[-1])).to(dtype)


def layer_normalize_grad(dY, X, statistics, scale, means, epsilon, centred, dtype):
    q = precise(dY) * scale
    mean, variance = moments_of(statistics, q)
    inverse = (variance + epsilon).rsqrt()
    normal = (precise(X) - mean) * inverse
    shape = means.shape[:-1] + (1,) * (q.dim() - means.dim() + 1)
    result = q - normal * means[..., -1].reshape(shape)
    if means.shape[-1] == 2:
        result = result - means[..., 0].reshape(shape)
    return (inverse * result).to(dtype)


def layer_normalize_scale_grad(dY, X, statistics, epsilon, dims, dtype):
    mean, variance = moments_of(statistics, X)
    return (precise(dY) * (precise(X) - mean) * (variance + epsilon).rsqrt()).sum_to_size(dims).to(dtype)


def by_channel(statistics, x):
    """One number for each channel, or for each point, beside x."""
    return statistics if statistics.dim() > 1 else statistics.reshape((-1,) + (1,) * (x.dim() - 2))


def batch_normalization(X, scale, B, input_mean, input_var, epsilon, momentum, training_mode, spatial, is_test, wanted):
    """The results behind the first are asked for in training alone."""
    mean, variance = by_channel(input_mean, X), by_channel(input_var, X)
    if training_mode or (any(wanted[1:]) and not is_test):
        dims = [0] + (list(range(2, X.dim())) if spatial else [])
        mean = precise(X).mean(dims, keepdim=True)
        variance = (X - mean).square().mean(dims, keepdim=True)
    Y = (X - mean) * (variance + epsilon).rsqrt() * by_channel(scale, X) + by_channel(B, X)
    saved = [new.reshape(old.shape).to(old.dtype) for new, old in zip((mean, variance), (input_mean, input_var))]
    running = [old * momentum + new * (1 - momentum) for new, old in zip(saved, (input_mean, input_var))]
    return (Y.to(X.dtype), *running, *saved)


def batch_normalize(X, scale, B, mean, variance, epsilon, dtype):
    mean, variance, scale, B = (by_channel(one, X) for one in (mean, variance, scale, B))
    return ((X - mean) * (variance + epsilon).rsqrt() * scale + B).to(dtype)


def batch_scale_grad(dY, X, mean, variance, epsilon, dtype):
    normal = (X - by_channel(mean, X)) * (by_channel(variance, X) + epsilon).rsqrt()
    return (dY * normal).sum([0] + list(range(2, X.dim()))).to(dtype)


def batch_normalize_grad(dY, X, scale, mean, variance, dscale, dB, epsilon, count, dtype):
    count = count or X.numel() // X.shape[1]
    inverse = (by_channel(variance, X) + epsilon).rsqrt()
    normal = (X - by_channel(mean, X)) * inverse
    inner = dY - by_channel(dB, X) / count - normal * by_channel(dscale, X) / count
    return (by_channel(scale, X) * inverse * inner).to(dtype)


def instance_normalization(input, scale, B, epsilon): return F.instance_norm(input, None, None, scale, B, eps=epsilon)


def group_normalization(X, scale, bias, epsilon, num_groups):
    """Scale and bias have one number for each channel, or, before opset 21, for each group."""
    scale, bias = (one.repeat_interleave(X.shape[1] // one.numel()) for one in (scale, bias))
    return F.group_norm(X, num_groups, scale, bias, epsilon)


def group_norm(X, gamma, beta, activation, channels_last, epsilon, groups):
    """Channels may stand last; with an activation each result y is y sigmoid(y)."""
    first = X.movedim(-1, 1) if channels_last else X
    y = F.group_norm(first.float(), groups, gamma.float(), beta.float(), epsilon)
    y = F.silu(y) if activation else y
    return (y.movedim(1, -1) if channels_last else y).to(X.dtype)


def skip_group_norm(X, gamma, beta, skip, bias, activation, channels_last, epsilon, groups):
    if skip.dim() == 2:
        shape = [1] * X.dim()
        shape[0], shape[-1 if channels_last else 1] = skip.shape
        skip = skip.reshape(shape)
    if bias is not None:
        shape = [1] * X.dim()
        shape[-1 if channels_last else 1] = -1
        skip = skip + bias.reshape(shape)
    total = X + skip
    return group_norm(total, gamma, beta, activation, channels_last, epsilon, groups), total


def lp_normalization(input, axis, p):
    norm = input.norm(p, axis, keepdim=True)
    return torch.where(norm == 0, input, input / norm)


def mean_variance_normalization(X, axes):
    centred = X - X.mean(axes, keepdim=True)
    return centred / (centred.square().mean(axes, keepdim=True).sqrt() + 1e-9)


def lrn(X, alpha, beta, bias, size):
    squares = F.pad(X.square().movedim(1, -1), ((size - 1) // 2, size // 2)).unfold(-1, size, 1).sum(-1)
    return X / (bias + alpha / size * squares.movedim(-1, 1)) ** beta
