#!/usr/bin/env python3
"""examples/torch/ddp.py with four ranks by `strack mpirun`: all end with the same parameters, and the counters of each must say that its share of every step crossed STrack.

    torch_ddp.py PROVIDER_FOLDER STRACK [STEPS]

Without PyTorch, mpi4py (Debian: python3-torch, python3-mpi4py) and Open MPI it is skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from proof import bytes_sent

SKIP = 77
RANKS = 4
LIMIT = 900  # seconds
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples/torch/ddp.py"
LEAST = 10_000  # bytes that a rank sends in a step: the gradients of 2561 parameters, once at least


def python_with_torch():
    """The first python3 that has both; Debian's packages are for Debian's own."""
    found = filter(None, (shutil.which("python3", path=path) for path in (None, "/usr/bin")))
    return next((python for python in found if subprocess.run([python, "-c", "import torch, mpi4py"], capture_output=True, check=False).returncode == 0), None)


def main():
    provider, strack = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
    steps = int(sys.argv[3]) if len(sys.argv) > 3 else 300
    python = python_with_torch()
    if shutil.which("mpirun") is None or python is None:
        print("skipped: no Open MPI, PyTorch or mpi4py (Debian: openmpi-bin, python3-torch, python3-mpi4py)")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="strack_torch_") as work:
        env = {**os.environ, "FI_PROVIDER_PATH": provider, "FI_STRACK_STATS": "1", "TMPDIR": work, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run(["timeout", str(LIMIT), strack, "mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "-n", str(RANKS), python, EXAMPLE, str(steps)],
                              env=env, capture_output=True, text=True, errors="replace", check=False)
    told = [line for line in done.stdout.splitlines() if line.startswith(f"{RANKS} ranks, {steps} steps")]
    assert done.returncode == 0 and told and told[0].endswith("the same parameters everywhere"), f"exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-3000:]}"
    sent = bytes_sent(done.stderr)
    assert len(sent) == RANKS and min(sent) > LEAST * steps, f"bytes over STrack by rank: {sent}"
    print(f"{told[0]}; {sum(sent)} bytes over STrack")
    return 0


if __name__ == "__main__":
    sys.exit(main())
