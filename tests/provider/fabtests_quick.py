#!/usr/bin/env python3
"""A few of libfabric's own tests over the provider, by name, each in a second or so: what ctest runs. fabtests.py has all of them.

    fabtests_quick.py PROVIDER_FOLDER

Both ends run here, with a port of their own for what they say to each other, and are ended by their process ids: no namespace is needed. The counters of each
must say that its bytes crossed STrack. Where fabtests are not installed it says so and ends with 77; fabtests.py says how to build them.
"""

import os
import pathlib
import socket
import subprocess
import sys
import time

from proof import NO_FABTESTS, bytes_sent, fabtests

SKIP = 77
LIMIT = 40  # seconds for one
# As runfabtests.sh of fabtests 1.13.1 calls them.
ALONE = ("fi_av_test -g 192.0.2.1 -n 1 -s 127.0.0.1", "fi_dom_test -n 2", "fi_eq_test", "fi_cq_test", "fi_mr_test", "fi_cntr_test")
PAIRS = ("fi_rdm", "fi_cq_data -e rdm", "fi_av_xfer -e rdm", "fi_rdm_tagged_peek", "fi_recv_cancel -e rdm -V", "fi_unexpected_msg -e rdm -I 10", "fi_inj_complete -e rdm",
         "fi_rma_bw -e rdm -o write -I 5", "fi_rma_bw -e rdm -o read -I 5 -U", "fi_rma_bw -e rdm -o writedata -I 5", "fi_rdm_atomic -I 5 -o all", "fi_multi_recv -e rdm -I 5",
         "fi_rdm_cntr_pingpong -I 5", "fi_rdm_tagged_pingpong -I 5 -v", "fi_rdm_tagged_bw -I 5 -v -U")


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def alone(folder, name, env):
    """What is wrong, if anything."""
    words = name.split()
    done = subprocess.run([f"{folder}/{words[0]}", "-p", "strack", *words[1:]], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=LIMIT, check=False)
    return None if done.returncode == 0 else f"exit status {done.returncode}\n{done.stdout[-2000:]}"


def pair(folder, name, env):
    words, port = name.split(), free_port()
    command = [f"{folder}/{words[0]}", "-p", "strack", *words[1:]]
    server = subprocess.Popen([*command, "-B", port, "-s", "127.0.0.1"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        until = time.monotonic() + LIMIT
        while True:
            client = subprocess.run([*command, "-P", port, "127.0.0.1"], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                    timeout=LIMIT, check=False)
            # Some programs' clients do not ask again where the server is not there yet.
            if "Connection refused" not in client.stdout or server.poll() is not None or time.monotonic() > until:
                break
            time.sleep(0.1)
        if client.returncode != 0:
            server.terminate()  # it would wait for another
        said, _ = server.communicate(timeout=LIMIT)
        if (client.returncode, server.returncode) != (0, 0):
            return f"exit status {client.returncode} here, {server.returncode} there\n{client.stdout[-2000:]}{said[-2000:]}"
        sent = [sum(bytes_sent(one)) for one in (client.stdout, said)]
        return None if all(sent) else f"bytes over STrack: {sent[0]} from here, {sent[1]} from there"
    finally:
        server.kill()
        server.wait()


def main():
    provider = pathlib.Path(sys.argv[1]).resolve()
    folder = fabtests()
    if folder is None:
        print(f"skipped: {NO_FABTESTS}")
        return SKIP
    env = {**os.environ, "FI_PROVIDER_PATH": str(provider), "FI_STRACK_STATS": "1"}
    failed = 0
    for run, names in ((alone, ALONE), (pair, PAIRS)):
        for name in names:
            try:
                wrong = run(folder, name, env)
            except subprocess.TimeoutExpired:
                wrong = f"longer than {LIMIT} s"
            failed += wrong is not None
            print(f"{'Fail' if wrong else 'Pass':<5} {name}{': ' + wrong if wrong else ''}", flush=True)
    print(f"{len(ALONE) + len(PAIRS) - failed} of {len(ALONE) + len(PAIRS)} pass")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
