#!/usr/bin/env python3
"""Fills the tables of README.md and docs/performance.md from bench/results/*.json.

A page has marks, `<!-- bench: begin NAME -->` to `<!-- bench: end -->`; NAME says what
stands between them: a workload's rows (W1, W2, ...), `summary`, `usage`, `machine`,
`growth`, `chosen` (what README.md shows), or nothing for every row. Where full.json has
a workload its rows count, else the newest. `--check` writes nothing and fails if a page
has other tables than these files give.
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
    "A (8 words): add, hard commit, find",
    "83 tests of 24 soft commits, six cores",
    "small documents, 1,000 a call",
    "wiki: add and commit",
    "wiki: size merged",
    "intersection TOP_10",
    "union TOP_10",
    "phrase TOP_10",
    "union TOP_100_COUNT",
    "prefix, top 10",
    "all, facet of 10,000",
    "one term (rank 100) on 1,000 documents, top 10",
}
RESULTS = ROOT / "bench/results"
APART = ("growth.json", "partial.json")  # not of this form; not of all peers
PLACE = re.compile(
    r"(<!-- bench: begin ?([\w]*)[^>]*-->\n).*?(<!-- bench: end -->)", re.S
)
NONE = "Not measured yet: `./run bench`, then `python3 tools/readme_table.py`.\n"
AHEAD = 1.05


# ---- reading ----


def results(folder=RESULTS):
    """All runs, the newest after the others and full.json last."""
    paths = [p for p in folder.glob("*.json") if p.name not in APART]
    made = [(p, json.loads(p.read_text())) for p in paths]
    made.sort(key=lambda m: (m[0].name == "full.json", m[1]["machine"]["date"]))
    return [run | {"file": path.name} for path, run in made]


def newest_rows(folder=RESULTS):
    """The rows that count, by workload."""
    rows = {}
    for run in results(folder):
        if run["file"] == "full.json":
            full = {row["workload"] for row in run["rows"]}
            rows = {key: row for key, row in rows.items() if key[0] not in full}
        for row in run["rows"]:
            kept = {"date": run["machine"]["date"], "file": run["file"]} | row
            rows[row["workload"], row["what"], row["side"]] = kept
    return sorted(rows.values(), key=lambda row: order(row["workload"]))


def order(workload):
    number = re.search(r"\d+", workload)
    return (int(number[0]) if number else 0, workload)


# ---- showing ----


def shown(value):
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def times(ratio):
    return "" if ratio is None else f"{shown(ratio)}x"


def grid(head, lines, left):
    """Markdown; the first `left` columns are texts."""
    rule = "---|" * left + "---:|" * (len(head) - left)
    rows = ["| " + " | ".join(head) + " |", "|" + rule]
    return "\n".join(rows + ["| " + " | ".join(line) + " |" for line in lines])


def peers_of(rows):
    return sorted({p for row in rows for p, v in row["peers"].items() if v is not None})


def table(rows):
    """One line a row, a column for each engine that has figures."""
    peers = peers_of(rows)
    head = ["", "what", "from", "unit", "Grebe", *peers, "Grebe to the best"]
    lines = []
    for row in rows:
        cells = [row["workload"], row["what"], row["side"], row["unit"]]
        cells += [shown(row["grebe"]), *(shown(row["peers"].get(p)) for p in peers)]
        lines.append([*cells, times(row["ratio_best"])])
    return grid(head, lines, 4)


def aim(row):
    """The bound, and how many times better than the best peer."""
    parts = []
    if row.get("aim") is not None:
        sign = ">=" if row["better"] == "higher" else "<="
        parts.append(f"{sign} {shown(row['aim'])}")
    if row.get("aim_ratio"):
        parts.append(f"{shown(row['aim_ratio'])}x")
    return ", ".join(parts)


def verdict(row):
    met = row.get("met")
    return "" if met is None else "met" if met else "**missed**"


def detailed(rows):
    """With p99, aims and the ratio of minima; without the workload."""
    peers = peers_of(rows)
    head = ["what", "from", "unit", "aim", "", "Grebe", "p99", *peers]
    lines = []
    for row in rows:
        cells = [row["what"], row["side"], row["unit"], aim(row), verdict(row)]
        cells += [shown(row["grebe"]), shown(row["grebe_p99"])]
        cells += [shown(row["peers"].get(p)) for p in peers]
        cells += [times(row["ratio_best"]), times(row["ratio_best_of_minima"])]
        lines.append(cells)
    return grid([*head, "to the best", "of minima"], lines, 5)


def measured(rows):
    """When the rows were measured, under which load."""
    runs = {}
    for row in rows:
        key = (row["date"], row.get("commit"), row.get("load_before"))
        runs[key] = max(runs.get(key, 0), row.get("docs") or 0)
    told = []
    for (date, commit, load), docs in sorted(runs.items(), key=str):
        parts = [date, f"commit {commit}" if commit else "", f"load {load}" if load else ""]
        parts.append(f"{docs:,} documents" if docs else "")
        told.append(", ".join(p for p in parts if p))
    return "Measured " + "; ".join(told) + "."


def workload(rows, name):
    mine = [row for row in rows if row["workload"] == name]
    if not mine:
        return None
    parts = []
    if name == "W7":  # a table for each way to collect
        for mode in dict.fromkeys(row["what"].split()[-1] for row in mine):
            some = [r for r in mine if r["what"].split()[-1] == mode]
            parts += [f"**{mode}**", detailed(some)]
    else:
        parts.append(detailed(mine))
    return "\n\n".join([*parts, measured(mine)])


def summary(rows):
    """Of each workload how many aims are met and where Grebe is ahead."""
    lines = []
    for name in dict.fromkeys(row["workload"] for row in rows):
        mine = [row for row in rows if row["workload"] == name]
        aimed = [row for row in mine if row.get("met") is not None]
        ratios = [(r["ratio_best"], r) for r in mine if r["ratio_best"] is not None]
        ahead = sum(ratio >= AHEAD for ratio, _ in ratios)
        cells = [name, f"{sum(r['met'] for r in aimed)} of {len(aimed)}"]
        cells.append(f"{ahead} of {len(ratios)}")
        if ratios:
            ordered = sorted(ratio for ratio, _ in ratios)
            least, row = min(ratios, key=lambda r: r[0])
            cells += [times(ordered[len(ordered) // 2]), times(least)]
            cells.append(f"{row['what']} ({row['side']})")
        else:
            cells += ["", "", ""]
        lines.append(cells)
    head = ["", "aims met", "rows ahead of every peer", "median ratio", "least", "where"]
    return grid(head, lines, 1)


def usage(runs):
    """Processor time and memory of the cases on corpora."""
    found = {}
    for run in runs:
        for item in run["usage"]:
            if item["workload"] in ("W5", "W5t", "W7", "W8", "W11"):
                found[item["workload"], item["case"], item["engine"], item["side"]] = item
    lines = [
        [*key, shown(item["cpu_us_a_turn"] and item["cpu_us_a_turn"] / 1e6)]
        + [shown(item["peak_rss_mib"]), str(item["blocks"])]
        for key, item in sorted(found.items(), key=lambda i: (order(i[0][0]), i[0]))
    ]
    head = ["", "case", "engine", "from", "processor seconds a turn", "peak MiB", "turns"]
    return grid(head, lines, 4) if lines else None


def machine(run):
    """Date, processor, file system and the versions of the engines."""
    facts = run["machine"]
    cpu = facts["cpu"]
    told = f"{facts['date']}, {cpu['model']}, {cpu['cores']} cores"
    told += f", {facts['file_system']}, Linux {facts['kernel']}"
    engines = ", ".join(f"{name} {version}" for name, version in facts["peers"].items())
    return f"{told}. {engines}."


def machines(runs):
    """Each file's machine, and what was not measured and why."""
    lines = []
    for run in runs:
        facts = run["machine"]
        lines.append(f"- {run['file']}: {machine(run)}")
        flags = " ".join(facts["cpu"].get("flags", []))
        lines.append(f"  {flags}; {facts.get('memory_mib')} MiB; {facts.get('compiler')}.")
        for peer, why in run.get("absent", {}).items():
            lines.append(f"  Absent: {peer}: {why}.")
        left = {}
        for item in run.get("left_out", []):
            key = item["engine"], item["workload"], item["why"]
            left.setdefault(key, []).append(item["case"])
        for (engine, name, why), cases in left.items():
            lines.append(f"  Left out: {engine} in {name} ({'; '.join(cases)}): {why}.")
        differences = run.get("differences", {})
        told = sum(differences.values(), []) if differences else []
        lines += [f"  Differs: {line}." for line in told]
    return "\n".join(lines) or None


_GROWTH = (
    "docs/s", "MiB peak", "MiB peak merge", "merge s", "MB", "open us", "first query us",
    "KiB open",
)


def growth(folder):
    path = folder / "growth.json"
    if not path.exists():
        return None
    run = json.loads(path.read_text())
    points = run["points"]
    lines = [
        [f"{p['docs']:,}", *(shown(p["figures"][name]) for name in _GROWTH)]
        for p in points
    ]
    costs = grid(["documents", *_GROWTH], lines, 0)
    names = list(points[0]["classes"])
    lines = [
        [name, *(shown(p["classes"][name]["mean"]) for p in points)] for name in names
    ]
    head = ["us a query, mean", *(f"{p['docs']:,}" for p in points)]
    queries = grid(head, lines, 1)
    return f"{costs}\n\n{queries}\n\nMeasured {run['machine']['date']}."


# ---- pages ----


def text(name, folder=RESULTS):
    """What stands between the marks of this name."""
    runs, rows = results(folder), newest_rows(folder)
    if name == "growth":
        made = growth(folder)
    elif not rows:
        made = None
    elif name in ("", "chosen"):
        some = [row for row in rows if not name or row["what"] in CHOSEN]
        parts = [
            "Medians, all engines side by side on the same documents and queries. The"
            " last column says how many times better Grebe is than the best of the"
            " others; below 1 it is worse.",
            table(some),
            machine(runs[-1]),
        ]
        made = "\n\n".join(parts)
    elif name == "summary":
        made = summary(rows)
    elif name == "usage":
        made = usage(runs)
    elif name == "machine":
        made = machines(runs)
    else:
        made = workload(rows, name)
    return f"{made}\n" if made else NONE


def filled(page, folder=RESULTS):
    """The page with its tables; refuses one without marks."""
    made, count = PLACE.subn(
        lambda m: m[1] + text(m[2], folder) + m[3], page.read_text()
    )
    if count == 0:
        sys.exit(f"{page.name} needs a pair of bench marks")
    return made


def stale():
    """A line for each page whose tables are old."""
    for page in (README, PERFORMANCE):
        if filled(page) != page.read_text():
            yield f"{page.name}: the tables are old: python3 tools/readme_table.py"


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
