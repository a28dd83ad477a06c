#!/usr/bin/env python3
"""Ranks of MPI against threads of one process: the same run, in turn, so that a busy machine is busy for both.

  bench/ranks_speed.py [--ranks 2] [--hosts 8192] [--size "2 MB"] [--times 5] [--program build/release/src/cli/strack]

Prints each run's wall clock (the engine's, without the program's start), the median of the ratios of neighbours, and memory: of the
one process, and of each rank.
"""

import argparse
import os
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]


def run(command):
    """Seconds of the run, CPU seconds and KB of the largest process below, hash."""
    out = pathlib.Path(command[command.index("--out") + 1])
    done = subprocess.run(["/usr/bin/env", "python3", "-c",
                           "import resource, subprocess, sys; s = subprocess.call(sys.argv[1:]); u = resource.getrusage(resource.RUSAGE_CHILDREN);"
                           "print('used', u.ru_utime + u.ru_stime, u.ru_maxrss); sys.exit(s)", *command], capture_output=True, text=True,
                          check=False, env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}: {done.stderr[-500:]}")
    _, cpu, memory = next(line.split() for line in done.stdout.splitlines() if line.startswith("used "))
    with sqlite3.connect(f"file:{out}?mode=ro", uri=True) as db:
        wall = db.execute("select wall_seconds from run").fetchone()[0]
        digest = db.execute("select hash from run").fetchone()[0]
    return wall, float(cpu), int(memory), digest


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--hosts", type=int, default=8192)
    parser.add_argument("--size", default="2 MB")
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--program", default=str(ROOT / "build/release/src/cli/strack"))
    options = parser.parse_args()
    ratios, digests = [], set()
    with tempfile.TemporaryDirectory(prefix="strack_ranks_") as folder:
        base = [options.program, "sim", "run", str(ROOT / "scenarios/permutation.toml"), "--set", f"topology.hosts={options.hosts}", "--set",
                f'workload.size="{options.size}"', "--quiet", "--force", "--out", f"{folder}/run.db"]
        for _ in range(options.times):
            threads = run([*base, "--engine", "cpu", "--threads", str(options.ranks)])
            ranks = run(["mpirun", "--oversubscribe", "-n", str(options.ranks), *base, "--engine", "mpi", "--threads", "1"])
            ratios.append(threads[0] / ranks[0])
            digests |= {threads[3], ranks[3]}
            print(f"{options.ranks} threads {threads[0]:.2f} s, {threads[1]:.2f} CPU-s, {threads[2] / 1e3:.0f} MB; {options.ranks} ranks {ranks[0]:.2f} s, "
                  f"{ranks[1]:.2f} CPU-s, {ranks[2] / 1e3:.0f} MB each: {ratios[-1]:.2f} of the speed", flush=True)
    print(f"median {statistics.median(ratios):.2f} of the speed; {'one hash' if len(digests) == 1 else f'HASHES DIFFER: {digests}'}")
    return 0 if len(digests) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
