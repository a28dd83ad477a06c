#!/usr/bin/env python3
"""Programs as Debian has them, over the provider and over Open MPI's own TCP: the same results, and counters that prove which way the bytes went.

    programs.py PROVIDER_FOLDER [NAME...]        netpipe, scalapack, hpcc, lammps

One whose package is not installed (netpipe-openmpi, scalapack-mpi-test, hpcc, lammps) is named, and the others are no proof then; it is skipped where none is.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

from proof import bytes_sent

SKIP = 77
LIMIT = 240  # seconds for a program
LU_TESTS = 240  # that xdlu has with four ranks
HPCC_CHECKS = 11  # that say PASSED, at least
SCALAPACK = next(iter(pathlib.Path("/usr/lib").glob("*/scalapack/openmpi-tests")), pathlib.Path("/nowhere"))
TRANSPORTS = {"strack": {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi", "OMPI_MCA_mtl_ofi_provider_include": "strack", "FI_STRACK_STATS": "1"},
              "tcp": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}}


def mpirun(ranks, words, transport, provider, work):
    env = {**os.environ, "FI_PROVIDER_PATH": provider, "TMPDIR": str(work), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", **TRANSPORTS[transport]}
    done = subprocess.run(["timeout", str(LIMIT), "mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(ranks), *words],
                          env=env, capture_output=True, text=True, errors="replace", check=False, cwd=work)
    assert done.returncode == 0, f"{words[0]} over {transport}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    sent = sum(bytes_sent(done.stderr))
    assert (sent > 0) == (transport == "strack"), f"{words[0]} over {transport} sent {sent} bytes over STrack"
    return done.stdout + done.stderr, sent


def netpipe(transport, provider, work):
    """Sizes to 128 KiB, each with its neighbours, bytes looked at (-i)."""
    said, sent = mpirun(2, ["NPopenmpi", "-i", "-u", "131072", "-o", "np.out"], transport, provider, work)
    sizes = re.findall(r"^ *[0-9]+: .*?times -->  (.*)$", said, re.M)
    assert sizes and all(one.strip() == "Integrity check passed" for one in sizes), said[-1500:]
    return f"{len(sizes)} sizes arrive whole", sent


def scalapack(transport, provider, work):
    """LU factorisations and their residuals."""
    for name in SCALAPACK.glob("*.dat"):
        shutil.copy(name, work)
    said, sent = mpirun(4, [str(SCALAPACK / "xdlu")], transport, provider, work)
    counts = [int(n) for n in re.findall(r"^\s*(\d+)\s+tests? (?:completed|did not|skipped)", said, re.M)]
    passed = re.search(r"(\d+) tests completed and passed", said)
    failed = re.search(r"(\d+) tests completed and failed", said)
    assert passed and failed and int(failed.group(1)) == 0, (said[-1500:], counts)
    assert int(passed.group(1)) == LU_TESTS, f"{passed.group(1)} of {LU_TESTS} tests passed\n{said[-1500:]}"
    return f"{passed.group(1)} tests pass", sent


def hpcc(transport, provider, work):
    """High-Performance Linpack, PTRANS, RandomAccess, FFT and bandwidths, small ones."""
    text = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text(encoding="latin-1")
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if line.rstrip().endswith("Ns") and "# of" not in line:
            lines[i] = "600          Ns"
        if "# of process grids" in line:
            lines[i + 1], lines[i + 2] = "2            Ps", "2            Qs"
    pathlib.Path(work, "hpccinf.txt").write_text("\n".join(lines) + "\n", encoding="latin-1")
    out = pathlib.Path(work, "hpccoutf.txt")
    out.unlink(missing_ok=True)
    _, sent = mpirun(4, ["hpcc"], transport, provider, work)
    said = out.read_text(encoding="latin-1")
    assert re.search(r"^Success=1$", said, re.M), said[-500:]
    # Of RandomAccess up to 1 % of the updates may be wrong: its rules, and it says so.
    passed, failed = len(re.findall("PASSED", said)), len(re.findall("FAILED", said))
    assert not failed and passed >= HPCC_CHECKS, f"{passed} checks pass, {failed} fail\n{said[-1500:]}"
    return f"{passed} checks pass, {failed} fail", sent


LAMMPS_INPUT = """# 4000 atoms that attract and repel each other melt
units lj
atom_style atomic
lattice fcc 0.8442
region box block 0 10 0 10 0 10
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 3.0 87287
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo 50
run 500
"""


def lammps(transport, provider, work):
    """Molecules, neighbours exchanged in each of 500 steps: temperature, energies and pressure to the last digit."""
    pathlib.Path(work, "in.melt").write_text(LAMMPS_INPUT)
    said, sent = mpirun(4, ["lmp", "-in", "in.melt", "-log", "none"], transport, provider, work)
    table = re.search(r"^ *Step .*\n((?:[ \d.eE+-]+\n)+)", said, re.M)
    rows = [line.split() for line in table.group(1).splitlines() if line.strip()] if table else []
    assert len(rows) == 11 and rows[-1][0] == "500", said[-1500:]
    return f"500 steps, at the end temperature {rows[-1][1]}, energy {rows[-1][4]}, pressure {rows[-1][5]}", sent


PROGRAMS = {"lammps": (lammps, lambda: shutil.which("lmp")), "netpipe": (netpipe, lambda: shutil.which("NPopenmpi")), "scalapack": (scalapack, lambda: (SCALAPACK / "xdlu").is_file()),
            "hpcc": (hpcc, lambda: shutil.which("hpcc"))}


def main():
    provider, names = str(pathlib.Path(sys.argv[1]).resolve()), sys.argv[2:] or list(PROGRAMS)
    said, missing = [], [name for name in names if not PROGRAMS[name][1]()]
    if missing == names:
        print("skipped: none of them is installed")
        return SKIP
    for name in names:
        if name in missing:
            said.append(f"{name}: NOT INSTALLED")
            continue
        program = PROGRAMS[name][0]
        results = {}
        for transport in TRANSPORTS:
            work = tempfile.mkdtemp(prefix="strack_programs_")
            start = time.monotonic()
            try:
                results[transport] = program(transport, provider, work)
            finally:
                shutil.rmtree(work, ignore_errors=True)
            print(f"{name} over {transport}: {results[transport][0]}, {time.monotonic() - start:.0f} s", flush=True)
        assert results["strack"][0] == results["tcp"][0], results
        said.append(f"{name}: {results['strack'][0]}, {results['strack'][1]} bytes over STrack")
    print("; ".join(said))
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
