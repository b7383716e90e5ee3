"""The documentation of this interpreter's standard library, entry by entry."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import grebe

# Modules that do something when imported, or are no documentation.
LEFT_OUT = {
    "antigravity",
    "this",
    "idlelib",
    "turtle",
    "turtledemo",
    "test",
    "lib2to3",
    "__main__",
}
PARTS_LEFT_OUT = {"test", "tests", "__main__", "idle_test"}

SCHEMA = grebe.Schema(
    id=grebe.key(),
    name=grebe.text("simple"),
    doc=grebe.text("en"),
    signature=grebe.text(indexed=False),
    kind=grebe.keyword(),
    package=grebe.keyword(),
    module=grebe.keyword(),
    bases=grebe.keyword(many=True),
    words=grebe.int_(),
)


def _import(name: str) -> ModuleType | None:
    """The module, None where this machine cannot import it."""
    try:
        return importlib.import_module(name)
    except Exception:
        return None


def _modules() -> Iterator[ModuleType]:
    """Public modules of the standard library and of its packages."""
    waiting = sorted(
        name
        for name in sys.stdlib_module_names
        if not name.startswith("_") and name not in LEFT_OUT
    )
    while waiting:
        name = waiting.pop(0)
        module = _import(name)
        if module is None:
            continue
        yield module
        below = pkgutil.iter_modules(getattr(module, "__path__", ()), name + ".")
        waiting[:0] = [
            found.name
            for found in below
            if not PARTS_LEFT_OUT & set(found.name.split("."))
            and not found.name.rpartition(".")[2].startswith("_")
        ]


def _signature(thing: object) -> str | None:
    try:
        return str(inspect.signature(thing))  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None


def _kind(thing: object, inside_class: bool) -> str | None:
    if inspect.isclass(thing):
        if issubclass(thing, BaseException):
            return "exception"
        return "class"
    if isinstance(thing, (staticmethod, classmethod)):
        return "method"
    if isinstance(thing, property) or inspect.isdatadescriptor(thing):
        return "property"
    if inspect.isroutine(thing):
        return "method" if inside_class else "function"
    if isinstance(thing, (int, str, float)) and not inside_class:
        return "constant"
    return None


def _entry(path: str, module: str, kind: str, thing: object) -> dict[str, Any]:
    thing = getattr(thing, "__func__", thing)
    doc = None if kind == "constant" else getattr(thing, "__doc__", None)
    doc = inspect.cleandoc(doc) if isinstance(doc, str) else ""
    entry: dict[str, Any] = {
        "id": path,
        "name": path,
        "kind": kind,
        "module": module,
        "package": module.partition(".")[0],
        "words": len(doc.split()),
    }
    if doc:
        entry["doc"] = doc.encode("utf-8", "replace").decode("utf-8")
    if kind in ("function", "method", "class"):
        signature = _signature(thing)
        if signature is not None and len(signature) < 2000:
            entry["signature"] = signature
    if inspect.isclass(thing):
        entry["bases"] = [base.__qualname__ for base in thing.__bases__]
    return entry


def _owns(module: ModuleType, name: str, thing: object) -> bool:
    """Whether a name belongs to this module's page.

    What it defines, and what it offers in `__all__` from an inner module.
    """
    home = getattr(thing, "__module__", None) or ""
    if home == module.__name__:
        return True
    offered = name in getattr(module, "__all__", ())
    if isinstance(thing, (int, str, float)):
        return offered or name.isupper()
    return offered and home.startswith(("_", module.__name__ + "."))


def _class_entries(cls: type, path: str, module: str) -> Iterator[dict[str, Any]]:
    for name, thing in sorted(vars(cls).items()):
        kind = _kind(thing, True)
        if kind is not None and (name == "__init__" or not name.startswith("_")):
            yield _entry(f"{path}.{name}", module, kind, thing)


def _module_entries(module: ModuleType, seen: set[int]) -> Iterator[dict[str, Any]]:
    """Entries of a module's names; a thing seen in an outer module is left out."""
    path = module.__name__
    yield _entry(path, path, "module", module)
    for name, thing in sorted(vars(module).items()):
        kind = _kind(thing, False)
        if name.startswith("_") or kind is None or not _owns(module, name, thing):
            continue
        if kind != "constant":
            if id(thing) in seen:
                continue
            seen.add(id(thing))
        yield _entry(f"{path}.{name}", path, kind, thing)
        if inspect.isclass(thing):
            yield from _class_entries(thing, f"{path}.{name}", path)


def entries() -> Iterator[dict[str, Any]]:
    """Every module, class, function, method, property and constant, once."""
    seen: set[int] = set()
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        ids: set[str] = set()
        for module in _modules():
            for entry in _module_entries(module, seen):
                if entry["id"] not in ids:
                    ids.add(entry["id"])
                    yield entry
