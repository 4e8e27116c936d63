"""Tensors made from shapes and scalars, in PyTorch."""


def filled(dims, value, dtype, rank): return torch.full(dims, value[0], dtype=dtype, device=rank.device)


def constant_of_shape(value, dims, dtype, rank):
    if value is None:
        return torch.zeros(dims, dtype=dtype, device=rank.device)
    return filled(dims, value, dtype, rank)


def range_(start, delta, dims, dtype, rank):
    return (start + delta * torch.arange(dims[0], device=rank.device)).to(dtype)


def eye_like(k, dims, dtype, rank):
    return torch.ones(dims, device=rank.device).tril(k).triu(k).to(dtype)


def window(size, periodic, coefficients, dtype, rank):
    """a - b cos(2 pi n / N) + c cos(4 pi n / N), N the size, or the size - 1 where the window is symmetric."""
    angle = 2 * math.pi * torch.arange(size, dtype=torch.float64) / max(size if periodic else size - 1, 1)
    a, b, c = coefficients
    return (a - b * angle.cos() + c * (2 * angle).cos()).to(dtype).to(rank.device)


def hann_window(periodic, dims, dtype, rank): return window(dims[0], periodic, (0.5, 0.5, 0), dtype, rank)


def hamming_window(periodic, dims, dtype, rank): return window(dims[0], periodic, (25 / 46, 21 / 46, 0), dtype, rank)


def blackman_window(periodic, dims, dtype, rank): return window(dims[0], periodic, (0.42, 0.5, 0.08), dtype, rank)


def seed_of(stream, draw): return stream if draw is None else hashed([stream, draw])


def drawn(seed, position):
    """A number from [0, 1) for each position, the same on any sharding."""
    return ((hashed([seed, position]) >> 11) & (2 ** 53 - 1)).double() * 2.0 ** -53


def normal(stream, draw, dims, offsets, whole, mean, scale, dtype, rank):
    place, seed = positions_in(dims, offsets, whole, rank.device) * 2, seed_of(stream, draw)
    radius = torch.sqrt(-2 * torch.log(1 - drawn(seed, place)))
    return (mean + scale * radius * torch.cos(2 * math.pi * drawn(seed, place + 1))).to(dtype)


def uniform(stream, draw, dims, offsets, whole, low, high, dtype, rank):
    place = positions_in(dims, offsets, whole, rank.device)
    return (low + (high - low) * drawn(seed_of(stream, draw), place)).to(dtype)


def random_normal(draw, mean, scale, stream, offsets: ints, whole, dims, dtype, rank):
    return normal(stream, draw, dims, offsets, whole, mean, scale, dtype, rank)


def random_uniform(draw, low, high, stream, offsets: ints, whole, dims, dtype, rank):
    return uniform(stream, draw, dims, offsets, whole, low, high, dtype, rank)


def random_normal_like(draw, mean, scale, stream, offsets: ints, whole, dims, dtype, rank):
    return normal(stream, draw, dims, offsets, whole, mean, scale, dtype, rank)


def random_uniform_like(draw, low, high, stream, offsets: ints, whole, dims, dtype, rank):
    return uniform(stream, draw, dims, offsets, whole, low, high, dtype, rank)


def bernoulli(input, draw, stream, offsets: ints, whole, dims, dtype, rank):
    place = positions_in(dims, offsets, whole, rank.device)
    return (drawn(seed_of(stream, draw), place) < input.double()).to(dtype)


def multinomial(input, draw, stream, offsets: ints, whole, dims, dtype, rank):
    sums = torch.softmax(input.double(), -1).cumsum(-1)
    numbers = drawn(seed_of(stream, draw), positions_in(dims, offsets, whole, rank.device))
    return (numbers.unsqueeze(-1) >= sums.unsqueeze(1)).sum(-1).clamp(max=input.shape[1] - 1).to(dtype)
