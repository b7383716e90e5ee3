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


def main():
    names, faults = public()
    wrapped = " ".join(p.read_text() for p in (ROOT / "swig").rglob("*.i"))
    wrapped += (ROOT / "swig/not_wrapped.txt").read_text()
    faults += [f"{n} is neither wrapped nor in swig/not_wrapped.txt"
               for n in names if not re.search(rf"\b{n}\b", wrapped)]
    if len(sys.argv) > 1:
        symbols = exported(sys.argv[1])
        faults += [f"{s} leaves the library" for s in symbols if not s.startswith("grebe_")]
        faults += [f"{n} is declared but not in the library" for n in names if n not in symbols]
    print("\n".join(faults) or f"api: ok, {len(names)} public functions")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
