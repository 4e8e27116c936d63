"""Mixtures of experts and operators with states, in PyTorch."""


def activated(x, name, alpha=None, beta=None, gamma=None):
    """An activation by the name that operators with an activation inside give it."""
    def given(value, otherwise):
        return otherwise if value is None else value

    activations = {
        "": lambda: x, "none": lambda: x, "identity": lambda: x,
        "relu": lambda: F.relu(x), "tanh": lambda: torch.tanh(x), "sigmoid": lambda: torch.sigmoid(x),
        "silu": lambda: F.silu(x), "swish": lambda: F.silu(x), "gelu": lambda: F.gelu(x),
        "fastgelu": lambda: F.gelu(x, approximate="tanh"), "softplus": lambda: F.softplus(x),
        "softsign": lambda: F.softsign(x), "leakyrelu": lambda: F.leaky_relu(x, given(alpha, 0.01)),
        "thresholdedrelu": lambda: x * (x > given(alpha, 1)),
        "scaledtanh": lambda: given(alpha, 1) * torch.tanh(given(beta, 1) * x),
        "hardsigmoid": lambda: (given(alpha, 0.2) * x + given(beta, 0.5)).clamp(0, 1),
        "elu": lambda: torch.where(x > 0, x, given(alpha, 1) * torch.expm1(x)),
        "selu": lambda: given(gamma, 1.0507010221481323) * torch.where(
            x > 0, x, given(alpha, 1.6732631921768188) * torch.expm1(x)),
        "affine": lambda: given(alpha, 1) * x + given(beta, 0), "clip": lambda: x.clamp(alpha, beta),
    }
    return activations[name.lower()]()


def swiglu(a, b, alpha): return a * torch.sigmoid(alpha * a) * b


def routes_of(scores, k, normalizes, given=None):
    """[tokens, experts]: the share of each of the k experts that a token visits, 0 for the others."""
    best = scores.sort(dim=1, descending=True, stable=True)[1][:, :k]
    shares = (scores.softmax(1) if given is None else given).gather(1, best)
    if normalizes:
        total = shares.sum(1, keepdim=True)
        shares = torch.where(total == 0, shares, shares / total)
    return torch.zeros_like(scores).scatter(1, best, shares)


def inner_of(hidden, other, activation_type, alpha, beta, limit, fusion):
    """The elements between the layers of an expert: activated, times those of the third layer where there is one."""
    if activation_type != "swiglu":
        inner = activated(hidden, "fastgelu" if activation_type == "gelu" else activation_type)
        return inner if other is None else inner * other
    gate, value = hidden, torch.ones_like(hidden) if other is None else other
    if fusion:
        gate, value = hidden.chunk(2, -1) if fusion == 2 else (hidden[..., ::2], hidden[..., 1::2])
    limit = math.inf if limit is None else limit
    alpha, beta, gate = 1 if alpha is None else alpha, beta or 0, gate.clamp(max=limit)
    return gate * torch.sigmoid(alpha * gate) * (value.clamp(-limit, limit) + beta)


def layer_of(x, weights, bias, expert, inputs_first):
    result = torch.matmul(x, weights[expert] if inputs_first else weights[expert].T)
    return result if bias is None else result + bias[expert]


def are_inputs_first(first, second, hidden, fused, inputs_first, offsets):
    """The order of the dims of weights, which their shapes say where they are whole."""
    if inputs_first or offsets:
        return bool(inputs_first)
    outputs = first.shape[2] == hidden and second.shape[1] == hidden and first.shape[1] == fused * second.shape[2]
    inputs = first.shape[1] == hidden and second.shape[2] == hidden and first.shape[2] == fused * second.shape[1]
    return inputs and not outputs


def moe(input, router_probs, fc1_experts_weights, fc1_experts_bias, fc2_experts_weights, fc2_experts_bias,
        fc3_experts_weights, fc3_experts_bias, activation_alpha, activation_beta, activation_type, k,
        normalize_routing_weights, swiglu_fusion, swiglu_limit, use_sparse_mixer, offsets: ints, inputs_first, dims):
    if use_sparse_mixer:
        raise NotImplementedError("mixtures of experts with sparse mixing")
    fused = 2 if activation_type == "swiglu" and swiglu_fusion else 1
    turned = are_inputs_first(fc1_experts_weights, fc2_experts_weights, input.shape[-1], fused, inputs_first, offsets)
    layers = [(fc1_experts_weights, fc1_experts_bias), (fc2_experts_weights, fc2_experts_bias),
              (fc3_experts_weights, fc3_experts_bias)]
    routes = routes_of(router_probs, k, normalize_routing_weights)
    activation = activation_type, activation_alpha, activation_beta, swiglu_limit, swiglu_fusion
    return visited(input, routes, layers, turned, activation, offsets, dims)


def visited(input, routes, layers, inputs_first, activation, offsets, dims):
    """The experts that each token visits, weighted. On a piece offsets are its first expert and its first inner
    element, where the second bias is added."""
    first_expert, first_inner = [begin_of(offset) for offset in offsets] or (0, 0)
    (first, first_bias), (second, second_bias), (third, third_bias) = layers
    tokens = input.flatten(0, -2)
    result = torch.zeros((len(tokens), dims[-1]), dtype=input.dtype, device=input.device)
    for expert in range(min(len(first), routes.shape[1] - first_expert)):
        share = routes[:, first_expert + expert]
        visitors = share.nonzero().squeeze(1)
        x = tokens[visitors]
        hidden = layer_of(x, first, first_bias, expert, inputs_first)
        other = None if third is None else layer_of(x, third, third_bias, expert, inputs_first)
        inner = inner_of(hidden, other, *activation)
        y = layer_of(inner, second, None if first_inner else second_bias, expert, inputs_first)
        result.index_add_(0, visitors, share[visitors].unsqueeze(1) * y)
    return result.reshape(dims)


def unpacked_layer(weights, scales, zero_points, bits, block_size):
    """Weights [experts, rows, bytes] as numbers, with a scale and a zero point for each row or each block of it."""
    experts, rows, size = weights.shape
    columns = size * 8 // bits
    count = -(-columns // block_size) if block_size else 1
    scales = torch.ones(experts * rows * count, device=weights.device) if scales is None else scales
    zeros = None if zero_points is None else zero_points.reshape(experts, rows, -1)
    return unpack_weights(weights, scales.reshape(experts, rows, count), zeros, None, bits, block_size, columns)


def qmoe(input, router_probs, fc1_experts_weights, fc1_scales, fc1_experts_bias, fc2_experts_weights, fc2_scales,
         fc2_experts_bias, fc3_experts_weights, fc3_scales, fc3_experts_bias, fc1_zero_points, fc2_zero_points,
         fc3_zero_points, router_weights, fc1_global_scale, fc2_global_scale, fc1_act_scale, fc2_act_scale,
         activation_alpha, activation_beta, activation_type, block_size, expert_weight_bits, k,
         normalize_routing_weights, quant_type, swiglu_fusion, swiglu_limit, use_sparse_mixer, weights_prepacked,
         offsets: ints, inputs_first, dims, dtype):
    scaled = [scale is not None for scale in (fc1_global_scale, fc2_global_scale, fc1_act_scale, fc2_act_scale)]
    if use_sparse_mixer or weights_prepacked == 1 or quant_type != "int" or inputs_first or any(scaled):
        raise NotImplementedError("experts with weights in the order of one device, or scaled otherwise than by rows")
    layers = []
    for weights, scales, zero_points, bias in [
            (fc1_experts_weights, fc1_scales, fc1_zero_points, fc1_experts_bias),
            (fc2_experts_weights, fc2_scales, fc2_zero_points, fc2_experts_bias),
            (fc3_experts_weights, fc3_scales, fc3_zero_points, fc3_experts_bias)]:
        unpacked_weights = None
        if weights is not None:
            unpacked_weights = unpacked_layer(weights, scales, zero_points, expert_weight_bits, block_size).to(dtype)
        layers.append((unpacked_weights, bias))
    routes = routes_of(router_probs, k, normalize_routing_weights, router_weights)
    activation = activation_type, activation_alpha, activation_beta, swiglu_limit, swiglu_fusion
    return visited(input, routes, layers, False, activation, offsets, dims)


def linear_attention(query, key, value, past_state, decay, beta, kv_num_heads, q_num_heads, scale, update_rule):
    """S <- exp(decay) S; v <- beta (v - S' k) under a delta rule; S <- S + k v'; result: scale S' q."""
    Q, K, V = split_heads(query, q_num_heads), split_heads(key, kv_num_heads), split_heads(value, kv_num_heads)
    state = K.new_zeros(K.shape[:2] + (K.shape[3], V.shape[3])) if past_state is None else past_state
    dtype, scale, steps = state.dtype, scale or 1 / math.sqrt(K.shape[3]), []
    queries_of_key, keys_of_query = max(q_num_heads // kv_num_heads, 1), max(kv_num_heads // q_num_heads, 1)
    for position in range(K.shape[2]):
        k, v, q = K[:, :, position], V[:, :, position], Q[:, :, position].repeat_interleave(keys_of_query, 1)
        if decay is not None:
            gate = decay[:, position]
            gate = gate.reshape(len(gate), kv_num_heads, -1) if gate.shape[1] > 1 else gate.unsqueeze(2)
            state = state * gate.exp().unsqueeze(3)
        if "delta" in update_rule:
            v = v - torch.matmul(k.unsqueeze(2), state).squeeze(2)
            if beta is not None:
                size = max(beta.shape[2] // kv_num_heads, 1)
                v = v * beta[:, position].reshape(len(v), -1, size)[..., :1]
        state = state + k.unsqueeze(3) * v.unsqueeze(2)
        asked = state.repeat_interleave(queries_of_key, 1)
        steps.append(scale * torch.matmul(q.unsqueeze(2), asked).squeeze(2))
    return join_heads(torch.stack(steps, 2)).to(query.dtype), state.to(dtype)


def linear_attention_grad(query, key, value, past_state, decay, beta, dY, dState, delta, scale):
    """By going back through the positions, for heads [b, t, key heads, heads of one, size] that share nothing."""
    if past_state is None:
        past_state = key.new_zeros(key.shape[:1] + key.shape[2:] + value.shape[-1:])
    with torch.enable_grad():
        given = [None if one is None else one.detach().clone().requires_grad_()
                 for one in (query, key, value, past_state, decay, beta)]
        Q, K, V, state, rate, gate = given
        steps = []
        for position in range(K.shape[1]):
            k, v = K[:, position], V[:, position]
            if rate is not None:
                state = state * rate[:, position].exp().unsqueeze(-1)
            if delta:
                v = v - torch.matmul(k.unsqueeze(-2), state).squeeze(-2)
                v = v if gate is None else v * gate[:, position]
            state = state + k.unsqueeze(-1) * v.unsqueeze(-2)
            steps.append(scale * torch.matmul(Q[:, position].unsqueeze(-2), state).squeeze(-2))
        pairs = [(one, arriving.to(one.dtype)) for one, arriving in ((torch.stack(steps, 1), dY), (state, dState))
                 if arriving is not None]
        leaves = [one for one in given if one is not None]
        found = iter(torch.autograd.grad([one for one, _ in pairs], leaves, [arriving for _, arriving in pairs],
                                         allow_unused=True))
    gradients = [None if one is None else next(found) for one in given]
    return tuple(torch.zeros_like(one) if one is not None and gradient is None else gradient
                 for one, gradient in zip(given, gradients))


def causal_conv_with_state(input, weight, bias, past_state, activation, dilation):
    kept = (weight.shape[2] - 1) * dilation
    x = F.pad(input, (kept, 0)) if past_state is None else torch.cat([past_state, input], 2)
    result = F.conv1d(x, weight, bias, dilation=dilation, groups=input.shape[1])
    return activated(result, activation), x.narrow(2, x.shape[2] - kept, kept)
