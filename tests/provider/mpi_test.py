#!/usr/bin/env python3
"""`strack mpirun`, as a user starts it: a program that knows nothing of STrack, and counters that prove which way its bytes went.

    mpi_test.py PROVIDER_FOLDER STRACK
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from proof import bytes_sent

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs/libfabric.md"
SKIP = 77
RANKS = 4
PUT = 5 << 20  # that each rank of put.c puts into each of its windows
LEAST = 5_000_000  # bytes that each rank sends in the program, and more


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


def check_variables(provider):
    """What `fi_info -p strack -e` teaches is what the docs have, no more and no less."""
    if shutil.which("fi_info") is None:  # Debian: libfabric-bin
        return
    said = subprocess.run(["fi_info", "-p", "strack", "-e"], env={**os.environ, "FI_PROVIDER_PATH": str(provider)}, capture_output=True, text=True, check=True).stdout
    taught = re.findall(r"^# (FI_STRACK_\w+): String\n# strack: \S", said, re.M)
    rows = [line.split("|")[1] for line in DOCS.read_text().splitlines() if line.startswith("| `FI_STRACK_")]
    documented = re.findall(r"FI_STRACK_\w+", "".join(rows))
    assert documented and sorted(taught) == sorted(documented), f"fi_info has {taught}, {DOCS} has {documented}"


def main():
    provider, strack = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
    for program, package in (("mpirun", "openmpi-bin"), ("mpicc", "libopenmpi-dev")):
        if shutil.which(program) is None:
            skip(f"no {program} (Debian: {package})")
    if "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=False).stdout:
        skip("mpirun is not Open MPI's")
    check_variables(provider)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strack_mpi_"))
    try:
        program = folder / "program"
        subprocess.run(["mpicc", "-O1", "-o", program, HERE / "mpi_program.c"], check=True)
        # Nothing that would help it: what Open MPI needs to be told is the wrapper's to know.
        env = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_MCA_", "FI_"))}
        env |= {"FI_PROVIDER_PATH": f"/nowhere:{provider}", "FI_STRACK_STATS": "1", "TMPDIR": str(folder), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}

        def mpirun(ranks, *words):
            # timeout ends mpirun, which ends its ranks; they would be left alone by a kill.
            return subprocess.run(["timeout", "100", strack, "mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks), *words],
                                  env=env, capture_output=True, text=True, check=False)

        said = mpirun(2, "env").stdout.splitlines()
        for variable in ("OMPI_MCA_pml=cm", "OMPI_MCA_mtl=ofi", "OMPI_MCA_mtl_ofi_provider_include=strack", f"FI_PROVIDER_PATH=/nowhere:{provider}", "FI_LOG_LEVEL=warn",
                         "FI_LOG_PROV=strack", "FI_STRACK_STATS=1"):
            assert said.count(variable) == 2, f"of two ranks, {said.count(variable)} have {variable}"
        done = mpirun(RANKS, program)
        print(done.stdout, done.stderr, sep="")
        assert done.returncode == 0, f"exit status {done.returncode}"
        assert f"{RANKS} ranks, 0 failures" in done.stdout
        sent = bytes_sent(done.stderr)
        failed = [int(n) for n in re.findall(r"(\d+) failed", done.stderr)]
        assert len(sent) == RANKS and min(sent) > LEAST, f"bytes over STrack by rank: {sent}"
        assert not any(failed), f"connections that failed: {failed}"
        for kind, least in (("PLAIN", 2 * PUT), ("SHARED", PUT), ("THREADS", 0)):
            subprocess.run(["mpicc", f"-D{kind}", "-O1", "-o", folder / "put", HERE / "put.c"], check=True)
            done = mpirun(2, folder / "put")
            put = bytes_sent(done.stderr)
            assert done.returncode == 0 and done.stdout.count(": right") == 2, f"{kind}: exit status {done.returncode}\n{done.stdout}{done.stderr}"
            assert len(put) == 2 and min(put) > least, f"{kind}: bytes over STrack by rank: {put}"
        print(f"{RANKS} ranks sent {sum(sent)} bytes over STrack")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
