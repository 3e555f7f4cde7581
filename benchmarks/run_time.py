"""What a run costs: stages, one worker against several, first run against nothing changed.

    python benchmarks/run_time.py [--dataset cwe] [--losses bce,db] [--seeds 3] [--workers 2]

Runs the commands in copies of conf/ without data. Ratios hold within one run of this script.
"""

import argparse
import os
import re
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from incremental import make_project, run

NODE = re.compile(r"Completed node: (?P<name>\S+) \((?P<seconds>[\d.]+) s\)")
PARTS = {"score": "evaluation", "train": "training"}
"""Nodes of a loss by stage; all others belong to evaluation."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", default="cwe")
    parser.add_argument("--losses", help="comma-separated; default: all")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    options = parser.parse_args()
    words = [f"--dataset={options.dataset}", f"--seeds={options.seeds}"]
    words += [f"--losses={options.losses}"] if options.losses else []
    with TemporaryDirectory(prefix="losslab-run-time-") as folder:
        one, alone = first_run(Path(folder) / "one", *words, "--workers=1")
        several, _ = first_run(Path(folder) / "several", *words, f"--workers={options.workers}")
        current = min(run(Path(folder) / "several", "run", *words)[0] for _ in range(2))
        single, _ = run(Path(folder) / "several", "run", words[0], "--pipelines=db_loss")
    for stage, seconds in stages(alone).most_common():
        print(f"{stage:24} {seconds:8.1f} s   {seconds / one:5.0%}")
    print(f"{'one worker':24} {one:8.1f} s")
    print(f"{f'{options.workers} workers':24} {several:8.1f} s   {one / several:.2f} times as fast")
    print(f"{'nothing changed':24} {current:8.1f} s   {several / current:.1f} times as fast")
    print(f"{'one loss, data current':24} {single:8.1f} s")


def first_run(project: Path, *words: str) -> tuple[float, str]:
    """Seconds of a run that computes everything, and its log."""
    return run(make_project(project), "run", "--verbose", *words)


def stages(log: str) -> Counter[str]:
    """Seconds by stage; what is not in a node is start, planning and MLflow."""
    seconds: Counter[str] = Counter()
    for node in NODE.finditer(log):
        space, _, name = node["name"].rpartition(".")
        stage = PARTS.get(name, "evaluation") if space.endswith("_loss") else space.split(".")[-1]
        seconds[stage] += float(node["seconds"])
    return seconds


if __name__ == "__main__":
    main()
