"""Values that go from stage to stage: each receiving rank gets the elements of its piece from ranks that hold them."""
import itertools
import math
import threading

import torch
import torch.distributed as dist

from collectives import Rank, piece_size
from loading import TYPES
from manifest import mesh_of, read_sharding


def runs_of(shape, sharding, mesh, number):
    """For each dim of a rank's piece the runs of elements that lie together in the whole: where a run begins there, where
    in the piece, and its length. Padding is in none."""
    rank, dims = Rank(mesh, number), []
    for size, (axes, parts) in zip(shape, read_sharding(sharding)):
        runs, start, at = [], 0, 0
        for part in parts or [size]:
            begin, end = rank.offset(axes, part)
            if begin < end:
                runs.append((start + begin, at, end - begin))
            start, at = start + part, at + piece_size(part, rank.ways(axes))
        dims.append(runs)
    return dims


def shared_runs(held, wanted):
    """The elements of a dim that two pieces share: where each run begins in the one, in the other, and its length."""
    shared = []
    for (from_begin, from_at, from_size), (to_begin, to_at, to_size) in itertools.product(held, wanted):
        begin, end = max(from_begin, to_begin), min(from_begin + from_size, to_begin + to_size)
        if begin < end:
            shared.append((from_at + begin - from_begin, to_at + begin - to_begin, end - begin))
    return shared


def plan_messages(sends, receives, from_mesh, to_mesh, is_wanted):
    """Sender, receiver and the shared runs of each dim of all messages that carry a value; ranks count from the first of
    their stages. Each distinct piece comes from one of the ranks that hold it. `is_wanted`: of which sender and receiver."""
    used = [axis for axes, _ in read_sharding(sends["sharding"]) for axis in axes]
    senders, receivers = (range(math.prod(mesh.values())) for mesh in (from_mesh, to_mesh))
    holders = {}  # of each distinct piece
    for number in senders:
        coordinates = Rank(from_mesh, number).coordinates
        holders.setdefault(tuple(coordinates[axis] for axis in used), []).append(number)
    held, messages = {}, []
    for number in receivers:
        wanted = None
        for ranks in holders.values():
            holder = ranks[number % len(ranks)]
            if not is_wanted(holder, number):
                continue
            wanted = wanted or runs_of(receives["shape"], receives["sharding"], to_mesh, number)
            if holder not in held:
                held[holder] = runs_of(sends["shape"], sends["sharding"], from_mesh, holder)
            shared = [shared_runs(*dim) for dim in zip(held[holder], wanted)]
            if all(shared):
                messages.append((holder, number, shared))
    return messages


def choose(tensor, shared):
    """The elements of a piece in these runs of each dim."""
    for dim, runs in enumerate(shared):
        if runs != [(0, runs[0][1], tensor.shape[dim])]:
            tensor = torch.cat([tensor.narrow(dim, begin, size) for begin, _, size in runs], dim)
    return tensor.contiguous()


def put(target, shared, piece):
    """Writes elements to these runs of each dim of a piece."""
    placed = []
    for runs in shared:
        ends = list(itertools.accumulate(size for _, _, size in runs))
        placed.append([(slice(at, at + size), slice(end - size, end)) for (_, at, size), end in zip(runs, ends)])
    for block in itertools.product(*placed):
        target[tuple(to for to, _ in block)] = piece[tuple(own for _, own in block)]


class Post:
    """The messages between this process and others. Those of one sender come in the order in which they were sent, as NCCL
    has no tags, each behind its number and size; they are handed out by number. Messages up and down the ranks have groups
    of their own, so that a send never waits behind a receive."""

    def __init__(self, manifest, device):
        self.device = device
        self.number = dist.get_rank()
        self.groups = [dist.new_group(), dist.new_group()] if manifest.get("transfers") else []
        self.came, self.receiving, self.changed = {}, set(), threading.Condition()
        self.requests, self.sending = [], threading.Lock()

    def group(self, sender, receiver):
        return self.groups[sender < receiver]

    def connect(self, pairs):
        """Sends a byte between the ranks of each pair, in an order that all processes share: NCCL makes a pair's channel
        with its first message, for which both must be there."""
        for sender, receiver in sorted(pairs):
            byte, group = torch.zeros(1, dtype=torch.uint8, device=self.device), self.group(sender, receiver)
            if sender == self.number:
                dist.send(byte, receiver, group=group)
            else:
                dist.recv(byte, sender, group=group)

    def send(self, receiver, message, piece):
        if receiver == self.number:
            with self.changed:
                self.came[self.number, message] = piece
                self.changed.notify_all()
            return
        data = piece.reshape(-1).view(torch.uint8)
        head = torch.tensor([message, data.numel()], device=self.device)
        with self.sending:
            for tensor in (head, data) if data.numel() else (head,):
                request = dist.isend(tensor, receiver, group=self.group(self.number, receiver))
                self.requests.append((request, tensor))

    def receive(self, sender, message):
        """The bytes of a message, or the piece itself where it is of this process. Threads may wait for messages of one
        sender: one of them receives, the others wait for what it finds."""
        with self.changed:
            while (sender, message) not in self.came:
                if sender == self.number or sender in self.receiving:
                    self.changed.wait()
                    continue
                self.receiving.add(sender)
                self.changed.release()
                try:
                    found, data = self.take(sender)
                finally:
                    self.changed.acquire()
                self.receiving.remove(sender)
                self.came[sender, found] = data
                self.changed.notify_all()
            return self.came.pop((sender, message))

    def take(self, sender):
        """Number and bytes of the next message."""
        group = self.group(sender, self.number)
        head = torch.empty(2, dtype=torch.int64, device=self.device)
        dist.recv(head, sender, group=group)
        message, size = head.tolist()
        data = torch.empty(size, dtype=torch.uint8, device=self.device)
        if size:
            dist.recv(data, sender, group=group)
        return message, data

    def end_step(self):
        with self.sending:
            for request, _ in self.requests:
                request.wait()
            self.requests = []


class Mail:
    """The sends and receives of one stage on this process."""

    def __init__(self, stage, stages, manifest, post):
        self.stage = stage
        self.stages = stages
        self.post = post
        self.micro_batch = 0
        self.sent, self.received, self.plans = set(), {}, {}
        self.transfers = {entry["name"]: (index, entry) for index, entry in enumerate(manifest.get("transfers", []))}
        self.count = manifest.get("micro_batches", 1) + 1

    def entry(self, stage, kind, name):
        return next(entry for entry in self.stages[stage][1][kind] if entry["name"] == name)

    def plan(self, name, source, target):
        """Sender, receiver and shared runs of this process's messages that carry a value from stage to stage."""
        if (name, source, target) not in self.plans:
            sends, receives = self.entry(source, "sends", name), self.entry(target, "receives", name)
            (_, from_stage, first_from), (_, to_stage, first_to) = self.stages[source], self.stages[target]
            messages = plan_messages(sends, receives, mesh_of(from_stage), mesh_of(to_stage), lambda sender, receiver: (
                self.post.number in (first_from + sender, first_to + receiver)))
            self.plans[name, source, target] = [(first_from + sender, first_to + receiver, shared)
                                                for sender, receiver, shared in messages]
        return self.plans[name, source, target]

    def pairs(self):
        """The ranks between which this process sends or receives for this stage."""
        found = set()
        for name, (_, entry) in self.transfers.items():
            for target in entry["to"]:
                if self.stage in (entry["from"], target):
                    found |= {(sender, receiver) for sender, receiver, _ in self.plan(name, entry["from"], target)}
        return {pair for pair in found if pair[0] != pair[1]}

    def message(self, name, target, once):
        """The number of a message, which differs from those of all others of a step between two ranks."""
        tag = self.transfers[name][0] * self.count + (0 if once else self.micro_batch + 1)
        return tag * len(self.stages) + target

    def send(self, name, tensor, once):
        if once and name in self.sent:
            return
        self.sent.add(name)
        for target in self.transfers[name][1]["to"]:
            for sender, receiver, shared in self.plan(name, self.stage, target):
                if sender == self.post.number:
                    self.post.send(receiver, self.message(name, target, once), choose(tensor, shared))

    def receive(self, name, once):
        if once and name in self.received:
            return self.received[name]
        entry, source = self.entry(self.stage, "receives", name), self.transfers[name][1]["from"]
        dtype = TYPES[entry["element_type"]]
        tensor = torch.zeros(entry["local_shape"], dtype=dtype, device=self.post.device)
        for sender, receiver, shared in self.plan(name, source, self.stage):
            if receiver == self.post.number:
                piece = self.post.receive(sender, self.message(name, self.stage, once))
                sizes = [sum(size for _, _, size in runs) for runs in shared]
                put(tensor, shared, piece if sender == self.post.number else piece.view(dtype).reshape(sizes))
        if once:
            self.received[name] = tensor
        return tensor

    def end_step(self):
        self.sent, self.received = set(), {}
