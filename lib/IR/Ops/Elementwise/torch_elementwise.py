"""Elementwise operators in PyTorch."""


def abs_(X): return X.abs()


def neg(X): return -X


def sign(X): return X.sign()


def ceil(X): return X.ceil()


def floor(X): return X.floor()


def round_(X): return X.round()


def reciprocal(X): return X.reciprocal()


def sqrt(X): return X.sqrt()


def exp(X): return X.exp()


def log(X): return X.log()


def erf(X): return torch.erf(X)


def probit(X): return torch.special.ndtri(X)


def sin(X): return X.sin()


def cos(X): return X.cos()


def tan(X): return X.tan()


def asin(X): return X.asin()


def acos(X): return X.acos()


def atan(X): return X.atan()


def sinh(X): return X.sinh()


def cosh(X): return X.cosh()


def tanh(X): return X.tanh()


def asinh(X): return X.asinh()


def acosh(X): return X.acosh()


def atanh(X): return X.atanh()


def sigmoid(X): return torch.sigmoid(X)


def softplus(X): return F.softplus(X)


def softsign(X): return F.softsign(X)


def mish(X): return F.mish(X)


def hard_swish(X): return F.hardswish(X)


def relu(X): return F.relu(X)


def elu(X, alpha): return torch.where(X < 0, alpha * (X.exp() - 1), X)


def celu(X, alpha): return F.celu(X, alpha)


def selu(X, alpha, gamma): return gamma * torch.where(X > 0, X, alpha * X.exp() - alpha)


def leaky_relu(X, alpha): return F.leaky_relu(X, alpha)


def thresholded_relu(X, alpha): return torch.where(X > alpha, X, 0.0)


def hard_sigmoid(X, alpha, beta): return (alpha * X + beta).clamp(0, 1)


def gelu(X, approximate): return F.gelu(X, approximate=approximate)


def swish(X, alpha):
    if alpha == 1.0:
        return F.silu(X)
    return X * torch.sigmoid(alpha * X)


def quick_gelu(X, alpha): return X * torch.sigmoid(alpha * X)


def fast_gelu(X, bias): return F.gelu(X if bias is None else X + bias, approximate="tanh")


def bias_gelu(A, B): return F.gelu(A + B)


def binarizer(X, threshold, dtype): return (X > threshold).to(dtype)


def shrink(X, bias, lambd, dtype):
    return torch.where(X < -lambd, X + bias, torch.where(X > lambd, X - bias, torch.zeros_like(X))).to(dtype)


def isnan(X): return torch.isnan(X)


def isinf(X, detect_negative, detect_positive):
    if detect_negative and detect_positive:
        return torch.isinf(X)
    if detect_negative:
        return torch.isneginf(X)
    if detect_positive:
        return torch.isposinf(X)
    return torch.zeros_like(X, dtype=torch.bool)


def not_(X): return torch.logical_not(X)


def aligned(A, B, axis):
    """B with dims of size 1 behind it, so that it begins at dim `axis` of A, as opsets before 7 have it."""
    if not torch.is_tensor(B) or B.dim() == 0 or axis < 0 or axis + B.dim() >= A.dim():
        return B
    return B.reshape(B.shape + (1,) * (A.dim() - axis - B.dim()))


def add(A, B: number, axis):
    if axis is None:
        return A + B
    return A + aligned(A, B, axis)


def sub(A, B: number, axis):
    if axis is None:
        return A - B
    return A - aligned(A, B, axis)


def mul(A, B: number, axis):
    if axis is None:
        return A * B
    return A * aligned(A, B, axis)


def divisor(B):
    """Integers without 0, which padding has and by which PyTorch does not divide."""
    if not torch.is_tensor(B) or B.dtype.is_floating_point:
        return B
    return torch.where(B == 0, torch.ones_like(B), B)


def div(A, B: number, axis, is_float):
    if axis is None and is_float:
        return A / B
    return divide(A, B, axis)


def divide(A, B, axis):
    B = divisor(B if axis is None else aligned(A, B, axis))
    return torch.div(A, B) if A.dtype.is_floating_point else torch.div(A, B, rounding_mode="trunc")


def pow_(A, B: number, axis):
    if axis is None:
        return A ** B
    return A ** aligned(A, B, axis)


def mod(A, B, fmod):
    return torch.fmod(A, divisor(B)) if fmod else torch.remainder(A, divisor(B))


def prelu(X, slope, opset_version):
    if opset_version < 7:
        return torch.where(X < 0, aligned(X, slope, 1) * X, X)
    return torch.where(X < 0, slope * X, X)


def relu_grad(dY, X): return dY * (X > 0)


def leaky_relu_grad(dY, X, alpha): return torch.where(X > 0, dY, alpha * dY)


def elu_grad(dY, X, alpha, scale): return scale * torch.where(X > 0, dY, alpha * dY * X.exp())


def gelu_grad(dY, X, approximate):
    if approximate == "none":
        below = 0.5 * (1 + torch.erf(X / math.sqrt(2)))
        return dY * (below + X * torch.exp(-X * X / 2) / math.sqrt(2 * math.pi))
    scale = math.sqrt(2 / math.pi)
    t = torch.tanh(scale * (X + 0.044715 * X ** 3))
    return dY * (0.5 * (1 + t) + 0.5 * X * (1 - t * t) * scale * (1 + 3 * 0.044715 * X * X))


def swish_grad(dY, X, alpha):
    s = torch.sigmoid(X if alpha == 1 else alpha * X)
    return dY * (s + alpha * X * s * (1 - s))


def sigmoid_grad(dY, X): return dY * X * (1 - X)


def tanh_grad(dY, X): return dY * (1 - X * X)


def erf_grad(dY, X): return dY * (2 / math.sqrt(math.pi)) * torch.exp(-X * X)


def mish_grad(dY, X):
    t = torch.tanh(F.softplus(X))
    return dY * (t + X * (1 - t * t) * torch.sigmoid(X))


def hard_sigmoid_grad(dY, X, alpha, beta):
    line = alpha * X + beta
    return dY * alpha * ((line > 0) & (line < 1))


def hard_swish_grad(dY, X):
    slope = torch.where(X < 3, X / 3 + 0.5, torch.ones_like(X))
    return dY * slope.masked_fill(X <= -3, 0)


def clip_grad(dY, X, min, max):
    inside = torch.ones_like(X, dtype=torch.bool)
    if min is not None:
        inside &= X >= min
    if max is not None:
        inside &= X <= max
    return dY * inside


def equal(A, B, axis):
    if axis is None:
        return A == B
    return A == aligned(A, B, axis)


def less(A, B, axis):
    if axis is None:
        return A < B
    return A < aligned(A, B, axis)


def less_or_equal(A, B, axis):
    if axis is None:
        return A <= B
    return A <= aligned(A, B, axis)


def greater(A, B, axis):
    if axis is None:
        return A > B
    return A > aligned(A, B, axis)


def greater_or_equal(A, B, axis):
    if axis is None:
        return A >= B
    return A >= aligned(A, B, axis)


def and_(A, B, axis):
    if axis is None:
        return torch.logical_and(A, B)
    return torch.logical_and(A, aligned(A, B, axis))


def or_(A, B, axis):
    if axis is None:
        return torch.logical_or(A, B)
    return torch.logical_or(A, aligned(A, B, axis))


def xor(A, B, axis):
    if axis is None:
        return torch.logical_xor(A, B)
    return torch.logical_xor(A, aligned(A, B, axis))


def bitwise_and(A, B): return A & B


def bitwise_or(A, B): return A | B


def bitwise_xor(A, B): return A ^ B


def bitwise_not(X): return ~X


def bit_shift(X, Y, direction):
    shifted = X << Y if direction == "LEFT" else X >> Y
    return torch.where((Y >= 0) & (Y < 8 * X.element_size()), shifted, torch.zeros_like(shifted))


def sum_(data_0, count):
    if count == 1:
        return data_0[0]
    if count == 2:
        return data_0[0] + data_0[1]
    if count == 3:
        return data_0[0] + data_0[1] + data_0[2]
    return total_of(data_0)


def total_of(data_0):
    total = data_0[0]
    for other in data_0[1:]:
        total = total + other
    return total


def max_(data_0, count):
    if count == 2:
        return torch.maximum(data_0[0], data_0[1])
    return greatest_of(data_0)


def greatest_of(data_0):
    greatest = data_0[0]
    for other in data_0[1:]:
        greatest = torch.maximum(greatest, other)
    return greatest


def min_(data_0, count):
    if count == 2:
        return torch.minimum(data_0[0], data_0[1])
    return least_of(data_0)


def least_of(data_0):
    least = data_0[0]
    for other in data_0[1:]:
        least = torch.minimum(least, other)
    return least


def mean(data_0): return total_of(data_0) / len(data_0)


def where(condition, X, Y): return torch.where(condition, X, Y)


def clip(input, min, max):
    if min is not None:
        input = torch.maximum(input, min)
    return input if max is None else torch.minimum(input, max)


def cast(input, dtype): return input.to(dtype)


def cast_like(input, dtype): return input.to(dtype)


def bit_cast(input, dtype): return input.view(dtype)


def in_place_accumulator(accumulation_buffer, new_data, overwrite_flag):
    done = torch.ones(1, dtype=torch.bool, device=new_data.device)
    total = new_data.to(accumulation_buffer.dtype)
    if overwrite_flag is None or not overwrite_flag:
        total = accumulation_buffer + total
    return done, total


def hashed(numbers):
    """A 64-bit hash, FNV-1a with a final mix, of lists of 64-bit numbers: tensors and ints."""
    state = torch.tensor(0xcbf29ce484222325 - (1 << 64))
    for number in numbers:
        number = torch.as_tensor(number)
        state = state.to(number.device)
        for byte in range(8):
            state = (state ^ ((number >> (8 * byte)) & 0xff)) * 0x100000001b3
    state = (state ^ ((state >> 33) & 0x7fffffff)) * (0xff51afd7ed558ccd - (1 << 64))
    return state ^ ((state >> 33) & 0x7fffffff)


def bias_add(X, bias, skip): return X + bias + skip


def bias_split_gelu(X, bias):
    value, gate = (X + bias).chunk(2, -1)
    return value * F.gelu(gate)


def positions_in(shape, offsets, whole, device):
    """The position of each element of a piece in the whole tensor, counted row by row."""
    position = torch.zeros((), dtype=torch.int64, device=device)
    for dim, size in enumerate(shape):
        begin = offsets[dim] if offsets else 0
        begin = begin[0] if isinstance(begin, (list, tuple)) else begin
        count = whole[dim] if offsets else size
        position = (position * count).unsqueeze(-1) + begin + torch.arange(size, device=device)
    return position


def dropout(data, ratio, training_mode, draw, seed, is_test, opset_version, offsets: ints, whole):
    """Numbers are drawn by the position of an element in the whole tensor: any cut of it drops the same elements."""
    trains = not is_test if opset_version < 7 else training_mode is not None and bool(training_mode)
    share = 0.5 if ratio is None else float(ratio)
    mask_type = data.dtype if opset_version < 10 else torch.bool
    if not trains or share == 0:
        return data, torch.ones_like(data, dtype=mask_type)
    own = seed if draw is None else hashed([seed, draw]).to(data.device)
    numbers = hashed([own, positions_in(data.shape, offsets, whole, data.device)])
    kept = ((numbers >> 11) & (2 ** 53 - 1)).double() * 2.0 ** -53 >= share
    return torch.where(kept, data * (1 / (1 - share) if share < 1 else 0), torch.zeros_like(data)), kept.to(mask_type)
