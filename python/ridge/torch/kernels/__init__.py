"""Ridge as a kernel of Hugging Face's `kernels` library: layers.py has what it puts in the place of a model's layers, and
`python -m ridge.torch.kernels FOLDER` writes the installed package as a repository that it loads."""
