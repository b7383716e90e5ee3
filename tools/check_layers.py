#!/usr/bin/env python3
"""Checks every include of core/src against tools/layers.txt."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)


def layers():
    table = {}
    for line in (ROOT / "tools/layers.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            room, above = line.split(":")
            table[room] = set(above.split()) | {room}
    return table


def main():
    table, faults = layers(), []
    for path in sorted((ROOT / "core/src").glob("*/*.[ch]")):
        room = path.parent.name
        if room not in table:
            faults.append(f"{path}: room {room} is not in tools/layers.txt")
            continue
        for name in INCLUDE.findall(path.read_text()):
            target = name.split("/")[0] if "/" in name else room
            if target != "grebe" and target not in table[room]:
                faults.append(f"{path.relative_to(ROOT)}: {room} may not include {name}")
    for room in table:
        if not (ROOT / "core/src" / room / "README.md").exists():
            faults.append(f"core/src/{room}: no README.md")
    print("\n".join(faults) or "layers: ok")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
