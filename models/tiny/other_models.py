"""The tiny models that are not about text: ViT, ResNet, UNet, DLRM and a mixer written in einsum."""
import torch
import torch.nn.functional as F
from torch import nn

from language_models import parameter


# ------------------------------------------------------------------------------------------------------------- ViT
class VitLayer(nn.Module):
    def __init__(self, width, heads, hidden):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x):
        h = self.norm_1(x).transpose(0, 1)  # torch's own attention puts the sequence first and joins batch and heads
        x = x + self.attention(h, h, h)[0].transpose(0, 1)
        return x + self.down(F.gelu(self.up(self.norm_2(x))))


class Vit(nn.Module):
    """14 x 21 pixels in patches of 7 x 7: six tokens and the class token."""

    def __init__(self, width=24, heads=3, hidden=40, layers=2, classes=11):
        super().__init__()
        self.patches = nn.Conv2d(3, width, kernel_size=7, stride=7)
        self.class_token, self.position = parameter(1, 1, width), parameter(1, 7, width)
        self.layers = nn.ModuleList(VitLayer(width, heads, hidden) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, classes)

    def forward(self, image):
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.class_token.expand(x.size(0), -1, -1), x), dim=1) + self.position
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


# ---------------------------------------------------------------------------------------------------------- ResNet
class Bottleneck(nn.Module):
    def __init__(self, inputs, inner, outputs, stride, groups):
        super().__init__()
        self.conv_1, self.bn_1 = nn.Conv2d(inputs, inner, 1, bias=False), nn.BatchNorm2d(inner)
        self.conv_2 = nn.Conv2d(inner, inner, 3, stride=stride, padding=1, groups=groups, bias=False)
        self.bn_2 = nn.BatchNorm2d(inner)
        self.conv_3, self.bn_3 = nn.Conv2d(inner, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        self.shortcut = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.shortcut = nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride=stride, bias=False),
                                          nn.BatchNorm2d(outputs))

    def forward(self, x):
        h = F.relu(self.bn_1(self.conv_1(x)))
        h = F.relu(self.bn_2(self.conv_2(h)))
        return F.relu(self.bn_3(self.conv_3(h)) + self.shortcut(x))


class ResNet(nn.Module):
    """Stem with max pooling, two stages of two blocks (one strided, with grouped convolutions), global pooling."""

    def __init__(self, classes=11):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(3, 10, 7, stride=2, padding=3, bias=False), nn.BatchNorm2d(10)
        self.stage_1 = nn.Sequential(Bottleneck(10, 6, 14, 1, 1), Bottleneck(14, 6, 14, 1, 1))
        self.stage_2 = nn.Sequential(Bottleneck(14, 9, 21, 2, 3), Bottleneck(21, 9, 21, 1, 3))
        self.head = nn.Linear(21, classes)

    def forward(self, image):
        x = F.max_pool2d(F.relu(self.bn(self.conv(image))), 3, stride=2, padding=1)
        x = self.stage_2(self.stage_1(x))
        return self.head(F.adaptive_avg_pool2d(x, 1).flatten(1))


# ------------------------------------------------------------------------------------------------------------ UNet
class Double(nn.Module):
    """Two convolutions with group normalisation and SiLU between."""

    def __init__(self, inputs, outputs, groups):
        super().__init__()
        self.conv_1, self.conv_2 = nn.Conv2d(inputs, outputs, 3, padding=1), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.norm_1, self.norm_2 = nn.GroupNorm(groups, outputs), nn.GroupNorm(groups, outputs)

    def forward(self, x):
        x = F.silu(self.norm_1(self.conv_1(x)))
        return F.silu(self.norm_2(self.conv_2(x)))


class UNet(nn.Module):
    """Two levels: down by average pooling and by stride, up by nearest resize and by transposed convolution, each with
    the skip concatenated; 12 x 20 pixels, 3 x 5 at the bottom."""

    def __init__(self, classes=5):
        super().__init__()
        self.down_1, self.down_2, self.bottom = Double(3, 6, 2), Double(6, 9, 3), Double(9, 15, 3)
        self.stride = nn.Conv2d(9, 9, 3, stride=2, padding=1)
        self.rise = nn.ConvTranspose2d(15, 9, 2, stride=2)
        self.up_2, self.up_1 = Double(18, 9, 3), Double(15, 6, 2)
        self.head = nn.Conv2d(6, classes, 1)

    def forward(self, image):
        high = self.down_1(image)
        low = self.down_2(F.avg_pool2d(high, 2))
        x = self.rise(self.bottom(self.stride(low)))
        x = self.up_2(torch.cat((low, x), dim=1))
        x = F.interpolate(x, scale_factor=2.0, mode="nearest")
        return self.head(self.up_1(torch.cat((high, x), dim=1)))


# ------------------------------------------------------------------------------------------------------------ DLRM
class Dlrm(nn.Module):
    """Three embedding tables of different sizes with bags of two, products of all pairs, two perceptrons."""

    ROWS = (101, 53, 17)

    def __init__(self, width=10, dense=13):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for rows in self.ROWS)
        self.bottom = nn.Sequential(nn.Linear(dense, 22), nn.ReLU(), nn.Linear(22, width), nn.ReLU())
        features = len(self.ROWS) + 1
        lower = torch.tril_indices(features, features, offset=-1)
        self.register_buffer("pairs", lower[0] * features + lower[1])
        self.top = nn.Sequential(nn.Linear(width + len(self.pairs), 19), nn.ReLU(), nn.Linear(19, 19), nn.ReLU(),
                                 nn.Linear(19, 1))

    def forward(self, dense, indices):
        x = self.bottom(dense)
        bags = [table(indices[:, i]).sum(dim=1) for i, table in enumerate(self.tables)]
        features = torch.stack([x, *bags], dim=1)
        products = (features @ features.transpose(1, 2)).flatten(1)
        products = torch.index_select(products, 1, self.pairs)
        return torch.sigmoid(self.top(torch.cat((x, products), dim=1)))


def dlrm_inputs():
    """13 dense features and [batch, table, bag] indices, the first and last row of each table among them."""
    indices = torch.stack([torch.randint(rows, (6, 2)) for rows in Dlrm.ROWS], dim=1)
    indices[0, :, 0], indices[5, :, 1] = 0, torch.tensor(Dlrm.ROWS) - 1
    return torch.randn(6, 13), indices


# ----------------------------------------------------------------------------------------------------------- Mixer
class MixerLayer(nn.Module):
    """Tokens mixed by a dense matrix, channels by heads, and a gate of low rank in one einsum of three operands."""

    def __init__(self, tokens, width, heads, size, low):
        super().__init__()
        self.norm_1, self.norm_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.time = parameter(heads, tokens, tokens)
        self.enter, self.leave = parameter(width, heads, size), parameter(heads, size, width)
        self.left, self.right = parameter(width, low), parameter(low, width)
        self.scale = parameter(width)

    def forward(self, x):
        h = torch.einsum("bsc,chd->bhsd", self.norm_1(x), self.enter)
        h = torch.einsum("bhsd,hst->bthd", h, self.time)
        x = x + torch.einsum("bthd,hdc->btc", F.gelu(h), self.leave)
        h = self.norm_2(x)
        mixed = torch.einsum("bic,bjc->bij", h, h).softmax(-1)
        h = torch.einsum("bij,bjc,c->bic", mixed, h, self.scale)
        return x + torch.einsum("...c,cr,rd->...d", h, self.left, self.right)


class Mixer(nn.Module):
    """Every contraction an Einsum: heads made and joined by the equation, three operands, ellipsis, permuted result."""

    def __init__(self, features=9, tokens=7, width=22, heads=3, size=5, low=4, layers=2, classes=11):
        super().__init__()
        self.embed = parameter(features, width)
        self.layers = nn.ModuleList(MixerLayer(tokens, width, heads, size, low) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), parameter(width, classes)

    def forward(self, x):
        x = torch.einsum("bfs,fc->bsc", x, self.embed)
        for layer in self.layers:
            x = layer(x)
        return torch.einsum("bsc,ck->kb", self.norm(x), self.head) / x.size(1)
