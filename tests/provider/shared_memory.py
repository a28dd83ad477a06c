#!/usr/bin/env python3
"""Shared memory within a host, STrack between hosts: Open MPI's own btl `vader` beside its btl `ofi`, whose provider is strack. Two namespaces stand for two hosts, with two
ranks each; the counters must say that what ranks of one host say to each other did not cross STrack, and that the rest did.

    shared_memory.py PROVIDER_FOLDER        needs root
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from bench import HERE, OpenMpi, run_main, veth
from proof import bytes_sent

SKIP = 77
RANKS = 4


def bytes_over_strack(openmpi, folder, btl, provider):
    """By rank, of mpi_program.c with these ways."""
    env = {**os.environ, "FI_PROVIDER_PATH": provider, "FI_STRACK_STATS": "1", "FI_STRACK_INSECURE": "1", "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": btl, "OMPI_MCA_btl_ofi_mode": "2",
           "OMPI_MCA_btl_ofi_provider_include": "strack", "OMPI_MCA_plm_rsh_agent": str(folder / "agent"), "TMPDIR": str(folder), "OMPI_ALLOW_RUN_AS_ROOT": "1",
           "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    words = ["timeout", "100", "mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(RANKS), "-H", "side0:2,side1:2", "-x", "FI_PROVIDER_PATH",
             "-x", "FI_STRACK_STATS", "-x", "FI_STRACK_INSECURE", str(folder / "program")]
    done = subprocess.run([str(openmpi.folder / "agent"), "side0", "exec", *words], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"{RANKS} ranks, 0 failures" in done.stdout, f"{btl}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
    sent = bytes_sent(done.stdout + done.stderr)
    assert len(sent) == RANKS and min(sent) > 100_000, f"{btl}: bytes over STrack by rank: {sent}"
    return sum(sent)


def main():
    if os.geteuid() != 0:
        print("skipped: namespaces need root")
        return SKIP
    if not all(shutil.which(name) for name in ("mpicc", "mpirun")):
        print("skipped: no Open MPI (Debian: libopenmpi-dev, openmpi-bin)")
        return SKIP
    provider = str(pathlib.Path(sys.argv[1]).resolve())
    with veth() as sides, tempfile.TemporaryDirectory(prefix="strack_shared_") as own:
        folder = pathlib.Path(own)
        openmpi = OpenMpi(sides, folder, "veth")
        subprocess.run(["mpicc", "-O1", "-o", folder / "program", HERE / "mpi_program.c"], check=True)
        alone = bytes_over_strack(openmpi, folder, "self,ofi", provider)
        shared = bytes_over_strack(openmpi, folder, "self,vader,ofi", provider)
    assert shared < 0.9 * alone, f"{shared} bytes over STrack with shared memory, {alone} without"
    print(f"{RANKS} ranks on two hosts: {alone} bytes over STrack by btl ofi alone, {shared} with vader beside it")
    return 0


if __name__ == "__main__":
    run_main(main)
