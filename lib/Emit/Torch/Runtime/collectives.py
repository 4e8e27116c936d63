"""Collectives on the mesh of a stage, and what depends on a rank's place there.

Tensors are pieces: axes of the mesh cut a dim, one inside the other, into pieces of one size, rounded up, so that the last
ones may have padding. `axes` name the axes along which the ranks of a group differ; a group is ordered by its ranks'
coordinates along them, the first axis major. A place is a dim, or (dim, sizes): the sizes of the parts of the dim before
it is cut, or once it is joined, each cut on its own; they are left out where the dim is one part and divides evenly.
Several tensors, in a list with a list of places or one for all, are exchanged together. Lists among them share a place,
and come back as lists.
"""
import itertools
import math

import torch
import torch.distributed as dist

OPERATIONS = {"sum": "SUM", "max": "MAX", "min": "MIN", "product": "PRODUCT", "and": "MIN", "or": "MAX"}


class Group:
    """The ranks that exchange data with one another, in the order of the program."""

    def __init__(self, ranks, handle):
        self.ranks = ranks
        self.handle = handle
        self.slots = [sorted(ranks).index(rank) for rank in ranks]  # new_group sorts its ranks

    def gather(self, tensor):
        """The flat tensors of all ranks, all of one size. They travel as bytes: gloo does not know all types."""
        sent = tensor.view(torch.uint8)
        pieces = [torch.empty_like(sent) for _ in self.ranks]
        dist.all_gather(pieces, sent, group=self.handle)
        return [pieces[slot].view(tensor.dtype) for slot in self.slots]

    def exchange(self, pieces):
        """Flat piece i goes to rank i; returned are those that came from all ranks."""
        sent = [None] * len(pieces)
        for piece, slot in zip(pieces, self.slots):
            sent[slot] = piece.view(torch.uint8)
        sent = torch.stack(sent)
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent, group=self.handle)
        return [received[slot].view(pieces[0].dtype) for slot in self.slots]

    def reduce(self, tensor, combiner):
        """The tensors of all ranks combined. gloo combines no bools and no numbers of 16 bits."""
        wide = tensor
        if tensor.dtype == torch.bool:
            wide = tensor.to(torch.uint8)
        elif tensor.dtype == torch.int16:
            wide = tensor.int()
        elif tensor.dtype in (torch.bfloat16, torch.float16) and not tensor.is_cuda:
            wide = tensor.float()
        wide = wide.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(wide, op=getattr(dist.ReduceOp, OPERATIONS[combiner]), group=self.handle)
        return wide.to(tensor.dtype)

    def reduce_to_parts(self, pieces, combiner):
        """Piece i of all ranks combined on rank i."""
        place = self.ranks.index(dist.get_rank())
        if not pieces[0].is_cuda or self.slots != sorted(self.slots):
            return self.reduce(torch.stack(pieces), combiner)[place]
        result = torch.empty_like(pieces[0])
        dist.reduce_scatter(result, pieces, op=getattr(dist.ReduceOp, OPERATIONS[combiner]), group=self.handle)
        return result


class Rank:
    """A process's place on the mesh of a stage, whose ranks are numbered from `first` on."""

    def __init__(self, mesh, number, first=0, device="cpu", groups=None):
        self.mesh = mesh
        self.number = number
        self.first = first
        self.device = device
        self.groups = groups or {}
        self.constants = {}
        self.sums = Sums()
        self.mail = None
        self.coordinates = coordinates_of(mesh, number)

    def send(self, name, tensor, once=False):
        """Hands a value to the stages that receive it: with every micro-batch, or once a step."""
        self.mail.send(name, tensor, once)

    def receive(self, name, once=False):
        return self.mail.receive(name, once)

    def ways(self, axes):
        return [self.mesh[axis] for axis in axes]

    def index(self, axes):
        """The place in a group along `axes`."""
        index = 0
        for axis in axes:
            index = index * self.mesh[axis] + self.coordinates[axis]
        return index

    def group(self, axes):
        return self.groups[axes]

    def offset(self, axes, size):
        """Begin and end of what this rank holds of a dim of `size` elements that `axes` cut."""
        begin, count = 0, size
        for axis in axes:
            size = -(-size // self.mesh[axis])
            start = self.coordinates[axis] * size
            begin, count = begin + start, min(max(count - start, 0), size)
        return begin, begin + count


def coordinates_of(mesh, number):
    coordinates = {}
    for axis in reversed(list(mesh)):
        number, coordinates[axis] = divmod(number, mesh[axis])
    return coordinates


def make_groups(mesh, first, lists_of_axes):
    """The groups of a stage, by axes, that this process is in. All processes call it alike."""
    own, made = {}, {}
    count = math.prod(mesh.values())
    for axes in lists_of_axes:
        others = [axis for axis in mesh if axis not in axes]
        for rest in itertools.product(*(range(mesh[axis]) for axis in others)):
            ranks = []
            for along in itertools.product(*(range(mesh[axis]) for axis in axes)):
                place, number = {**dict(zip(others, rest)), **dict(zip(axes, along))}, 0
                for axis in mesh:
                    number = number * mesh[axis] + place[axis]
                ranks.append(first + number)
            key = tuple(sorted(ranks))
            if key not in made:
                made[key] = dist.new_group(list(key)) if len(key) > 1 else None
            if first <= dist.get_rank() < first + count and dist.get_rank() in ranks:
                own[axes] = Group(ranks, made[key])
    return own


def all_gather(rank, axes, tensors, places):
    """Joins the pieces of a group along a dim."""
    tensors, places, answer = as_lists(tensors, places)
    rows = [unflatten(flat, tensors) for flat in rank.group(axes).gather(flatten(tensors))]
    return answer([join(pieces, place, rank.ways(axes)) for pieces, place in zip(zip(*rows), places)])


def keep_part(rank, axes, tensors, places):
    """This rank's part of a dim that its group has whole."""
    tensors, places, answer = as_lists(tensors, places)
    index, ways = rank.index(axes), rank.ways(axes)
    return answer([cut(tensor, place, ways)[index].contiguous() for tensor, place in zip(tensors, places)])


def all_to_all(rank, axes, tensors, places, to_place=None):
    """Joins the pieces of a group along one dim and cuts another."""
    if to_place is not None:
        places = (places, to_place)
    tensors, places, answer = as_lists(tensors, places)
    ways = rank.ways(axes)
    parts = [cut(tensor, place[1], ways) for tensor, place in zip(tensors, places)]
    received = rank.group(axes).exchange([flatten(pieces) for pieces in zip(*parts)])
    rows = [unflatten(flat, [pieces[0] for pieces in parts]) for flat in received]
    return answer([join(pieces, place[0], ways) for pieces, place in zip(zip(*rows), places)])


def all_reduce(rank, axes, tensors, combiner):
    """Combines the partial tensors of a group on all of its ranks."""
    tensors, _, answer = as_lists(tensors, None)
    if combiner == "log_sum_exp":
        return answer([log_sum_exp(rank, axes, tensor, None) for tensor in tensors])
    return answer(unflatten(rank.group(axes).reduce(flatten(tensors), combiner), tensors))


def reduce_scatter(rank, axes, tensors, places, combiner):
    """Combines the partial tensors of a group; each of its ranks keeps its part of a dim."""
    tensors, places, answer = as_lists(tensors, places)
    if combiner == "log_sum_exp":
        return answer([log_sum_exp(rank, axes, tensor, place) for tensor, place in zip(tensors, places)])
    parts = [cut(tensor, place, rank.ways(axes)) for tensor, place in zip(tensors, places)]
    flat = rank.group(axes).reduce_to_parts([flatten(pieces) for pieces in zip(*parts)], combiner)
    return answer(unflatten(flat, [pieces[0] for pieces in parts]))


def permute(rank, axes, tensors, to):
    """Rank i of a group sends its piece to rank to[i]."""
    tensors, to, answer = as_lists(tensors, to if isinstance(to[0], list) else tuple(to))
    ranks, place, results = rank.group(axes).ranks, rank.index(axes), []
    for tensor, targets in zip(tensors, to):
        target, source = ranks[targets[place]], ranks[targets.index(place)]
        if target == ranks[place]:
            results.append(tensor)
            continue
        tensor = tensor.contiguous()
        result = torch.empty_like(tensor)
        sends = [dist.P2POp(dist.isend, tensor, target), dist.P2POp(dist.irecv, result, source)]
        for request in dist.batch_isend_irecv(sends):
            request.wait()
        results.append(result)
    return answer(results)


def log_sum_exp(rank, axes, tensor, place):
    """m + log(sum(exp(x - m))) over a group, with m the greatest x, or the lowest number where all are minus infinity."""
    greatest = all_reduce(rank, axes, tensor, "max").clamp(min=torch.finfo(tensor.dtype).min)
    shares = (tensor - greatest).exp()
    if place is None:
        return greatest + all_reduce(rank, axes, shares, "sum").log()
    sums = reduce_scatter(rank, axes, shares, place, "sum")
    return keep_part(rank, axes, greatest, place) + sums.log()


def mask_padding(rank, axes, tensor, dim, parts, combiner):
    """The padding of a dim replaced by what does not change a reduction."""
    result, at = tensor.clone(), 0
    for size in parts:
        begin, end = rank.offset(axes, size)
        held = piece_size(size, rank.ways(axes))
        result.narrow(dim, at + end - begin, held - (end - begin)).fill_(neutral(combiner, tensor.dtype))
        at += held
    return result


def neutral(combiner, dtype):
    if combiner in ("max", "min"):
        limits = torch.finfo(dtype) if dtype.is_floating_point else torch.iinfo(dtype)
        return limits.min if combiner == "max" else limits.max
    return {"sum": 0, "product": 1, "and": True, "or": False, "log_sum_exp": -math.inf}[combiner]


def keep_on_first(rank, axes, tensor):
    """The tensor on the first rank of a group, zeros elsewhere: an addend that a sum takes once."""
    return tensor if rank.index(axes) == 0 else torch.zeros_like(tensor)


class Sums(dict):
    """Sums over micro-batches, by the place in the program that adds to them."""

    def add(self, name, tensor):
        self[name] = self[name].add_(tensor) if name in self else tensor.clone()
        return self[name]

    def within(self, name):
        return self.setdefault(name, Sums())


class Weights(dict):
    """The tensors that a rank holds, by name."""

    def within(self, scope):
        """The tensors of a layer: their names begin with `scope`, which is left out of them."""
        return Scope(self, scope)


class Scope:
    def __init__(self, weights, scope):
        self.weights = weights
        self.scope = scope

    def __getitem__(self, name):
        return self.weights[self.scope + name]


class Table(dict):
    """Values by number. A slice is the list of the values in it: `kept.add[0:3]`; `[2::-1]` ends with number 0."""

    def __getitem__(self, place):
        if isinstance(place, slice):
            return [self[number] for number in numbers_of(place)]
        return dict.__getitem__(self, place)

    def __setitem__(self, place, value):
        if isinstance(place, slice):
            self.update(zip(numbers_of(place), value))
        else:
            dict.__setitem__(self, place, value)


def numbers_of(place):
    return range(place.start, -1 if place.stop is None else place.stop, place.step or 1)


class Tables:
    """Tables by name, empty where they are first asked for: `kept.add[3]` is the value of layer 3."""

    def __getattr__(self, name):
        table = Table()
        setattr(self, name, table)
        return table


def as_lists(tensors, places):
    """Tensors and places as lists, and the function that makes results of a list. One place may stand for all tensors."""
    if not isinstance(tensors, (list, tuple)):
        return [tensors], [places], lambda results: results[0]
    if not isinstance(places, list):
        places = [places] * len(tensors)
    pairs = [(one, place) for own, place in zip(tensors, places) for one in (own if isinstance(own, list) else [own])]

    def answer(results):
        rest = iter(results)
        return tuple([next(rest) for _ in own] if isinstance(own, list) else next(rest) for own in tensors)

    return [tensor for tensor, _ in pairs], [place for _, place in pairs], answer


def flatten(tensors):
    return torch.cat([tensor.reshape(-1) for tensor in tensors])


def unflatten(flat, like):
    results = flat.split([tensor.numel() for tensor in like])
    return [result.reshape(tensor.shape) for result, tensor in zip(results, like)]


def piece_size(size, ways):
    for way in ways:
        size = -(-size // way)
    return size


def pad(tensor, dim, size):
    missing = size - tensor.shape[dim]
    if missing == 0:
        return tensor
    shape = list(tensor.shape)
    shape[dim] = missing
    return torch.cat([tensor, tensor.new_zeros(shape)], dim)


def cut(tensor, place, ways):
    """The pieces of a dim, for each rank of a group."""
    dim, parts = place if isinstance(place, tuple) else (place, None)
    if parts is None:
        size = tensor.shape[dim] // math.prod(ways)
        return [tensor.narrow(dim, index * size, size) for index in range(math.prod(ways))]
    of_parts = [cut_part(part, dim, ways) for part in tensor.split(parts, dim)]
    return [torch.cat(pieces, dim) for pieces in zip(*of_parts)]


def cut_part(tensor, dim, ways):
    pieces = [tensor]
    for way in ways:
        size = -(-pieces[0].shape[dim] // way)
        padded = [pad(piece, dim, size * way) for piece in pieces]
        pieces = [piece.narrow(dim, index * size, size) for piece in padded for index in range(way)]
    return pieces


def join(pieces, place, ways):
    """A dim put together from the pieces of a group, without their padding."""
    dim, parts = place if isinstance(place, tuple) else (place, None)
    if parts is None:
        return torch.cat(list(pieces), dim)
    held = [piece_size(size, ways) for size in parts]
    split = [piece.split(held, dim) for piece in pieces]
    return torch.cat([join_part(part, dim, ways, size) for part, size in zip(zip(*split), parts)], dim)


def join_part(pieces, dim, ways, size):
    sizes = [size]
    for way in ways:
        sizes.append(-(-sizes[-1] // way))
    for way, whole in reversed(list(zip(ways, sizes))):
        starts = range(0, len(pieces), way)
        pieces = [torch.cat(list(pieces[start:start + way]), dim).narrow(dim, 0, whole) for start in starts]
    return pieces[0]
