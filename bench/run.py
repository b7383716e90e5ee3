"""Measures Grebe beside the engines that are installed.

  ./run bench [W1 W2 ...] [--size small|full] [--docs N] [--case TEXT] ...

Without names all workloads are run, in the small size within about three minutes. A
table goes to the terminal, the figures to bench/results: latest.json, of the full size
full.json; workloads run alone replace theirs there. `growth` (only by its name) measures
Grebe while one index grows; `--plots` draws docs/plots from the results. README.md says
what each workload is and what the figures mean.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from typing import Any

import corpora
import growth
import machine
import peers
import plan
import plan_bulk
import report
import store
import workers

_NAMES = plan.PLANS | plan_bulk.PLANS
PLANS = sorted(_NAMES, key=lambda w: (int(w.strip("Wbt")), w))


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(
        prog="./run bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("workloads", nargs="*", metavar="W", help=", ".join(PLANS))
    p.add_argument("--size", choices=("small", "full"), default="small")
    p.add_argument("--docs", type=int, help="of the corpora: 5,000, full 500,000")
    p.add_argument("--case", help="only the cases with this text in their names")
    p.add_argument("--repeat", type=int, default=1, help="times as many blocks")
    p.add_argument("--only", help="these peers, by comma; none: Grebe alone")
    p.add_argument("--timeout", type=int, help="seconds for an answer of an engine")
    p.add_argument("--warm", type=int, default=20, help="seconds for the JVM")
    p.add_argument("--cpu", type=int, help="pin all but the JVM to this core")
    p.add_argument("--scratch", help="folder on the file system to measure")
    p.add_argument("--out", default=str(peers.HERE / "results"))
    p.add_argument("--name", help="of the file of results")
    p.add_argument("--plots", action="store_true", help="draw them, measure nothing")
    args = p.parse_args()
    names = {name.lower(): name for name in (*PLANS, "growth")}
    for given in args.workloads:
        if given.lower() not in names:
            p.error(f"no workload {given}; there are {', '.join(names.values())}")
    args.workloads = [names[w.lower()] for w in args.workloads] or list(PLANS)
    full = args.size == "full"
    args.docs = args.docs or (corpora.FULL if full else corpora.SMALL)
    if not 1000 <= args.docs <= 5_000_000:
        p.error("--docs: 1,000 to 5,000,000")
    args.timeout = args.timeout or (7200 if full else 300)
    if args.name is None:
        args.name = "full" if full else "latest"
        if args.only is not None:  # its ratios are not those of all peers
            args.name = "partial"
    return args


class Run:
    """One run: what is present, what was left out and why, what was found."""

    def __init__(self, args: argparse.Namespace, scratch: str) -> None:
        self.args, self.full = args, args.size == "full"
        self.size = plan.Size(self.full, args.docs)
        self.present, self.absent = peers.find()
        # A case of queries works its own as long, in the small size a quarter of it.
        warm = args.warm, args.warm if self.full else args.warm // 4
        self.runner = workers.Runner(scratch, warm, args.cpu, args.timeout)
        self.only = None if args.only is None else args.only.lower().split(",")
        self.rows: list[report.Row] = []
        self.usage: list[report.Row] = []
        self.left_out: list[dict[str, str]] = []
        self.differences: dict[str, list[str]] = {}

    def leave_out(self, case: plan.Case, who: plan.Who | None, why: str) -> None:
        name = f"{who.label} ({who.side})" if who else "all"
        self.left_out.append(
            {"workload": case.workload, "case": case.name, "engine": name, "why": why}
        )

    def why_not(self, who: plan.Who) -> str:
        if who.label == "Grebe":
            return ""
        if self.only is not None and who.label.split()[0].lower() not in self.only:
            return "left out by --only"
        if who.peer.removesuffix(" sql") in self.absent:
            return self.absent[who.peer.removesuffix(" sql")]
        return who.left_out or (who.full_only if not self.full else "")

    def case(self, case: plan.Case) -> None:
        words, why = corpora.ready(case.needs, case.docs, self.full)
        if why:
            print(f"{case.workload} {case.name} skipped: {why}", file=sys.stderr)
            return self.leave_out(case, None, why)
        taking_part = []
        for who in case.contestants:
            why = self.why_not(who)
            if why:
                self.leave_out(case, who, why)
                continue
            said = tuple(words.get(w, w) for w in who.words)
            taking_part.append(dataclasses.replace(who, words=said))
        case = dataclasses.replace(case, contestants=taking_part)
        print(
            f"{time.strftime('%H:%M:%S')} {case.workload} {case.name}", file=sys.stderr
        )
        entries = workers.run(case, self.runner, self.args.repeat)
        for entry in entries:
            if entry.failed:
                self.leave_out(case, entry.who, entry.failed)
        self.differences[f"{case.workload} {case.name}"] = report.check(case, entries)
        self.rows += report.rows(case, entries)
        self.usage += report.cpu(case, entries)

    def result(self, facts: dict[str, Any]) -> report.Row:
        facts["load_after"] = machine.load()
        facts["peers"] = self.present
        return {
            "machine": facts,
            "workloads": [w for w in self.args.workloads if w != "growth"],
            "size": self.args.size,
            "docs": self.args.docs,
            "repeat": self.args.repeat,
            "absent": self.absent,
            "left_out": self.left_out,
            "differences": self.differences,
            "rows": self.rows,
            "usage": self.usage,
        }

    def run(self) -> None:
        for name in self.args.workloads:
            for plans in (plan.PLANS, plan_bulk.PLANS):
                for case in plans[name](self.size) if name in plans else ():
                    if (self.args.case or "").lower() in case.name.lower():
                        self.case(case)


def tell(result: report.Row) -> None:
    facts = result["machine"]
    cpu = facts["cpu"]
    print(
        f"{facts['date']}, {cpu['model']}, {cpu['cores']} cores, "
        f"{' '.join(cpu['flags'])}, Linux {facts['kernel']}, {facts['file_system']}, "
        f"load {facts['load_before']} before, {facts['load_after']} after"
    )
    print("peers:", ", ".join(f"{n} {v}" for n, v in facts["peers"].items()), "\n")
    print(report.table(result["rows"]))
    for peer, why in result["absent"].items():
        print(f"absent: {peer}: {why}")
    seen: dict[tuple[str, str, str], list[str]] = {}
    for item in result["left_out"]:
        if item["why"] not in result["absent"].values():
            key = (item["engine"], item["workload"], item["why"])
            seen.setdefault(key, []).append(item["case"])
    for (engine, workload, why), cases in seen.items():
        print(f"left out: {engine} in {workload} ({'; '.join(cases)}): {why}")
    for lines in result["differences"].values():
        for line in lines:
            print("differs:", line)
    missed = [r for r in result["rows"] if r["met"] is False]
    behind = [r for r in result["rows"] if r["ahead"] is False]
    print(
        f"{len(result['rows'])} rows; aims: "
        f"{sum(r['met'] is True for r in result['rows'])} met, {len(missed)} missed; "
        f"not ahead of the best peer in {len(behind)}"
    )


def measure(args: argparse.Namespace, scratch: str) -> int:
    """The workloads but growth; 1 if answers differ or Grebe failed."""
    facts = machine.facts(scratch)
    run = Run(args, scratch)
    try:
        run.run()
    finally:
        run.runner.close()
    result = run.result(facts)
    tell(result)
    path = pathlib.Path(args.out) / f"{args.name}.json"
    store.write(path, result, whole=args.case is None)
    print(path)
    grebe_failed = any(i["engine"].startswith("Grebe") for i in run.left_out)
    return 1 if any(run.differences.values()) or grebe_failed else 0


def main() -> int:
    args = arguments()
    if args.plots:
        return subprocess.call([peers.interpreter("plots"), peers.HERE / "plots.py"])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    build = peers.BUILD / "cycle_bench"
    if not build.exists():
        sys.exit(f"{build} does not exist: ./run bench builds it")
    place = pathlib.Path(args.scratch or peers.ROOT / "build")
    place.mkdir(parents=True, exist_ok=True)
    scratch = tempfile.mkdtemp(prefix="bench_scratch.", dir=place)
    try:
        status = 0
        if "growth" in args.workloads:
            growth.measure(args.docs, scratch, pathlib.Path(args.out))
            args.workloads.remove("growth")
        if args.workloads:
            status = measure(args, scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return status


if __name__ == "__main__":
    os.environ["GREBE_BENCH_DATA"] = str(corpora.FOLDER)
    sys.exit(main())
