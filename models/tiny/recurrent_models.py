"""The tiny model that speaks: recurrent cells, whose parameters are laid out as the file holds them."""
import torch
import torch.nn.functional as F
from torch import nn

from language_models import VOCABULARY, parameter


class Node(torch.autograd.Function):
    """A recurrent node of the exported graph."""

    @staticmethod
    def forward(ctx, x, w, r, b, kind, direction, result):
        return result.clone()

    @staticmethod
    def symbolic(g, x, w, r, b, kind, direction, result):
        more = {"linear_before_reset_i": 1} if kind == "GRU" else {}
        return g.op(kind, x, w, r, b, hidden_size_i=r.type().sizes()[2], direction_s=direction, **more)


class Recurrent(nn.Module):
    """[s, b, inputs] -> [s, d, b, hidden]. Blocks of rows are in ONNX's order: i o f c, or z r h."""

    def __init__(self, kind, inputs, hidden, directions):
        super().__init__()
        rows = {"LSTM": 4, "GRU": 3}[kind] * hidden
        self.kind, self.hidden, self.directions = kind, hidden, directions
        self.w, self.r = parameter(directions, rows, inputs), parameter(directions, rows, hidden)
        self.bias = nn.Parameter(torch.zeros(directions, 2 * rows))

    def by_torch(self, x):
        order = {"LSTM": (0, 2, 3, 1), "GRU": (1, 0, 2)}[self.kind]
        weights = []
        for direction in range(self.directions):
            own = [self.w[direction], self.r[direction], *self.bias[direction].chunk(2)]
            weights += [torch.cat([t.chunk(len(order))[block] for block in order]) for t in own]
        zeros = x.new_zeros(self.directions, x.size(1), self.hidden)
        start = (zeros, zeros) if self.kind == "LSTM" else zeros
        run = torch.lstm if self.kind == "LSTM" else torch.gru
        flat = run(x, start, weights, True, 1, 0.0, False, self.directions == 2, False)[0]
        return flat.reshape(*flat.shape[:2], self.directions, self.hidden).transpose(1, 2)

    def forward(self, x):
        result = self.by_torch(x)
        if not torch.onnx.is_in_onnx_export():
            return result
        direction = "bidirectional" if self.directions == 2 else "forward"
        return Node.apply(x, self.w, self.r, self.bias, self.kind, direction, result.detach())


class Tts(nn.Module):
    """Text to frames of a spectrum: convolution, states of both directions, two frames for each letter, a decoder."""

    def __init__(self, width=18, hidden=10, decoder=14, bands=9):
        super().__init__()
        self.letters = nn.Embedding(VOCABULARY, width)
        self.conv = nn.Conv1d(width, width, 3, padding=1)
        self.encoder = Recurrent("LSTM", width, hidden, 2)
        self.decoder = Recurrent("GRU", 2 * hidden, decoder, 1)
        self.head = nn.Linear(decoder, bands)

    def forward(self, text):
        x = F.relu(self.conv(self.letters(text).transpose(1, 2)))
        x = self.encoder(x.permute(2, 0, 1)).transpose(1, 2).flatten(2)
        x = torch.stack((x, x), 1).flatten(0, 1)
        return self.head(self.decoder(x)[:, 0]).transpose(0, 1)
