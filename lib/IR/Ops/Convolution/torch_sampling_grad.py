"""Gradients of operators that pick points of a feature map, in PyTorch."""


def im2col(image, dilations, kernel_shape, pads, strides, dims):
    """Each point of the window is a channel of a convolution with a kernel of single ones."""
    count, block = len(kernel_shape), math.prod(kernel_shape)
    dilations, strides, pads = dilations or [1] * count, strides or [1] * count, pads or [0] * (2 * count)
    planes = image.reshape([-1, 1] + list(image.shape[2:]))
    ones = torch.eye(block, dtype=image.dtype, device=image.device).reshape([block, 1] + list(kernel_shape))
    convolve = (F.conv1d, F.conv2d, F.conv3d)[count - 1]
    return convolve(pad_space(planes, pads[:count], pads[count:], 0), ones, None, strides, 0, dilations).reshape(dims)
