"""Recurrent cells in PyTorch, position by position. A piece of the directions begins with the one that `offsets` has."""


def recurrent_activation(name, alpha, beta):
    """The function of a gate, by ONNX's name in lower case."""
    def either(given, otherwise): return otherwise if given is None else given
    if name in ("relu", "sigmoid", "tanh"):
        return getattr(torch, name)
    if name in ("softplus", "softsign"):
        return getattr(F, name)
    return {
        "affine": lambda x: either(alpha, 1.0) * x + either(beta, 0.0),
        "elu": lambda x: F.elu(x, either(alpha, 1.0)),
        "hardsigmoid": lambda x: (either(alpha, 0.2) * x + either(beta, 0.5)).clamp(0, 1),
        "leakyrelu": lambda x: F.leaky_relu(x, either(alpha, 0.01)),
        "scaledtanh": lambda x: either(alpha, 1.0) * torch.tanh(either(beta, 1.0) * x),
        "thresholdedrelu": lambda x: x * (x > either(alpha, 1.0)),
    }[name]


def recurrent_activations(standard, direction, activations, alphas, betas):
    """The functions of all directions, which take numbers off the lists in turn, those without a parameter none."""
    names = [name.lower() for name in activations or standard * (2 if direction == "bidirectional" else 1)]
    alphas, betas, functions = list(alphas or []), list(betas or []), []
    for name in names:
        both = name in ("affine", "hardsigmoid", "scaledtanh")
        alpha = alphas.pop(0) if alphas and (both or name in ("elu", "leakyrelu", "thresholdedrelu")) else None
        beta = betas.pop(0) if betas and both else None
        functions.append(recurrent_activation(name, alpha, beta))
    return functions


def rnn_step(x, state, cell, product, clip, functions, P, is_set):
    state = functions[0](clip(x + product(state, 0, 1)))
    return state, cell, None


def gru_step(x, state, cell, product, clip, functions, P, is_set):
    """`is_set`: the reset comes behind R. The last result is r H', what the third block of R is multiplied with."""
    hidden = state.shape[-1]
    gates = functions[0](clip(x[:, :2 * hidden] + product(state, 0, 2)))
    update, reset = gates.chunk(2, -1)
    by_state = reset * product(state, 2, 3) if is_set else product(reset * state, 2, 3)
    new = functions[1](clip(x[:, 2 * hidden:] + by_state))
    return (1 - update) * new + update * state, cell, reset * state


def lstm_step(x, state, cell, product, clip, functions, P, is_set):
    """`is_set`: the gate that forgets is 1 - i. The last result is the cells that P is multiplied with."""
    i, o, f, c = (x + product(state, 0, 4)).chunk(4, -1)
    of_i, of_o, of_f = (0, 0, 0) if P is None else P.chunk(3, -1)
    i = functions[0](clip(i + of_i * cell))
    f = 1 - i if is_set else functions[0](clip(f + of_f * cell))
    after = f * cell + i * functions[1](clip(c))
    o = functions[0](clip(o + of_o * after))
    return o * functions[2](after), after, torch.cat([cell, after, cell], -1)


def recurrent_step(kind, *arguments):
    if kind == "rnn":
        return rnn_step(*arguments)
    return gru_step(*arguments) if kind == "gru" else lstm_step(*arguments)


def run_direction(kind, X, W, R, B, lengths, state, cell, P, functions, limit, is_set, backward, added):
    """The states at all positions, the last state and cell, the states before, and what the cells give beside them;
    `added`: to the sums of the input and of the state."""
    rows = W.shape[0]
    by_input = torch.matmul(X, W.t()) + (0 if B is None else B[:rows]) + added[0]
    sums = [None] * len(X)

    def clip(x): return x if limit is None else x.clamp(-limit, limit)
    for place in range(len(X) - 1, -1, -1) if backward else range(len(X)):
        def product(state, first, last):
            part = slice(first * state.shape[-1], last * state.shape[-1])
            bias = 0 if B is None else B[rows:][part]
            return torch.matmul(state, R[part].t()) + bias + added[1][place][..., part]
        inside = (place < lengths).unsqueeze(-1)
        after = recurrent_step(kind, by_input[place], state, cell, product, clip, functions, P, is_set)
        more = state if after[2] is None else after[2]
        sums[place] = [torch.where(inside, one, torch.zeros_like(one)) for one in (after[0], state, more)]
        state, cell = torch.where(inside, after[0], state), torch.where(inside, after[1], cell)
    results, before, more = (torch.stack(one) for one in zip(*sums))
    return results, state, cell, before, more


def run_recurrent(kind, X, W, R, B, lengths, initial_h, initial_c, P, functions, clip, direction, layout, is_set,
                  offsets, added=None):
    """Results [s, d, b, h], last states and cells [d, b, h], the states before and what cells give beside them; initial
    states are of that order, X is as `layout` says."""
    X, directions = X.transpose(0, 1) if layout else X, len(W)
    first, each = begin_of(offsets[0]) if offsets else 0, {"rnn": 1, "gru": 2, "lstm": 3}[kind]
    lengths = torch.full(X.shape[1:2], len(X), device=X.device) if lengths is None else lengths
    added = X.new_zeros((2, len(X), directions, 1, W.shape[1])) if added is None else added
    runs = []
    for place in range(directions):
        backward = direction == "reverse" or first + place == 1
        own = functions[(first + place) * each:(first + place + 1) * each] or functions[:each]
        at = [None if tensor is None else tensor[place] for tensor in (W, R, B, P)]
        runs.append(run_direction(kind, X, *at[:3], lengths, initial_h[place], initial_c[place], at[3], own, clip,
                                  is_set, backward, [one[:, place] for one in added]))
    return [torch.stack(one, 0 if index in (1, 2) else 1) for index, one in enumerate(zip(*runs))]


def turned_states(state, X, R, layout):
    """Initial states as [d, b, h]: zeros where there are none."""
    if state is None:
        return X.new_zeros((len(R), X.shape[0 if layout else 1], R.shape[2]))
    return state.transpose(0, 1) if layout else state


def turned_sequence(x, layout): return x.permute(2, 0, 1, 3) if layout else x


def recurrent(kind, X, W, R, B, lengths, initial_h, initial_c, P, functions, clip, direction, layout, is_set, offsets):
    states = [turned_states(state, X, R, layout) for state in (initial_h, initial_c)]
    results, state, cell, _, _ = run_recurrent(kind, X, W, R, B, lengths, *states, P, functions, clip, direction,
                                               layout, is_set, offsets)
    last = [one.transpose(0, 1) if layout else one for one in (state, cell)]
    return turned_sequence(results, layout), last[0], last[1]


def recurrent_gradients(kind, X, W, R, B, lengths, initial_h, initial_c, P, functions, clip, direction, layout, is_set,
                        offsets, arriving):
    """Gradients of what is added to the sums of input and state, of the initial states, then the states before and what
    cells give beside them."""
    states = [turned_states(state, X, R, layout).detach() for state in (initial_h, initial_c)]
    batch = X.shape[0 if layout else 1]
    added = X.new_zeros((2, X.shape[1 if layout else 0], len(W), batch, W.shape[1]))
    with torch.enable_grad():
        leaves = [one.clone().requires_grad_() for one in (added[0], added[1], *states)]
        ran = run_recurrent(kind, X, W, R, B, lengths, *leaves[2:], P, functions, clip, direction, layout, is_set,
                            offsets, leaves[:2])
        pairs = [(one, gradient) for one, gradient in zip(ran, arriving) if gradient is not None]
        back = [gradient.permute(1, 2, 0, 3) if layout and gradient.dim() == 4
                else gradient.transpose(0, 1) if layout else gradient for _, gradient in pairs]
        found = torch.autograd.grad([one for one, _ in pairs], leaves, back, allow_unused=True)
    found = [torch.zeros_like(leaf) if one is None else one for one, leaf in zip(found, leaves)]
    before, more = (turned_sequence(one.detach(), layout) for one in ran[3:])
    starts = [one.transpose(0, 1) if layout else one for one in found[2:]]
    return (*(turned_sequence(one, layout) for one in found[:2]), *starts, before, more)


def rnn(X, W, R, B, sequence_lens, initial_h, activation_alpha, activation_beta, activations, clip, direction, layout,
        offsets: ints):
    functions = recurrent_activations(["Tanh"], direction, activations, activation_alpha, activation_beta)
    return recurrent("rnn", X, W, R, B, sequence_lens, initial_h, None, None, functions, clip, direction, layout, 0,
                     offsets)[:2]


def gru(X, W, R, B, sequence_lens, initial_h, activation_alpha, activation_beta, activations, clip, direction, layout,
        linear_before_reset, offsets: ints):
    functions = recurrent_activations(["Sigmoid", "Tanh"], direction, activations, activation_alpha, activation_beta)
    return recurrent("gru", X, W, R, B, sequence_lens, initial_h, None, None, functions, clip, direction, layout,
                     linear_before_reset, offsets)[:2]


def lstm(X, W, R, B, sequence_lens, initial_h, initial_c, P, activation_alpha, activation_beta, activations, clip,
         direction, layout, input_forget, offsets: ints):
    functions = recurrent_activations(["Sigmoid", "Tanh", "Tanh"], direction, activations, activation_alpha,
                                      activation_beta)
    return recurrent("lstm", X, W, R, B, sequence_lens, initial_h, initial_c, P, functions, clip, direction, layout,
                     input_forget, offsets)


def rnn_grad(X, W, R, B, sequence_lens, initial_h, dY, dY_h, activation_alpha, activation_beta, activations, clip,
             direction, layout, offsets: ints):
    functions = recurrent_activations(["Tanh"], direction, activations, activation_alpha, activation_beta)
    found = recurrent_gradients("rnn", X, W, R, B, sequence_lens, initial_h, None, None, functions, clip, direction,
                                layout, 0, offsets, (dY, dY_h))
    return found[0], found[4], found[2]


def gru_grad(X, W, R, B, sequence_lens, initial_h, dY, dY_h, activation_alpha, activation_beta, activations, clip,
             direction, layout, linear_before_reset, offsets: ints):
    functions = recurrent_activations(["Sigmoid", "Tanh"], direction, activations, activation_alpha, activation_beta)
    found = recurrent_gradients("gru", X, W, R, B, sequence_lens, initial_h, None, None, functions, clip, direction,
                                layout, linear_before_reset, offsets, (dY, dY_h))
    return found[0], found[4], found[2], found[5], found[1]


def lstm_grad(X, W, R, B, sequence_lens, initial_h, initial_c, P, dY, dY_h, dY_c, activation_alpha, activation_beta,
              activations, clip, direction, layout, input_forget, offsets: ints):
    functions = recurrent_activations(["Sigmoid", "Tanh", "Tanh"], direction, activations, activation_alpha,
                                      activation_beta)
    found = recurrent_gradients("lstm", X, W, R, B, sequence_lens, initial_h, initial_c, P, functions, clip, direction,
                                layout, input_forget, offsets, (dY, dY_h, dY_c))
    return found[0], found[4], found[2], found[3], found[5]
