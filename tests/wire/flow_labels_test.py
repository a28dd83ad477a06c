#!/usr/bin/env python3
"""A transfer by IPv6 through a router that spreads packets by addresses and flow label alone (hash policy 0, as Linux comes): an
endpoint's entropies are ports, and take both of two equal routes by the labels that the kernel makes of them. Without labels
they take one.

usage: flow_labels_test.py PROGRAM

The namespaces have names of their own and are removed again. Where there is no root, or where this kernel's labels do not tell
ports apart, it is skipped, and says so. tests/fabric/flow_labels.py is the same with datagrams alone, for all policies.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hostile_test import require_namespaces, run, skip  # noqa: E402

CLIENT, ROUTER, SERVER = (f"strack-label-{os.getpid()}-{side}" for side in ("client", "router", "server"))
ADDRESS, PORT = "fd00:9::1", 4794
PATIENCE = 30  # seconds; a transfer takes less than one
PATHS = 64
DATAGRAMS = f"""
import socket
for _ in range({PATHS}):
    socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(bytes(1000), ("{ADDRESS}", 9))
"""


def inside(name, *command):
    return ["ip", "netns", "exec", name, *command]


def sysctl(name, **settings):
    for setting, value in settings.items():
        run(*inside(name, "sysctl", "-qw", f"net.ipv6.{setting.replace('__', '.')}={value}"))


def make():
    """client -- router == server, by two links."""
    for name in (CLIENT, ROUTER, SERVER):
        run("ip", "netns", "add", name)
        sysctl(name, conf__all__forwarding=1, conf__all__accept_dad=0, conf__default__accept_dad=0)
        run("ip", "-n", name, "link", "set", "lo", "up")
    for number, (name, device) in enumerate(((CLIENT, "only"), (SERVER, "left"), (SERVER, "right")), 1):
        run("ip", "-n", ROUTER, "link", "add", device, "type", "veth", "peer", "name", device, "netns", name)
        for where, last in ((ROUTER, 1), (name, 2)):
            run("ip", "-n", where, "address", "add", f"fd00:{number}::{last}/64", "dev", device, "nodad")
            run("ip", "-n", where, "link", "set", device, "up")
    run("ip", "-n", CLIENT, "route", "add", "default", "via", "fd00:1::1")
    run("ip", "-n", SERVER, "route", "add", "default", "via", "fd00:2::1")
    run("ip", "-n", SERVER, "address", "add", f"{ADDRESS}/128", "dev", "lo", "nodad")
    run("ip", "-n", ROUTER, "route", "add", "fd00:9::/64", "nexthop", "via", "fd00:2::2", "dev", "left", "nexthop", "via", "fd00:3::2", "dev", "right")
    sysctl(ROUTER, fib_multipath_hash_policy=0)


def arrived():
    """Bytes that have come to the server by each link."""
    return [json.loads(run("ip", "-n", SERVER, "-j", "-s", "link", "show", device))[0]["stats64"]["rx"]["bytes"] for device in ("left", "right")]


def share(send, labels):
    """Of what `send` sends: how much takes the link that has less of it."""
    sysctl(CLIENT, auto_flowlabels=labels)
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        before = arrived()
        send()
        carried = [now - was for now, was in zip(arrived(), before)]
        if sum(carried) > 900 * PATHS:  # the first ones find no neighbours yet
            return min(carried) / sum(carried)
        time.sleep(0.05)
    skip("datagrams do not arrive")
    return 0


def datagrams():
    run(*inside(CLIENT, sys.executable, "-c", DATAGRAMS))


def transfer(program):
    done = subprocess.run(inside(CLIENT, program, "perf", "client", f"[{ADDRESS}]:{PORT}", "--insecure", "--json", "--count", "20", "--size", "1MB",
                                 "--rate", "1Gb/s", "--paths", str(PATHS)), capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode != 0 or not json.loads(done.stdout)["ok"]:
        sys.exit(f"the transfer fails: {done.stdout} {done.stderr}")


def judge(program):
    spread, alone = share(datagrams, 1), share(datagrams, 0)
    if spread < 0.1 or alone > 0.02:
        skip(f"here {spread:.2f} of {PATHS} datagrams of as many ports take the other route with automatic labels, and {alone:.2f} without")
    server = subprocess.Popen(inside(SERVER, program, "perf", "server", "--bind", f"[{ADDRESS}]:{PORT}", "--insecure", "--paths", str(PATHS)),
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        server.stdout.readline()  # it listens
        spread, alone = share(lambda: transfer(program), 1), share(lambda: transfer(program), 0)
    finally:
        server.kill()
        server.communicate()
    print(f"{spread:.2f} of a transfer's bytes take the other route; without labels {alone:.4f}")
    # 64 ports: a tenth and less by one of two routes has a chance of 1e-11.
    if spread < 0.1 or alone > 0.02:
        sys.exit("entropies have to take both routes by their flow labels, and one without")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    require_namespaces()
    try:
        try:
            make()
        except subprocess.CalledProcessError as error:
            skip(f"no namespaces, or no IPv6 with hash policies here: {error.stderr.strip()}")
        judge(os.path.abspath(sys.argv[1]))
    finally:
        for name in (CLIENT, ROUTER, SERVER):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


if __name__ == "__main__":
    main()
