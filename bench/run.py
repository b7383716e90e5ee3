"""Measures Grebe beside the engines that are installed.

  ./run bench [W1 W2 ...] [--size small|full] [--repeat N]

Without names: W1 W2 W3 W3b W4 W10 W12, about three minutes in the small size. Results
go to bench/results (JSON) and, as a table, to the terminal. README.md says what each
workload is and what the figures mean.
"""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import shutil
import signal
import sys
import tempfile
import time
from typing import Any

import corpora
import machine
import peers
import plan
import plan_bulk
import report
import workers

PLANS = plan.DEFAULT | plan_bulk.PLANS


def arguments() -> argparse.Namespace:
    p = argparse.ArgumentParser(
        prog="./run bench",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    p.add_argument("workloads", nargs="*", metavar="W", help=", ".join(PLANS))
    p.add_argument("--size", choices=("small", "full"), default="small")
    p.add_argument("--repeat", type=int, default=1, help="times as many blocks")
    p.add_argument("--only", help="these peers, by comma; none: Grebe alone")
    p.add_argument("--warm", type=int, default=20, help="seconds for the JVM")
    p.add_argument("--cpu", type=int, help="pin all but the JVM to this core")
    p.add_argument("--scratch", help="folder on the file system to measure")
    p.add_argument("--out", default=str(peers.HERE / "results"))
    p.add_argument("--name", default="latest", help="of the file of results")
    args = p.parse_args()
    names = {name.lower(): name for name in PLANS}
    for given in args.workloads:
        if given.lower() not in names:
            p.error(f"no workload {given}; there are {', '.join(PLANS)}")
    args.workloads = [names[w.lower()] for w in args.workloads] or list(plan.DEFAULT)
    return args


class Run:
    """One run: what is present, what was left out and why, what was found."""

    def __init__(self, args: argparse.Namespace, scratch: str) -> None:
        self.args, self.full = args, args.size == "full"
        self.present, self.absent = peers.find()
        self.runner = workers.Runner(scratch, args.warm, args.cpu)
        self.only = None if args.only is None else args.only.lower().split(",")
        self.rows: list[report.Row] = []
        self.usage: list[report.Row] = []
        self.left_out: list[dict[str, str]] = []
        self.differences: list[str] = []

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
        why = corpora.ready(case.needs, corpora.DOCS[self.full])
        if why:
            print(f"{case.workload} {case.name} skipped: {why}", file=sys.stderr)
            return self.leave_out(case, None, why)
        taking_part = []
        for who in case.contestants:
            why = self.why_not(who)
            if why:
                self.leave_out(case, who, why)
                continue
            words = tuple(str(corpora.FOLDER) if w == "DATA" else w for w in who.words)
            taking_part.append(dataclasses.replace(who, words=words))
        case = dataclasses.replace(case, contestants=taking_part)
        print(
            f"{time.strftime('%H:%M:%S')} {case.workload} {case.name}", file=sys.stderr
        )
        entries = workers.run(case, self.runner, self.args.repeat)
        for entry in entries:
            if entry.failed:
                self.leave_out(case, entry.who, entry.failed)
        self.differences += report.check(case, entries)
        self.rows += report.rows(case, entries)
        self.usage += report.cpu(case, entries)

    def result(self, facts: dict[str, Any]) -> report.Row:
        facts["load_after"] = machine.load()
        facts["peers"] = self.present
        return {
            "machine": facts,
            "size": self.args.size,
            "repeat": self.args.repeat,
            "absent": self.absent,
            "left_out": self.left_out,
            "differences": self.differences,
            "rows": self.rows,
            "usage": self.usage,
        }


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
    for line in result["differences"]:
        print("differs:", line)
    missed = [r for r in result["rows"] if r["met"] is False]
    behind = [r for r in result["rows"] if r["ahead"] is False]
    print(
        f"{len(result['rows'])} rows; aims: "
        f"{sum(r['met'] is True for r in result['rows'])} met, {len(missed)} missed; "
        f"not ahead of the best peer in {len(behind)}"
    )


def main() -> int:
    args = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))
    build = peers.BUILD / "cycle_bench"
    if not build.exists():
        sys.exit(f"{build} does not exist: ./run bench builds it")
    place = pathlib.Path(args.scratch or peers.ROOT / "build")
    place.mkdir(parents=True, exist_ok=True)
    scratch = tempfile.mkdtemp(prefix="bench_scratch.", dir=place)
    facts = machine.facts(scratch)
    run = Run(args, scratch)
    try:
        for name in args.workloads:
            for case in PLANS[name](run.full):
                run.case(case)
    finally:
        run.runner.close()
        shutil.rmtree(scratch, ignore_errors=True)
    result = run.result(facts)
    tell(result)
    print(report.write(pathlib.Path(args.out), args.name, result))
    grebe_failed = any(i["engine"].startswith("Grebe") for i in run.left_out)
    return 1 if run.differences or grebe_failed else 0


if __name__ == "__main__":
    os.environ["GREBE_BENCH_DATA"] = str(corpora.FOLDER)
    sys.exit(main())
