#!/usr/bin/env python3
"""Which of a sender's packets a Linux router tells apart by IPv6 flow labels: an experiment, in network namespaces of its own.

  sudo tests/fabric/flow_labels.py

A host, a router with two equal routes to a network (ECMP), and a sink behind each. 256 datagrams leave the host: by 256 ports, or by
one port with 256 flow labels of its own; the router hashes addresses and flow label (net.ipv6.fib_multipath_hash_policy 0) or
ports too (1); the kernel labels by itself (net.ipv6.auto_flowlabels 1, as it comes) or not (0). Printed: how many went by the first
route. docs/udp-tools.md has the table and what follows from it for endpoints; exit status 1: this kernel does otherwise, or a datagram
was lost. 77: no root, or no namespaces.
"""

import os
import subprocess
import sys

HOST, ROUTER, LEFT, RIGHT = (f"stfl{os.getpid()}{letter}" for letter in "hrab")
COUNT = 256
# Which of them the router tells apart: (what differs, hash policy, automatic labels).
SPREAD = {("ports", 0, 1): True, ("ports", 0, 0): False, ("labels", 0, 1): True, ("labels", 0, 0): True,
          ("ports", 1, 1): True, ("ports", 1, 0): True, ("labels", 1, 1): False, ("labels", 1, 0): False}
SEND = f"""
import socket, struct, sys
by_ports = sys.argv[1] == "ports"
def opened():
    s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    if not by_ports:
        s.setsockopt(socket.IPPROTO_IPV6, 33, 1)  # IPV6_FLOWINFO_SEND
    return s
one = opened()
for i in range({COUNT}):
    s = opened() if by_ports else one
    s.sendto(b"x" * 100, ("fd00:9::1", 4794, 0 if by_ports else (i * 4003 + 1) & 0xfffff, 0))
"""


def run(*words, check=True):
    return subprocess.run(words, check=check, capture_output=True, text=True)


def inside(namespace, *words, check=True):
    return run("ip", "netns", "exec", namespace, *words, check=check)


def sysctl(namespace, **settings):
    for name, value in settings.items():
        inside(namespace, "sysctl", "-qw", f"net.ipv6.{name.replace('__', '.')}={value}")


def build():
    for name in (HOST, ROUTER, LEFT, RIGHT):
        run("ip", "netns", "add", name)
        sysctl(name, conf__all__accept_dad=0, conf__default__accept_dad=0, conf__all__forwarding=1)
        inside(name, "ip", "link", "set", "lo", "up")
    for number, (other, port) in enumerate([(HOST, "host"), (LEFT, "left"), (RIGHT, "right")], 1):
        run("ip", "link", "add", port, "netns", ROUTER, "type", "veth", "peer", "name", "uplink", "netns", other)
        for space, device, last in ((ROUTER, port, 1), (other, "uplink", 2)):
            inside(space, "ip", "link", "set", device, "up")
            inside(space, "ip", "addr", "add", f"fd00:{number}::{last}/64", "dev", device, "nodad")
        inside(other, "ip", "route", "add", "default", "via", f"fd00:{number}::1")
    for sink in (LEFT, RIGHT):
        inside(sink, "ip", "addr", "add", "fd00:9::1/128", "dev", "lo", "nodad")
    inside(ROUTER, "ip", "route", "add", "fd00:9::/64", "nexthop", "via", "fd00:2::2", "dev", "left", "nexthop", "via", "fd00:3::2", "dev", "right")


def packets(namespace):
    """UDP datagrams that have come to port 4794, where nobody listens."""
    said = inside(namespace, "cat", "/proc/net/snmp6").stdout
    return sum(int(line.split()[1]) for line in said.splitlines() if line.split()[0] in ("Udp6NoPorts", "Udp6InDatagrams"))


def measure(how, policy, automatic):
    sysctl(ROUTER, fib_multipath_hash_policy=policy)
    sysctl(HOST, auto_flowlabels=automatic)
    before = [packets(LEFT), packets(RIGHT)]
    inside(HOST, sys.executable, "-c", SEND, how)
    left, right = (packets(sink) - was for sink, was in zip((LEFT, RIGHT), before))
    print(f"| {how} | {policy} | {automatic} | {left} of {left + right} |", flush=True)
    if left + right != COUNT:
        return f"{how}, policy {policy}, automatic labels {automatic}: {left + right} of {COUNT} datagrams have arrived"
    # Half of 256 is 8 standard deviations away from a quarter.
    spread = COUNT / 4 < left < 3 * COUNT / 4
    if spread != SPREAD[how, policy, automatic] or (not spread and left not in (0, COUNT)):
        wanted = "both routes" if SPREAD[how, policy, automatic] else "one route"
        return f"{how}, policy {policy}, automatic labels {automatic}: {left} of {COUNT} by the first route, where {wanted} had been taken"
    return None


def main():
    if os.geteuid() != 0 or run("ip", "netns", "add", HOST + "x", check=False).returncode:
        print("skipped: needs root, and network namespaces")
        return 77
    run("ip", "netns", "del", HOST + "x")
    try:
        build()
        wrong = [fault for policy in (0, 1) for how in ("ports", "labels") for automatic in (1, 0)
                 if (fault := measure(how, policy, automatic))]
        if wrong:
            print("\n".join(wrong))
            return 1
    except subprocess.CalledProcessError as failed:
        print(f"error: {' '.join(failed.cmd)}: {failed.stderr}")
        return 1
    finally:
        for name in (HOST, ROUTER, LEFT, RIGHT):
            run("ip", "netns", "del", name, check=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
