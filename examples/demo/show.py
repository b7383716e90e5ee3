"""How the demo prints: headings, aligned figures, hits, bars, progress."""

from __future__ import annotations

import os
import sys
import textwrap
import time
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

import grebe

WIDTH = 78
T = TypeVar("T")
_COLOURED = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _style(code: str, text: str) -> str:
    return f"\033[{code}m{text}\033[0m" if _COLOURED else text


def bold(text: str) -> str:
    return _style("1", text)


def dim(text: str) -> str:
    return _style("2", text)


def heading(text: str) -> None:
    print(f"\n{bold(text)}\n{dim('-' * len(text))}", flush=True)


def note(text: str) -> None:
    print(dim(text), flush=True)


def figure(name: str, value: str, more: str = "") -> None:
    """One line: name, value, what else is to be said."""
    print(f"  {name:<34}{value:>14}" + (f"  {dim(more)}" if more else ""), flush=True)


def seconds(s: float) -> str:
    """A time with three digits and the unit that fits."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if s >= size:
            break
    number = s / size
    digits = 0 if number >= 100 else 1 if number >= 10 else 2
    return f"{number:,.{digits}f} {unit}"


def size(byte_count: int) -> str:
    if byte_count < 10_000:
        return f"{byte_count:,} B"
    if byte_count < 10_000_000:
        return f"{byte_count / 1e3:,.0f} kB"
    return f"{byte_count / 1e6:,.1f} MB"


def cut(text: str, width: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3] + "..."


def passage(text: str) -> None:
    """A passage on at most three lines; on a terminal its marks are colours."""
    text = text.replace("<em>", "\1").replace("</em>", "\2")
    before, after = ("\033[1;33m", "\033[0m") if _COLOURED else ("[", "]")
    for line in textwrap.wrap(" ".join(text.split()), WIDTH - 10)[:3]:
        print(" " * 10 + line.replace("\1", before).replace("\2", after))


def counted(number: float, what: str) -> str:
    """1 sync, 2 syncs, 1.5 syncs."""
    return f"{number:,g} {what}" + ("" if number == 1 else "s")


def hits(found: grebe.Hits, extra: Iterable[str] = (), fallback: str = "") -> None:
    """Each hit: score, id, some fields; below it a passage."""
    extra = list(extra)
    for hit in found:
        score = "      " if hit.score != hit.score else f"{hit.score:6.2f}"
        fields = "  ".join(_field(hit, name) for name in extra if name in hit)
        identity = cut(str(hit.id), 44)
        print(f"  {dim(score)}  {bold(f'{identity:<44}')}  {fields}".rstrip())
        passages = [p for some in hit.highlights.values() for p in some]
        if passages:
            passage(passages[0])
        elif fallback in hit:
            print("          " + dim(cut(str(hit[fallback]), WIDTH - 10)))


def _field(hit: grebe.Hit, name: str) -> str:
    value = hit[name]
    if isinstance(value, int) and abs(value) >= 10_000:
        return f"{value:,}"
    return cut(str(value), 24)


def facet(field: str, counts: grebe.FacetCounts) -> None:
    """Values with their counts and bars."""
    most = max(counts.values(), default=1)
    print(f"  {field}")
    for value, number in counts.items():
        bar = "#" * max(1, round(30 * number / most))
        label = cut(str(value), 26) or '""'
        print(f"    {label:<26}{number:>8,}  {dim(bar)}")


def search(
    index: grebe.Index,
    text: str | None = None,
    *,
    show_fields: Iterable[str] = (),
    fallback: str = "",
    **options: Any,
) -> grebe.Hits:
    """Prints the call, makes it, prints hits, facets, numbers and times."""
    arguments = [] if text is None else [repr(text)]
    arguments += [f"{name}={value!r}" for name, value in options.items()]
    call(f"ix.search({', '.join(arguments)})")
    found = index.search(text, **options)
    again = index.search(text, **options)
    hits(found, show_fields, fallback)
    for field, counts in found.facets.items():
        facet(field, counts)
    shown = f", the best {len(found)} shown" if 0 < len(found) < found.total else ""
    print(
        f"  {found.total:,} found in {seconds(found.took)} "
        f"(asked again: {seconds(again.took)}){shown}"
    )
    return found


def call(text: str) -> None:
    """The call whose outcome follows."""
    lines = textwrap.wrap(text, WIDTH - 4, break_long_words=False)
    print(f"\n{bold('>>>')} " + "\n      ".join(lines))


def progress(items: Iterable[T], count: int, what: str) -> Iterator[T]:
    """Passes the items on and, on a terminal, says how far it is."""
    if not sys.stderr.isatty():
        yield from items
        return
    shown_at = 0.0
    for number, item in enumerate(items):
        yield item
        if number % 512 == 0 and time.monotonic() - shown_at > 0.1:
            shown_at = time.monotonic()
            line = f"\r  {what} {number:,} of {count:,}"
            print(line, end="", file=sys.stderr, flush=True)
    print("\r\033[K", end="", file=sys.stderr, flush=True)


def quantile(times: list[float], part: float) -> float:
    """The value below which `part` of the times lie."""
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))]


def times(name: str, measured: list[float], more: str = "") -> None:
    """Median and 99th percentile of one thing."""
    p50, p99 = quantile(measured, 0.5), quantile(measured, 0.99)
    print(f"  {name:<34}{seconds(p50):>10}{seconds(p99):>11}   {more}".rstrip())


def times_head() -> None:
    print(dim(f"  {'':<34}{'p50':>10}{'p99':>11}"))


def fields_of(schema: Any) -> None:
    """The schema as a table."""
    for name, field in schema.items():
        kind = "key, " + field.kind if field.is_key else field.kind
        options = [o for o in ("many", "required") if getattr(field, o)]
        if not field.indexed:
            options.append("stored only")
        if field.kind == "text":
            options.insert(0, f"analyzer {field.analyzer}")
        print(f"  {name:<28}{kind:<16}{', '.join(options)}".rstrip())
