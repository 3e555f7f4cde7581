"""A run with nothing changed against a full one, as a ratio, and the overhead per node.

    python benchmarks/incremental.py [--losses bce,db] [--dataset cwe]

Runs the commands in a copy of conf/ without data, so that the first one computes everything. Exits 1
if the ratio is below 15.
"""

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

ROOT = Path(__file__).parents[1]
CORES = len(os.sched_getaffinity(0))
LEAST_RATIO = 15


def main() -> str | None:
    """Why to exit with 1."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--dataset", default="cwe")
    options.add_argument("--losses", help="comma-separated; default: all")
    options.add_argument("--workers", type=int, default=CORES, help="default: one per core")
    chosen = options.parse_args()
    words = [f"--dataset={chosen.dataset}", f"--workers={chosen.workers}"]
    words += [f"--losses={chosen.losses}"] if chosen.losses else []
    with TemporaryDirectory(prefix="losslab-incremental-") as folder:
        project = make_project(Path(folder) / "project")
        full, told = run(project, "run", "--verbose", *words)
        computed = told.count("Completed node")
        current = min(run(project, "run", *words)[0] for _ in range(2))
        start, _ = run(project, "registry", "list")
    ratio = full / current
    print(f"{chosen.workers} workers, {CORES} cores")
    print(f"every node computed   {full:7.1f} s   {computed} nodes")
    print(f"nothing changed       {current:7.1f} s   ratio {ratio:.1f}")
    print(f"of it, start of Kedro {start:7.1f} s")
    print(f"overhead per node     {1000 * (current - start) / max(computed, 1):7.1f} ms")
    if ratio < LEAST_RATIO:
        return f"a run with nothing changed takes 1/{ratio:.1f} of a full one, not 1/{LEAST_RATIO}"
    return None


def make_project(folder: Path) -> Path:
    shutil.copytree(ROOT / "conf", folder / "conf")
    (folder / "src").mkdir()
    for name in ("pyproject.toml", ".telemetry"):
        shutil.copy(ROOT / name, folder)
    return folder


def run(project: Path, *words: str) -> tuple[float, str]:
    """Seconds a command takes, and what it logged."""
    start = perf_counter()
    command = [sys.executable, "-m", "kedro", *words]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    return perf_counter() - start, done.stderr


if __name__ == "__main__":
    sys.exit(main())
