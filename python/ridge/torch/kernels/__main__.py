"""Writes this package as a repository of Hugging Face's `kernels` library, which loads it offline:

    python -m ridge.torch.kernels FOLDER [--backend NAME]
    layers = kernels.get_local_kernel(pathlib.Path(FOLDER)).layers

FOLDER/build/VARIANT holds the package, a module that imports it, and its metadata. There is nothing in it that depends on
PyTorch's binary interface, so a variant is that of the stable one, of the least version that ridge.torch takes.
"""

import argparse
import json
import pathlib
import platform
import shutil

import torch

import ridge
from ridge import _ridge

LEAST_TORCH = "26"  # 2.6, docs/torch.md

LOADER = '''"""Ridge's operators and layers: the package beside this file, unless the process has another copy already."""

import pathlib
import sys

if "ridge" not in sys.modules:
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    try:
        import ridge.torch
    finally:
        sys.path.pop(0)

import ridge.torch
from ridge.torch.kernels import layers

__version__ = "{version}"
__all__ = ["layers"]


def __getattr__(name):
    """Operators by their names: softmax, attention."""
    return getattr(ridge.torch, name)
'''


def own_backend():
    """What this build of Ridge is for, in the library's words: cu130, or cpu."""
    return f"cu{torch.version.cuda.replace('.', '')}" if _ridge.has_cuda and torch.version.cuda else "cpu"


def write(folder, backend=None):
    """Writes the repository; returns the variant's folder, which must not exist yet. The library looks for PyTorch's own
    backend alone: a build without CUDA that is used with a PyTorch that has it must be given that name."""
    backend = backend or own_backend()
    variant = f"torch-stable-abi{LEAST_TORCH}-{backend}-{platform.machine()}-{platform.system().lower()}"
    package = pathlib.Path(ridge.__file__).parent
    target = pathlib.Path(folder) / "build" / variant
    target.mkdir(parents=True)
    shutil.copytree(package, target / "ridge", ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    (target / "__init__.py").write_text(LOADER.format(version=ridge.__version__))
    metadata = {
        "id": f"ridge_{ridge.__version__.replace('.', '_')}_{backend}",
        "name": "ridge",
        "version": 1,
        "license": "Apache-2.0",
        "backend": {"type": "cpu" if backend == "cpu" else "cuda"},
        "python-depends": [],
    }
    (target / "metadata.json").write_text(json.dumps(metadata, indent=2) + "\n")
    return target


def main():
    parser = argparse.ArgumentParser(prog="python -m ridge.torch.kernels", description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where to write the repository")
    parser.add_argument("--backend", help="cpu, cu130: by default what this build of Ridge is for")
    given = parser.parse_args()
    try:
        print(write(given.folder, given.backend))
    except FileExistsError as error:
        raise SystemExit(f"ridge: {error.filename} exists; it must be a new folder") from None


if __name__ == "__main__":
    main()
