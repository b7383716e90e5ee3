"""Draws docs/plots from bench/results: SVG and PNG of each.

  ./run bench --plots                       from bench/results into docs/plots
  plots.py RESULTS PLOTS                    from and into other folders

matplotlib is one of the peers' packages (bench/peers.txt): nothing else needs it.
"""

from __future__ import annotations

import json
import pathlib
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib import ticker  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
import readme_table  # noqa: E402

RESULTS, PLOTS = map(
    pathlib.Path, sys.argv[1:3] or (ROOT / "bench/results", ROOT / "docs/plots")
)
INK, GREY, GRID = "#222222", "#8a8a8a", "#dddddd"
COLORS = {
    "Grebe": "#0b6e99",
    "Lucene": "#d1793b",
    "tantivy": "#7b5ea7",
    "FTS5": "#8c9a3b",
    "FTS5 sql": "#8c9a3b",
    "Xapian": "#b55a7a",
    "Whoosh": "#8a8a8a",
}
LINES = ("#0b6e99", "#d1793b", "#7b5ea7", "#8c9a3b", "#b55a7a", "#3b8c74", "#8a8a8a")
LINES += ("#c2a01e", "#444444")
MODES = ("TOP_10", "TOP_100", "TOP_1000", "TOP_100_COUNT", "COUNT")
plt.rcParams.update(
    {
        "font.family": "DejaVu Sans",
        "font.size": 9,
        "axes.edgecolor": GREY,
        "axes.labelcolor": INK,
        "axes.titlesize": 10,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": INK,
        "ytick.color": INK,
        "figure.facecolor": "white",
        "svg.hashsalt": "grebe",
        "legend.frameon": False,
    }
)


def save(figure: plt.Figure, name: str, said: str) -> None:
    """Both files, with a line below that says what was measured."""
    figure.text(0.01, 0.005, said, fontsize=7, color=GREY, ha="left", va="bottom")
    PLOTS.mkdir(parents=True, exist_ok=True)
    figure.savefig(PLOTS / f"{name}.svg", metadata={"Date": None})
    figure.savefig(PLOTS / f"{name}.png", dpi=130, metadata={"Software": None})
    plt.close(figure)
    print(PLOTS / f"{name}.svg")


def measured(rows: list[dict]) -> str:
    """When and on what the rows were measured."""
    days = sorted({row["date"][:10] for row in rows})
    docs = sorted({row["docs"] for row in rows if row.get("docs")})
    said = days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}"
    if docs:
        said += "; " + ", ".join(f"{n:,}" for n in docs) + " documents"
    return said + "; medians of one run, all engines in turn"


def ratio_axis(axis: plt.Axes, values: list[float]) -> None:
    axis.set_xscale("log")
    axis.set_xlim(min(0.4, *values) * 0.8, max(4, *values) * 1.6)
    axis.axvline(1, color=INK, linewidth=1, zorder=1)
    axis.xaxis.set_major_locator(ticker.LogLocator(10, subs=(1, 2, 5), numticks=12))
    axis.xaxis.set_major_formatter(ticker.FuncFormatter(lambda v, _: f"{v:g}x"))
    axis.xaxis.set_minor_formatter(ticker.NullFormatter())
    axis.grid(axis="x", color=GRID, linewidth=0.6, zorder=0)
    axis.tick_params(axis="y", length=0)
    axis.tick_params(axis="x", labelsize=8)


def queries(rows: list[dict]) -> None:
    """W7: how many times faster than the best peer, by class and way to collect."""
    chosen = [r for r in rows if r["workload"] == "W7" and r["ratio_best"]]
    if not chosen:
        return
    kinds = list(dict.fromkeys(r["what"].split()[0] for r in chosen))[::-1]
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), sharey=True)
    for axis, side, title in (
        (axes[0], "C", "in C, beside Lucene in Java"),
        (axes[1], "Python", "Python module, beside the best of the others"),
    ):
        here = [r for r in chosen if r["side"] == side]
        for at, mode in enumerate(MODES):
            points = [
                (r["ratio_best"], kinds.index(r["what"].split()[0]) + 0.28 - 0.14 * at)
                for r in here
                if r["what"].endswith(f" {mode}")
            ]
            x, y = zip(*points) if points else ((), ())
            axis.scatter(x, y, s=26, color=LINES[at], label=mode, zorder=3)
        ratio_axis(axis, [r["ratio_best"] for r in here] or [1])
        axis.set_title(title)
        axis.set_xlabel("times as fast as the best other engine")
        for y in range(len(kinds) - 1):
            axis.axhline(y + 0.5, color=GRID, linewidth=0.6)
    axes[0].set_yticks(range(len(kinds)), kinds)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.suptitle(
        "Queries: Grebe to the best peer, by class (right of 1x is faster)",
        x=0.01,
        ha="left",
    )
    figure.legend(handles, labels, loc="upper center", ncols=5, bbox_to_anchor=(0.5, 0.95))
    figure.tight_layout(rect=(0, 0.03, 1, 0.94))
    save(figure, "queries", measured(chosen))


def ratios(rows: list[dict]) -> None:
    """Every other row that has an aim beside the best peer's figure."""
    chosen = [
        r
        for r in rows
        if r["workload"] != "W7"
        and r["ratio_best"]
        and (r["aim_ratio"] or r["aim"])
        and "processor" not in r["what"]
    ]
    if not chosen:
        return
    labels = []
    for r in chosen:
        label = f"{r['workload']}  {r['what']}"
        if label not in labels:
            labels.append(label)
    labels.reverse()
    figure, axis = plt.subplots(figsize=(9, 1.2 + 0.24 * len(labels)))
    for side, marker, color in (("C", "o", LINES[0]), ("Python", "D", LINES[1])):
        here = [r for r in chosen if r["side"] == side]
        points = [
            (r["ratio_best"], labels.index(f"{r['workload']}  {r['what']}"))
            for r in here
        ]
        name = "in C" if side == "C" else "from Python"
        if points:
            axis.scatter(*zip(*points), s=24, marker=marker, color=color, label=name, zorder=3)
    ratio_axis(axis, [r["ratio_best"] for r in chosen])
    axis.set_yticks(range(len(labels)), labels, fontsize=8)
    axis.set_ylim(-0.7, len(labels) - 0.3)
    for y in range(len(labels)):
        axis.axhline(y, color=GRID, linewidth=0.4, zorder=0)
    axis.set_xlabel("times as good as the best other engine")
    axis.legend(loc="lower left", bbox_to_anchor=(0, 1), ncols=2, borderaxespad=0)
    figure.suptitle(
        "All other workloads: Grebe to the best peer (right of 1x is better)",
        x=0.01,
        ha="left",
    )
    figure.tight_layout(rect=(0, 0.02, 1, 0.99))
    save(figure, "ratios", measured(chosen))


def engines_of(row: dict) -> dict[str, float]:
    """Grebe and its peers, those that have a figure."""
    peers = {n: v for n, v in row["peers"].items() if v is not None}
    return {"Grebe": row["grebe"], **peers}


def indexing(rows: list[dict]) -> None:
    """W5 on one thread: documents a second and megabytes, by engine."""
    found = {(r["what"], r["side"]): r for r in rows if r["workload"] == "W5"}
    panels = (
        ("add and commit", "documents a second", "Throughput: more is better"),
        ("size merged", "MB", "Merged index: less is better"),
        ("written", "MB", "Bytes written: less is better"),
    )
    shown = [(f"wiki: {what}", unit, title) for what, unit, title in panels]
    shown = [p for p in shown if (p[0], "C") in found or (p[0], "Python") in found]
    if not shown:
        return
    figure, axes = plt.subplots(1, len(shown), figsize=(10, 3), squeeze=False)
    for axis, (what, unit, title) in zip(axes[0], shown):
        bars = {}
        for side, suffix in (("C", ""), ("Python", ", Python")):
            row = found.get((what, side))
            for name, value in engines_of(row).items() if row else ():
                if unit == "MB" and name in bars:
                    continue  # files do not depend on the language
                bars[f"{name}{suffix if unit != 'MB' else ''}"] = value
        names = list(bars)[::-1]
        colors = [COLORS.get(n.removesuffix(", Python"), GREY) for n in names]
        drawn = axis.barh(names, [bars[n] for n in names], color=colors, height=0.65)
        told = [f"{bars[n]:,.0f}" if bars[n] >= 10 else f"{bars[n]:.3g}" for n in names]
        axis.bar_label(drawn, told, padding=3, fontsize=8)
        axis.set_xlim(0, max(bars.values()) * 1.28)
        axis.set_title(title, fontsize=9)
        axis.set_xlabel(unit)
        axis.xaxis.set_major_locator(ticker.MaxNLocator(4))
        axis.xaxis.set_major_formatter(ticker.FuncFormatter(plain))
        axis.tick_params(axis="y", length=0)
    figure.suptitle("Indexing a made encyclopedia on one thread", x=0.01, ha="left")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    save(figure, "indexing", measured([found[key] for key in found if "wiki" in key[0]]))


def document_axis(axis: plt.Axes, docs: list[int]) -> None:
    axis.set_xscale("log")
    axis.set_xticks(docs, [f"{n:,}" for n in docs], rotation=30, ha="right", fontsize=8)
    axis.xaxis.set_minor_formatter(ticker.NullFormatter())
    axis.set_xlabel("documents")
    axis.grid(color=GRID, linewidth=0.6)


def plain(value: float, _: int) -> str:
    return f"{value:,g}"


def growth(result: dict) -> None:
    """How the time of each class grows with the index."""
    points = result["points"]
    docs = [p["docs"] for p in points]
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True)
    for axis, mode in zip(axes, ("TOP_10", "COUNT")):
        names = [n for n in points[0]["classes"] if n.startswith(f"{mode} ")]
        for color, name in zip(LINES, names):
            means = [p["classes"][name]["mean"] for p in points]
            label = name.removeprefix(f"{mode} ")
            axis.plot(docs, means, "o-", color=color, label=label, ms=4, lw=1.5)
        axis.set_yscale("log")
        axis.yaxis.set_major_formatter(ticker.FuncFormatter(plain))
        document_axis(axis, docs)
        axis.set_title(mode)
    axes[0].set_ylabel("microseconds a query, mean")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.suptitle("Growth: time of a query by class", x=0.01, ha="left")
    figure.legend(handles, labels, loc="center right", fontsize=8)
    figure.tight_layout(rect=(0, 0.03, 0.85, 0.99))
    save(figure, "growth-queries", result["machine"]["date"])


def growth_costs(result: dict) -> None:
    """Indexing, memory, size and opening while the index grows."""
    points = result["points"]
    docs = [p["docs"] for p in points]
    panels = (
        ("Adding (documents a second)", {"docs/s": "add and commit"}),
        ("Memory (MiB)", {"MiB peak": "peak, adding", "MiB peak merge": "peak, merging"}),
        ("Bytes (MB)", {"MB": "index", "MB text": "text"}),
        ("Opening (us)", {"open us": "open", "first query us": "first query"}),
    )
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.2))
    for axis, (title, names) in zip(axes, panels):
        for color, (name, label) in zip(LINES, names.items()):
            values = [p["figures"][name] for p in points]
            axis.plot(docs, values, "o-", color=color, label=label, ms=4, lw=1.5)
        document_axis(axis, docs)
        axis.set_title(title, fontsize=9)
        if "MB" in names:
            axis.set_yscale("log")
        else:
            axis.set_ylim(0, None)
        axis.yaxis.set_major_formatter(ticker.FuncFormatter(plain))
        axis.legend(fontsize=8)
    figure.suptitle("Growth: what one index costs by its documents", x=0.01, ha="left")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    save(figure, "growth-costs", result["machine"]["date"])


def main() -> int:
    rows = readme_table.newest_rows(RESULTS)
    queries(rows)
    ratios(rows)
    indexing(rows)
    path = RESULTS / "growth.json"
    if path.exists():
        result = json.loads(path.read_text())
        growth(result)
        growth_costs(result)
    return 0


if __name__ == "__main__":
    sys.exit(main())
