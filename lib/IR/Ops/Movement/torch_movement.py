"""Operators that move elements, in PyTorch."""


def reshape(data, dims): return data.reshape(dims)


def flatten(input, dims): return input.reshape(dims)


def squeeze(data, dims): return data.reshape(dims)


def unsqueeze(data, dims): return data.reshape(dims)


def identity(input): return input


def transpose(data, perm):
    if perm is None:
        return data.permute(list(reversed(range(data.dim()))))
    return data.permute(perm)


def expand(input, dims): return input.expand(dims)


def tile(input, repeats: ints): return input.repeat(repeats)


def concat(inputs, axis): return torch.cat(inputs, axis)


def split(input, split: ints, axis, dims):
    if split is None:
        return input.split(dims[axis], axis)
    return input.split(split, axis)


def slice_(data, starts: ints, ends: ints, axes: ints, steps: ints):
    for index, (start, end) in enumerate(zip(starts, ends)):
        dim, step = axes[index] if axes else index, steps[index] if steps else 1
        if step < 0:
            kept = list(range(data.shape[dim]))[start:end if end >= -data.shape[dim] else None:step]
            data = data.index_select(dim, torch.tensor(kept, dtype=torch.int64, device=data.device))
        else:
            begin, stop, _ = slice(start, end).indices(data.shape[dim])
            data = data.narrow(dim, begin, max(stop - begin, 0))
            if step > 1:
                data = data[(slice(None),) * (dim % data.dim()) + (slice(None, None, step),)]
    return data


def pad(data, pads: ints, constant_value, axes: ints, mode, value):
    axes = [axis % data.dim() for axis in axes] if axes else list(range(data.dim()))
    fill = value or 0 if constant_value is None else constant_value.item()
    for index, dim in enumerate(axes):
        before, after = pads[index], pads[index + len(axes)]
        size = data.shape[dim]
        places = torch.arange(-before, size + after, device=data.device)
        if mode == "constant":
            inside = data.narrow(dim, max(-before, 0), size + min(before, 0) + min(after, 0))
            parts = []
            for count in (max(before, 0), max(after, 0)):
                shape = list(inside.shape)
                shape[dim] = count
                parts.append(data.new_full(shape, fill))
            data = torch.cat([parts[0], inside, parts[1]], dim)
        elif mode == "edge":
            data = data.index_select(dim, places.clamp(0, size - 1))
        elif mode == "wrap":
            data = data.index_select(dim, places % size)
        else:
            period = max(2 * (size - 1), 1)
            data = data.index_select(dim, size - 1 - (places % period - (size - 1)).abs())
    return data


def depth_to_space(input, blocksize, mode):
    b, c, h, w = input.shape
    s = blocksize
    if mode == "CRD":
        return input.reshape(b, c // s ** 2, s, s, h, w).permute(0, 1, 4, 2, 5, 3).reshape(b, -1, h * s, w * s)
    return input.reshape(b, s, s, c // s ** 2, h, w).permute(0, 3, 4, 1, 5, 2).reshape(b, -1, h * s, w * s)


def space_to_depth(input, blocksize):
    b, c, h, w = input.shape
    s = blocksize
    return input.reshape(b, c, h // s, s, w // s, s).permute(0, 3, 5, 1, 2, 4).reshape(b, -1, h // s, w // s)


def center_crop_pad(input_data, dims):
    both = []
    for before, after in zip(input_data.shape, dims):
        added = (after - before) // 2 if after >= before else -((before - after) // 2)
        both = [added, after - before - added] + both
    return F.pad(input_data, both)


def reverse_sequence(input, sequence_lens, time_axis, batch_axis):
    x = input.movedim((batch_axis, time_axis), (0, 1))
    places, lengths = torch.arange(x.shape[1], device=x.device), sequence_lens.unsqueeze(1)
    places = torch.where(places < lengths, lengths - 1 - places, places)
    batch = torch.arange(x.shape[0], device=x.device).unsqueeze(1)
    return x[batch, places].movedim((0, 1), (batch_axis, time_axis))
