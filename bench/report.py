"""Rows from what the workers measured, the table and the JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from plan import Case, Metric
from workers import Entry

Row = dict[str, Any]

_NS = {"us": 1e3, "ms": 1e6, "s": 1e9}
HIGHER = ("docs/s", "MB/s")
AHEAD = 1.05


def _quantile(values: list[float], share: float) -> float:
    return values[min(len(values) - 1, int(len(values) * share))]


class Reading:
    """One engine's figures for one metric."""

    def __init__(self, entry: Entry, metric: Metric) -> None:
        self.p50: float | None = None  # or the quantile that the metric asks for
        self.mean: float | None = None
        self.p99: float | None = None
        self.least: float | None = None
        self.spread: float | None = None
        self.n = 0
        if metric.figure:
            self._figure(entry, metric)
        else:
            self._series(entry, metric)

    def _figure(self, entry: Entry, metric: Metric) -> None:
        if metric.figure == "bytes":
            turns = sum(b["turns"] for b in entry.blocks)
            if turns and all("bytes" in b for b in entry.blocks):
                self.p50 = sum(b["bytes"] for b in entry.blocks) / turns
        else:
            self.p50 = entry.figure(metric.figure)
        self.n = len(entry.blocks)

    def _series(self, entry: Entry, metric: Metric) -> None:
        raw = sorted(entry.series(metric.series))
        if not raw:
            return
        if metric.unit in HIGHER:
            done = sum(b.get("docs", b["turns"]) for b in entry.blocks)
            each = done / len(raw) * 1e9
            values = sorted(each / v for v in raw)
        elif metric.over:
            floor = _quantile(sorted(entry.series(metric.over)), 0.5)
            values = [v / floor for v in raw]
        else:
            values = [v / _NS[metric.unit] / metric.per for v in raw]
        self.n = len(values)
        self.p50 = _quantile(values, metric.quantile)
        self.p99 = _quantile(values, 0.99)
        self.mean = sum(values) / len(values)
        self.least = values[-1] if metric.unit in HIGHER else values[0]
        parts = entry.medians(metric.series)
        self.spread = max(parts) / min(parts) if min(parts) else None


def _round(value: float | None) -> float | None:
    if value is None:
        return None
    return round(value, 4 if abs(value) < 1 else 2 if abs(value) < 1000 else 0)


def _ratio(metric: Metric, grebe: float | None, peer: float | None) -> float | None:
    """How many times better Grebe is."""
    if grebe is None or peer is None:
        return None
    over, under = (grebe, peer) if metric.unit in HIGHER else (peer, grebe)
    return over / under if under > 0 else None


def _bare(case: Case, metric: Metric, side: str) -> Row:
    """A row with nothing measured yet."""
    empty = (
        "grebe best ratio_best ratio_best_of_minima ratio_best_of_means grebe_mean "
        "grebe_p99 grebe_min n spread met ahead"
    )
    ratio = metric.aim_ratio
    if isinstance(ratio, dict):
        ratio = ratio.get(side, 0)
    return dict.fromkeys(empty.split()) | {
        "workload": case.workload,
        "what": metric.what,
        "side": side,
        "unit": metric.unit,
        "better": "higher" if metric.unit in HIGHER else "lower",
        "aim": metric.aim.get(side),
        "aim_ratio": ratio or None,
        "docs": case.docs or None,
        "peers": {},
        "peers_mean": {},
        "peers_p99": {},
        "peers_min": {},
    }


def _share(metric: Metric, side: str, entries: list[Entry]) -> Row | None:
    """What a binding adds, in percent of the whole."""
    spent = {
        e.who.side: _quantile(sorted(map(float, e.series(metric.series))), 0.5)
        for e in entries
        if e.who.label == "Grebe" and e.series(metric.series)
    }
    if metric.beside not in spent or side not in spent:
        return None
    share = 100 * (1 - spent[metric.beside] / spent[side])
    return {"grebe": _round(share), "n": len(entries)}


def row(case: Case, metric: Metric, side: str, entries: list[Entry]) -> Row | None:
    if metric.beside:
        share = _share(metric, side, entries)
        return _bare(case, metric, side) | share if share else None
    here = [e for e in entries if e.who.side == side and e.blocks and not e.failed]
    readings = {e.who.label: Reading(e, metric) for e in here}
    grebe = readings.pop("Grebe", None)
    if grebe is None or grebe.p50 is None:
        return None
    peers = {name: r for name, r in readings.items() if r.p50 is not None}
    made = _bare(case, metric, side) | {
        "grebe": _round(grebe.p50),
        "grebe_mean": _round(grebe.mean),
        "grebe_p99": _round(grebe.p99),
        "grebe_min": _round(grebe.least),
        "n": grebe.n,
        "spread": _round(grebe.spread),
        "peers": {n: _round(r.p50) for n, r in peers.items()},
        "peers_mean": {n: _round(r.mean) for n, r in peers.items()},
        "peers_p99": {n: _round(r.p99) for n, r in peers.items()},
        "peers_min": {n: _round(r.least) for n, r in peers.items()},
    }
    for name, part in (("", "p50"), ("_of_minima", "least"), ("_of_means", "mean")):
        ratios = {
            n: _ratio(metric, getattr(grebe, part), getattr(r, part))
            for n, r in peers.items()
        }
        known = {n: r for n, r in ratios.items() if r is not None}
        if known:
            best = min(known, key=lambda n: known[n])
            made["ratio_best" + name] = _round(known[best])
            made["best"] = made["best"] or best
    if made["ratio_best"] is not None:
        made["ahead"] = made["ratio_best"] >= AHEAD
    return made


def _met(r: Row) -> bool | None:
    """Whether the aims, where there are some, were reached: a bound, and so many times
    better than the best peer."""
    held = []
    if r["aim"] is not None:
        higher = r["better"] == "higher"
        held.append(r["grebe"] >= r["aim"] if higher else r["grebe"] <= r["aim"])
    if r["aim_ratio"] and r["ratio_best"] is not None:
        held.append(r["ratio_best"] >= r["aim_ratio"])
    return all(held) if held else None


def rows(case: Case, entries: list[Entry]) -> list[Row]:
    found = (
        row(case, metric, side, entries)
        for metric in case.metrics
        for side in ("C", "Python", "Lua")
        if side in metric.sides
    )
    made = [r for r in found if r is not None]
    for r in made:
        r["met"] = _met(r)
    return made


SAME_FORMULA = ("Grebe", "Lucene", "tantivy")
NEAR = 1e-5


def check(case: Case, entries: list[Entry]) -> list[str]:
    """What engines found differently from the first of them: totals always, the top
    ten where the formula is the same."""
    found = [(e.who, e.answers) for e in entries if e.answers is not None]
    if not case.compare or not found:
        return []
    (first, wanted), faults = found[0], []
    for who, answers in found[1:]:
        pair = f"{first.label} {first.side} and {who.label} {who.side}"
        for name, value in answers.items():
            if name == "keys" and who.label not in SAME_FORMULA:
                continue
            if name == "tops":
                differing = list(_tops(wanted[name], value))
            else:
                same = name not in wanted or wanted[name] == value
                differing = [] if same else [f"{name}: {wanted[name]}, {value}"]
            if len(differing) > 3:
                differing[3:] = [f"and {len(differing) - 3} more"]
            faults += [f"{case.workload} {case.name}: {pair}: {d}" for d in differing]
    return faults


def _tops(wanted: Row, value: Row) -> Iterator[str]:
    """Queries with other totals, or another top ten."""
    for text, (total, *hits) in value.items():
        if text not in wanted:
            continue
        first_total, *first = wanted[text]
        if None not in (total, first_total) and total != first_total:
            yield f"{text}: {first_total} and {total} hits"
        elif hits and first and (why := _other_hits(first, hits)):
            yield f"{text}: {why}"


def _other_hits(first: list[list[Any]], hits: list[list[Any]]) -> str:
    """Scores must agree place by place and key by key; a key may be missing only
    where others tie with the last place."""
    if len(first) != len(hits):
        return f"{len(first)} and {len(hits)} places"
    for at, ((_, a), (_, b)) in enumerate(zip(first, hits)):
        if abs(a - b) > NEAR * max(abs(a), abs(b)):
            return f"place {at} has score {a:.7g} and {b:.7g}"
    here, there, last = dict(first), dict(hits), hits[-1][1]
    for key, score in here.items():
        if abs(score - there.get(key, last)) > NEAR * abs(score):
            return f"key {key} has score {score:.7g}, in the other {there.get(key)}"
    return ""


def cpu(case: Case, entries: list[Entry]) -> list[Row]:
    """Processor time a turn and memory, for the JSON."""
    made = []
    for e in entries:
        turns = sum(b["turns"] for b in e.blocks)
        if not turns or e.failed:
            continue
        spent = [b["cpu_ns"] for b in e.blocks if "cpu_ns" in b]
        made.append(
            {
                "workload": case.workload,
                "case": case.name,
                "engine": e.who.label,
                "side": e.who.side,
                "version": e.version,
                "cpu_us_a_turn": _round(sum(spent) / turns / 1e3) if spent else None,
                "peak_rss_mib": _round(e.facts.get("peak_kib", 0) / 1024) or None,
                "blocks": len(e.blocks),
                "turns": turns,
                "facts": {k: v for k, v in e.facts.items() if "kib" not in k},
            }
        )
    return made


# ---- the table ----

_COLUMNS = ("FTS5", "FTS5 sql", "Lucene", "tantivy", "Xapian", "Whoosh", "bm25s")


def _show(value: float | None) -> str:
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _verdict(r: Row) -> str:
    parts = []
    if r["met"] is not None:
        parts.append("met" if r["met"] else "missed")
    if r["ahead"] is not None:
        best = r["ratio_best"]
        word = "ahead" if best >= AHEAD else "behind" if best < 1 / AHEAD else "even"
        parts.append(f"{word} {_show(best)}x")
    return ", ".join(parts)


def table(made: list[Row]) -> str:
    columns = [c for c in _COLUMNS if any(c in r["peers"] for r in made)]
    head = ["", "what", "", "aim", "Grebe", "p99", *columns, "Grebe is"]
    lines = [head]
    for r in made:
        sign = ">= " if r["better"] == "higher" else "<= "
        lines.append(
            [
                r["workload"],
                f"{r['what']}, from {r['side']}" if r["side"] != "C" else r["what"],
                r["unit"],
                sign + _show(r["aim"]) if r["aim"] is not None else "",
                _show(r["grebe"]),
                _show(r["grebe_p99"]),
                *[_show(r["peers"].get(c)) for c in columns],
                _verdict(r),
            ]
        )
    widths = [max(len(line[i]) for line in lines) for i in range(len(head))]
    left = {0, 1, 2, len(head) - 1}
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i in left else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    )
