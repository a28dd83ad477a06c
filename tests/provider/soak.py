#!/usr/bin/env python3
"""Two processes that do everything that the provider can across the fabric of tests/fabric, which loses packets: provider_mixed does the work.
The counters of both must say that all of its messages and writes crossed STrack.

    soak.py PROGRAM [--seconds N] [--loss SHARE]

Needs root, as tests/fabric does.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "fabric"))
from fabric import Fabric, run_main  # noqa: E402
from proof import bytes_sent  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--loss", type=float, default=0.01)
    options = parser.parse_args()
    with Fabric() as fabric:
        fabric.set("l*-s*", loss=options.loss)
        env = {**os.environ, "FI_STRACK_INSECURE": "1", "FI_STRACK_RATE_GBPS": "0.2", "FI_STRACK_STATS": "1", "FI_STRACK_ADDRESS_1": fabric.address("h1"),
               "FI_STRACK_ADDRESS_2": fabric.address("h5")}
        done = subprocess.run([options.program, "soak", str(options.seconds), f"/run/netns/{fabric.namespace('h1')}", f"/run/netns/{fabric.namespace('h5')}"],
                              env=env, capture_output=True, text=True, timeout=options.seconds + 120, check=False)
        lost = fabric.total("l*-s*", "losses")
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr[-3000:]}"
    assert lost > 0, "nothing was lost"
    payload, sent = [int(n) for n in re.findall(r"(\d+) bytes of payload", done.stdout)], bytes_sent(done.stderr)
    assert len(payload) == len(sent) == 2 and all(a >= b > 0 for a, b in zip(sorted(sent), sorted(payload))), f"bytes over STrack: {sent}, of payload {payload}"
    print("; ".join(done.stdout.strip().splitlines()) + f"; {sum(sent)} bytes over STrack; {options.seconds} s, {lost} packets lost of {100 * options.loss:g} %")
    return 0


if __name__ == "__main__":
    run_main(main)
