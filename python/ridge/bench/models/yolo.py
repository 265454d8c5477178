"""YOLOv8-s: a detector of objects of three sizes. Batch norms are folded into weights and biases.

Cases    images=B             to the box and the scores of every place
         images=B,best=N      and which of the N places of an image with the highest scores nms keeps
"""

import dataclasses

import torch
from torch import nn

from ridge.bench.models.table import KEEPS, add, filters

_SILU = KEEPS["silu"]


@dataclasses.dataclass(frozen=True)
class Config:
    image: int = 640
    channels: tuple = (32, 64, 128, 256, 512)  # of each stage, which has half the pixels of the one before
    blocks: tuple = (1, 2, 2, 1)  # of all stages but the first
    classes: int = 80
    bins: int = 16  # a side's distance is a mean over whole numbers of pixels, weighted by their probabilities
    iou: float = 0.7


class Conv(nn.Module):
    """A convolution and silu."""

    def __init__(self, channels, out, size=1, stride=1, factor=_SILU):
        super().__init__()
        self.filters, self.stride, self.pad = filters(out, size, size, channels, factor=factor), stride, size // 2

    def forward(self, ops, x, **more):
        return ops.conv2d(x, *self.filters(), stride=self.stride, pad=self.pad, activation="silu", **more)


class Split(nn.Module):
    """Half of the channels go through blocks one by one ("C2f"). What each gave, and both halves, are joined."""

    def __init__(self, channels, out, blocks, added):
        super().__init__()
        self.half, self.added = out // 2, added
        self.enter, self.leave = Conv(channels, out), Conv((2 + blocks) * self.half, out)
        self.blocks = nn.ModuleList(
            nn.ModuleList((Conv(self.half, self.half, 3), Conv(self.half, self.half, 3, factor=_SILU / (1 + added))))
            for _ in range(blocks)
        )

    def forward(self, ops, x):
        parts = [self.enter(ops, x)]
        x = parts[0][..., self.half :]
        for first, second in self.blocks:
            x = second(ops, first(ops, x), added=x if self.added else None)
            parts.append(x)
        return self.leave(ops, torch.cat(parts, -1))


class Pyramid(nn.Module):
    """The maxima of windows of 5, 9 and 13 pixels, each made of the one before ("SPPF")."""

    def __init__(self, channels):
        super().__init__()
        self.enter, self.leave = Conv(channels, channels // 2), Conv(2 * channels, channels)

    def forward(self, ops, x):
        parts = [self.enter(ops, x)]
        for _ in range(3):
            parts.append(ops.max_pool2d(parts[-1], 5, stride=1, pad=2))
        return self.leave(ops, torch.cat(parts, -1))


class Head(nn.Module):
    """Of one size of objects: the bins of a box's four sides, and the scores of the classes, at each pixel."""

    def __init__(self, c, channels):
        super().__init__()
        smallest = c.channels[2]
        self.of_box = self._branch(channels, max(16, smallest // 4, 4 * c.bins), 4 * c.bins)
        self.of_class = self._branch(channels, max(smallest, min(c.classes, 100)), c.classes)
        self.of_class[-1].bias.sub_(4)  # nearly nothing is an object

    @staticmethod
    def _branch(channels, width, out):
        return nn.ModuleList((Conv(channels, width, 3), Conv(width, width, 3), filters(out, 1, 1, width, factor=2)))

    def forward(self, ops, x):
        """x [batch, rows, columns, channels] to [batch, pixels, 4 * bins] and [batch, pixels, classes]."""
        found = []
        for (first, second, last), activation in ((self.of_box, None), (self.of_class, "sigmoid")):
            y = second(ops, first(ops, x))
            found.append(ops.conv2d(y, *last(), activation=activation).flatten(1, 2))
        return found


class Yolo(nn.Module):
    def __init__(self, config, layers):
        super().__init__()
        self.c = c = config
        _, _, small, middle, large = widths = c.channels
        self.stem = Conv(3, widths[0], 3, stride=2, factor=1)
        self.stages = nn.ModuleList(
            nn.ModuleList((Conv(narrow, wide, 3, stride=2), Split(wide, wide, blocks, added=True)))
            for narrow, wide, blocks in zip(widths, widths[1:], c.blocks)
        )
        self.pyramid = Pyramid(large)

        def joined(channels, out):
            return Split(channels, out, c.blocks[-1], added=False)

        self.up_middle, self.up_small = joined(large + middle, middle), joined(middle + small, small)
        self.halve_small, self.halve_middle = Conv(small, small, 3, stride=2), Conv(middle, middle, 3, stride=2)
        self.down_middle, self.down_large = joined(small + middle, middle), joined(middle + large, large)
        self.heads = nn.ModuleList(Head(c, width) for width in (small, middle, large))
        places = [self._places(stride) for stride in (8, 16, 32)]
        self.register_buffer("places", torch.cat(places), persistent=False)
        strides = [at.new_full((len(at), 1), stride / c.image) for at, stride in zip(places, (8, 16, 32))]
        self.register_buffer("strides", torch.cat(strides), persistent=False)
        self.register_buffer("distances", torch.arange(c.bins, dtype=torch.float32), persistent=False)

    def _places(self, stride):
        """The middles of pixels, as x and y in shares of the image."""
        middles = (torch.arange(self.c.image // stride, dtype=torch.float32) + 0.5) * (stride / self.c.image)
        y, x = torch.meshgrid(middles, middles, indexing="ij")
        return torch.stack((x, y), -1).flatten(0, 1)

    def inputs(self, case):
        images = torch.randn(case["images"], self.c.image, self.c.image, 3)
        return (images, self._found(case["images"]), case["best"]) if "best" in case else (images,)

    def _found(self, images, objects=20):
        """[images, places, 4 + classes] f32: each place has found the box of one of an image's objects, about."""
        some = {"dtype": torch.float32}
        corner, sides = torch.rand(images, objects, 2, **some) * 0.7, torch.rand(images, objects, 2, **some) * 0.2
        boxes, classes = torch.cat((corner, corner + 0.1 + sides), -1), torch.randint(self.c.classes, (images, objects))
        which = torch.randint(objects, (images, len(self.places)))
        boxes = boxes.gather(1, which.unsqueeze(-1).expand(-1, -1, 4))
        boxes = boxes + 0.01 * torch.randn(boxes.shape, **some)
        scores = torch.zeros(images, len(self.places), self.c.classes, **some)
        scores.scatter_(-1, classes.gather(1, which).unsqueeze(-1), torch.rand(images, len(self.places), 1, **some))
        return torch.cat((boxes, scores), -1)

    def forward(self, ops, images, found=None, best=None):
        """images [batch, rows, columns, 3] to each place's box and scores, [batch, places, 4 + classes], and with best
        a 1 behind them where nms keeps the place. Of nearly equal scores rounding decides which is the first, and with
        random weights all are; so nms is given what a trained network may find."""
        bins, scores = (torch.cat(parts, 1) for parts in zip(*self.levels(ops, images)))
        more = [] if best is None else [self.kept(ops, found, best)]
        return torch.cat((self.boxes(ops, bins), scores.float(), *more), -1)

    def levels(self, ops, images):
        """What the heads give of objects of each size."""
        x, seen = self.stem(ops, images), []
        for halve, split in self.stages:
            x = split(ops, halve(ops, x))
            seen.append(x)
        _, small, middle, large = seen
        large = self.pyramid(ops, large)
        middle = self.up_middle(ops, torch.cat((ops.upsample(large, 2), middle), -1))
        small = self.up_small(ops, torch.cat((ops.upsample(middle, 2), small), -1))
        middle = self.down_middle(ops, torch.cat((self.halve_small(ops, small), middle), -1))
        large = self.down_large(ops, torch.cat((self.halve_middle(ops, middle), large), -1))
        return [head(ops, x) for head, x in zip(self.heads, (small, middle, large))]

    def boxes(self, ops, bins):
        """bins [batch, places, 4 * bins] to x1, y1, x2, y2, [batch, places, 4] f32, in shares of the image."""
        probabilities = ops.softmax(bins.unflatten(-1, (4, -1)))
        sides = (probabilities.float() @ self.distances) * self.strides
        before, after = sides.chunk(2, -1)
        return torch.cat((self.places - before, self.places + after), -1)

    def kept(self, ops, found, best):
        """found as forward's result, to 1 where a box is kept and 0 elsewhere, [batch, places, 1]."""
        batch, places = found.shape[:2]
        boxes, scores = found.split((4, self.c.classes), -1)
        scores, classes = scores.max(-1)
        scores, at = scores.topk(best)
        boxes = boxes.gather(1, at.unsqueeze(-1).expand(-1, -1, 4))
        image = torch.arange(batch, device=at.device).unsqueeze(1)
        # Classes of each image's own, so that one call is for all images.
        kept = ops.nms(boxes, scores, classes.gather(1, at) + self.c.classes * image, self.c.iou)
        at = torch.where(kept < 0, batch * places, (at + places * image).flatten()[kept])
        return found.new_zeros(batch * places + 1).scatter(0, at, 1.0)[:-1].view(batch, places, 1)


add(
    "yolov8-s",
    Yolo,
    Config(),
    ("images=32", "images=1", "images=32,best=300", "images=1,best=300"),
    Config(image=64, channels=(8, 8, 16, 16, 16), blocks=(1, 2, 1, 1), classes=6, bins=4, iou=0.3),
    ("images=1", "images=2,best=40"),
    layers=None,
)
