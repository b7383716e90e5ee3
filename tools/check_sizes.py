#!/usr/bin/env python3
"""Checks sizes: files, functions, parameters, lines (docs/CONTRIBUTING has why).

Exceptions (files or functions) stand in tools/sizes_allowed.txt, each with its
reason.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FILE_MAX = {".c": 700, ".h": 300, ".i": 250, ".lua": 400, ".py": 700}
FUNCTION_MAX, PARAMETERS_MAX, COLUMNS = 70, 7, {".c": 80, ".h": 80, ".lua": 80, ".py": 88}
HEAD = re.compile(r"^(?:[A-Za-z_][\w \t\*]*?)?\**([a-z]\w+)\(([^;{]*)\)\s*\{", re.M)


def allowed():
    table = {}
    path = ROOT / "tools/sizes_allowed.txt"
    for line in path.read_text().splitlines() if path.exists() else []:
        if line and not line.startswith("#"):
            name, reason = line.split(":", 1)
            if not reason.strip():
                sys.exit(f"sizes_allowed.txt: {name} without a reason")
            table[name.strip()] = reason
    return table


def functions(text):
    for match in HEAD.finditer(text):
        end = text.find("\n}", match.end())
        yield match[1], match[2].count(",") + 1, text.count("\n", match.start(), end) + 1


def faults(path, text):
    lines = text.splitlines()
    if len(lines) > FILE_MAX.get(path.suffix, 700):
        yield f"{len(lines)} lines, the limit is {FILE_MAX[path.suffix]}"
    for number, line in enumerate(lines, 1):
        if len(line) > COLUMNS.get(path.suffix, 100):
            yield f"line {number} has {len(line)} columns"
    if path.suffix == ".c":
        for name, parameters, size in functions(text):
            if size > FUNCTION_MAX:
                yield f"{name} has {size} lines, the limit is {FUNCTION_MAX}"
            if parameters > PARAMETERS_MAX:
                yield f"{name} has {parameters} parameters, the limit is {PARAMETERS_MAX}"


def main():
    skip, found = allowed(), []
    patterns = ["core/src/*/*.[ch]", "swig/**/*.i", "bindings/**/*.lua", "bindings/**/*.py"]
    for path in sorted(p for g in patterns for p in ROOT.glob(g)):
        name = str(path.relative_to(ROOT))
        for fault in faults(path, path.read_text()):
            if name not in skip and fault.split()[0] not in skip:
                found.append(f"{name}: {fault}")
    print("\n".join(found) or "sizes: ok")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
