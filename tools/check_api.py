#!/usr/bin/env python3
"""Checks that every public function is documented, wrapped or listed as not
wrapped (swig/not_wrapped.txt), and, given a library, that just grebe_* leave it."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FUNCTION = re.compile(r"(/\*(?:[^*]|\*(?!/))*\*/)?\s*((?:GREBE_API[^;]*;\s*)+)", re.S)
NAME = re.compile(r"\b(grebe_\w+)\(")


def public():
    names, faults = [], []
    for path in sorted((ROOT / "core/include/grebe").glob("*.h")):
        text = re.sub(r"#[^\n]*GREBE_API[^\n]*", "", path.read_text())
        for comment, group in FUNCTION.findall(text):
            found = [NAME.search(d)[1] for d in group.split(";") if NAME.search(d)]
            names += found
            if not comment and found:
                faults.append(f"{path.name}: {found[0]} has no comment")
    return names, faults


def exported(library):
    out = subprocess.run(["nm", "-D", "--defined-only", library], check=True,
                         capture_output=True, text=True).stdout
    return [line.split()[-1] for line in out.splitlines()]


def ignored():
    """What some interface file tells SWIG to pass over."""
    text = "\n".join(p.read_text() for p in sorted((ROOT / "swig").rglob("*.i")))
    return set(re.findall(r"^%ignore (grebe_\w+);", text, re.M))


def not_wrapped():
    """name -> reason, as swig/not_wrapped.txt lists them."""
    lines = (ROOT / "swig/not_wrapped.txt").read_text().splitlines()
    rows = (line.split(None, 1) for line in lines if line and line[0] != "#")
    return {row[0]: row[1:] for row in rows}


def wrapping_faults(names):
    """SWIG wraps what the included headers declare, less what is ignored."""
    passed_over, listed = ignored(), not_wrapped()
    interface = (ROOT / "swig/grebe.i").read_text()
    for path in sorted((ROOT / "core/include/grebe").glob("*.h")):
        if path.name != "grebe.h" and f'%include "grebe/{path.name}"' not in interface:
            yield f"swig/grebe.i does not include grebe/{path.name}"
    for name in sorted(passed_over - set(listed)):
        yield f"{name} is ignored by SWIG but not in swig/not_wrapped.txt"
    for name, reason in listed.items():
        if name not in names or name not in passed_over:
            yield f"swig/not_wrapped.txt: {name} is wrapped, or there is none"
        if not reason:
            yield f"swig/not_wrapped.txt: {name} without a reason"


def main():
    names, faults = public()
    faults += wrapping_faults(names)
    if len(sys.argv) > 1:
        symbols = exported(sys.argv[1])
        faults += [f"{s} leaves the library" for s in symbols if not s.startswith("grebe_")]
        faults += [f"{n} is declared but not in the library" for n in names if n not in symbols]
    print("\n".join(faults) or f"api: ok, {len(names)} public functions")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
