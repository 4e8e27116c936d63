"""Operators that pick points of feature maps: resizing, grids, regions, columns, in PyTorch."""


def places_before(result, length, scale, coordinates, region):
    """The place in a dim of `length` of each point of the result, and where it is outside of the region to be read."""
    at = torch.arange(result, dtype=torch.float64)
    exact = scale * length
    if coordinates == "align_corners":
        at = at * (length - 1) / (exact - 1) if exact != 1 else at * 0
    elif coordinates == "asymmetric":
        at = at / scale
    elif coordinates == "tf_half_pixel_for_nn":
        at = (at + 0.5) / scale
    elif coordinates == "tf_crop_and_resize":
        part = (region[1] - region[0]) * (length - 1)
        at = (at * part / (result - 1) if result > 1 else at + part / 2) + region[0] * (length - 1)
        return at, (at < 0) | (at > length - 1)
    elif coordinates == "pytorch_half_pixel" and exact == 1:
        at = at * 0 - 0.5
    else:
        begin = length / 2 * (1 - result / exact) if coordinates == "half_pixel_symmetric" else 0
        at = begin + (at + 0.5) / scale - 0.5
    return at, torch.zeros(result, dtype=torch.bool)


def cubic_weight(distance, a):
    x = distance.abs()
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a
    return torch.where(x <= 1, near, torch.where(x < 2, far, torch.zeros_like(x)))


def upper_share(ratio, nearest):
    """The share of the upper of two neighbours, `ratio` in (0, 1] from the lower: 0 or 1."""
    if nearest == "ceil":
        return torch.ones_like(ratio)
    if nearest == "floor":
        return (ratio == 1).double()
    return ((ratio >= 0.5) if nearest == "round_prefer_ceil" else (ratio > 0.5) | (ratio == 1)).double()


def resize_matrix(at, length, scale, mode, nearest, cubic, exclude_outside, antialias):
    """Weights [points of the result, length] of one dim. An antialiasing filter is as wide as the points are apart."""
    below = at.ceil() - 1
    ratio, matrix = at - below, torch.zeros(len(at), length, dtype=torch.float64)
    scale = min(scale, 1) if antialias and mode != "nearest" else 1
    start = math.floor(-(2 if mode == "cubic" else 1) / scale) + 1
    for offset in range(start, 2 - start):
        distance = scale * (offset - ratio)
        if mode == "nearest":
            weight = upper_share(ratio, nearest) if offset == 1 else 1 - upper_share(ratio, nearest)
        else:
            weight = cubic_weight(distance, cubic) if mode == "cubic" else (1 - distance.abs()).clamp(0, 1)
        place = below.long() + offset
        if exclude_outside:
            weight = weight * ((place >= 0) & (place < length))
        matrix.scatter_add_(1, place.clamp(0, length - 1).unsqueeze(1), weight.unsqueeze(1))
    return matrix / matrix.sum(1, keepdim=True)


def resize(X, roi, scales, axes, antialias, coordinate_transformation_mode, cubic_coeff_a, exclude_outside,
           extrapolation_value, mode, nearest_mode, opset_version, dims):
    coordinates, nearest = coordinate_transformation_mode, nearest_mode
    if opset_version < 11:
        scales, coordinates, nearest = roi, "asymmetric", None
    axes = [axis % X.dim() for axis in axes] if axes else list(range(X.dim()))
    crops = coordinates == "tf_crop_and_resize"
    scales = scales.tolist() if scales is not None else []
    for index, dim in enumerate(axes):
        scale = scales[index] if scales else dims[dim] / X.shape[dim]
        region = (roi[index].item(), roi[index + len(axes)].item()) if crops else (0, 1)
        if scale == 1 and region == (0, 1) and X.shape[dim] == dims[dim]:
            continue
        at, outside = places_before(dims[dim], X.shape[dim], scale, coordinates, region)
        matrix = resize_matrix(at, X.shape[dim], scale, mode, nearest or ("ceil" if scale < 1 else "floor"),
                               cubic_coeff_a, exclude_outside, antialias).to(X.device)
        rows = torch.tensordot(X.to(matrix.dtype), matrix, ([dim], [1]))
        X = rows.masked_fill(outside.to(X.device), extrapolation_value).movedim(-1, dim).to(X.dtype)
    return X


def upsample(X, scales, height_scale, width_scale, mode, dims):
    given = X.new_tensor([1, 1, height_scale, width_scale]) if scales is None else scales
    mode = "linear" if mode == "bilinear" else mode
    return resize(X, given, None, None, 0, "asymmetric", -0.75, 0, 0, mode, None, 10, dims)


def on_points(grid, space, align_corners):
    """Coordinates moved to the nearest point, to the even one of two: in three dims PyTorch rounds otherwise."""
    size = torch.tensor(space[::-1], dtype=grid.dtype, device=grid.device)
    steps, shift = ((size - 1).clamp(min=1), 0) if align_corners else (size, 0.5)
    return 2 * (((grid + 1) / 2 * steps - shift).round() + shift) / steps - 1


def grid_sample(X, grid, align_corners, mode, padding_mode):
    modes = {"linear": "bilinear", "cubic": "bicubic"}
    if X.dim() == 3:  # a map of one row
        row = torch.stack([grid[..., 0], torch.zeros_like(grid[..., 0])], -1).unsqueeze(1)
        return grid_sample(X.unsqueeze(2), row, align_corners, mode, padding_mode).squeeze(2)
    if X.dim() == 5 and mode == "nearest":
        grid = on_points(grid, X.shape[2:], align_corners)
    common = torch.promote_types(X.dtype, grid.dtype)
    return F.grid_sample(X.to(common), grid.to(common), modes.get(mode, mode), padding_mode,
                         bool(align_corners)).to(X.dtype)


def affine_grid(theta, size: ints, align_corners): return F.affine_grid(theta, size, bool(align_corners))


def col2im(input, image_shape: ints, block_shape: ints, dilations, pads, strides, dims):
    """Columns are what a convolution with a kernel of single ones would have read; its gradient puts them back."""
    count = len(block_shape)
    dilations, strides, pads = dilations or [1] * count, strides or [1] * count, pads or [0] * (2 * count)
    spread = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[count - 1]
    points = [(size + pads[dim] + pads[count + dim] - (block_shape[dim] - 1) * dilations[dim] - 1) // strides[dim] + 1
              for dim, size in enumerate(image_shape)]
    block = math.prod(block_shape)
    ones = torch.eye(block, dtype=input.dtype, device=input.device).reshape([block, 1] + block_shape)
    whole = spread(input.reshape([-1, block] + points), ones, None, strides, 0, 0, 1, dilations)
    behind = [size + pads[dim] - whole.shape[2 + dim] for dim, size in enumerate(image_shape)]
    return pad_space(whole, [-pads[dim] for dim in range(count)], behind, 0).reshape(dims)


def max_unpool(X, I, kernel_shape, pads, strides, dims):
    """Places count in the sizes that follow from the windows; a larger result has zeros behind."""
    count = len(kernel_shape)
    pads, strides = pads or [0] * (2 * count), strides or [1] * count
    space = [(size - 1) * strides[dim] + kernel_shape[dim] - pads[dim] - pads[count + dim]
             for dim, size in enumerate(X.shape[2:])]
    shape = list(X.shape[:2]) + space
    whole = X.new_zeros(math.prod(shape)).scatter(0, I.reshape(-1), X.reshape(-1)).reshape(shape)
    return pad_space(whole, [0] * count, [size - own for size, own in zip(dims[2:], space)], 0)


def roi_side(begin, end, cells, size, sampling_ratio, half_pixel):
    """The weights [cells, samples, size] of the lower and of the upper neighbour of each sample of a region's side."""
    start = begin - 0.5 if half_pixel else begin
    extent = end - begin if half_pixel else max(end - begin, 1)
    samples = sampling_ratio or max(math.ceil(extent / cells), 0)
    inner = (torch.arange(samples, dtype=torch.float64) + 0.5) / samples
    at = start + (torch.arange(cells).unsqueeze(1) + inner) * extent / cells
    inside, at = (at >= -1) & (at <= size), at.clamp(min=0)
    low = at.long().clamp(max=size - 1)
    high = (low + 1).clamp(max=size - 1)
    share = torch.where(low == high, torch.zeros_like(at), at - low)
    shares = ((low, 1 - share), (high, share))
    return [F.one_hot(place, size) * (weight * inside).unsqueeze(-1) for place, weight in shares]


def roi_align(X, rois, batch_indices, coordinate_transformation_mode, mode, output_height, output_width, sampling_ratio,
              spatial_scale, opset_version):
    """The mean of the samples in a cell, or the greatest share that a neighbour of a sample has."""
    half_pixel = coordinate_transformation_mode == "half_pixel" and not opset_version < 16
    results = []
    for box, index in zip((rois.double() * spatial_scale).tolist(), batch_indices.tolist()):
        rows = roi_side(box[1], box[3], output_height, X.shape[2], sampling_ratio, half_pixel)
        columns = roi_side(box[0], box[2], output_width, X.shape[3], sampling_ratio, half_pixel)
        corners = torch.stack([torch.einsum("chw,ish,jtw->cijst", X[index], y.to(X), x.to(X))
                               for y in rows for x in columns])
        results.append(corners.movedim(0, -1).flatten(3).max(-1)[0] if mode == "max" else corners.sum(0).mean((-2, -1)))
    return torch.stack(results)


def roi_bounds(begin, end, cells, size):
    """The bounds of each cell in points of the map: those of 2 cells over points 3 to 6 are (3, 5) and (5, 7)."""
    first = math.floor(abs(begin) + 0.5) * (1 if begin > 0 else -1)
    last = math.floor(abs(end) + 0.5) * (1 if end > 0 else -1)
    bin = max(last - first + 1, 1) / cells
    bounds = [(math.floor(cell * bin) + first, math.ceil((cell + 1) * bin) + first) for cell in range(cells)]
    return [tuple(min(max(bound, 0), size) for bound in cell) for cell in bounds]


def max_roi_pool(X, rois, pooled_shape, spatial_scale, dims):
    result = X.new_zeros(dims)
    for region, (index, *box) in enumerate(rois.tolist()):
        left, top, right, bottom = (side * spatial_scale for side in box)
        for i, (y, y_end) in enumerate(roi_bounds(top, bottom, pooled_shape[0], X.shape[2])):
            for j, (x, x_end) in enumerate(roi_bounds(left, right, pooled_shape[1], X.shape[3])):
                if y < y_end and x < x_end:
                    result[region, :, i, j] = X[int(index), :, y:y_end, x:x_end].flatten(1).max(1)[0]
    return result


def deform_conv(X, W, offset, B, mask, dilations, group, offset_group, pads, strides, dims):
    if X.dim() != 4:
        raise NotImplementedError("convolutions with offsets of other than two dims of space")
    (height, width), (rows, columns), (out_rows, out_columns) = X.shape[2:], W.shape[2:], dims[2:]
    dilations, strides, pads = dilations or [1, 1], strides or [1, 1], pads or [0] * 4
    data = X.reshape((len(X) * offset_group, -1) + X.shape[2:])
    shifts = offset.reshape(len(data), rows * columns, 2, out_rows, out_columns)
    taken = []
    for point in range(rows * columns):
        y = torch.arange(out_rows, device=X.device) * strides[0] - pads[0] + point // columns * dilations[0]
        x = torch.arange(out_columns, device=X.device) * strides[1] - pads[1] + point % columns * dilations[1]
        y, x = y.unsqueeze(1) + shifts[:, point, 0], x + shifts[:, point, 1]
        grid = torch.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], -1)
        values = F.grid_sample(data, grid, "bilinear", "zeros", False)
        if mask is not None:
            values = values * mask.reshape(len(data), rows * columns, 1, out_rows, out_columns)[:, point]
        taken.append(values.reshape((len(X), group, -1, out_rows, out_columns)))
    kernel = W.flatten(2).reshape((group, -1, W.shape[1], rows * columns))
    result = torch.einsum("kngchw,gock->ngohw", torch.stack(taken), kernel).reshape(dims)
    return result if B is None else result + B.reshape(-1, 1, 1)
