#!/usr/bin/env python3
"""Runs one of the examples over loopback, and checks what it says.

usage: run_examples.py hello|write|read|allreduce|closed_loop|network_backend PROGRAM
"""

import os
import re
import secrets
import subprocess
import sys
import tempfile

LIMIT = 60  # seconds for each program


def good(command, **options):
    """What a command prints; the end of this program if it fails."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=LIMIT, **options)
    if done.returncode != 0 or done.stderr:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def expect(pattern, text):
    found = re.fullmatch(pattern, text)
    if not found:
        sys.exit(f"printed {text!r}, and that does not match {pattern!r}")
    return found


def converse(program, environment):
    """A server on any free port and a client."""
    server = subprocess.Popen([program, "server", "127.0.0.1:0"], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              env=environment)
    try:
        address = expect(r"listening on (127\.0\.0\.1:\d+)\n", server.stdout.readline())[1]
        said = good([program, "client", address], env=environment)
        expect("the server says: hello, you said 'is there anybody\\?'\n", said)
        heard, _ = server.communicate(timeout=LIMIT)
        expect(r"127\.0\.0\.1:\d+ says: is there anybody\?\n", heard)
        if server.returncode != 0:
            sys.exit(f"the server's exit status is {server.returncode}")
    finally:
        server.kill()
        server.wait()


def hello(program):
    plain = {name: value for name, value in os.environ.items() if name != "STRACK_KEY"}
    converse(program, plain)
    converse(program, plain | {"STRACK_KEY": secrets.token_hex(32)})


def write(program):
    expect("10 writes, 1000000 bytes in place\n", good([program]))


def read(program):
    expect('"may I read that\\?" 1000000 bytes read\n', good([program]))


def allreduce(program):
    for ranks, floats in ((2, 0), (3, 1), (3, 1000), (4, 1_000_000)):
        printed = good([program, str(ranks), str(floats)])
        expect(rf"{ranks} ranks have the sums of {floats} floats, after [\d.]+ ms\n", printed)


CLUSTER = "[topology]\nhosts = 8\nhosts_per_rack = 4\n"


def in_simulated_time(program, *settings):
    """What it prints of a small cluster: the same every time."""
    with tempfile.TemporaryDirectory() as folder:
        scenario = os.path.join(folder, "cluster.toml")
        with open(scenario, "w", encoding="utf-8") as out:
            out.write(CLUSTER)
        said = good([program, scenario, *settings])
        if said != good([program, scenario, *settings]):
            sys.exit("another run says something else")
        return said


def closed_loop(program):
    said = in_simulated_time(program)
    expect(r"(round \d: \d+\.\d{3} us\n){4}", said)
    wrong = subprocess.run([program, "none.toml"], capture_output=True, text=True, timeout=LIMIT)
    if wrong.returncode != 2 or "none.toml" not in wrong.stderr:
        sys.exit(f"a scenario that is not there: {wrong.returncode}, {wrong.stderr}")


def network_backend(program):
    well = float(expect(r"8 NPUs: reduced after ([\d.]+) ns, 112 messages\n", in_simulated_time(program))[1])
    slow = in_simulated_time(program, "topology.host_gbps=100")
    if float(expect(r"8 NPUs: reduced after ([\d.]+) ns, 112 messages\n", slow)[1]) <= well:
        sys.exit("a network of a quarter of the rate is no slower")


if __name__ == "__main__":
    EXAMPLES = {"hello": hello, "write": write, "read": read, "allreduce": allreduce, "closed_loop": closed_loop,
                "network_backend": network_backend}
    if len(sys.argv) != 3 or sys.argv[1] not in EXAMPLES:
        sys.exit(__doc__)
    EXAMPLES[sys.argv[1]](os.path.abspath(sys.argv[2]))
