"""The public fault cases, as they are listed and as kinds.

    run.py [ID ...]

Runs each covered case of ../shared/cases: the listed operations over four layouts,
then its kind with varied inputs (kinds.py over sizes and layouts, texts.py, and
children.py for what needs processes, files or lifetimes). README.md says for each id
how it is covered or why it is left out; a case that stands in neither list fails.
"""

import gc
import json
import os
import pathlib
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "model"))

import children  # noqa: E402
import grebe  # noqa: E402
import kinds  # noqa: E402
import texts  # noqa: E402
from layouts import layouts  # noqa: E402
from listed import play_listed  # noqa: E402

SHARED = pathlib.Path(os.environ.get("GREBE_SHARED", HERE.parents[2] / "shared"))
LISTED_NOT = set(children.CASES) | {"PB-034"}


def rows_of_readme() -> tuple[dict[str, str], dict[str, str]]:
    """Ids covered and left out, with what README.md says of each."""
    covered: dict[str, str] = {}
    left: dict[str, str] = {}
    table = covered
    for line in (HERE / "README.md").read_text().splitlines():
        if line.startswith("## "):
            table = left if "left out" in line.lower() else covered
        found = re.match(r"\| (PB-\d+) \| (.+) \|$", line)
        if found:
            table[found[1]] = found[2]
    return covered, left


class Run:
    """Counts what passed and failed."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.done: Counter[str] = Counter()
        self.skipped: dict[str, Counter[str]] = {}

    def one(self, name: str, how: str, call: Callable[[], Any]) -> None:
        """Runs a part and keeps what it raises."""
        try:
            call()
        except Exception as error:
            self.failed.append(name)
            print(f"FAILED {name} {how}: {type(error).__name__}: {error}")
        self.done[how] += 1

    def listed(self, case: dict[str, Any], folder: str) -> None:
        """The operations of a case as they stand."""

        def play() -> None:
            self.skipped[case["id"]] = play_listed(case, folder)

        self.one(case["id"], "listed", play)

    def kind(self, name: str, folder: str) -> None:
        """The whole kind of a case."""
        if name in kinds.KINDS:
            function, sizes = kinds.KINDS[name]
            for layout in layouts(folder):
                for size in sizes:
                    self.one(
                        f"{name} with {size} documents, {layout}", "varied",
                        lambda: function(layout, size),  # noqa: B023
                    )  # fmt: skip
        if name in texts.KINDS:
            self.one(name, "texts", texts.KINDS[name])
        for table in (children.CASES, children.MORE):
            if name in table:
                with tempfile.TemporaryDirectory(prefix="grebe-case-") as inner:
                    os.chmod(inner, 0o755)
                    self.one(name, "children", lambda: table[name](inner))  # noqa: B023


def main() -> int:
    """Command line; the exit status."""
    path = SHARED / "cases" / "cases.jsonl"
    if not path.exists():
        print(f"skipped: {path} is not there (set GREBE_SHARED)")
        return 0
    cases = {case["id"]: case for case in map(json.loads, path.open())}
    covered, left = rows_of_readme()
    unknown = set(cases) ^ (set(covered) | set(left))
    run, begin = Run(), time.monotonic()
    chosen = sys.argv[1:] or [*covered, *children.MORE]
    for name in chosen:
        with tempfile.TemporaryDirectory(prefix="grebe-cases-") as folder:
            if name in cases and name not in LISTED_NOT:
                run.listed(cases[name], folder)
            run.kind(name, folder)
    for name, reasons in run.skipped.items():
        for reason, count in reasons.items():
            print(f"  {name}: {count} listed operation(s) skipped: {reason}")
    for name, reason in left.items():
        print(f"  {name} left out: {reason}")
    seconds = time.monotonic() - begin
    parts = ", ".join(f"{how} {count}" for how, count in run.done.items())
    print(
        f"{len(covered)} cases covered, {len(left)} left out, {parts}, {seconds:.0f} s"
    )
    if unknown or set(covered) & set(left):
        print("in no list, in both, or no case:", unknown or set(covered) & set(left))
    gc.collect()
    handles = grebe.live_handles()
    print(f"{len(run.failed)} failed, live handles left: {handles}")
    return int(bool(run.failed or unknown or set(covered) & set(left) or handles))


if __name__ == "__main__":
    sys.exit(main())
