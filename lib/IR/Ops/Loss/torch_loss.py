"""Losses and steps of optimizers in PyTorch. Steps write parameters and states in place."""


def held(offset):
    """Begin and end of what is held of a dim."""
    offset = offset if isinstance(offset, (list, tuple)) else [offset]
    return offset[0], offset[1] if len(offset) > 1 else math.inf


def targets_of(scores, labels, weights, ignore_index, offsets, axis):
    """For the rows of a piece of scores, whose classes are dim `axis`: the class of each as counted in the piece (0 where it is elsewhere), the
    weight of each there, the weight of each wherever it is, and the weight of all labels."""
    spans = [held(offset) for offset in offsets] or [(0, math.inf)] * scores.dim()
    everywhere = torch.ones(labels.shape, device=labels.device) if weights is None else \
        weights[labels.clamp(0, len(weights) - 1)]
    if ignore_index is not None:
        everywhere = everywhere * (labels != ignore_index)
    own, weight = labels, everywhere
    for dim in range(labels.dim()):
        begin, end = spans[dim if dim < axis else dim + 1]
        size = scores.shape[dim if dim < axis else dim + 1]
        places = begin + torch.arange(size, device=labels.device)
        inside = places < min(end, labels.shape[dim])
        places = places.clamp(max=labels.shape[dim] - 1)
        own = own.index_select(dim, places)
        shape = [-1 if other == dim else 1 for other in range(labels.dim())]
        weight = weight.index_select(dim, places) * inside.reshape(shape)
    place = own.long() - spans[axis][0]
    here = (place >= 0) & (place < scores.shape[axis]) & (own < spans[axis][1])
    return torch.where(here, place, 0), weight * here, weight, everywhere.sum()


def loss_of(scores, log_sum, labels, weights, ignore_index, reduction, offsets, axis=1):
    """`log_sum` less the score at each label, times its weight."""
    place, weight, _, total = targets_of(scores, labels, weights, ignore_index, offsets, axis)
    loss = (log_sum - scores.gather(axis, place.unsqueeze(axis))).squeeze(axis)
    loss = torch.where(weight == 0, torch.zeros_like(loss), loss * weight)
    if reduction == "none":
        return loss
    return loss.sum() / total if reduction == "mean" else loss.sum()


def loss_gradient(dY, shares, labels, weights, ignore_index, reduction, offsets, axis=1):
    """The shares of all classes less one at each label, times what arrives and its weight."""
    place, weight, of_row, total = targets_of(shares, labels, weights, ignore_index, offsets, axis)
    incoming = dY / total if reduction == "mean" else dY
    gradient = shares * (incoming * of_row).unsqueeze(axis)
    return gradient.scatter_add_(axis, place.unsqueeze(axis), -(incoming * weight).unsqueeze(axis).to(gradient.dtype))


def cross_entropy(scores, log_sum, labels, weights, reduction, axis, ignore_index=None, offsets: ints = []):
    loss = loss_of(scores, log_sum, labels, weights, ignore_index, reduction, offsets, axis)
    return loss.to(scores.dtype)


def cross_entropy_grad(dY, scores, log_sum, labels, weights, reduction, axis, ignore_index=None, offsets: ints = []):
    shares = (scores - log_sum).exp()
    return loss_gradient(dY, shares, labels, weights, ignore_index, reduction, offsets, axis).to(scores.dtype)


def softmax_cross_entropy_loss(scores, labels, weights, reduction, dtype, ignore_index=None, offsets: ints = []):
    log_prob = scores.log_softmax(1)
    return loss_of(log_prob, 0, labels, weights, ignore_index, reduction, offsets).to(dtype), log_prob


def softmax_cross_entropy_loss_grad(dY, log_prob, label, weight, bias, reduction, dtype, ignore_index=None, offsets: ints = []):
    gradient = loss_gradient(dY, log_prob.exp(), label, weight, ignore_index, reduction, offsets).to(dtype)
    return gradient if bias is None else gradient + bias


def negative_log_likelihood_loss(input, target, weight, reduction, dtype, ignore_index=None, offsets: ints = []):
    return loss_of(input, 0, target, weight, ignore_index, reduction, offsets).to(dtype)


def negative_log_likelihood_grad(dY, scores, labels, weights, reduction, axis, dtype, ignore_index=None,
                                 offsets: ints = []):
    shares = torch.zeros_like(scores)
    return loss_gradient(dY, shares, labels, weights, ignore_index, reduction, offsets, axis).to(dtype)


def assign(parameter, master, value):
    """Writes a parameter's new value, and its master's where it has one."""
    if master is not None:
        master.copy_(value)
    parameter.copy_(value)


def sgd_update(parameter, gradient, master, rate, step, scale, weight_decay):
    if scale is not None and scale == 0:
        return
    value = parameter if master is None else master
    gradient = gradient if scale is None else gradient * scale
    assign(parameter, master, value - rate * (gradient + weight_decay * value))


def momentum_update(parameter, gradient, momentum, master, rate, step, scale, weight_decay, decay, dampening, nesterov):
    if scale is not None and scale == 0:
        return
    value = parameter if master is None else master
    gradient = (gradient if scale is None else gradient * scale) + weight_decay * value
    momentum.copy_(decay * momentum + (1 - dampening) * gradient if step > 1 else gradient)
    assign(parameter, master, value - rate * (gradient + decay * momentum if nesterov else momentum))


def adam_update(parameter, gradient, first, second, master, rate, step, scale, weight_decay, beta1, beta2, epsilon,
                decoupled):
    amsgrad_update(parameter, gradient, first, second, None, master, rate, step, scale, weight_decay, beta1, beta2,
                   epsilon, decoupled)


def amsgrad_update(parameter, gradient, first, second, greatest, master, rate, step, scale, weight_decay, beta1, beta2,
                   epsilon, decoupled):
    """By the greatest mean of squares so far, or without `greatest` by the new one, which is Adam's step."""
    if scale is not None and scale == 0:
        return
    value = parameter if master is None else master
    gradient = gradient if scale is None else gradient * scale
    if decoupled:
        value = value * (1 - rate * weight_decay)
    else:
        gradient = gradient + weight_decay * value
    first.mul_(beta1).add_(gradient, alpha=1 - beta1)
    second.mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
    squares = second if greatest is None else greatest.copy_(torch.maximum(greatest, second))
    count = int(step)
    deviation = (squares / (1 - beta2 ** count)).sqrt() + epsilon
    assign(parameter, master, value - rate * (first / (1 - beta1 ** count)) / deviation)


def optimizer_groups(inputs, states, norm_coefficient):
    """For each tensor its value, its gradient with the decay of the value, and its states."""
    count = len(inputs) // (states + 2)
    for index in range(count):
        value, gradient, *own = inputs[index::count]
        yield (value, gradient + norm_coefficient * value, *own)


def adagrad(R, T, inputs, decay_factor, epsilon, norm_coefficient):
    rate, steps = R / (1 + T * decay_factor), []
    for value, gradient, square in optimizer_groups(inputs, 1, norm_coefficient):
        square = square + gradient * gradient
        steps.append((value - rate * gradient / (square.sqrt() + epsilon), square))
    return [result for group in zip(*steps) for result in group]


def adam_(R, T, inputs, alpha, beta, epsilon, norm_coefficient, norm_coefficient_post):
    rate, steps = R * (1 - beta ** T).sqrt() / (1 - alpha ** T) if T > 0 else R, []
    for value, gradient, first, second in optimizer_groups(inputs, 2, norm_coefficient):
        first = alpha * first + (1 - alpha) * gradient
        second = beta * second + (1 - beta) * gradient * gradient
        value = (1 - norm_coefficient_post) * (value - rate * first / (second.sqrt() + epsilon))
        steps.append((value, first, second))
    return [result for group in zip(*steps) for result in group]


def momentum_(R, T, inputs, alpha, beta, mode, norm_coefficient):
    steps, kept = [], beta if T > 0 else 1
    for value, gradient, before in optimizer_groups(inputs, 1, norm_coefficient):
        moving = alpha * before + kept * gradient
        steps.append((value - R * (gradient + alpha * moving if mode == "nesterov" else moving), moving))
    return [result for group in zip(*steps) for result in group]
