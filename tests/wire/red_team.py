#!/usr/bin/env python3
"""An honest keyed flow between two network namespaces, and a third one that does its worst: floods, forged ICMP messages,
replays, forgeries, resets, and peers that have the key and hang.

usage: red_team.py PROGRAM [--full] [--only ATTACK...] [--rate MBPS] [--packets-per-second N]

The flow's link is limited; attacks come by other links. In each round the flow runs undisturbed and under attack, and the
best of either counts, since whatever else the machine does can only take away: under each attack it must keep 0.8 of what
it has without. A round that settles it is the last. In small (CI) 200 Mb/s and 4,000 packets a second, with --full 1 Gb/s
and 20,000.

The namespaces have names of their own and are removed again. Where there is no root, it is skipped, and says so.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from hostile_test import CLIENT, PORT, SERVER, checksum, hello_from, hellos, ip_packet, os_setns, run, skip, too_big  # noqa: E402

KEEPS = 0.8
ROUNDS = 10  # at most
LEAST = 0.5  # of the attack's rate: less is no attack
TO_CLIENT, TO_SERVER = "10.78.1", "10.78.2"  # the stranger's networks
PATIENCE = 60
CLOSE, RESET = 11, 13  # types of packets


class World:
    """client --wire-- server, and a stranger with a link to either."""

    def __init__(self, rate):
        self.rate = rate
        self.names = {side: f"strack-red-{os.getpid()}-{side}" for side in ("client", "server", "stranger")}

    def __enter__(self):
        try:
            self.make()
        except BaseException:
            self.__exit__()
            raise
        return self

    def make(self):
        client, server, stranger = self.names.values()
        for name in self.names.values():
            run("ip", "netns", "add", name)
            run("ip", "-n", name, "link", "set", "lo", "up")
        for one, its, other, others in ((client, "wire", server, "wire"), (stranger, "c", client, "bad"),
                                        (stranger, "s", server, "bad")):
            run("ip", "-n", one, "link", "add", its, "mtu", "9000", "type", "veth", "peer", "name", others, "mtu", "9000",
                "netns", other)
        for name, device, address in ((client, "wire", f"{CLIENT}/24"), (server, "wire", f"{SERVER}/24"),
                                      (stranger, "c", f"{TO_CLIENT}.1/24"), (client, "bad", f"{TO_CLIENT}.2/24"),
                                      (stranger, "s", f"{TO_SERVER}.1/24"), (server, "bad", f"{TO_SERVER}.2/24")):
            run("ip", "-n", name, "address", "add", address, "dev", device)
            run("ip", "-n", name, "link", "set", device, "up")
        # Whoever is answered at an address that does not exist is somewhere behind the stranger.
        run("ip", "-n", server, "route", "add", "default", "via", f"{TO_SERVER}.1")
        run("ip", "-n", stranger, "route", "add", f"{CLIENT}/32", "via", f"{TO_CLIENT}.2")
        run("ip", "-n", stranger, "route", "add", f"{SERVER}/32", "via", f"{TO_SERVER}.2")
        for name in (client, server):
            for device in ("all", "bad", "wire"):  # it may claim any source
                run(*self.command(name, "sysctl", "-qw", f"net.ipv4.conf.{device}.rp_filter=0"))
            # One queue for what it sends: a limit of its own, so that the attack's links take nothing from it.
            run("tc", "-n", name, "qdisc", "add", "dev", "wire", "root", "tbf", "rate", f"{self.rate}mbit", "burst", "256kb",
                "latency", "20ms")

    def __exit__(self, *_exception):
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    @staticmethod
    def command(name, *command):
        return ["ip", "netns", "exec", name, *command]

    def on(self, side, *command):
        return self.command(self.names[side], *command)

    def enter(self, side):
        with open(f"/run/netns/{self.names[side]}") as namespace:
            os_setns(namespace.fileno())

    def arrived(self):
        """Packets that have come by the stranger's links."""
        return sum(json.loads(run("ip", "-n", self.names[side], "-j", "-s", "link", "show", "bad"))[0]["stats64"]["rx"]["packets"]
                   for side in ("client", "server"))

    def ports(self, side):
        table = run(*self.on(side, "cat", "/proc/net/udp")).splitlines()[1:]
        return [int(line.split()[1].split(":")[1], 16) for line in table]


class Flow:
    """The honest one. `goodput` of a run is in Mb/s."""

    def __init__(self, world, program, key, milliseconds):
        self.world, self.program, self.key, self.milliseconds = world, program, key, milliseconds
        self.options = ("--key-file", key, "--paths", "16", "--rate", f"{world.rate}Mb/s")
        self.server = subprocess.Popen(world.on("server", program, "perf", "server", "--bind", f"0.0.0.0:{PORT}",
                                                *self.options), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        until = time.monotonic() + PATIENCE
        while PORT not in self.world.ports("server"):
            if self.server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server does not listen: {self.server.poll()}")
        return self

    def __exit__(self, *_exception):
        self.server.kill()
        self.server.communicate()

    def client(self, *words):
        return self.world.on("client", self.program, "perf", "client", f"{SERVER}:{PORT}", *self.options, *words)

    def goodput(self):
        done = subprocess.run(self.client("--json", "--size", "100KB", "--seconds", f"{self.milliseconds}ms"),
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"the flow fails: {done.stdout} {done.stderr}")
        return json.loads(done.stdout)["gbps"] * 1000


# --- What can be done to it -----------------------------------------------------------------------

def listen(ear, over):
    """Packets of the running flow, both ways, as who sits on the way sees them: (side they come to, IP packet)."""
    seen = []
    ear.settimeout(0.05)
    while len(seen) < 300 and not over.is_set():
        with contextlib.suppress(TimeoutError):
            packet, (_device, _protocol, kind, *_rest) = ear.recvfrom(65536)
            if packet[9] == 17 and len(packet) <= 9000:
                seen.append(("client" if kind == socket.PACKET_OUTGOING else "server", packet))
    return seen


def with_payload(packet, payload):
    """The same ports and addresses, and other bytes; no UDP checksum."""
    ports = packet[20:24]
    return ip_packet(17, socket.inet_ntoa(packet[12:16]), socket.inet_ntoa(packet[16:20]),
                     ports + struct.pack(">HH", 8 + len(payload), 0) + payload)


def flood(key, _seen, dice):
    kinds = hellos(bytes.fromhex(pathlib.Path(key).read_text().strip()))
    return [("server", hello_from(f"{dice.randrange(11, 200)}.{dice.randrange(256)}.{dice.randrange(256)}.9", kinds[i % 4]))
            for i in range(4000)]


def icmp(_key, seen, _dice):
    """About every port that the client has used: too large; nobody listens there; unreachable."""
    ports = sorted({struct.unpack(">H", packet[20:22])[0] for side, packet in seen if side == "server"})
    out = []
    for port in ports:
        big = too_big(port)
        out.append(("client", big))
        for code in (1, 3, 13):
            body = struct.pack(">BBHI", 3, code, 0, 0) + big[28:]
            out.append(("client", ip_packet(1, SERVER, CLIENT, body[:2] + struct.pack(">H", checksum(body)) + body[4:])))
    return out


def replays(_key, seen, _dice):
    return seen


def forgeries(_key, seen, dice):
    """Of packets that were seen, with counters that were not: the whole packet must be opened to know it for a forgery."""
    out = []
    for side, packet in seen:
        payload = bytearray(packet[28:])
        if len(payload) < 40 or not payload[1] & 0x80:
            continue
        payload[8:16] = (2**39 + dice.randrange(2**38)).to_bytes(8, "big")
        out.append((side, with_payload(packet, bytes(payload))))
    return out


def resets(_key, seen, dice):
    """Closes in the name of either side, and resets that say that the other does not know the connection."""
    out = []
    for side, packet in seen:
        version, identity = packet[28] & 0xF0, packet[32:36]
        close = bytes([version | CLOSE, 0x80, 0, 0]) + identity + (2**39).to_bytes(8, "big") + dice.randbytes(26)
        out.append((side, with_payload(packet, close)))
        reset = bytes([version | RESET, 0x80, 0, 0]) + bytes(4) + identity + dice.randbytes(24)
        back = packet[:12] + packet[16:20] + packet[12:16] + packet[22:24] + packet[20:22]
        out.append(("server" if side == "client" else "client", with_payload(back, reset)))
    return out


PACKETS = {"floods": flood, "icmp": icmp, "replays": replays, "forgeries": forgeries, "resets": resets}


class Attack:
    """Sends packets, again and again, at a rate, from a process of its own. `make` makes them of those of the flow."""

    def __init__(self, world, key, make, per_second):
        self.world, self.key, self.make, self.per_second = world, key, make, per_second
        self.sent, self.seconds = multiprocessing.Value("Q", 0), multiprocessing.Value("d", 0)
        self.over = multiprocessing.Event()
        self.process = multiprocessing.Process(target=self.work)

    def work(self):
        self.world.enter("server")
        with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as ear:
            ear.bind(("wire", 0x0800))
            seen = [] if self.make is flood else listen(ear, self.over)
        packets = self.make(self.key, seen, random.Random(1))
        self.world.enter("stranger")
        target = {"client": (CLIENT, 0), "server": (SERVER, 0)}
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
            first = began = time.monotonic()
            sent = 0
            while packets and not self.over.is_set():
                now = time.monotonic()
                self.seconds.value = now - first
                due = (now - began) * self.per_second
                if due - sent > self.per_second / 10:  # it was not let; what was missed is not made up for
                    began, sent, due = now, 0, 0
                while sent < due:
                    side, packet = packets[self.sent.value % len(packets)]
                    with contextlib.suppress(OSError):
                        raw.sendto(packet, target[side])
                    sent += 1
                    self.sent.value += 1
                time.sleep(0.002)

    @property
    def rate(self):
        return self.sent.value / self.seconds.value if self.seconds.value > 0 else 0

    def __enter__(self):
        self.process.start()
        return self

    def __exit__(self, *_exception):
        self.over.set()
        self.process.join(10)
        self.process.kill()
        self.process.join()


class SlowPeers:
    """They have the key, begin a test, and stop in the middle of it."""
    rate = None

    def __init__(self, flow, count):
        self.flow, self.count = flow, count

    def __enter__(self):
        self.peers = [subprocess.Popen(self.flow.client("--seconds", "1000", "--size", "8KB", "--connections", "8"),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(self.count)]
        time.sleep(0.5)
        for peer in self.peers:
            peer.send_signal(signal.SIGSTOP)
        return self

    def __exit__(self, *_exception):
        for peer in self.peers:
            peer.kill()
            peer.wait()


# --- The verdict ----------------------------------------------------------------------------------

def judge(name, flow, attack, wanted_rate):
    """None, or what is wrong."""
    quiet, attacked, fastest = 0, 0, 0
    for _round in range(ROUNDS):
        quiet = max(quiet, flow.goodput())
        before = flow.world.arrived()
        with attack() as present:
            found = flow.goodput()
        if present.rate is not None and flow.world.arrived() - before < LEAST * present.sent.value:
            return f"{name}: {present.sent.value} packets were sent, and {flow.world.arrived() - before} have arrived"
        if present.rate is not None and present.rate < LEAST * wanted_rate:
            continue  # the machine had no time for it
        fastest = max(fastest, present.rate or 0)
        attacked = max(attacked, found)
        if flow.server.poll() is not None:
            return f"{name}: the server has ended"
        if attacked >= KEEPS * quiet:
            break
    told = f" at {fastest:.0f} packets a second" if fastest else ""
    print(f"{name}: {attacked:.0f} of {quiet:.0f} Mb/s, {attacked / quiet:.2f}{told}, after {_round + 1} rounds", flush=True)
    if attacked == 0:
        return Busy(f"{name}: the machine is too busy to attack at {wanted_rate} packets a second")
    return None if attacked >= KEEPS * quiet else f"{name}: the flow keeps {attacked / quiet:.2f}, less than {KEEPS}"


class Busy(str):
    """An attack that could not be made."""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--full", action="store_true")
    parser.add_argument("--only", nargs="*", choices=[*PACKETS, "slow-peers"])
    parser.add_argument("--rate", type=int)
    parser.add_argument("--packets-per-second", type=int)
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        skip("network namespaces and raw sockets take root")
    if not shutil.which("ip") or not shutil.which("tc"):
        skip("ip and tc are not installed; Debian's package is iproute2")
    program = os.path.abspath(arguments.program)
    rate = arguments.rate or (1000 if arguments.full else 200)
    per_second = arguments.packets_per_second or (20_000 if arguments.full else 4_000)
    failures, busy = [], []
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        try:
            world = stack.enter_context(World(rate))
        except subprocess.CalledProcessError as error:
            skip(f"no namespaces, or no such qdisc here: {error.stderr.strip()}")
        key = f"{folder}/key"
        pathlib.Path(key).touch(mode=0o600)
        pathlib.Path(key).write_text(run(program, "key"))
        flow = stack.enter_context(Flow(world, program, key, 2000 if arguments.full else 500))
        for name in arguments.only or [*PACKETS, "slow-peers"]:
            if name == "slow-peers":
                wrong = judge(name, flow, lambda: SlowPeers(flow, 16 if arguments.full else 4), None)
            else:
                make = PACKETS[name]
                wrong = judge(name, flow, lambda make=make: Attack(world, key, make, per_second), per_second)
            if wrong:
                (busy if isinstance(wrong, Busy) else failures).append(wrong)
    if failures:
        sys.exit("\n".join(failures))
    if busy:
        skip("; ".join(busy))


if __name__ == "__main__":
    main()
