"""Convolutions, pools and resizing in PyTorch. Padding at both ends is added before, so that the ends may differ."""


def windows_of(data, kernel, dilations, strides, pads, auto_pad, space):
    """Dilations and strides, and the padding before and behind each dim of space that gives results of `space`."""
    count = len(kernel)
    dilations, strides, pads = dilations or [1] * count, strides or [1] * count, pads or [0] * (2 * count)
    before, behind = list(pads[:count]), list(pads[count:])
    for dim in range(count):
        used = (space[dim] - 1) * strides[dim] + (kernel[dim] - 1) * dilations[dim] + 1
        if auto_pad in ("SAME_UPPER", "SAME_LOWER"):
            missing = max(used - data[dim], 0)
            before[dim] = missing // 2 if auto_pad == "SAME_UPPER" else missing - missing // 2
            behind[dim] = missing - before[dim]
        behind[dim] = max(behind[dim], used - data[dim] - before[dim])
    return dilations, strides, before, behind


def pad_space(x, before, behind, value):
    """x with so many elements of a value before and behind its dims of space; negative: fewer."""
    if not any(before) and not any(behind):
        return x
    both = [size for dim in reversed(range(len(before))) for size in (before[dim], behind[dim])]
    return F.pad(x, both, value=value)


def conv(X, W, B, auto_pad, dilations, group, pads, strides, dims):
    dilations, strides, before, behind = windows_of(X.shape[2:], W.shape[2:], dilations, strides, pads, auto_pad,
                                                    dims[2:])
    convolve = (F.conv1d, F.conv2d, F.conv3d)[len(dims) - 3]
    return convolve(pad_space(X, before, behind, 0), W, B, strides, 0, dilations, group)


def conv_gradients(dY, data, W, dilations, group, strides, wanted):
    count = dY.dim() - 2
    return torch.ops.aten.convolution_backward(dY, data, W, None, strides or [1] * count, [0] * count,
                                               dilations or [1] * count, False, [0] * count, group, wanted)


def conv_input_grad(dY, W, dilations, group, pads, strides, dims):
    count = dY.dim() - 2
    pads = pads or [0] * (2 * count)
    padded = [size + pads[dim] + pads[count + dim] for dim, size in enumerate(dims[2:])]
    data = dY.new_empty(list(dims[:2]) + padded)
    gradient = conv_gradients(dY, data, W, dilations, group, strides, [True, False, False])[0]
    for dim in range(count):
        gradient = gradient.narrow(2 + dim, pads[dim], dims[2 + dim])
    return gradient


def conv_weight_grad(X, dY, dilations, group, pads, strides, dims):
    count = dY.dim() - 2
    pads = pads or [0] * (2 * count)
    data = pad_space(X, pads[:count], pads[count:], 0)
    return conv_gradients(dY, data, dY.new_empty(dims), dilations, group, strides, [False, True, False])[1]


def conv_transpose(X, W, B, auto_pad, dilations, group, output_shape, pads, strides, dims):
    count = len(dims) - 2
    dilations, strides = dilations or [1] * count, strides or [1] * count
    convolve = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[count - 1]
    whole = convolve(X, W, None, strides, 0, 0, group, dilations)
    for dim in range(2, len(dims)):
        surplus = whole.shape[dim] - dims[dim]
        if auto_pad == "SAME_UPPER":
            begin = surplus // 2
        elif auto_pad == "SAME_LOWER" or output_shape:
            begin = surplus - surplus // 2
        else:
            begin = pads[dim - 2] if pads else 0
        before, behind = [0] * count, [0] * count
        before[dim - 2], behind[dim - 2] = -begin, dims[dim] + begin - whole.shape[dim]
        whole = pad_space(whole, before, behind, 0)
    return whole if B is None else whole + B.reshape([-1] + [1] * count)


def max_pool(X, auto_pad, dilations, kernel_shape, pads, storage_order, strides, dims):
    data, count = X.shape[2:], len(kernel_shape)
    dilations, strides, before, behind = windows_of(data, kernel_shape, dilations, strides, pads, auto_pad, dims[2:])
    # Integers of 8 bits are exact as floats.
    padded = pad_space(X if X.dtype.is_floating_point else X.float(), before, behind, -math.inf)
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[count - 1]
    result, place = pool(padded, kernel_shape, strides, 0, dilations, return_indices=True)
    coordinates = []
    for dim in reversed(range(count)):
        coordinates.insert(0, place % padded.shape[2 + dim] - before[dim])
        place = place // padded.shape[2 + dim]
    flat, order = torch.zeros_like(place), range(count) if not storage_order else reversed(range(count))
    for dim in order:
        flat = flat * data[dim] + coordinates[dim]
    planes = torch.arange(math.prod(result.shape[:2]), device=X.device).reshape(list(result.shape[:2]) + [1] * count)
    return result.to(X.dtype), flat + planes * math.prod(data)


def max_pool_grad(dY, X, auto_pad, dilations, kernel_shape, pads, strides, dims):
    dilations, strides, before, behind = windows_of(X.shape[2:], kernel_shape, dilations, strides, pads, auto_pad,
                                                    dY.shape[2:])
    padded = pad_space(X, before, behind, -math.inf)
    pool = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[len(kernel_shape) - 1]
    place = pool(padded, kernel_shape, strides, 0, dilations, return_indices=True)[1]
    gradient = torch.zeros_like(padded).flatten(2).scatter_add_(2, place.flatten(2), dY.flatten(2))
    gradient = gradient.reshape(padded.shape)
    for dim, begin in enumerate(before):
        gradient = gradient.narrow(2 + dim, begin, dims[2 + dim])
    return gradient


def window_sums(x, kernel, dilations, strides):
    """The sum of each window of each channel."""
    count = len(kernel)
    planes = x.reshape([-1, 1] + list(x.shape[2:]))
    convolve = (F.conv1d, F.conv2d, F.conv3d)[count - 1]
    sums = convolve(planes, x.new_ones([1, 1] + list(kernel)), None, strides, 0, dilations)
    return sums.reshape(list(x.shape[:2]) + list(sums.shape[2:]))


def window_counts(x, data, kernel, dilations, strides, before, behind, pads, count_include_pad):
    """The number of elements that count in each window; padding beyond `pads` never does."""
    ones, kept = x.new_ones([1, 1] + list(data)), list(pads or [0] * (2 * len(kernel)))
    if count_include_pad:
        kept = before + [min(size, more) if pads else more for size, more in zip(behind, kept[len(kernel):] or behind)]
        ones = pad_space(ones, kept[:len(kernel)], kept[len(kernel):], 1)
        before, behind = [0] * len(kernel), [more - less for more, less in zip(behind, kept[len(kernel):])]
    return window_sums(pad_space(ones, before, behind, 0), kernel, dilations, strides)


def average_pool(X, auto_pad, count_include_pad, dilations, kernel_shape, pads, strides, whole_kernel, dims):
    dilations, strides, before, behind = windows_of(X.shape[2:], kernel_shape, dilations, strides, pads, auto_pad,
                                                    dims[2:])
    sums = window_sums(pad_space(X, before, behind, 0), kernel_shape, dilations, strides)
    if whole_kernel:
        return sums / math.prod(whole_kernel)
    return sums / window_counts(X, X.shape[2:], kernel_shape, dilations, strides, before, behind, pads,
                                count_include_pad)


def average_pool_grad(dY, auto_pad, count_include_pad, dilations, kernel_shape, pads, strides, dims):
    data, count = dims[2:], len(kernel_shape)
    dilations, strides, before, behind = windows_of(data, kernel_shape, dilations, strides, pads, auto_pad,
                                                    dY.shape[2:])
    counts = window_counts(dY, data, kernel_shape, dilations, strides, before, behind, pads, count_include_pad)
    planes = (dY / counts).reshape([-1, 1] + list(dY.shape[2:]))
    spread = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[count - 1]
    whole = spread(planes, dY.new_ones([1, 1] + list(kernel_shape)), None, strides, 0, 0, 1, dilations)
    missing = [size + begin - whole.shape[2 + dim] for dim, (size, begin) in enumerate(zip(data, before))]
    return pad_space(whole, [-begin for begin in before], missing, 0).reshape(dims)


def global_average_pool(X, count, dims):
    return X.flatten(2).sum(-1).reshape(dims) / (count or X[0, 0].numel())


def global_max_pool(X, dims): return X.flatten(2).amax(-1).reshape(dims)


def fused_conv(X, W, B, Z, activation, activation_params, auto_pad, dilations, group, pads, strides, dims):
    result = conv(X, W, B, auto_pad, dilations, group, pads, strides, dims)
    return activated(result if Z is None else result + Z, activation or "", *(activation_params or []))


def exact_conv(x, x_zero_point, w, w_zero_point, auto_pad, dilations, group, pads, strides, dims):
    """The convolution of integers less their zero points, in 64 bits, where products and sums of 8 bits are exact."""
    data, weights = x.double(), w.double()
    data = data if x_zero_point is None else data - x_zero_point
    weights = weights if w_zero_point is None else weights - by_output(w_zero_point, w)
    return conv(data, weights, None, auto_pad, dilations, group, pads, strides, dims)


def by_output(numbers, w):
    """One number for all, or for each output channel, beside weights."""
    return numbers.reshape([-1] + [1] * (w.dim() - 1))


def conv_integer(x, w, x_zero_point, w_zero_point, auto_pad, dilations, group, pads, strides, dims, dtype):
    return exact_conv(x, x_zero_point, w, w_zero_point, auto_pad, dilations, group, pads, strides, dims).to(dtype)


def qlinear_conv(x, x_scale, x_zero_point, w, w_scale, w_zero_point, y_scale, y_zero_point, B, auto_pad, dilations,
                 group, pads, strides, dims, dtype):
    sums = exact_conv(x, x_zero_point, w, w_zero_point, auto_pad, dilations, group, pads, strides, dims)
    sums = sums if B is None else sums + by_output(B, w)[:, 0]
    ratio = w_scale.double() * x_scale.double() / y_scale.double()
    return rounded(sums * by_output(ratio, w)[:, 0], y_zero_point, dtype)


def lp_pool(X, auto_pad, dilations, kernel_shape, p, pads, strides, dims):
    dilations, strides, before, behind = windows_of(X.shape[2:], kernel_shape, dilations, strides, pads, auto_pad,
                                                    dims[2:])
    return window_sums(pad_space(X.abs() ** p, before, behind, 0), kernel_shape, dilations, strides) ** (1 / p)


def global_lp_pool(X, p, dims): return X.flatten(2).norm(p, -1).reshape(dims)
