#!/usr/bin/env python3
"""MPICH's own tests, built against Open MPI, over the provider and over tcp;ofi_rxm: none may fail over the first alone, and of each with several ranks that passes
endpoints' counters must say that its bytes crossed STrack, and over the second that none did.

    mpich_suite.py PROVIDER_FOLDER [--folders pt2pt,coll,comm,datatype,rma,io] [--every N] [--only WORD] [--after NAME] [--seconds S]

Needs the suite, built: MPICH_TESTS names the folder. Debian has its source in its package mpich (`apt source mpich`, test/mpi); in a folder of its own:
CC=mpicc .../test/mpi/configure --disable-fortran --disable-cxx --enable-strictmpi --disable-spawn --disable-threads, then in dtpools, util
and each folder make -k CPPFLAGS=-DOMPI_OMIT_MPI1_COMPAT_DECLS=0. Tests that are not run are named and counted: what Open MPI cannot build, and lines with xfail= (MPICH
fails them) or mpiversion=4. More than 4 ranks are 4; of lines that differ only in MPICH's own settings the first one counts, and the lists testlist.cvar and
testlist.dtp, which have nothing else, are not read.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

from proof import bytes_sent

SKIP = 77
MOST_RANKS = 4
LIMIT = 100  # seconds for a test
PROVIDERS = ("strack", "tcp;ofi_rxm")


def tests_of(folder):
    """(name, ranks, arguments) of a folder's list, each once; and its lines that are left out: what MPICH expects to fail, and what MPI 4 alone has."""
    seen, left_out = [], []
    for line in (folder / "testlist").read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if any(word.startswith(("xfail=", "mpiversion=4")) for word in words):
            left_out.append(" ".join(words))
            continue
        one = (words[0], min(int(words[1]), MOST_RANKS) if len(words) > 1 and words[1].isdigit() else 1,
               tuple(word[4:] for word in words if word.startswith("arg=")))
        if one not in seen:
            seen.append(one)
    return seen, left_out


def run(program, ranks, arguments, provider, path, work):
    """Whether it says that there are no errors, and the bytes that crossed STrack."""
    env = {**os.environ, "FI_PROVIDER_PATH": path, "OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_mtl_ofi_provider_include": provider,
           "OMPI_MCA_osc": "pt2pt,rdma", "FI_STRACK_STATS": "1", "TMPDIR": str(work), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    # timeout ends mpirun, which ends its ranks; they would be left alone by a kill.
    done = subprocess.run(["timeout", str(LIMIT), "mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks),
                           program, *arguments], env=env, capture_output=True, text=True, errors="replace", check=False, cwd=program.parent)
    return done.returncode == 0 and "No Errors" in done.stdout, sum(bytes_sent(done.stderr))


def kind_of(ranks, strack, rxm):
    """Of (whether it passed, bytes over STrack) with each. Ranks of which there are several have said something to each other, if only at their end."""
    (passes, sent), (passes_rxm, sent_rxm) = strack, rxm
    if sent_rxm or passes and ranks > 1 and not sent:
        return "astray"
    return {(True, True): "both", (False, False): "neither", (False, True): "only rxm", (True, False): "only strack"}[passes, passes_rxm]


class Suite:
    """Tests that were run, by how they ended."""

    def __init__(self, options):
        self.options, self.start, self.total = options, time.monotonic(), 0
        self.path = str(pathlib.Path(options.provider).resolve())
        self.counts = dict.fromkeys(("both", "neither", "only rxm", "only strack", "astray", "not built", "left out", "not reached"), 0)

    def say(self, kind, what):
        self.counts[kind] += 1
        if kind != "both":
            print(f"{kind:<12} {what}", flush=True)

    def chosen(self, tests):
        behind = [i + 1 for i, one in enumerate(tests) if one[0] == self.options.after]
        return [one for one in tests[behind[-1] if behind else 0:] if self.options.only in one[0]][::self.options.every]

    def run_folder(self, folder, work):
        tests, left_out = tests_of(folder)
        for line in left_out:
            self.say("left out", f"{folder.name}/{line}")
        for test, ranks, arguments in self.chosen(tests):
            what = f"{folder.name}/{test} {ranks} {' '.join(arguments)}".rstrip()
            if time.monotonic() - self.start > self.options.seconds:
                self.say("not reached", what)
            elif not (folder / test).is_file():
                self.say("not built", what)
            else:
                strack, rxm = (run(folder / test, ranks, arguments, provider, self.path, work) for provider in PROVIDERS)
                self.total += strack[1]
                self.say(kind_of(ranks, strack, rxm), what)

    def summary(self):
        n = self.counts
        return (f"{self.options.folders}: {n['both']} pass over both, {n['neither']} over neither, {n['only strack']} over strack alone, {n['only rxm']} over rxm alone, "
                f"{n['astray']} have bytes astray, {n['not built']} are not built by Open MPI, {n['left out']} are left out (xfail, MPI 4), {n['not reached']} not reached; "
                f"{self.total} bytes over STrack, {time.monotonic() - self.start:.0f} s")

    def passed(self):
        return self.counts["both"] > 0 and self.counts["only rxm"] + self.counts["astray"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("provider")
    parser.add_argument("--folders", default="pt2pt,coll,comm,datatype,rma,io")
    parser.add_argument("--every", type=int, default=1, help="only every so manieth test")
    parser.add_argument("--only", default="", help="only tests with this in their names")
    parser.add_argument("--after", default="", help="only tests behind this one in their folder's list, the last of them")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no test after so many, and name those that were not reached")
    options = parser.parse_args()
    folder = os.environ.get("MPICH_TESTS")
    if folder is None or shutil.which("mpirun") is None:
        print("skipped: no MPICH_TESTS, or no mpirun")
        return SKIP
    suite = Suite(options)
    with tempfile.TemporaryDirectory(prefix="strack_mpich_", ignore_cleanup_errors=True) as work:
        for name in options.folders.split(","):
            suite.run_folder(pathlib.Path(folder) / name, work)
    print(suite.summary())
    return 0 if suite.passed() else 1


if __name__ == "__main__":
    sys.exit(main())
