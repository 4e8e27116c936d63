"""Reductions in PyTorch."""


def reduced_dims(data, axes, noop_with_empty_axes):
    if axes or noop_with_empty_axes:
        return list(axes or [])
    return list(range(data.dim()))


def reduce_sum(data, axes: ints, keepdims, noop_with_empty_axes, is_float):
    if axes and not keepdims and is_float:
        return data.sum(axes)
    if axes and keepdims and is_float:
        return data.sum(axes, keepdim=True)
    return sum_over(data, axes, keepdims, noop_with_empty_axes)


def sum_over(data, axes, keepdims, noop_with_empty_axes):
    dims = reduced_dims(data, axes, noop_with_empty_axes)
    return data.sum(dims, keepdim=bool(keepdims), dtype=data.dtype) if dims else data


def reduce_mean(data, axes: ints, keepdims, noop_with_empty_axes, count):
    if axes and keepdims and count is None:
        return data.mean(axes, keepdim=True)
    if axes and not keepdims and count is None:
        return data.mean(axes)
    return mean_over(data, axes, keepdims, noop_with_empty_axes, count)


def mean_over(data, axes, keepdims, noop_with_empty_axes, count):
    dims = reduced_dims(data, axes, noop_with_empty_axes)
    if not dims:
        return data
    if count is None:
        return data.mean(dims, keepdim=bool(keepdims))
    return data.sum(dims, keepdim=bool(keepdims)) / count


def reduce_prod(data, axes: ints, keepdims, noop_with_empty_axes):
    dims = sorted((dim % data.dim() for dim in reduced_dims(data, axes, noop_with_empty_axes)), reverse=True)
    for dim in dims:
        data = data.prod(dim, keepdim=bool(keepdims))
    return data


def reduce_max(data, axes: ints, keepdims, noop_with_empty_axes):
    dims = reduced_dims(data, axes, noop_with_empty_axes)
    return data.amax(dims, keepdim=bool(keepdims)) if dims else data


def reduce_min(data, axes: ints, keepdims, noop_with_empty_axes):
    dims = reduced_dims(data, axes, noop_with_empty_axes)
    return data.amin(dims, keepdim=bool(keepdims)) if dims else data


def reduce_l1(data, axes: ints, keepdims, noop_with_empty_axes):
    return sum_over(data.abs(), axes, keepdims, noop_with_empty_axes)


def reduce_l2(data, axes: ints, keepdims, noop_with_empty_axes):
    return sum_over(data * data, axes, keepdims, noop_with_empty_axes).sqrt()


def reduce_sum_square(data, axes: ints, keepdims, noop_with_empty_axes):
    if axes is None and not keepdims and not noop_with_empty_axes:
        return data.square().sum()
    return sum_over(data * data, axes, keepdims, noop_with_empty_axes)


def reduce_log_sum(data, axes: ints, keepdims, noop_with_empty_axes):
    return sum_over(data, axes, keepdims, noop_with_empty_axes).log()


def reduce_log_sum_exp(data, axes: ints, keepdims, noop_with_empty_axes):
    dims = reduced_dims(data, axes, noop_with_empty_axes)
    return data.logsumexp(dims, keepdim=bool(keepdims)) if dims else data


def log_sum_exp(data, axes: ints, keepdims, noop_with_empty_axes):
    if axes and keepdims:
        return precise(data).logsumexp(axes, keepdim=True)
    return log_sum_exp_over(data, axes, keepdims, noop_with_empty_axes)


def log_sum_exp_over(data, axes, keepdims, noop_with_empty_axes):
    dims = reduced_dims(data, axes, noop_with_empty_axes)
    return precise(data).logsumexp(dims, keepdim=bool(keepdims))


def arg_max(data, axis, keepdims, select_last_index):
    if select_last_index:
        return data.shape[axis] - 1 - data.flip(axis).argmax(axis, keepdim=bool(keepdims))
    return data.argmax(axis, keepdim=bool(keepdims))


def arg_min(data, axis, keepdims, select_last_index):
    if select_last_index:
        return data.shape[axis] - 1 - data.flip(axis).argmin(axis, keepdim=bool(keepdims))
    return data.argmin(axis, keepdim=bool(keepdims))


def top_k(X, K: ints, axis, largest, sorted):
    values, indices = torch.sort(X, dim=axis, descending=bool(largest), stable=True)  # of equals, the first
    return values.narrow(axis, 0, K[0]), indices.narrow(axis, 0, K[0])


def running(function, x, axis, exclusive, reverse, neutral):
    dim = int(axis[0] if isinstance(axis, list) else axis)
    x = x.flip(dim) if reverse else x
    total = function(x, dim, dtype=x.dtype)
    if exclusive:
        first = torch.full_like(total.narrow(dim, 0, 1), neutral)
        total = torch.cat([first, total.narrow(dim, 0, x.shape[dim] - 1)], dim)
    return total.flip(dim) if reverse else total


def cum_sum(x, axis: ints, exclusive, reverse):
    return running(torch.cumsum, x, axis, exclusive, reverse, 0)


def cum_prod(x, axis: ints, exclusive, reverse):
    return running(torch.cumprod, x, axis, exclusive, reverse, 1)
