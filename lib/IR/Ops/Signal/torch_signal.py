"""Fourier transforms and determinants in PyTorch. A last dim of 2 holds real and imaginary parts, of 1 real ones."""


def as_complex(x): return torch.view_as_complex(x.contiguous()) if x.shape[-1] == 2 else x.squeeze(-1)


def dft(input, dft_length: ints, axis: ints, inverse, onesided, opset_version, dims):
    """The half spectrum of 10 points has 6; backwards, `dft_length` is the number of points."""
    dim = (1 if opset_version < 20 else -2) if axis is None else int(axis[0] if isinstance(axis, list) else axis)
    dim = dim % len(dims)
    length = dims[dim] if inverse or not onesided else input.shape[dim]
    if dft_length is not None:
        length = int(dft_length[0] if isinstance(dft_length, list) else dft_length)
    x = as_complex(input)
    if inverse and onesided:
        result = torch.fft.irfft(x, length, dim)
    else:
        result = (torch.fft.ifft if inverse else torch.fft.fft)(x, length, dim)
    result = result.narrow(dim, 0, dims[dim])
    if dims[-1] == 1:
        return result.real.unsqueeze(-1)
    return torch.view_as_real(result if result.is_complex() else result + 0j)


def stft(signal, frame_step: ints, window, frame_length: ints, dims):
    length = len(window) if frame_length is None else frame_length[0]
    x = signal if signal.dim() == 2 else as_complex(signal)
    frames = x.unfold(1, length, frame_step[0])[:, :dims[1]]
    frames = frames if window is None else frames * F.pad(window, (0, length - len(window)))
    return torch.view_as_real(torch.fft.fft(frames, length, -1)[..., :dims[2]])


def det(X): return torch.linalg.det(X)


def cofactors(X):
    """Of singular matrices, too: those of the singular values are products of the others."""
    U, S, V = torch.linalg.svd(precise(X))
    ones = torch.ones_like(S[..., :1])
    before = torch.cat([ones, S[..., :-1]], -1).cumprod(-1)
    behind = torch.cat([ones, S.flip(-1)[..., :-1]], -1).cumprod(-1).flip(-1)
    sign = (torch.linalg.det(U) * torch.linalg.det(V))[..., None, None]
    return (sign * torch.matmul(U * (before * behind).unsqueeze(-2), V)).to(X.dtype)
