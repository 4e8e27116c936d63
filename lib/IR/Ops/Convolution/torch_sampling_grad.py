"""Gradients of operators that pick points of a feature map, in PyTorch."""


def gradient_at(function, leaf, dY):
    """The gradient of `function` at `leaf`, where dY arrives at its result."""
    with torch.enable_grad():
        leaf = leaf.detach().clone().requires_grad_()
        return torch.autograd.grad(function(leaf), leaf, dY)[0]


def sample_at_points(X, at):
    """Values mixed from the neighbours of places in points of the map, last dim first; zeros outside."""
    space, values = X.shape[2:], 0
    places = at.flatten(1, -2).flip(-1)
    below = places.detach().floor()
    share = places - below
    for corner in range(2 ** len(space)):
        flat, weight = 0, 1
        for dim, size in enumerate(space):
            step = corner >> dim & 1
            index = below[..., dim] + step
            inside = (index >= 0) & (index < size)
            weight = weight * (share[..., dim] if step else 1 - share[..., dim]) * inside
            flat = flat * size + index.clamp(0, size - 1).long()
        picked = X.flatten(2).gather(2, flat.unsqueeze(1).expand(-1, X.shape[1], -1))
        values = values + picked * weight.unsqueeze(1)
    return values.reshape(X.shape[:2] + at.shape[1:-1])


def sampled(X, grid, align_corners, mode, padding_mode, in_points):
    """In the precision of the grid, where that is the higher one."""
    X = X.to(torch.promote_types(X.dtype, grid.dtype))
    return sample_at_points(X, grid) if in_points else grid_sample(X, grid, align_corners, mode, padding_mode)


def grid_sample_input_grad(dY, grid, align_corners, mode, padding_mode, in_points, dims):
    common = torch.promote_types(dY.dtype, grid.dtype)
    return gradient_at(lambda X: sampled(X, grid, align_corners, mode, padding_mode, in_points),
                       dY.new_zeros(dims, dtype=common), dY.to(common)).to(dY.dtype)


def grid_sample_grid_grad(dY, X, grid, align_corners, mode, padding_mode, in_points):
    common = torch.promote_types(X.dtype, grid.dtype)
    return gradient_at(lambda at: sampled(X, at, align_corners, mode, padding_mode, in_points), grid, dY.to(common))


def im2col(image, dilations, kernel_shape, pads, strides, dims):
    """Each point of the window is a channel of a convolution with a kernel of single ones."""
    count, block = len(kernel_shape), math.prod(kernel_shape)
    dilations, strides, pads = dilations or [1] * count, strides or [1] * count, pads or [0] * (2 * count)
    planes = image.reshape([-1, 1] + list(image.shape[2:]))
    ones = torch.eye(block, dtype=image.dtype, device=image.device).reshape([block, 1] + list(kernel_shape))
    convolve = (F.conv1d, F.conv2d, F.conv3d)[count - 1]
    return convolve(pad_space(planes, pads[:count], pads[count:], 0), ones, None, strides, 0, dilations).reshape(dims)


def roi_align_grad(dY, X, rois, batch_indices, coordinate_transformation_mode, mode, sampling_ratio, spatial_scale,
                   opset_version, dims):
    data = dY.new_zeros(dims) if X is None else X
    return gradient_at(lambda each: roi_align(each, rois, batch_indices, coordinate_transformation_mode, mode,
                                              dY.shape[2], dY.shape[3], sampling_ratio, spatial_scale, opset_version),
                       data, dY)


def max_roi_pool_grad(dY, X, rois, spatial_scale):
    return gradient_at(lambda each: max_roi_pool(each, rois, dY.shape[2:], spatial_scale, dY.shape), X, dY)
