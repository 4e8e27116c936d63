"""Values that go from stage to stage: each receiving rank gets the elements of its piece from ranks that hold them."""
import time

import torch
import torch.distributed as dist

from collectives import Rank
from loading import TYPES, mesh_of, read_sharding


def positions(shape, sharding, mesh, number):
    """For each dim of a rank's piece the places of its elements in the whole, -1 for padding."""
    rank, places = Rank(mesh, number), []
    for size, (axes, parts) in zip(shape, read_sharding(sharding)):
        own, start = [], 0
        for part in parts or [size]:
            begin, end = rank.offset(axes, part)
            held = part
            for axis in axes:
                held = -(-held // mesh[axis])
            own += list(range(start + begin, start + end)) + [-1] * (held - (end - begin))
            start += part
        places.append(own)
    return places


def choose(tensor, places):
    """The elements of a piece at these places of each dim."""
    for dim, kept in enumerate(places):
        if kept != list(range(tensor.shape[dim])):
            tensor = tensor.index_select(dim, torch.tensor(kept, dtype=torch.int64, device=tensor.device))
    return tensor.contiguous()


def put(target, places, piece):
    """Writes a piece to these places of each dim."""
    index = [torch.tensor(kept, dtype=torch.int64, device=target.device) for kept in places]
    target[torch.meshgrid(*index, indexing="ij") if index else ()] = piece


class Mail:
    """The sends and receives of one stage on this process."""

    waiting = {}  # values for stages of this same process, by name, stage and micro-batch

    def __init__(self, stage, stages, manifest, device):
        self.stage = stage
        self.stages = stages
        self.number = dist.get_rank()
        self.device = device
        self.micro_batch = 0
        self.requests, self.sent, self.received = [], set(), {}
        self.transfers = {entry["name"]: (index, entry) for index, entry in enumerate(manifest.get("transfers", []))}
        self.count = manifest.get("micro_batches", 1) + 1

    def entry(self, stage, kind, name):
        return next(entry for entry in self.stages[stage][1][kind] if entry["name"] == name)

    def plan(self, name, source, target):
        """Sender, receiver and the places in their pieces of all messages that carry a value from stage to stage."""
        sends, receives = self.entry(source, "sends", name), self.entry(target, "receives", name)
        from_mesh, to_mesh = mesh_of(self.stages[source][1]), mesh_of(self.stages[target][1])
        first_from, first_to = self.stages[source][2], self.stages[target][2]
        used = [axis for axes, _ in read_sharding(sends["sharding"]) for axis in axes]
        holders = {}  # of each distinct piece
        for number in range(self.stages[source][1]["devices"]):
            coordinates = Rank(from_mesh, number).coordinates
            holders.setdefault(tuple(coordinates[axis] for axis in used), []).append(number)
        for number in range(self.stages[target][1]["devices"]):
            wanted = positions(receives["shape"], receives["sharding"], to_mesh, number)
            for ranks in holders.values():
                holder = ranks[number % len(ranks)]
                held = positions(sends["shape"], sends["sharding"], from_mesh, holder)
                common = [[place for place in want if place >= 0 and place in set(have)]
                          for want, have in zip(wanted, held)]
                if all(common) or not common:
                    taken = [[have.index(place) for place in own] for own, have in zip(common, held)]
                    given = [[want.index(place) for place in own] for own, want in zip(common, wanted)]
                    yield first_from + holder, first_to + number, taken, given

    def tag(self, name, once):
        return self.transfers[name][0] * self.count + (0 if once else self.micro_batch + 1)

    def send(self, name, tensor, once):
        if once and name in self.sent:
            return
        self.sent.add(name)
        for target in self.transfers[name][1]["to"]:
            for sender, receiver, taken, _ in self.plan(name, self.stage, target):
                if sender != self.number:
                    continue
                piece = choose(tensor, taken)
                if receiver == self.number:
                    Mail.waiting[name, target, self.tag(name, once), sender] = piece
                else:
                    tag = self.tag(name, once) * len(self.stages) + target
                    self.requests.append((dist.isend(piece, receiver, tag=tag), piece))

    def receive(self, name, once):
        if once and name in self.received:
            return self.received[name]
        entry, source = self.entry(self.stage, "receives", name), self.transfers[name][1]["from"]
        dtype = TYPES[entry["element_type"]]
        tensor = torch.zeros(entry["local_shape"], dtype=dtype, device=self.device)
        for sender, receiver, _, given in self.plan(name, source, self.stage):
            if receiver != self.number:
                continue
            if sender == self.number:
                key = name, self.stage, self.tag(name, once), sender
                while key not in Mail.waiting:  # another thread of this process is on its way
                    time.sleep(0.0001)
                piece = Mail.waiting.pop(key)
            else:
                piece = torch.empty([len(kept) for kept in given], dtype=dtype, device=self.device)
                dist.recv(piece, sender, tag=self.tag(name, once) * len(self.stages) + self.stage)
            put(tensor, given, piece)
        if once:
            self.received[name] = tensor
        return tensor

    def end_step(self):
        for request, _ in self.requests:
            request.wait()
        self.requests, self.sent, self.received = [], set(), {}
