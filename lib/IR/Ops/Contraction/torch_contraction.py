"""Contractions in PyTorch."""


def matmul(A, B): return torch.matmul(A, B)


def gemm(A, B, C, alpha, beta, transA, transB):
    if C is None and alpha == 1.0 and not transA and not transB:
        return torch.matmul(A, B)
    if C is None and alpha == 1.0 and not transA and transB:
        return torch.matmul(A, B.T)
    if alpha == 1.0 and beta == 1.0 and not transA and not transB:
        return torch.addmm(C, A, B)
    if alpha == 1.0 and beta == 1.0 and not transA and transB:
        return torch.addmm(C, A, B.T)
    return scaled_product(A, B, C, alpha, beta, transA, transB)


def scaled_product(A, B, C, alpha, beta, transA, transB):
    product = torch.matmul(A.T if transA else A, B.T if transB else B)
    if alpha != 1:
        product = alpha * product
    return product if C is None else product + (C if beta == 1 else beta * C)


def fused_matmul(A, B, alpha, transA, transB, transBatchA, transBatchB):
    def turned(x, trans, trans_batch):
        if trans_batch:
            x = x.movedim(0, -2)
        return x.transpose(-1, -2) if trans else x

    return alpha * torch.matmul(turned(A, transA, transBatchA), turned(B, transB, transBatchB))


def einsum(Inputs, equation):
    return torch.einsum(equation, *Inputs)


def fused_gemm(A, B, C, alpha, beta, transA, transB, activation, activation_alpha, activation_beta, activation_gamma):
    product = scaled_product(A, B, C, alpha, beta, transA, transB)
    return activated(product, activation, activation_alpha, activation_beta, activation_gamma)


def as_column(numbers):
    """Numbers of the rows of a matrix as a column; one number for all stays one."""
    return numbers.unsqueeze(-1) if numbers.dim() == 1 and numbers.numel() != 1 else numbers


def exact_product(A, B, a_zero_point, b_zero_point, offsets=(), k_size=None):
    """(A - zero) (B - zero) of integers in 64 bits, where it is exact. Padding of a piece of A counts as 0."""
    a, b = A.double(), B.double()
    a = a if a_zero_point is None else a - as_column(a_zero_point)
    b = b if b_zero_point is None else b - b_zero_point
    if k_size is not None:
        begin, end = held(offsets[0])
        a = a * (torch.arange(a.shape[-1], device=a.device) < min(end, k_size) - begin)
    return torch.matmul(a, b)


def matmul_integer(A, B, a_zero_point, b_zero_point, offsets: ints, k_size, dtype):
    return exact_product(A, B, a_zero_point, b_zero_point, offsets, k_size).to(dtype)


def matmul_integer_to_float(A, B, a_scale, b_scale, a_zero_point, b_zero_point, bias, offsets: ints, k_size, dtype):
    product = exact_product(A, B, a_zero_point, b_zero_point, offsets, k_size) * as_column(a_scale) * b_scale
    return (product if bias is None else product + bias).to(dtype)


def dynamic_quantize_matmul(A, B, b_scale, b_zero_point, bias, dtype):
    scale, zero = dynamic_range(A)
    product = exact_product(rounded(A / scale, zero, torch.uint8), B, zero, b_zero_point) * scale * b_scale
    return (product if bias is None else product + bias).to(dtype)


def qlinear_matmul(a, a_scale, a_zero_point, b, b_scale, b_zero_point, y_scale, y_zero_point, dtype):
    product = exact_product(a, b, a_zero_point, b_zero_point) * as_column(a_scale) * b_scale
    return rounded(product / as_column(y_scale), as_column(y_zero_point), dtype)


def unpacked(packed, bits):
    """The values of so many bits each, lowest bits first, that the last dim of bytes holds."""
    each = (packed.int().unsqueeze(-1) >> torch.arange(8, device=packed.device)) & 1
    each = each.flatten(-2)
    each = each[..., :each.shape[-1] // bits * bits].unflatten(-1, (-1, bits))
    return (each << torch.arange(bits, device=packed.device)).sum(-1)


def unpack_weights(packed, scales, zero_points, g_idx, bits, block_size, columns):
    """(value - zero point) * scale of rows of bytes, by block of columns or as g_idx says."""
    blocks = scales.shape[-1]
    values = unpacked(packed, bits)[..., :columns]
    block = torch.arange(columns, device=packed.device) // (block_size or columns)
    if g_idx is not None:
        block = g_idx[:columns].long().clamp(0, blocks - 1)
    zeros = torch.full(scales.shape, 2 ** (bits - 1), device=packed.device)
    if zero_points is not None:
        is_packed = not zero_points.is_floating_point() and zero_points.shape[-1] == (blocks * bits + 7) // 8
        zeros = unpacked(zero_points, bits)[..., :blocks] if is_packed else zero_points
    return ((values - zeros[..., block]) * scales[..., block]).to(scales.dtype)


def matmul_nbits(A, B, scales, zero_points, g_idx, bias, K, N, bits, block_size):
    zeros = None if zero_points is None else zero_points.reshape(N, -1)
    weights = unpack_weights(B.flatten(1), scales.reshape(N, -1), zeros, g_idx, bits, block_size, K)
    product = torch.matmul(A, weights.T.to(A.dtype))
    return product if bias is None else product + bias


def matmul_bnb4(A, B, absmax, K, N, block_size, quant_type, transB=1):
    """Places in a table of 16 numbers, the high nibble of each byte first, with a scale for each block of the run."""
    normal = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
              -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
              0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
    small = [0.0, 5.208333333e-03, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25]
    table = torch.tensor(normal if quant_type else small + [-x for x in small], device=A.device)
    places = torch.stack([B.reshape(-1) >> 4, B.reshape(-1) & 15], -1).reshape(-1)[:N * K].long()
    scales = absmax.reshape(-1).repeat_interleave(block_size)[:N * K]
    weight = (table[places] * scales).reshape(N, K).to(A.dtype)
    return torch.matmul(A, weight.T if transB else weight)
