"""One file an engine; each defines the class Adapter (see base.py)."""

from __future__ import annotations

import importlib

from .base import Base

NAMES = ("grebe", "fts5", "tantivy", "xapian", "whoosh", "bm25s")


def load(name: str) -> type[Base]:
    adapter: type[Base] = importlib.import_module(f"engines.{name}_engine").Adapter
    return adapter
