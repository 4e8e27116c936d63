"""Indexing in PyTorch."""


def wrapped(indices, size):
    return torch.where(indices < 0, indices + size, indices)


def gather(data, indices, axis, offsets: ints = [], size=None):
    place = wrapped(indices, size or data.shape[axis]).long()
    if not offsets:
        return data.index_select(axis, place.reshape(-1)).reshape(
            data.shape[:axis % data.dim()] + indices.shape + data.shape[axis % data.dim() + 1:])
    begin = offsets[0][0] if isinstance(offsets[0], (list, tuple)) else offsets[0]
    place = place - begin
    here = (place >= 0) & (place < data.shape[axis])
    dim = axis % data.dim()
    rows = data.index_select(dim, place.clamp(0, data.shape[dim] - 1).reshape(-1))
    rows = rows * here.reshape([-1 if other == dim else 1 for other in range(data.dim())])
    return rows.reshape(data.shape[:dim] + indices.shape + data.shape[dim + 1:])


def gather_grad(dY, indices, shape, axis, offsets: ints = [], size=None):
    dim = axis % len(shape)
    place = wrapped(indices, size or shape[dim]).long().reshape(-1)
    slices = dY.reshape(list(shape[:dim]) + [-1] + list(shape[dim + 1:]))
    if offsets:
        begin = offsets[0][0] if isinstance(offsets[0], (list, tuple)) else offsets[0]
        place = place - begin
        here = (place >= 0) & (place < shape[dim])
        slices = slices * here.reshape([-1 if other == dim else 1 for other in range(len(shape))])
        place = place.clamp(0, shape[dim] - 1)
    return dY.new_zeros(shape).index_add_(dim, place, slices)


def gather_elements(data, indices, axis): return data.gather(axis, wrapped(indices, data.shape[axis]).long())


def one_hot(indices, values, axis, dims, dtype):
    dim = axis % len(dims)
    place = wrapped(indices.long(), dims[dim]).unsqueeze(dim)
    classes = torch.arange(dims[dim], device=indices.device).reshape([-1 if d == dim else 1 for d in range(len(dims))])
    return torch.where(place == classes, values[1], values[0]).to(dtype)


def trilu(input, k: ints, upper):
    diagonal = 0 if k is None else int(k[0] if isinstance(k, list) else k)
    return input.triu(diagonal) if upper else input.tril(diagonal)


def tuple_index(indices, sizes, batch_dims):
    """The index that tuples of indices stand for, of tensors beside the first dims, which count themselves."""
    index = []
    for dim in range(batch_dims):
        shape = [-1 if other == dim else 1 for other in range(indices.dim() - 1)]
        index.append(torch.arange(indices.shape[dim], device=indices.device).reshape(shape))
    return tuple(index + [wrapped(one, size) for one, size in zip(indices.long().unbind(-1), sizes[batch_dims:])])


def gather_nd(data, indices, batch_dims): return data[tuple_index(indices, data.shape, batch_dims)]


def gather_nd_grad(dY, indices, shape, batch_dims):
    index = torch.broadcast_tensors(*tuple_index(indices, shape, batch_dims))
    return dY.new_zeros(shape).index_put_(index, dY, accumulate=True)


def reduction_name(reduction):
    """The name that PyTorch has for a reduction of updates."""
    return {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}[reduction]


def scatter_elements(data, indices, updates, axis, reduction):
    place = wrapped(indices, data.shape[axis]).long()
    if reduction == "none":
        return data.scatter(axis, place, updates)
    return data.scatter_reduce(axis, place, updates, reduction_name(reduction))


def scatter_nd(data, indices, updates, reduction):
    count = indices.shape[-1]
    place = torch.zeros(indices.shape[:-1], dtype=torch.int64, device=data.device)
    for one, size in zip(indices.long().unbind(-1), data.shape):
        place = place * size + wrapped(one, size)
    slices = data.reshape((math.prod(data.shape[:count]), -1))
    place, rows = place.reshape(-1), updates.reshape(place.numel(), slices.shape[1])
    if reduction == "none":
        return slices.index_copy(0, place, rows).reshape(data.shape)
    place = place.unsqueeze(1).expand(rows.shape)
    return slices.scatter_reduce(0, place, rows, reduction_name(reduction)).reshape(data.shape)


def tensor_scatter(past_cache, update, write_indices, axis, mode):
    cache, rows = past_cache.movedim(axis, 1), update.movedim(axis, 1)
    places = torch.arange(rows.shape[1], device=rows.device).expand(rows.shape[:2])
    if write_indices is not None:
        places = places + write_indices.unsqueeze(1)
    if mode == "circular":
        places = places % cache.shape[1]
    batch = torch.arange(len(rows), device=rows.device).unsqueeze(1)
    return cache.index_put((batch, places), rows).movedim(1, axis)


def counted(x, dim, count):
    """`count` slices along `dim`: those behind are cut off, missing ones are zeros; all where no number is given."""
    if count is None or x.shape[dim] == count:
        return x
    kept = x.narrow(dim, 0, min(count, x.shape[dim]))
    missing = list(kept.shape)
    missing[dim] = count - kept.shape[dim]
    return torch.cat([kept, kept.new_zeros(missing)], dim)


def compress(input, condition, axis, bound):
    x = input.reshape(-1) if axis is None else input
    places = condition.nonzero().squeeze(1)
    dim = 0 if axis is None else axis
    return counted(x.index_select(dim, places[places < x.shape[dim]]), dim, bound)


def non_zero(X, bound): return counted(X.nonzero().t(), 1, bound)


def unique(X, axis, sorted, bound):
    slices = X.reshape(-1) if axis is None else X
    dim = 0 if axis is None else axis % X.dim()
    values, inverse, counts = torch.unique(slices, sorted=True, return_inverse=True, return_counts=True, dim=dim)
    places = torch.arange(inverse.numel(), device=X.device)
    first = torch.full_like(counts, inverse.numel()).scatter_reduce(0, inverse, places, "amin")
    if not sorted:
        order = first.argsort()
        values, first, counts = values.index_select(dim, order), first[order], counts[order]
        inverse = order.argsort()[inverse]
    return counted(values, dim, bound), counted(first, 0, bound), inverse, counted(counts, 0, bound)


def corners(boxes, center_point_box):
    """The least and the greatest corner of each box: two tensors of [boxes, 2]."""
    if center_point_box:
        middle, half = boxes[:, :2], boxes[:, 2:] / 2
        return middle - half, middle + half
    return torch.minimum(boxes[:, :2], boxes[:, 2:]), torch.maximum(boxes[:, :2], boxes[:, 2:])


def kept_boxes(low, high, scores, most, overlap, least):
    """The places of the boxes of one class by falling score, without those that overlap a better one."""
    area, kept = (high - low).prod(-1), []
    for place in scores.argsort(descending=True, stable=True).tolist():
        if len(kept) >= most:
            break
        if least is not None and scores[place] <= least:
            continue
        other = torch.tensor(kept, dtype=torch.long, device=scores.device)
        common = (torch.minimum(high[place], high[other]) - torch.maximum(low[place], low[other])).clamp(min=0).prod(-1)
        union = area[place] + area[other] - common
        taken = (area[place] > 0) & (area[other] > 0) & (common > overlap * union) & (common > 0)
        if not taken.any():
            kept.append(place)
    return kept


def non_max_suppression(boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold, center_point_box,
                        bound):
    most = 0 if max_output_boxes_per_class is None else int(max_output_boxes_per_class)
    overlap = 0.0 if iou_threshold is None else float(iou_threshold)
    least = None if score_threshold is None else float(score_threshold)
    rows = []
    for batch in range(scores.shape[0]):
        low, high = corners(boxes[batch], center_point_box)
        for index in range(scores.shape[1]):
            rows += [[batch, index, place]
                     for place in kept_boxes(low, high, scores[batch, index], most, overlap, least)]
    return counted(torch.tensor(rows, dtype=torch.int64, device=boxes.device).reshape(-1, 3), 0, bound)


def array_feature_extractor(X, Y): return X.index_select(-1, Y.reshape(-1))


def tf_idf_vectorizer(X, max_gram_length, max_skip_count, min_gram_length, mode, ngram_counts, ngram_indexes,
                      pool_int64s, weights, dims):
    """How often each n-gram of a pool is in each row; its numbers are 1 to max_skip_count + 1 apart, all equally."""
    rows, number = X.reshape(-1, X.shape[-1]), 0
    result = torch.zeros(len(rows), dims[-1], device=X.device)
    ends = ngram_counts[1:] + [len(pool_int64s)]
    for length, (begin, end) in enumerate(zip(ngram_counts, ends), start=1):
        grams = torch.tensor(pool_int64s[begin:end], dtype=torch.int64, device=X.device).reshape(-1, length)
        own = slice(number, number + len(grams))
        number += len(grams)
        counts = torch.zeros(len(rows), len(grams), device=X.device)
        for step in range(1, max_skip_count + 2 if length > 1 else 2):
            windows = X.shape[-1] - step * (length - 1)
            if min_gram_length <= length <= max_gram_length and windows > 0:
                places = torch.arange(windows).unsqueeze(1) + step * torch.arange(length)
                counts += (rows[:, places.to(X.device)].unsqueeze(2) == grams).all(-1).sum(1)
        if mode == "IDF":
            counts = (counts > 0).float()
        if mode != "TF" and weights:
            counts = counts * torch.tensor(weights[own], device=X.device)
        result.index_add_(1, torch.tensor(ngram_indexes[own], dtype=torch.int64, device=X.device), counts)
    return result.reshape(dims)


def label_encoder(X, default_float, default_int64, default_tensor, keys_floats, keys_int64s, keys_tensor, values_floats,
                  values_int64s, values_tensor, dtype, is_float):
    """The value beside the first key that an element equals; NaN equals NaN."""
    keys = next(keys for keys in (keys_floats, keys_int64s, keys_tensor) if keys is not None)
    values = next(values for values in (values_floats, values_int64s, values_tensor) if values is not None)
    table = dict(reversed(list(zip(keys, values))))
    known = sorted(key for key in table if key == key)
    unknown = (default_float if is_float else default_int64) if default_tensor is None else default_tensor
    result = torch.tensor(unknown, dtype=dtype, device=X.device).reshape(()).expand(X.shape)
    if known:
        ordered = torch.tensor(known, dtype=X.dtype, device=X.device)
        beside = torch.tensor([table[key] for key in known], dtype=dtype, device=X.device)
        place = torch.searchsorted(ordered, X.contiguous()).clamp(max=len(known) - 1)
        result = torch.where(ordered[place] == X, beside[place], result)
    for value in [value for key, value in table.items() if key != key][-1:]:
        result = torch.where(X.isnan(), torch.tensor(value, dtype=dtype, device=X.device), result)
    return result


def holds(value, node, modes, splits, membership_values):
    """Whether the tests `node` hold for `value`, in the order of their modes; sets of numbers end with NaN."""
    split, number = splits[node], 0
    found = torch.stack([value <= split, value < split, value >= split, value > split, value == split, value != split,
                         torch.zeros_like(value, dtype=torch.bool)])
    for place in (modes == 6).nonzero().flatten().tolist():
        members = []
        while number < len(membership_values) and membership_values[number] == membership_values[number]:
            members.append(membership_values[number])
            number += 1
        number += 1
        found[6] |= (node == place) & torch.isin(value, value.new_tensor(members))
    return found.gather(0, modes[node].unsqueeze(0)).squeeze(0)


def leaves_of(X, membership_values, nodes_falseleafs, nodes_falsenodeids, nodes_featureids,
              nodes_missing_value_tracks_true, nodes_modes, nodes_splits, nodes_trueleafs, nodes_truenodeids,
              tree_roots):
    """The leaf of each tree that each row comes to, all rows stepping down all trees at once."""
    count, whole = len(nodes_modes), dict(dtype=torch.int64, device=X.device)
    features, modes = torch.tensor(nodes_featureids, **whole), torch.tensor(nodes_modes, **whole)
    children = torch.tensor([[place + is_leaf * count for place, is_leaf in zip(nodes_falsenodeids, nodes_falseleafs)],
                             [place + is_leaf * count for place, is_leaf in zip(nodes_truenodeids, nodes_trueleafs)]],
                            **whole)
    missing = torch.tensor(nodes_missing_value_tracks_true or [0] * count, **whole).bool()
    splits, at = X.new_tensor(nodes_splits), torch.tensor(tree_roots, **whole).expand(X.shape[0], -1)
    while bool((at < count).any()):
        node = at.clamp(max=count - 1)
        value = X.gather(1, features[node])
        goes = holds(value, node, modes, splits, membership_values) | value.isnan() & missing[node]
        at = torch.where(at < count, children[goes.long(), node], at)
    return at - count


def tree_ensemble(X, aggregate_function, leaf_targetids, leaf_weights, membership_values, n_targets, nodes_falseleafs,
                  nodes_falsenodeids, nodes_featureids, nodes_missing_value_tracks_true, nodes_modes, nodes_splits,
                  nodes_trueleafs, nodes_truenodeids, post_transform, tree_roots, leaf_begins):
    """The weights of the leaves that a row comes to, put together target by target; leaves without some add nothing."""
    leaf = leaves_of(X, membership_values, nodes_falseleafs, nodes_falsenodeids, nodes_featureids,
                     nodes_missing_value_tracks_true, nodes_modes, nodes_splits, nodes_trueleafs, nodes_truenodeids,
                     tree_roots)
    begins = list(range(len(leaf_weights))) if leaf_begins is None else leaf_begins
    spans = list(zip(begins, begins[1:] + [len(leaf_weights)]))
    most = max(end - begin for begin, end in spans)
    nothing = [0.0, 0.0, float("inf"), -float("inf")][aggregate_function]
    filled = [list(range(begin, end)) + [len(leaf_weights)] * (most - end + begin) for begin, end in spans]
    votes = torch.tensor(filled, device=X.device)[leaf].flatten(1)
    targets = torch.tensor(leaf_targetids + [0], device=X.device)[votes]
    weights = X.new_tensor(leaf_weights + [nothing])[votes]
    scores = X.new_full((X.shape[0], n_targets or 1), nothing)
    if aggregate_function > 1:
        scores = scores.scatter_reduce(1, targets, weights, "amin" if aggregate_function == 2 else "amax")
    else:
        scores = scores.scatter_add(1, targets, weights)
    if aggregate_function == 0:
        scores = scores / len(tree_roots)
    scores = torch.where(scores.isinf() & (nothing != 0), torch.zeros_like(scores), scores)
    if post_transform == 3:
        shares = torch.where(scores.abs() > 1e-7, (scores - scores.amax(-1, keepdim=True)).exp(), 0 * scores)
        return shares / shares.sum(-1, keepdim=True).clamp(min=torch.finfo(X.dtype).tiny)
    return [lambda x: x, lambda x: x.softmax(-1), torch.sigmoid, None, torch.special.ndtri][post_transform](scores)
