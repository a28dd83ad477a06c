#!/usr/bin/env python3
"""A keyed transfer between two network namespaces, while somebody else does his worst: forged ICMP messages that say that
packets are too large, over IPv4 and IPv6, and floods of hellos from addresses that do not exist.

usage: hostile_test.py PROGRAM

The namespaces have names of their own and are removed again. Where there is no root, it is skipped, and says so. Nothing
here measures time: transfers have a size and must come through.
"""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_vectors  # noqa: E402  (hellos, made without our coder)

SKIP = 77
ATTEMPTS = 20  # flows, until one is met by a forged message
PATIENCE = 60  # seconds, for whatever should take one or two
MTU = 9000
NARROW, NARROW_6 = 552, 1280  # what the forged messages say; the least that Linux believes
CLIENT, SERVER, STRANGER = "10.77.0.1", "10.77.0.2", "10.77.0.99"
CLIENT_6, SERVER_6, STRANGER_6 = "fd77::1", "fd77::2", "fd77::99"
PORT = 4794
CLONE_NEWNET = 0x40000000
IPV6 = os.path.exists("/proc/net/if_inet6")


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


def require_namespaces():
    """Or skips. From here on SIGTERM ends the test as an error would, so that what it has made is removed."""
    if os.geteuid() != 0:
        skip("network namespaces and raw sockets take root")
    if not shutil.which("ip"):
        skip("ip is not installed; Debian's package is iproute2")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def checksum(packed):
    total = sum(struct.unpack(f">{len(packed) // 2}H", packed))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def ip_packet(protocol, source, destination, payload):
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(payload), 0, 0x4000, 64, protocol, 0,
                       socket.inet_aton(source), socket.inet_aton(destination))
    return head[:10] + struct.pack(">H", checksum(head)) + head[12:] + payload


def too_big(source_port):
    """ICMP "fragmentation needed" about a datagram that the client might have sent."""
    lost = ip_packet(17, CLIENT, SERVER, b"")[:20] + struct.pack(">HHHH", source_port, PORT, 8000, 0)
    body = struct.pack(">BBHHH", 3, 4, 0, 0, NARROW) + lost
    return ip_packet(1, STRANGER, CLIENT, body[:2] + struct.pack(">H", checksum(body)) + body[4:])


def too_big_6(source_port):
    """ICMPv6 "packet too big", of the same."""
    ends = {name: socket.inet_pton(socket.AF_INET6, name) for name in (CLIENT_6, SERVER_6, STRANGER_6)}
    lost = struct.pack(">IHBB", 6 << 28, 8008, 17, 64) + ends[CLIENT_6] + ends[SERVER_6] + struct.pack(">HHHH", source_port, PORT, 8008, 0)
    body = struct.pack(">BBHI", 2, 0, 0, NARROW_6) + lost
    around = ends[STRANGER_6] + ends[CLIENT_6] + struct.pack(">II", len(body), 58)
    body = body[:2] + struct.pack(">H", checksum(around + body)) + body[4:]
    return struct.pack(">IHBB", 6 << 28, len(body), 58, 64) + ends[STRANGER_6] + ends[CLIENT_6] + body


def hello_from(source, datagram):
    udp = struct.pack(">HHHH", random.randrange(1024, 65536), PORT, 8 + len(datagram), 0) + datagram
    return ip_packet(17, source, SERVER, udp)


def hellos(key):
    """Without a key, with one but for its MAC, and a good one, as who has recorded it can send it; and a packet of a
    connection that does not exist."""
    key_id = int.from_bytes(make_vectors.blake(32, key, b"strack2 key id")[:4], "big")
    setup_key = make_vectors.blake(32, key, b"strack2 setup")
    plain = make_vectors.hello(make_vectors.terms(7, bytes(32)), 1200)[0]
    terms = make_vectors.terms(7, bytes(32), key_id, ciphers=3)
    bad = make_vectors.hello(terms, 1200, bytes([1] * 16))[0]
    good = make_vectors.hello(terms, 1200, make_vectors.blake(16, setup_key, b"hello" + bad[:80]))[0]
    return [plain, bad, good, make_vectors.VALID["ping-sealed"][0]]


class World:
    """Two namespaces and a wire between them."""

    def __init__(self):
        self.names = [f"strack-hostile-{os.getpid()}-{side}" for side in ("client", "server")]

    def __enter__(self):
        client, server = self.names
        for name in self.names:
            run("ip", "netns", "add", name)
        run("ip", "-n", client, "link", "add", "wire", "mtu", str(MTU), "type", "veth", "peer", "name", "wire", "netns",
            server)
        run("ip", "-n", server, "link", "set", "wire", "mtu", str(MTU))
        for name, address, six in ((client, CLIENT, CLIENT_6), (server, SERVER, SERVER_6)):
            run("ip", "-n", name, "address", "add", f"{address}/24", "dev", "wire")
            if IPV6:
                run("ip", "-n", name, "address", "add", f"{six}/64", "dev", "wire", "nodad")
            run("ip", "-n", name, "link", "set", "wire", "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
        # Answers to addresses that do not exist leave by the wire too.
        run("ip", "-n", server, "route", "add", "default", "via", CLIENT)
        return self

    def __exit__(self, *_exception):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)

    def command(self, side, *command):
        return ["ip", "netns", "exec", self.names[side], *command]

    def sent(self, side):
        """Packets and bytes that have left by the wire."""
        told = json.loads(run("ip", "-n", self.names[side], "-j", "-s", "link", "show", "wire"))[0]["stats64"]["tx"]
        return told["packets"], told["bytes"]

    def ports(self, side):
        table = run(*self.command(side, "sh", "-c", "cat /proc/net/udp*"))
        return [int(port, 16) for port in re.findall(r"^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ", table, re.MULTILINE)]

    def raw_socket(self, side, family=socket.AF_INET):
        """One that can claim any source, in a namespace; the thread that opens it stays where it was."""
        made = []

        def enter():
            with open(f"/run/netns/{self.names[side]}") as namespace:
                os_setns(namespace.fileno())
            made.append(socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW))

        thread = threading.Thread(target=enter)  # a thread's namespace is its own
        thread.start()
        thread.join()
        return made[0]


def os_setns(descriptor):
    import ctypes
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


class Stranger:
    """Sends what `next_packets` gives, again and again, while the context lasts; and at least `least` times."""

    def __init__(self, raw, target, next_packets, pause, least):
        self.raw, self.target, self.next_packets, self.pause, self.least = raw, target, next_packets, pause, least
        self.over, self.sent = threading.Event(), 0
        self.thread = threading.Thread(target=self.work)

    def work(self):
        while self.sent < self.least or not self.over.is_set():
            for packet in self.next_packets():
                self.raw.sendto(packet, (self.target, 0))
                self.sent += 1
            self.over.wait(self.pause) if not self.over.is_set() else None

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_exception):
        self.over.set()
        self.thread.join()
        self.raw.close()


def transfer(world, program, key, count, server=SERVER):
    done = subprocess.run(world.command(0, program, "perf", "client", f"{server}:{PORT}", "--key-file", key, "--json", "--burst", "1",
                                        "--size", "1MB", "--count", str(count), "--paths", "16"),
                          capture_output=True, text=True, timeout=PATIENCE, check=False)
    if done.returncode != 0:
        return None, done.stdout + done.stderr
    return json.loads(done.stdout), ""


def check_icmp(world, program, key, failures, six=False):
    what, make, narrow, client, server = ("ICMPv6", too_big_6, NARROW_6, CLIENT_6, f"[{SERVER_6}]") if six else ("ICMP", too_big, NARROW, CLIENT, SERVER)

    def forged():
        ports = world.ports(0)
        return [make(port) for port in ports] or [make(PORT)]

    packets, octets = world.sent(0)
    with Stranger(world.raw_socket(1, socket.AF_INET6 if six else socket.AF_INET), client, forged, 0.01, 50) as stranger:
        # Until the kernel believes it: otherwise this shows nothing. A quick flow may end before its ports are found.
        for _attempt in range(ATTEMPTS):
            told, said = transfer(world, program, key, 60, server)
            route = run("ip", "-n", world.names[0], "route", "get", server.strip("[]"))
            if told is None or f"mtu {narrow}" in route:
                break
        after_packets, after_octets = world.sent(0)
        again, said_again = transfer(world, program, key, 3, server)
    if f"mtu {narrow}" not in route:
        failures.append(f"{what}: the kernel did not take the forged message: {route!r}")
    for whose, result, text in (("a running flow", told, said), ("a new connection", again, said_again)):
        if result is None:
            failures.append(f"{what}: {whose} failed: {text}")
        elif result["payload_bytes"] != 8192:
            failures.append(f"{what}: {whose} has packets of {result['payload_bytes']} bytes, not 8192")
    size = (after_octets - octets) / max(after_packets - packets, 1)
    if size < 6000:
        failures.append(f"{what}: packets of the flow had {size:.0f} bytes on average, which is less than 6000")
    print(f"{stranger.sent} forged {what} messages; packets of {size:.0f} bytes on average, SACKs' and pings' included")


def check_flood(world, program, key, failures):
    kinds = hellos(bytes.fromhex(pathlib.Path(key).read_text().strip()))
    dice = random.Random(1)

    def burst():
        sources = [f"{dice.randrange(11, 200)}.{dice.randrange(256)}.{dice.randrange(256)}.9" for _ in range(60)]
        return [hello_from(source, kinds[i % len(kinds)]) for i, source in enumerate(sources)]

    with Stranger(world.raw_socket(0), SERVER, burst, 0.003, 3_000) as stranger:
        told, said = transfer(world, program, key, 60)
    if told is None:
        failures.append(f"flood: the transfer failed: {said}")
    print(f"{stranger.sent} hellos and packets of no connection beside a transfer")


@contextlib.contextmanager
def serve(world, program, key, address, failures):
    server = subprocess.Popen(world.command(1, program, "perf", "server", "--bind", address, "--key-file", key),
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        while PORT not in world.ports(1):
            if server.poll() is not None:
                sys.exit(f"the server ended at once: {server.stderr.read()}")
        yield
        if server.poll() is not None:
            failures.append("the server has ended")
    finally:
        server.kill()
        server.communicate()


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    require_namespaces()
    probe = f"strack-hostile-{os.getpid()}-try"
    if subprocess.run(["ip", "netns", "add", probe], capture_output=True, check=False).returncode != 0:
        skip("this system makes no network namespaces")
    run("ip", "netns", "del", probe)
    program = os.path.abspath(sys.argv[1])
    failures = []
    with tempfile.TemporaryDirectory() as folder, World() as world:
        key = f"{folder}/key"
        pathlib.Path(key).touch(mode=0o600)
        pathlib.Path(key).write_text(run(program, "key"))
        with serve(world, program, key, f"{SERVER}:{PORT}", failures):
            told, said = transfer(world, program, key, 3)
            if told is None:
                sys.exit(f"the transfer fails even undisturbed: {said}")
            check_flood(world, program, key, failures)
            check_icmp(world, program, key, failures)
        if IPV6:
            with serve(world, program, key, f"[{SERVER_6}]:{PORT}", failures):
                check_icmp(world, program, key, failures, six=True)
        else:
            print("without ICMPv6: this system has no IPv6")
    if failures:
        sys.exit("\n".join(failures))


if __name__ == "__main__":
    main()
