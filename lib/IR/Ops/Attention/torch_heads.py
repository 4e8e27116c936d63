"""Attention of heads with caches and masks, as the operators for whole blocks have it, in PyTorch."""


def split_heads(x, heads): return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def join_heads(x): return x.transpose(1, 2).flatten(2)


def begin_of(offset):
    """The position at which a piece begins."""
    return int(offset[0] if isinstance(offset, (list, tuple)) else offset)


def attend(Q, K, V, bias, scale, softcap=None, sink=None):
    """Attention of [b, heads, s, d] to keys [b, key heads, t, d]: the results, and the scores at four stages: scaled,
    capped, biased, after the softmax. Keys whose bias is minus infinity are not seen; queries that see none give 0."""
    shape = Q.shape[:-1] + K.shape[-2:-1]
    scale = scale or 1 / math.sqrt(Q.shape[-1])
    scaled = scale * torch.matmul(by_key_head(Q, K), K.transpose(-1, -2).unsqueeze(-3)).reshape(shape)
    capped = softcap * torch.tanh(scaled / softcap) if softcap else scaled
    biased = capped if bias is None else (capped + bias).masked_fill(bias == -math.inf, -math.inf)
    weights = biased if sink is None else torch.cat([biased, sink.reshape(-1, 1, 1).expand(shape[:-1] + (1,))], -1)
    weights = weights.softmax(-1).masked_fill((weights == -math.inf).all(-1, keepdim=True), 0)[..., :shape[-1]]
    result = torch.matmul(by_key_head(weights, K), V.unsqueeze(-3)).reshape(shape[:-1] + V.shape[-1:])
    return result, (scaled, capped, biased, weights)


def bias_of(mask, keys, like):
    """A mask of bools or numbers as what is added to scores; keys behind its last one are not seen."""
    if mask is None:
        return like.new_zeros(())
    bias = torch.zeros(mask.shape, dtype=like.dtype, device=like.device)
    bias = bias.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else bias + mask
    return F.pad(bias, (0, keys - bias.shape[-1]), value=-math.inf) if 1 < bias.shape[-1] < keys else bias


def places_of(Q, K):
    """The positions of queries, as a column, and of keys, as a row."""
    return torch.arange(Q.shape[-2], device=Q.device).unsqueeze(1), torch.arange(K.shape[-2], device=Q.device)


def attention(Q, K, V, attn_mask, past_key, past_value, nonpad_kv_seqlen, is_causal, kv_num_heads, q_num_heads,
              qk_matmul_output_mode, scale, softcap):
    flat = Q.dim() == 3
    if flat:
        Q, K, V = split_heads(Q, q_num_heads), split_heads(K, kv_num_heads), split_heads(V, kv_num_heads)
    if past_key is not None:
        K, V = torch.cat([past_key, K], 2), torch.cat([past_value, V], 2)
    bias = bias_of(attn_mask, K.shape[2], Q)
    queries, keys = places_of(Q, K)
    before = 0 if past_key is None else past_key.shape[2]
    if nonpad_kv_seqlen is not None:
        lengths = nonpad_kv_seqlen.reshape(-1, 1, 1, 1)
        bias = bias.where(keys < lengths, bias.new_tensor(-math.inf))
        before = before if past_key is not None else lengths - Q.shape[2]
    if is_causal:
        bias = bias.where(keys <= queries + before, bias.new_tensor(-math.inf))
    result, stages = attend(Q, K, V, bias, scale, softcap)
    return join_heads(result) if flat else result, K, V, stages[qk_matmul_output_mode or 0]


def flex_attention(Q, K, V, scale): return attend(Q, K, V, None, scale)[0]


def padding_bias(mask, batch, queries, keys, past, filter):
    """The number added to the scores of keys that are padding, by lengths [batch], lengths and first positions
    [2 batch], lengths with sums [3 batch + 2], or tables that are 0 at padding."""
    if mask is None:
        return 0
    places = torch.arange(keys, device=mask.device)
    if mask.dim() == 1:
        padding = places >= mask[:batch].unsqueeze(1)
        if len(mask) == 2 * batch:
            padding = padding | (places < mask[batch:].unsqueeze(1))
        padding = padding[:, None, None]
    else:
        padding = F.pad(mask == 0, (0, max(keys - mask.shape[-1], 0)), value=True)[..., :keys]
        if mask.dim() == 4:
            padding = padding[:, :, past:past + queries]
        else:
            padding = padding[:, None, None] if mask.dim() == 2 else padding[:, None]
    return padding * filter


def placed(past, current, begins, length):
    """A cache of a length: the first `begins` positions of the past, then the current ones; zeros elsewhere."""
    places = torch.arange(length, device=current.device).unsqueeze(0)
    begins = begins.reshape(-1, 1).expand(current.shape[0], 1)
    if past is None:
        past = current.new_zeros(current.shape[:2] + (1,) + current.shape[3:])
        kept = torch.zeros_like(places < begins)
    else:
        kept = places < begins

    def at(x, index):
        index = index.clamp(0, x.shape[2] - 1).expand(len(x), length)
        return x.gather(2, index[:, None, :, None].expand(x.shape[:2] + (length, x.shape[3])))

    inside = (places >= begins) & (places < begins + current.shape[2])
    kept, inside = (one[:, None, :, None].expand(current.shape[:1] + (1, length, 1)) for one in (kept, inside))
    return torch.where(inside, at(current, places - begins), torch.where(kept, at(past, places), current.new_zeros(())))


def attend_cached(Q, K, V, past_key, past_value, length, mask, attention_bias, filter, unidirectional, scale):
    """Results, keys, values and biased scores. `length`: of the past within a buffer that comes in and goes out."""
    buffer = 0 if past_key is None else past_key.shape[2]
    past, count = buffer if length is None else length, K.shape[2]
    if length is not None:
        begins = torch.full((1,), past, device=K.device)
        K, V = placed(past_key, K, begins, buffer), placed(past_value, V, begins, buffer)
    elif buffer:
        K, V = torch.cat([past_key, K], 2), torch.cat([past_value, V], 2)
    bias = bias_of(attention_bias, K.shape[2], Q)
    bias = bias + padding_bias(mask, len(Q), Q.shape[2], K.shape[2], past, filter)
    queries, keys = places_of(Q, K)
    seen = keys < past + count
    if unidirectional:
        seen = seen & (keys <= past + queries)
    result, stages = attend(Q, K, V, bias.where(seen, bias.new_tensor(-math.inf)), scale)
    return result, K, V, stages[2]


def heads_of(query, key, value, bias, num_heads, total_heads, offsets):
    """Queries, keys and values as [b, heads, s, d], of operands that are apart, or packed with total_heads heads."""
    total, first = total_heads or num_heads, begin_of(offsets[0]) if offsets else 0
    if key is None and query.dim() == 3:
        parts = query.unflatten(-1, (3, total, -1))[:, :, :, first:first + num_heads].unbind(2)
        parts = [part.transpose(1, 2) for part in parts]
    elif key is None:
        parts = [part.transpose(1, 2) for part in query.unbind(3)]
    elif key.dim() == 5:
        parts = [split_heads(query, num_heads)] + [part.transpose(1, 2) for part in key.unbind(3)]
    elif key.dim() == 4:
        parts = [split_heads(query, num_heads), key, value]
    else:
        parts = [split_heads(part, num_heads) for part in (query, key, value)]
    if bias is None:
        return parts
    size, value_size = parts[0].shape[-1], parts[2].shape[-1]
    biases = bias.split([total * size, total * size, total * value_size])
    biases = [one.reshape(total, 1, -1)[first:first + num_heads] for one in biases]
    # Keys and values that come head by head have theirs already.
    added = 1 if key is not None and key.dim() == 4 else 3
    return [part + one if index < added else part for index, (part, one) in enumerate(zip(parts, biases))]


def multi_head_attention(query, key, value, bias, key_padding_mask, attention_bias, past_key, past_value,
                         past_sequence_length, mask_filter_value, num_heads, scale, unidirectional, offsets: ints,
                         total_heads):
    Q, K, V = heads_of(query, key, value, bias, num_heads, total_heads, offsets)
    length = None if past_sequence_length is None or past_key is None else int(past_sequence_length)
    filter = -10000.0 if mask_filter_value is None else mask_filter_value
    result, K, V, scores = attend_cached(Q, K, V, past_key, past_value, length, key_padding_mask, attention_bias,
                                         filter, unidirectional, scale)
    return join_heads(result), K, V, scores


def decoder_masked_multi_head_attention(query, key, value, mask_index, attention_bias, past_key, past_value,
                                        past_sequence_length, bias, mask_filter_value, num_heads, scale, offsets: ints,
                                        total_heads):
    return multi_head_attention(query, key, value, bias, mask_index, attention_bias, past_key, past_value,
                                past_sequence_length, mask_filter_value, num_heads, scale, 0, offsets, total_heads)


def projected_attention(input, weights, bias, mask_index, past, attention_bias, past_sequence_length, do_rotary,
                        mask_filter_value, num_heads, past_present_share_buffer, qkv_hidden_sizes, scale,
                        unidirectional, offsets: ints, total_heads):
    if do_rotary:
        raise NotImplementedError("rotation inside the projection of an attention")
    total, first = total_heads or num_heads, begin_of(offsets[0]) if offsets else 0
    projected = torch.matmul(input, weights)
    projected = projected if bias is None else projected + bias
    sizes = qkv_hidden_sizes or [weights.shape[1] // 3] * 3
    Q, K, V = (split_heads(part, total)[:, first:first + num_heads] for part in projected.split(sizes, -1))
    past_key, past_value = (None, None) if past is None else past
    shares = past_present_share_buffer and past is not None and past_sequence_length is not None
    filter = -10000.0 if mask_filter_value is None else mask_filter_value
    result, K, V, _ = attend_cached(Q, K, V, past_key, past_value, int(past_sequence_length) if shares else None,
                                    mask_index, attention_bias, filter, unidirectional, scale)
    return join_heads(result), torch.stack([K, V]) if K.shape == V.shape else None


def rotated(x, cos, sin, interleaved):
    """[b, heads, s, d] with pairs of the first elements of each head turned by angles [b or 1, s, pairs]."""
    cos, sin, pairs = cos.unsqueeze(1), sin.unsqueeze(1), cos.shape[-1]
    turned, rest = x[..., :2 * pairs], x[..., 2 * pairs:]
    if interleaved:
        first, second = turned[..., ::2], turned[..., 1::2]
        turned = torch.stack([first * cos - second * sin, first * sin + second * cos], -1).flatten(-2)
    else:
        first, second = turned.split(pairs, -1)
        turned = torch.cat([first * cos - second * sin, first * sin + second * cos], -1)
    return torch.cat([turned, rest], -1)


def angles_at(table, places, still):
    """The rows of a table at places; `still` (1 for cosines, 0 for sines) where there is no such row."""
    here = (places >= 0) & (places < len(table))
    return F.embedding(places.clamp(0, len(table) - 1), table).masked_fill(~here.unsqueeze(-1), still)


def rotary_embedding(X, cos_cache, sin_cache, position_ids, interleaved, num_heads):
    heads = X if X.dim() == 4 else split_heads(X, num_heads)
    if position_ids is not None:
        cos_cache, sin_cache = angles_at(cos_cache, position_ids, 1), angles_at(sin_cache, position_ids, 0)
    result = rotated(heads, cos_cache, sin_cache, interleaved)
    return result if X.dim() == 4 else join_heads(result)


def ms_rotary_embedding(input, position_ids, cos_cache, sin_cache, interleaved, num_heads, scale):
    if scale is not None and scale != 1:
        raise NotImplementedError("rotary embedding with a scale, whose schema does not say what it scales")
    places = position_ids
    if position_ids.dim() < 2:
        count = input.shape[-2 if input.dim() == 4 else 1]
        places = position_ids.reshape(1, 1) + torch.arange(count, device=input.device)
    heads = num_heads or input.shape[-1] // (2 * cos_cache.shape[-1])
    return rotary_embedding(input, cos_cache, sin_cache, places, interleaved, heads)


def group_query_heads(query, key, value, num_heads, kv_num_heads, total_heads, total_kv_heads, offsets):
    """The heads of this piece, out of operands that are apart or packed as queries | keys | values."""
    if key is not None:
        return split_heads(query, num_heads), split_heads(key, kv_num_heads), split_heads(value, kv_num_heads)
    total, total_keys = total_heads or num_heads, total_kv_heads or kv_num_heads
    first = begin_of(offsets[0]) if offsets else 0
    Q, K, V = split_heads(query, total + 2 * total_keys).split([total, total_keys, total_keys], 1)
    keys = slice(first // (total // total_keys), first // (total // total_keys) + kv_num_heads)
    return Q[:, first:first + num_heads], K[:, keys], V[:, keys]


def group_query_places(query, seqlens_k, total):
    """Where the new positions of each batch element begin, and where its keys end."""
    positions, lengths = query.shape[1], torch.full((len(query), 1, 1, 1), total, device=query.device)
    ends = lengths if seqlens_k is None else (seqlens_k.reshape(-1, 1, 1, 1) + 1).expand(lengths.shape)
    # A first call has no past, though its sequences may be shorter than its positions.
    begins = torch.zeros_like(ends) if total == positions else (ends - positions).clamp(min=0)
    return begins, ends


def group_query_attention(query, key, value, past_key, past_value, seqlens_k, total_sequence_length: ints, cos_cache,
                          sin_cache, position_ids, attention_bias, head_sink, q_norm_weight, k_norm_weight, causal,
                          do_rotary, kv_num_heads, local_window_size, num_heads, qk_norm_epsilon, qk_output,
                          rotary_interleaved, scale, sliding_window_cache, smooth_softmax, softcap, offsets: ints,
                          total_heads, total_kv_heads):
    if sliding_window_cache or (past_key is not None and past_key.dtype != query.dtype):
        raise NotImplementedError("group query attention with a cache that slides or is quantised")
    Q, K, V = group_query_heads(query, key, value, num_heads, kv_num_heads, total_heads, total_kv_heads, offsets)
    past = 0 if past_key is None else past_key.shape[2]
    total = past + K.shape[2]
    if total_sequence_length is not None:
        total = int(total_sequence_length[0] if isinstance(total_sequence_length, list) else total_sequence_length)
    begins, ends = group_query_places(query, seqlens_k, total)
    epsilon = 1e-6 if qk_norm_epsilon is None else qk_norm_epsilon
    Q = Q if q_norm_weight is None else row_moments(Q, -1, epsilon, False)[0] * q_norm_weight
    K = K if k_norm_weight is None else row_moments(K, -1, epsilon, False)[0] * k_norm_weight
    queries = torch.arange(Q.shape[2], device=Q.device).unsqueeze(1)
    if do_rotary:
        places = (begins + queries)[:, 0, :, 0] if position_ids is None else position_ids
        angles = angles_at(cos_cache, places, 1), angles_at(sin_cache, places, 0)
        Q, K = rotated(Q, *angles, rotary_interleaved), rotated(K, *angles, rotary_interleaved)
    K, V = placed(past_key, K, begins, max(total, past)), placed(past_value, V, begins, max(total, past))
    keys = torch.arange(K.shape[2], device=Q.device)
    seen = keys <= begins + queries if causal else keys < ends
    if causal and local_window_size > 0:
        seen = seen & (keys > begins + queries - local_window_size)
    bias = bias_of(attention_bias, K.shape[2], Q)
    sink = head_sink if head_sink is not None or not smooth_softmax else Q.new_zeros(Q.shape[1])
    result, stages = attend(Q, K, V, bias.where(seen, bias.new_tensor(-math.inf)), scale, softcap, sink)
    return join_heads(result), K, V, stages[3 if qk_output == 2 else 2][..., :total]
