#!/usr/bin/env python3
"""Fills the table of README.md from the newest bench/results/*.json.

A result holds one run of `./run bench`: machine, versions, rows. Of each row
(workload, what, side) the newest run that has it counts. `--check` writes
nothing and fails if README.md has another table than these files give.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
RESULTS = ROOT / "bench/results"
PLACE = re.compile(r"(<!-- bench: begin[^>]*-->\n).*?(<!-- bench: end -->)", re.S)
NONE = "Not measured yet: `./run bench`, then `python3 tools/readme_table.py`.\n"


def results(folder=RESULTS):
    """All runs, the newest last."""
    paths = sorted(folder.glob("*.json"), key=lambda p: (begun(p), p.name))
    return [json.loads(path.read_text()) for path in paths]


def begun(path):
    return json.loads(path.read_text())["machine"]["date"]


def newest_rows(runs):
    """(workload, what, side) -> row, in the order of the first run that has it."""
    rows = {}
    for run in runs:
        for row in run["rows"]:
            rows[row["workload"], row["what"], row["side"]] = row
    return sorted(rows.values(), key=order)


def order(row):
    number = re.search(r"\d+", row["workload"])
    return (int(number[0]) if number else 0, row["workload"])


def shown(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def table(rows):
    """Markdown: one line a row, a column for each engine that has figures."""
    peers = sorted({p for row in rows for p, v in row["peers"].items() if v is not None})
    head = ["", "what", "from", "unit", "Grebe", *peers, "Grebe to the best"]
    lines = [
        "| " + " | ".join(head) + " |",
        "|" + "---|" * 4 + "---:|" * (len(peers) + 2),
    ]
    for row in rows:
        cells = [row["workload"], row["what"], row["side"], row["unit"]]
        cells += [shown(row["grebe"]), *(shown(row["peers"].get(p)) for p in peers)]
        best = row["ratio_best"]
        cells.append("" if best is None else f"{shown(best)}x")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def machine(run):
    """Date, processor, file system and the versions of the engines."""
    facts = run["machine"]
    cpu = facts["cpu"]
    told = f"{facts['date']}, {cpu['model']}, {cpu['cores']} cores"
    told += f", {facts['file_system']}, Linux {facts['kernel']}"
    engines = ", ".join(f"{name} {version}" for name, version in facts["peers"].items())
    return f"{told}. {engines}."


def text(folder=RESULTS):
    """What stands between the marks."""
    runs = results(folder)
    rows = newest_rows(runs)
    if not rows:
        return NONE
    parts = [
        "Medians of one run on one machine, all engines side by side on the same"
        " documents and queries. The last column says how many times better Grebe is"
        " than the best of the others; below 1 it is worse. How it is measured:"
        " [bench](bench).",
        table(rows),
        machine(runs[-1]),
    ]
    return "\n\n".join(parts) + "\n"


def filled(readme, folder=RESULTS):
    """README with the table; refuses one without marks."""
    made, count = PLACE.subn(lambda m: m[1] + text(folder) + m[2], readme)
    if count != 1:
        sys.exit("README.md needs one pair of bench marks")
    return made


def main(arguments):
    before = README.read_text()
    after = filled(before)
    if arguments == ["--check"]:
        if after != before:
            print("README.md: the table is not that of bench/results: "
                  "python3 tools/readme_table.py")
        return after != before
    README.write_text(after)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
