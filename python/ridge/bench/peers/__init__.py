"""TABLE: what each operator is measured beside (table.py), by kind of operator."""

from ridge.bench.peers import convolutions, images, matrices, rows, tokens, vectors  # noqa: F401: each adds its rows
from ridge.bench.peers.table import TABLE, Row

__all__ = ["TABLE", "Row"]
