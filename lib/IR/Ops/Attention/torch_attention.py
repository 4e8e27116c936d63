"""Attention in PyTorch."""


def capped_scores(Q, K, scale, keys_transposed, softcap):
    """scale * queries keys as [..., key heads, query heads of one, s, t], bounded by softcap; dims before the heads
    stay."""
    keys = K if keys_transposed else K.transpose(-1, -2)
    scores = scale * torch.matmul(by_key_head(Q, keys), keys.unsqueeze(-3))
    return softcap * torch.tanh(scores / softcap) if softcap else scores


def attention_scores(Q, K, mask, scale, fill=None, keys_transposed=0, seen=1, softcap=None):
    """mask(scale * queries keys) as [..., key heads, query heads of one, s, t]; dims before the heads stay."""
    scores = capped_scores(Q, K, scale, keys_transposed, softcap)
    if mask is None:
        return scores
    whole = scores.shape[:-4] + (Q.shape[-3],) + scores.shape[-2:]
    mask = mask.expand(whole).reshape(scores.shape)
    if fill is None:
        return scores + mask
    hidden = fill if math.isinf(fill) else max(fill, torch.finfo(scores.dtype).min)
    return scores.masked_fill(mask != bool(seen), hidden)


def attention_weights(Q, K, mask, scale, fill=None, keys_transposed=0, nan_is_zero=0, seen=1, softcap=None):
    """softmax(mask(scale * queries keys)), as scores are."""
    weights = attention_scores(Q, K, mask, scale, fill, keys_transposed, seen, softcap).softmax(-1)
    return weights.nan_to_num(0.0) if nan_is_zero else weights


def held_scores(Q, K, mask, scale, fill, keys_transposed, seen, softcap, total_keys, offsets):
    """The scores; minus infinity for keys that are padding of the piece, which begins at `offsets`."""
    scores = precise(attention_scores(Q, K, mask, scale, fill, keys_transposed, seen, softcap))
    if not offsets:
        return scores
    begin, end = held(offsets[0])
    places = begin + torch.arange(scores.shape[-1], device=scores.device)
    return scores.masked_fill(places >= min(end, total_keys), -math.inf)


def split_weights(Q, K, mask, log_sum, scale, fill, keys_transposed, nan_is_zero, seen, softcap, total_keys, offsets):
    """The share of each key of the piece in all keys, whose logarithmic sum is known."""
    scores = held_scores(Q, K, mask, scale, fill, keys_transposed, seen, softcap, total_keys, offsets)
    weights = (scores - log_sum.reshape(scores.shape[:-1] + (1,))).exp()
    return weights.nan_to_num(0.0) if nan_is_zero else weights


def by_key_head(x, keys):
    """[..., heads, s, d] as [..., key heads, heads of one, s, d]."""
    heads = keys.shape[-3]
    return x.reshape(x.shape[:-3] + (heads, x.shape[-3] // heads) + x.shape[-2:])


def softmax_attention(Q, K, V, mask, scale, fill=None, keys_transposed=0, nan_is_zero=0, seen=1):
    weights = attention_weights(Q, K, mask, scale, fill, keys_transposed, nan_is_zero, seen)
    result = torch.matmul(weights, V.unsqueeze(-3))
    return result.reshape(Q.shape[:-1] + V.shape[-1:])


def attention_score_gradient(Q, K, V, mask, dY, scale, fill, keys_transposed, nan_is_zero, seen, softcap):
    """The gradient of what the softmax takes."""
    weights = attention_weights(Q, K, mask, scale, fill, keys_transposed, nan_is_zero, seen, softcap)
    gradient = torch.matmul(by_key_head(dY, V), V.unsqueeze(-3).transpose(-1, -2))
    gradient = weights * (gradient - (gradient * weights).sum(-1, keepdim=True))
    if mask is not None and fill is not None:
        kept = (mask == bool(seen)).expand(gradient.shape[:-4] + (Q.shape[-3],) + gradient.shape[-2:])
        gradient = gradient * kept.reshape(gradient.shape)
    return gradient


def before_cap(gradient, Q, K, scale, keys_transposed, softcap):
    """The gradient of scale * queries keys, from that of the bounded scores."""
    if not softcap:
        return gradient
    return gradient * (1 - (capped_scores(Q, K, scale, keys_transposed, softcap) / softcap) ** 2)


def attention_product_gradient(Q, K, V, mask, dY, scale, fill, keys_transposed, nan_is_zero, seen, softcap):
    """The gradient of scale * queries keys."""
    gradient = attention_score_gradient(Q, K, V, mask, dY, scale, fill, keys_transposed, nan_is_zero, seen, softcap)
    return before_cap(gradient, Q, K, scale, keys_transposed, softcap)


def softmax_attention_query_grad(Q, K, V, mask, dY, scale, fill=None, keys_transposed=0, nan_is_zero=0, seen=1,
                                 softcap=None):
    gradient = attention_product_gradient(Q, K, V, mask, dY, scale, fill, keys_transposed, nan_is_zero, seen,
                                          softcap)
    keys = K.transpose(-1, -2) if keys_transposed else K
    return (scale * torch.matmul(gradient, keys.unsqueeze(-3))).reshape(Q.shape)


def softmax_attention_key_grad(Q, K, V, mask, dY, scale, fill=None, keys_transposed=0, nan_is_zero=0, seen=1,
                               softcap=None):
    gradient = attention_product_gradient(Q, K, V, mask, dY, scale, fill, keys_transposed, nan_is_zero, seen,
                                          softcap)
    keys = scale * torch.matmul(gradient.transpose(-1, -2), by_key_head(Q, V)).sum(-3)
    return keys.transpose(-1, -2) if keys_transposed else keys


def softmax_attention_value_grad(Q, K, V, mask, dY, scale, fill=None, keys_transposed=0, nan_is_zero=0, seen=1,
                                 softcap=None):
    weights = attention_weights(Q, K, mask, scale, fill, keys_transposed, nan_is_zero, seen, softcap)
    return torch.matmul(weights.transpose(-1, -2), by_key_head(dY, V)).sum(-3)


def softmax_attention_mask_grad(Q, K, V, mask, dY, scale, fill=None, keys_transposed=0, nan_is_zero=0, seen=1,
                                softcap=None):
    gradient = attention_score_gradient(Q, K, V, mask, dY, scale, fill, keys_transposed, nan_is_zero, seen, softcap)
    return gradient.reshape(Q.shape[:-2] + gradient.shape[-2:]).sum_to_size(mask.shape)


def softmax_attention_log_sum(Q, K, mask, scale, fill=None, keys_transposed=0, seen=1, softcap=None, total_keys=None,
                              offsets: ints = []):
    scores = held_scores(Q, K, mask, scale, fill, keys_transposed, seen, softcap, total_keys, offsets)
    return scores.logsumexp(-1).reshape(Q.shape[:-1])


def softmax_attention_by(Q, K, V, mask, log_sum, scale, fill=None, keys_transposed=0, nan_is_zero=0,
                         seen=1, softcap=None, total_keys=None, offsets: ints = []):
    weights = split_weights(Q, K, mask, log_sum, scale, fill, keys_transposed, nan_is_zero, seen, softcap, total_keys,
                            offsets)
    result = torch.matmul(weights.to(V.dtype), V.unsqueeze(-3))
    return result.reshape(Q.shape[:-1] + V.shape[-1:])


def split_score_gradient(Q, K, V, mask, dY, Y, log_sum, scale, fill, keys_transposed, nan_is_zero, seen, softcap,
                         total_keys, offsets):
    """The gradient of the scores of the piece. The weighted sum over all keys of what arrives at them is that of Y."""
    weights = split_weights(Q, K, mask, log_sum, scale, fill, keys_transposed, nan_is_zero, seen, softcap, total_keys,
                            offsets)
    gradient = torch.matmul(by_key_head(dY, V), V.unsqueeze(-3).transpose(-1, -2))
    gradient = weights * (gradient - by_key_head((precise(dY) * Y).sum(-1, keepdim=True), V))
    if mask is not None and fill is not None:
        kept = (mask == bool(seen)).expand(gradient.shape[:-4] + (Q.shape[-3],) + gradient.shape[-2:])
        gradient = gradient * kept.reshape(gradient.shape)
    return gradient.to(Q.dtype)


def softmax_attention_by_query_grad(Q, K, V, mask, dY, Y, log_sum, scale, fill=None, keys_transposed=0, nan_is_zero=0,
                                    seen=1, softcap=None, total_keys=None, offsets: ints = []):
    gradient = split_score_gradient(Q, K, V, mask, dY, Y, log_sum, scale, fill, keys_transposed, nan_is_zero, seen,
                                    softcap, total_keys, offsets)
    gradient = before_cap(gradient, Q, K, scale, keys_transposed, softcap)
    keys = K.transpose(-1, -2) if keys_transposed else K
    return (scale * torch.matmul(gradient, keys.unsqueeze(-3))).reshape(Q.shape)


def softmax_attention_by_key_grad(Q, K, V, mask, dY, Y, log_sum, scale, fill=None, keys_transposed=0, nan_is_zero=0,
                                  seen=1, softcap=None, total_keys=None, offsets: ints = []):
    gradient = split_score_gradient(Q, K, V, mask, dY, Y, log_sum, scale, fill, keys_transposed, nan_is_zero, seen,
                                    softcap, total_keys, offsets)
    gradient = before_cap(gradient, Q, K, scale, keys_transposed, softcap)
    keys = scale * torch.matmul(gradient.transpose(-1, -2), by_key_head(Q, V)).sum(-3)
    return keys.transpose(-1, -2) if keys_transposed else keys


def softmax_attention_by_value_grad(Q, K, V, mask, dY, log_sum, scale, fill=None, keys_transposed=0, nan_is_zero=0,
                                    seen=1, softcap=None, total_keys=None, offsets: ints = []):
    weights = split_weights(Q, K, mask, log_sum, scale, fill, keys_transposed, nan_is_zero, seen, softcap, total_keys,
                            offsets)
    return torch.matmul(weights.to(dY.dtype).transpose(-1, -2), by_key_head(dY, V)).sum(-3)


def softmax_attention_by_mask_grad(Q, K, V, mask, dY, Y, log_sum, scale, fill=None, keys_transposed=0, nan_is_zero=0,
                                   seen=1, softcap=None, total_keys=None, offsets: ints = []):
    gradient = split_score_gradient(Q, K, V, mask, dY, Y, log_sum, scale, fill, keys_transposed, nan_is_zero, seen,
                                    softcap, total_keys, offsets)
    return gradient.reshape(Q.shape[:-2] + gradient.shape[-2:]).sum_to_size(mask.shape)


def rotate_half(X, cos, sin, transposed):
    if transposed:
        first, second = (X * sin).chunk(2, -1)
        return X * cos + torch.cat([second, -first], -1)
    first, second = X.chunk(2, -1)
    return X * cos + torch.cat([-second, first], -1) * sin
