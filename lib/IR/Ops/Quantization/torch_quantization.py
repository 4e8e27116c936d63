"""Quantisation in PyTorch. Quotients are made in 64 bits, so that they round as those of exact numbers."""


def beside(scale, x, axis, block_size):
    """One scale for all of x, for each index of a dim or for each block of it, so that it broadcasts against x."""
    if scale.numel() == 1:
        return scale.reshape(())
    if scale.dim() == 1:
        return scale.reshape([-1 if dim == axis % x.dim() else 1 for dim in range(x.dim())])
    return scale.repeat_interleave(block_size, axis).narrow(axis, 0, x.shape[axis])


def rounded(x, zero, dtype):
    """round(x) + zero in an integer type, whose least and greatest number stand for all beyond."""
    limits = torch.iinfo(dtype)
    return (x.double().round() + (0 if zero is None else zero)).clamp(limits.min, limits.max).to(dtype)


def quantize_linear(x, y_scale, y_zero_point, axis, block_size, precision, dtype):
    divided = {1: torch.float32, 10: torch.float16, 16: torch.bfloat16}.get(precision, y_scale.dtype)
    zero = None if y_zero_point is None else beside(y_zero_point, x, axis, block_size)
    return rounded((x.double() / beside(y_scale, x, axis, block_size).double()).to(divided), zero, dtype)


def dequantize_linear(x, x_scale, x_zero_point, axis, block_size, dtype):
    if x_zero_point is not None:
        x = x.int() - beside(x_zero_point, x, axis, block_size)
    return (x * beside(x_scale, x, axis, block_size).float()).to(dtype)


def quantize_linear_grad(x, y_scale, y_zero_point, dY, axis, block_size, precision, least, most, dtype):
    divided = {1: torch.float32, 10: torch.float16, 16: torch.bfloat16}.get(precision, y_scale.dtype)
    scale = beside(y_scale, x, axis, block_size).double()
    code = (x.double() / scale).to(divided).double().round()
    if y_zero_point is not None:
        code = code + beside(y_zero_point, x, axis, block_size)
    inside = (code >= least) & (code <= most)
    return torch.where(inside, dY.double() / scale, 0.0).to(dtype)


def dequantize_linear_grad(dY, x_scale, zero_point, axis, block_size, dtype):
    return (dY.double() * beside(x_scale, dY, axis, block_size).double()).to(dtype)


def dynamic_range(x):
    """The scale and the zero point of 8 bits that hold all of x, and 0."""
    least, greatest = x.amin().clamp(max=0), x.amax().clamp(min=0)
    scale = (greatest - least) / 255
    scale = torch.where(scale == 0, torch.ones_like(scale), scale)
    return scale, rounded(-least / scale, None, torch.uint8)


def dynamic_quantize_linear(x):
    scale, zero = dynamic_range(x)
    return rounded(x / scale, zero, torch.uint8), scale, zero


def real(x, scale, zero):
    """The numbers that quantised ones stand for."""
    return (x.double() - (0 if zero is None else zero)) * scale.double()


def qlinear_add(A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point, dtype):
    total = real(A, A_scale, A_zero_point) + real(B, B_scale, B_zero_point)
    return rounded(total / C_scale, C_zero_point, dtype)


def qlinear_mul(A, A_scale, A_zero_point, B, B_scale, B_zero_point, C_scale, C_zero_point, dtype):
    product = real(A, A_scale, A_zero_point) * real(B, B_scale, B_zero_point)
    return rounded(product / C_scale, C_zero_point, dtype)


def qlinear_sigmoid(X, X_scale, X_zero_point, Y_scale, Y_zero_point, dtype):
    return rounded(torch.sigmoid(real(X, X_scale, X_zero_point)) / Y_scale, Y_zero_point, dtype)


def qlinear_leaky_relu(X, X_scale, X_zero_point, Y_scale, Y_zero_point, alpha, dtype):
    return rounded(F.leaky_relu(real(X, X_scale, X_zero_point), alpha) / Y_scale, Y_zero_point, dtype)


def qlinear_where(condition, X, x_scale, x_zero_point, Y, y_scale, y_zero_point, z_scale, z_zero_point, dtype):
    chosen = torch.where(condition, real(X, x_scale, x_zero_point), real(Y, y_scale, y_zero_point))
    return rounded(chosen / z_scale, z_zero_point, dtype)


def qlinear_global_average_pool(X, x_scale, x_zero_point, y_scale, y_zero_point, channels_last, dims, dtype):
    space = list(range(1, X.dim() - 1) if channels_last else range(2, X.dim()))
    mean = real(X, x_scale, x_zero_point).mean(space)
    return rounded(mean / y_scale, y_zero_point, dtype).reshape(dims)


def qlinear_average_pool(X, x_scale, x_zero_point, y_scale, y_zero_point, auto_pad, channels_last, count_include_pad,
                         kernel_shape, pads, strides, dims, dtype):
    data = real(X, x_scale, x_zero_point)
    if channels_last:
        data, dims = data.movedim(-1, 1), [dims[0], dims[-1], *dims[1:-1]]
    mean = average_pool(data, auto_pad, count_include_pad, None, kernel_shape, pads, strides, None, dims)
    mean = mean.movedim(1, -1) if channels_last else mean
    return rounded(mean / y_scale, y_zero_point, dtype)


def qlinear_softmax(X, X_scale, x_zero_point, y_scale, y_zero_point, axis, opset, dtype):
    data = real(X, X_scale, x_zero_point)
    rows = data.softmax(axis) if opset >= 13 else data.flatten(axis).softmax(-1).reshape(data.shape)
    return rounded(rows / y_scale, y_zero_point, dtype)


def qlinear_concat(Y_scale, Y_zero_point, inputs, axis, dtype):
    parts = [real(*inputs[at:at + 3]) for at in range(0, len(inputs), 3)]
    return rounded(torch.cat(parts, axis) / Y_scale, Y_zero_point, dtype)


def qgemm(A, a_scale, a_zero_point, B, b_scale, b_zero_point, C, y_scale, y_zero_point, alpha, transA, transB, dtype):
    a, b = A.double() - a_zero_point, (B.t() if transB else B).double() - b_zero_point
    total = alpha * a_scale.double() * b_scale.double() * ((a.t() if transA else a) @ b + (0 if C is None else C))
    return total.to(dtype) if y_scale is None else rounded(total / y_scale, y_zero_point, dtype)
