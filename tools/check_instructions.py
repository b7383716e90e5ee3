#!/usr/bin/env python3
"""Counts instructions of fixed work and compares them with bench/instructions.json.

  tools/check_instructions.py [--tolerance PERCENT] [--update] [--build FOLDER]

Clocks on shared machines are noisy, instruction counts are not: this tells whether an
addition, a one-term search or a soft commit has become dearer. Not part of the default
tests, as the counts belong to one compiler and C library; those are recorded, and other
ones are refused rather than compared. Needs valgrind and a release build with
GREBE_BENCH=ON (`./run build` makes one). Takes about ten seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "bench/instructions.json"
TURNS = 1000
WORK = {
    "add": "a document of 8 words added",
    "search": "a one-term search, top 10 of 45 on 1,000 documents",
    "commit": "a soft commit",
}


def count(program: pathlib.Path, work: str, turns: int) -> int:
    command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    out = subprocess.run(
        [*command, str(program), work, str(turns)], capture_output=True, text=True
    )
    found = re.search(r"Collected : (\d+)", out.stderr)
    if out.returncode or not found:
        sys.exit(f"{program.name} {work}: {out.stderr.strip()[-400:]}")
    return int(found.group(1))


def tools() -> dict[str, str]:
    """What the counts depend on besides the source."""
    compiler = subprocess.run(["cc", "--version"], capture_output=True, text=True)
    return {
        "compiler": compiler.stdout.split("\n")[0],
        "library": " ".join(platform.libc_ver()),
        "machine": platform.machine(),
    }


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    p.add_argument("--tolerance", type=float, default=1.0, metavar="PERCENT")
    p.add_argument("--update", action="store_true", help="write the counts found")
    p.add_argument("--build", default=os.environ.get("GREBE_BUILD", "build/release"))
    return p.parse_args()


def compare(found: dict[str, float], tolerance: float) -> int:
    kept = json.loads(KEPT.read_text())
    if kept["tools"] != tools():
        print(f"recorded with {kept['tools']}, here is {tools()}: not compared")
        return 2
    worse = 0
    for work, now in found.items():
        was = kept["instructions"][work]
        change = 100 * (now / was - 1)
        verdict = "ok"
        if abs(change) > tolerance:
            verdict = "dearer" if change > 0 else "cheaper: run with --update"
            worse += 1
        print(f"{WORK[work]}: {now:,.0f}, was {was:,.0f} ({change:+.2f} %) {verdict}")
    return 1 if worse else 0


def main() -> int:
    args = arguments()
    program = ROOT / args.build / "instructions_bench"
    if not program.exists():
        sys.exit(f"{program} does not exist: build with GREBE_BENCH=ON")
    found = {
        work: (count(program, work, TURNS) - count(program, work, 0)) / TURNS
        for work in WORK
    }
    if args.update:
        made = {"tools": tools(), "instructions": found}
        KEPT.write_text(json.dumps(made, indent=1) + "\n")
        print(f"{KEPT.relative_to(ROOT)}: {found}")
        return 0
    return compare(found, args.tolerance)


if __name__ == "__main__":
    sys.exit(main())
