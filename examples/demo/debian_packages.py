"""The package records of apt's own lists, as they lie on a Debian machine."""

from __future__ import annotations

import gzip
import lzma
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grebe

LISTS = Path("/var/lib/apt/lists")

SCHEMA = grebe.Schema(
    id=grebe.key(),
    name=grebe.text("simple"),
    summary=grebe.text("en"),
    section=grebe.keyword(),
    priority=grebe.keyword(),
    version=grebe.keyword(),
    maintainer=grebe.keyword(),
    tags=grebe.keyword(many=True),
    depends=grebe.keyword(many=True),
    kib=grebe.int_(),
    homepage=grebe.keyword(),
)


class NoLists(Exception):
    """Why there are no package records here, in a few words."""


def _lz4(path: Path) -> bytes:
    """apt has a helper that reads its own compressed lists; lz4 has one too."""
    for command in (["/usr/lib/apt/apt-helper", "cat-file"], ["lz4", "-dc"]):
        if shutil.which(command[0]):
            return subprocess.run(
                [*command, str(path)], check=True, stdout=subprocess.PIPE
            ).stdout
    raise NoLists(f"nothing here can read {path.name}")


def _read(path: Path) -> str:
    if path.suffix == ".lz4":
        content = _lz4(path)
    elif path.suffix == ".gz":
        content = gzip.decompress(path.read_bytes())
    elif path.suffix == ".xz":
        content = lzma.decompress(path.read_bytes())
    else:
        content = path.read_bytes()
    return content.decode("utf-8", "replace")


def _records(content: str) -> Iterator[dict[str, str]]:
    """Paragraphs of `Name: value`; a line that begins with a space goes on."""
    for paragraph in content.split("\n\n"):
        record: dict[str, str] = {}
        name = ""
        for line in paragraph.split("\n"):
            if line.startswith((" ", "\t")):
                record[name] += "\n" + line.strip()
            elif line:
                name, _, value = line.partition(":")
                record[name] = value.strip()
        if "Package" in record:
            yield record


def _depends(text: str) -> list[str]:
    names = (one.split("|")[0].split("(")[0] for one in text.split(","))
    return list(dict.fromkeys(n.strip().partition(":")[0] for n in names if n.strip()))


def _document(record: dict[str, str]) -> dict[str, Any]:
    document: dict[str, Any] = {
        "id": record["Package"],
        "name": record["Package"],
        "summary": record.get("Description", ""),
        "section": record.get("Section", "none").rpartition("/")[2],
        "priority": record.get("Priority", "none"),
        "version": record.get("Version", ""),
        "maintainer": record.get("Maintainer", "").partition(" <")[0],
        "tags": [t.strip() for t in record.get("Tag", "").split(",") if t.strip()],
        "depends": _depends(record.get("Depends", "")),
        "kib": int(record.get("Installed-Size", "0")),
    }
    if "Homepage" in record:
        document["homepage"] = record["Homepage"]
    return document


def documents() -> list[dict[str, Any]]:
    """One document a record; a later list of the same package replaces it.

    NoLists says why there are none.
    """
    if not LISTS.is_dir():
        raise NoLists(f"no folder {LISTS}: not a Debian machine")
    lists = sorted(p for p in LISTS.iterdir() if "_Packages" in p.name)
    if not lists:
        raise NoLists(f"no *_Packages below {LISTS}; `apt-get update` gets them")
    return [_document(record) for path in lists for record in _records(_read(path))]
