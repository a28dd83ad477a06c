#!/usr/bin/env python3
"""MPICH's own tests, built against Open MPI, over the provider and over tcp;ofi_rxm: none may fail over the first alone.

    mpich_suite.py PROVIDER_FOLDER [--folders pt2pt,coll,comm,datatype,rma,io] [--every N] [--only WORD] [--after NAME] [--seconds S]

Needs the suite, built: MPICH_TESTS names the folder. Debian has its source in its package mpich (`apt source mpich`, test/mpi); in a folder of its own:
CC=mpicc .../test/mpi/configure --disable-fortran --disable-cxx --enable-strictmpi --disable-spawn --disable-threads, then make -k in dtpools, util
and each folder. Tests that Open MPI cannot build are named as such. More than 4 ranks are 4; of lines that differ only in MPICH's own settings the first one counts.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SKIP = 77
MOST_RANKS = 4
LIMIT = 100  # seconds for a test
PROVIDERS = ("strack", "tcp;ofi_rxm")


def tests_of(folder):
    """(name, ranks, arguments) of a folder's list, each once."""
    seen = []
    for line in (folder / "testlist").read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#") or any(word.startswith(("xfail=", "mpiversion=4")) for word in words):
            continue
        one = (words[0], min(int(words[1]), MOST_RANKS) if len(words) > 1 and words[1].isdigit() else 1,
               tuple(word[4:] for word in words if word.startswith("arg=")))
        if one not in seen:
            seen.append(one)
    return seen


def run(program, ranks, arguments, provider, path, work):
    """Whether it says that there are no errors, and the bytes that crossed STrack."""
    env = {**os.environ, "FI_PROVIDER_PATH": path, "OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_mtl_ofi_provider_include": provider,
           "OMPI_MCA_osc": "pt2pt,rdma", "FI_STRACK_STATS": "1", "TMPDIR": str(work), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # timeout ends mpirun, which ends its ranks; they would be left alone by a kill.
    done = subprocess.run(["timeout", str(LIMIT), "mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks),
                           program, *arguments], env=env, capture_output=True, text=True, errors="replace", check=False, cwd=program.parent)
    sent = sum(int(n) for n in re.findall(r"datagrams and (\d+) bytes sent", done.stderr))
    return done.returncode == 0 and "No Errors" in done.stdout, sent


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("provider")
    parser.add_argument("--folders", default="pt2pt,coll,comm,datatype,rma,io")
    parser.add_argument("--every", type=int, default=1, help="only every so manieth test")
    parser.add_argument("--only", default="", help="only tests with this in their names")
    parser.add_argument("--after", default="", help="only tests behind this one in their folder's list, the last of them")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no test after so many, and say which was the last")
    options = parser.parse_args()
    suite = os.environ.get("MPICH_TESTS")
    if suite is None or shutil.which("mpirun") is None:
        print("skipped: no MPICH_TESTS, or no mpirun")
        return SKIP
    path = str(pathlib.Path(options.provider).resolve())
    work = tempfile.mkdtemp(prefix="strack_mpich_")
    counts = dict.fromkeys(("both", "neither", "only rxm", "only strack", "not built"), 0)
    total = 0
    start = time.monotonic()
    try:
        for name in options.folders.split(","):
            folder = pathlib.Path(suite) / name
            tests = [one for one in tests_of(folder) if options.only in one[0]]
            behind = [i + 1 for i, one in enumerate(tests) if one[0] == options.after]
            for test, ranks, arguments in tests[behind[-1] if behind else 0::options.every]:
                if time.monotonic() - start > options.seconds:
                    print(f"not reached  {name}/{test} and what is behind it")
                    break
                if not (folder / test).is_file():
                    counts["not built"] += 1
                    print(f"not built    {name}/{test}")
                    continue
                results = [run(folder / test, ranks, arguments, provider, path, work) for provider in PROVIDERS]
                total += results[0][1]
                kind = {(True, True): "both", (False, False): "neither", (False, True): "only rxm", (True, False): "only strack"}[tuple(fine for fine, _ in results)]
                counts[kind] += 1
                if kind != "both":
                    print(f"{kind:<12} {name}/{test} {ranks} {' '.join(arguments)}", flush=True)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{options.folders}: {counts['both']} pass over both, {counts['neither']} over neither, {counts['only strack']} over strack alone, {counts['only rxm']} over rxm "
          f"alone, {counts['not built']} are not built by Open MPI; {total} bytes over STrack, {time.monotonic() - start:.0f} s")
    return 1 if counts["only rxm"] or not counts["both"] or total == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
