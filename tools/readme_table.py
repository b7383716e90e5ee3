#!/usr/bin/env python3
"""Fills the tables of README.md and docs/performance.md from the newest
bench/results/*.json: a selection there, every row here.

A result holds one run of `./run bench`: machine, versions, rows. Of each row
(workload, what, side) the newest run that has it counts. `--check` writes
nothing and fails if a page has another table than these files give.
"""

import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
PERFORMANCE = ROOT / "docs/performance.md"
# What README.md shows.
CHOSEN = {
    "A (8 words): add, soft commit, find",
    "B (100 words): add, soft commit, find",
    "A (8 words): soft commit alone",
    "A (8 words): add, hard commit, find",
    "A (8 words): the same in raw syncs",
    "83 tests of 24 soft commits, six cores",
    "back to a snapshot of 10,000 documents",
    "small documents, 1,000 a call",
    "create and close in memory",
    "open and close a folder",
    "import, over a bare interpreter",
    "one term (rank 100) on 1,000 documents, top 10",
    "one term (rank 100) on 1,000 documents, top 10 with keys",
}
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


def text(page, folder=RESULTS):
    """What stands between the marks of a page."""
    runs = results(folder)
    rows = newest_rows(runs)
    if page == README:
        rows = [row for row in rows if row["what"] in CHOSEN]
    if not rows:
        return NONE
    parts = [
        "Medians of one run on one machine, all engines side by side on the same"
        " documents and queries. The last column says how many times better Grebe is"
        " than the best of the others; below 1 it is worse.",
        table(rows),
        machine(runs[-1]),
    ]
    return "\n\n".join(parts) + "\n"


def filled(page, folder=RESULTS):
    """The page with its table; refuses one without marks."""
    made, count = PLACE.subn(
        lambda m: m[1] + text(page, folder) + m[2], page.read_text()
    )
    if count != 1:
        sys.exit(f"{page.name} needs one pair of bench marks")
    return made


def stale():
    """A line for each page whose table is old."""
    for page in (README, PERFORMANCE):
        if filled(page) != page.read_text():
            yield f"{page.name}: the table is old: python3 tools/readme_table.py"


def main(arguments):
    if arguments == ["--check"]:
        found = list(stale())
        print("\n".join(found))
        return bool(found)
    for page in (README, PERFORMANCE):
        page.write_text(filled(page))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
