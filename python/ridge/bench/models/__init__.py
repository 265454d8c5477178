"""Whole models by PyTorch's operators, by torch.compile and by Ridge's: `python -m ridge.bench --models`."""

from ridge.bench.models import convnext, decoder, diffusion, encoder, mobilenet  # noqa: F401: each adds its models
from ridge.bench.models import resnet, timex, unet, video, whisper, yolo  # noqa: F401
from ridge.bench.models.table import MODELS

__all__ = ["MODELS"]
