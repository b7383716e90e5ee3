"""A search with an installed grebe; the argument is where it must lie."""

import sys
from pathlib import Path

import grebe

place = Path(grebe.__file__)
if Path(sys.argv[1]) not in place.parents:
    raise SystemExit(f"grebe came from {place}")
schema = grebe.Schema(id=grebe.key(), title=grebe.text("en"))
with grebe.open("index-of-the-package-test", schema) as ix:
    ix.add({"id": "1", "title": "The Old Man and the Sea"})
    ix.commit()
with grebe.open("index-of-the-package-test", mode="r") as ix:
    if ix.search("men sea").ids != ["1"]:
        raise SystemExit("the installed grebe finds nothing")
if grebe.live_handles():
    raise SystemExit("handles are left")
print(f"   grebe {grebe.__version__} searches", file=sys.stderr)
