#!/usr/bin/env python3
"""Runs on several ranks of MPI give the CPU engine's result files, row by row; and what happens when one dies.

  mpi_test.py PROGRAM [--ranks 1,2,3,4] [--generated N] [--from SEED] [--all] [--case WORDS]

Golden and random scenarios, each with one number of ranks in turn, or with --all with each of them. Status 77 where
there is no mpirun, or no module.
"""

import argparse
import atexit
import contextlib
import importlib.machinery
import importlib.util
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.dont_write_bytecode = True  # beside the tools
# One machine's ranks, whoever we are, wherever: no network, no ssh, no permission to read another's memory.
MCA = {"OMPI_MCA_btl": "self,vader", "OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_plm": "isolated",
       "OMPI_MCA_pml": "ob1", "OMPI_ALLOW_RUN_AS_ROOT": "1",
       "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def load(name):
    """A tool without an ending, as a module."""
    loader = importlib.machinery.SourceFileLoader(name, str(ROOT / "tools" / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, loader))
    loader.exec_module(module)
    return module


prove_gpu = load("prove_gpu")


def mpirun(ranks, *words):
    return ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks), *map(str, words)]


def run(command, timeout=120):
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL,
                          timeout=timeout, env={**os.environ, **MCA})


def check(condition, *what):
    if not condition:
        print("FAILED:", *what)
        sys.exit(1)


def racks(program, file):
    shown = run([program, "sim", "show", file]).stdout
    return next(int(line.split(" in ")[1].split()[0]) for line in shown.splitlines() if line.startswith("# network"))


def same_files(options, folder):
    """Each scenario by the CPU and on some ranks."""
    files = [*sorted((ROOT / "tests/golden").glob("*.toml")), ROOT / "scenarios/priorities.toml"]
    for seed in range(options.first, options.first + options.generated):
        # Racks are what ranks divide; a network of several planes has none.
        files.append(folder / f"generated-{seed}.toml")
        files[-1].write_text(prove_gpu.clos(random.Random(seed), seed, f"generated-{seed}", None))
    runs = 0
    for i, file in enumerate(files):
        numbers = options.ranks if options.all else [options.ranks[i % len(options.ranks)]]
        base = ["sim", "run", file, "--quiet", "--set", "pfc.enabled=false", "--force"]
        alone = folder / "cpu.db"
        done = run([options.program, *base, "--engine", "cpu", "--out", alone])
        check(done.returncode in (0, 1), file, done.stderr)
        most = racks(options.program, file)
        for ranks in sorted({min(number, most) for number in numbers}):
            out = folder / "mpi.db"
            # Detected, and asked for; one thread, and two.
            more = [[], ["--engine", "mpi"], ["--engine", "mpi", "--threads", "2"]][i % 3] if ranks > 1 else ["--engine", "mpi"]
            command = mpirun(ranks, options.program, *base, *more, "--out", out)
            done = run(command)
            check(done.returncode in (0, 1) and out.exists(), " ".join(map(str, command)), done.returncode, done.stderr)
            wrong = prove_gpu.difference(alone, out)
            check(wrong is None, f"{file} on {ranks} ranks: {wrong}\n{file.read_text()}")
            out.unlink()
            runs += 1
    print(f"{runs} runs of {len(files)} scenarios on {', '.join(map(str, options.ranks))} ranks: 0 differ")


def status_of(file):
    with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as db:
        return db.execute("select status from run").fetchone()[0]


def wrong_words(options, folder):
    """What cannot be shared is refused, once, by rank 0; so is what is wrong with the scenario."""
    file = ROOT / "tests/golden/permutation.toml"
    out = folder / "refused.db"
    done = run(mpirun(2, options.program, "sim", "run", file, "--quiet", "--scheme", "rocev2", "--out", out))
    check(done.returncode == 2 and done.stderr.count("the MPI engine has no lossless switches") == 1, done.stderr)
    check(status_of(out) == "partial: failed", status_of(out))
    done = run(mpirun(2, options.program, "sim", "run", file, "--set", "topology.hots=3", "--out", folder / "none.db"))
    check(done.returncode == 2 and done.stderr.count("unknown key hots") == 1, done.stderr)
    done = run(mpirun(3, options.program, "sim", "run", file, "--set", "topology.hosts_per_rack=32", "--out", folder / "none.db"))
    check(done.returncode == 2 and done.stderr.count("there are 3 ranks for 2 racks") == 1, done.stderr)
    done = run(mpirun(2, options.program, "sim", "run", file, "--quiet", "--force", "--out", out))
    check(done.returncode == 0 and status_of(out) == "finished", "the file is replaced", done.stderr)
    done = run(mpirun(2, options.program, "sim", "run", file, "--quiet", "--out", out))
    check(done.returncode == 2 and done.stderr.count("error: ") == 1, "an existing file is kept", done.stderr)
    done = run([options.program, "sim", "run", file, "--quiet", "--engine", "mpi", "--out", folder / "one.db"])
    check(done.returncode == 0, "one rank needs no mpirun", done.stderr)


def end(process):
    """Whatever is left of it: only where a check has failed."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)


def children(pid):
    found = []
    for thread in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # it may end meanwhile
            found += map(int, thread.read_text().split())
    return found


def rank_of(pid):
    with contextlib.suppress(OSError):
        for word in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
            if word.startswith(b"OMPI_COMM_WORLD_RANK="):
                return int(word.split(b"=")[1])
    return -1


def start_long(options, out):
    """A run that would take minutes, once rank 0 writes; and the ranks' processes."""
    process = subprocess.Popen(mpirun(2, options.program, "sim", "run", ROOT / "tests/golden/permutation.toml", "--set",
                                      'workload.size="4 GB"', "--set", "record.interval_us=100", "--set", "record.links=true",
                                      "--quiet", "--out", out), stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                               env={**os.environ, **MCA, "OMPI_MCA_odls_base_sigkill_timeout": "5"},  # it may be a busy machine
                               start_new_session=True)
    atexit.register(end, process)
    for _ in range(600):
        time.sleep(0.1)
        ranks = sorted(children(process.pid), key=rank_of)
        if len(ranks) == 2 and out.exists() and out.stat().st_size > 0:
            break
    check(len(ranks) == 2, "two ranks have started", ranks)
    time.sleep(1)
    return process, ranks


def a_rank_dies(options, folder):
    out = folder / "dies.db"
    process, ranks = start_long(options, out)
    os.kill(ranks[1], signal.SIGKILL)
    said = process.communicate(timeout=60)[1]
    check(process.returncode != 0, "mpirun ends with an error", process.returncode)
    check(status_of(out) == "partial: failed", "the file says so", status_of(out), said)
    check("another rank does not answer" in said or "MPI says" in said, said)


def told_to_stop(options, folder):
    out = folder / "stopped.db"
    process, _ = start_long(options, out)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=60)[1]
    check(process.returncode != 0, process.returncode)
    check(status_of(out) in ("partial: interrupted", "partial: failed"), status_of(out), said)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--ranks", type=lambda words: [int(word) for word in words.split(",")], default=[2, 3, 4, 1])
    parser.add_argument("--generated", type=int, default=10)
    parser.add_argument("--from", dest="first", type=int, default=1)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    if not shutil.which("mpirun"):
        print("skipped: there is no mpirun (Debian: openmpi-bin)")
        return 77
    with tempfile.TemporaryDirectory(prefix="strack_mpi_") as name:
        folder = pathlib.Path(name)
        same_files(options, folder)
        wrong_words(options, folder)
        a_rank_dies(options, folder)
        told_to_stop(options, folder)
    print("mpi_test: passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
