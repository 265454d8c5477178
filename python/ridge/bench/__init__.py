"""Ridge beside what PyTorch would run: `python -m ridge.bench`. Needs PyTorch. docs/torch.md."""
