"""Collectives among the pieces that all ranks of a stage hold, each a numpy array, in the order of their numbers.

Axes of a mesh cut a dim, one inside the other, into pieces of one size, rounded up, so that the last ones may have
padding. A place is a dim and the sizes of its parts before it is cut, or once it is joined, each cut on its own.
"""
import itertools
import math

import numpy


def coordinates_of(mesh, number):
    coordinates = {}
    for axis in reversed(list(mesh)):
        number, coordinates[axis] = divmod(number, mesh[axis])
    return coordinates


def number_of(mesh, coordinates):
    number = 0
    for axis in mesh:
        number = number * mesh[axis] + coordinates[axis]
    return number


def groups_of(mesh, axes):
    """Lists of ranks that differ along the axes alone, by their coordinates along them, the first axis major."""
    others = [axis for axis in mesh if axis not in axes]
    for rest in itertools.product(*(range(mesh[axis]) for axis in others)):
        yield [number_of(mesh, {**dict(zip(others, rest)), **dict(zip(axes, along))})
               for along in itertools.product(*(range(mesh[axis]) for axis in axes))]


def offset(mesh, number, axes, size):
    """Begin and end of what a rank holds of a dim of `size` elements that axes cut."""
    coordinates, begin, count = coordinates_of(mesh, number), 0, size
    for axis in axes:
        size = -(-size // mesh[axis])
        start = coordinates[axis] * size
        begin, count = begin + start, min(max(count - start, 0), size)
    return begin, begin + count


def collect(step, inputs, mesh):
    """The results of a collective: of each of its values a list of all ranks' pieces."""
    ways = [mesh[axis] for axis in step["axes"]]
    run = {"all_gather": all_gather, "all_reduce": all_reduce, "all_to_all": all_to_all, "permute": permute,
           "reduce_scatter": reduce_scatter}[step["collective"]]
    results = []
    for pieces, place in zip(inputs, step["places"]):
        result = [None] * len(pieces)
        for group in groups_of(mesh, step["axes"]):
            for rank, piece in zip(group, run([pieces[rank] for rank in group], place, ways, step.get("combiner"))):
                result[rank] = piece
        results.append(result)
    return results


def all_gather(pieces, place, ways, _):
    return [join(pieces, place["join_dim"], place["join_parts"], ways)] * len(pieces)


def all_reduce(pieces, _, __, combiner):
    return [combine(pieces, combiner)] * len(pieces)


def reduce_scatter(pieces, place, ways, combiner):
    return cut(combine(pieces, combiner), place["cut_dim"], place["cut_parts"], ways)


def all_to_all(pieces, place, ways, _):
    parts = [cut(piece, place["cut_dim"], place["cut_parts"], ways) for piece in pieces]
    return [join(list(received), place["join_dim"], place["join_parts"], ways) for received in zip(*parts)]


def permute(pieces, place, _, __):
    received = [None] * len(pieces)
    for piece, to in zip(pieces, place["to"]):
        received[to] = piece
    return received


def combine(pieces, combiner):
    """All partial tensors of a group in one."""
    if combiner == "log_sum_exp":
        greatest = numpy.maximum(numpy.max(pieces, axis=0), numpy.finfo(pieces[0].dtype).min)
        with numpy.errstate(divide="ignore"):
            return greatest + numpy.log(sum(numpy.exp(piece - greatest) for piece in pieces))
    functions = {"sum": numpy.add, "product": numpy.multiply, "max": numpy.maximum, "min": numpy.minimum,
                 "and": numpy.logical_and, "or": numpy.logical_or}
    result = pieces[0]
    for piece in pieces[1:]:
        result = functions[combiner](result, piece)
    return result


def piece_size(size, ways):
    for way in ways:
        size = -(-size // way)
    return size


def pad(tensor, dim, size):
    missing = size - tensor.shape[dim]
    if missing <= 0:
        return tensor
    both = [(0, 0)] * tensor.ndim
    both[dim] = (0, missing)
    return numpy.pad(tensor, both)


def split(tensor, dim, sizes):
    return numpy.split(tensor, list(itertools.accumulate(sizes))[:-1], dim)


def cut(tensor, dim, parts, ways):
    """The pieces of a dim, for each rank of a group."""
    of_parts = [cut_part(part, dim, ways) for part in split(tensor, dim, parts)]
    return [numpy.concatenate(pieces, dim) for pieces in zip(*of_parts)]


def cut_part(tensor, dim, ways):
    pieces = [tensor]
    for way in ways:
        size = -(-pieces[0].shape[dim] // way)
        pieces = [part for piece in pieces for part in numpy.split(pad(piece, dim, size * way), way, dim)]
    return pieces


def join(pieces, dim, parts, ways):
    """A dim put together from the pieces of a group, without their padding."""
    held = [piece_size(size, ways) for size in parts]
    of_parts = zip(*(split(piece, dim, held) for piece in pieces))
    return numpy.concatenate([join_part(list(part), dim, ways, size) for part, size in zip(of_parts, parts)], dim)


def join_part(pieces, dim, ways, size):
    sizes = [size]
    for way in ways:
        sizes.append(-(-sizes[-1] // way))
    for way, whole in reversed(list(zip(ways, sizes))):
        starts = range(0, len(pieces), way)
        pieces = [numpy.concatenate(pieces[start:start + way], dim).take(range(whole), dim) for start in starts]
    return pieces[0]
