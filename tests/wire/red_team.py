#!/usr/bin/env python3
"""An honest keyed flow between two network namespaces, and a third one that does its worst: floods, floods whose answers fill
the server's send buffers, handshakes between hosts with keys of their own, which cost most, forged ICMP messages, replays, forgeries,
resets, and peers that have the key and are slow or hang. With --full also a flood over IPv6.

usage: red_team.py PROGRAM [--full] [--only ATTACK...] [--rate MBPS] [--packets-per-second N]

The flow's link is limited; attacks come by other links. There are five rounds for each attack, in which the flow runs first
undisturbed and then attacked, and their medians are judged: attacked it must keep 0.8 of what it has otherwise. With --full the link
has 1 Gb/s, of which it has to have 0.9 when it is undisturbed, and of 20,000 packets a second 0.9 have to arrive: on a machine that
cannot do so nothing is proved, and that is an error. In small (CI) it is 200 Mb/s and 4,000 packets a second; there a machine
may be busy, so a round with less than half the attack is made again, and where five rounds do not keep 0.8 there are five more, ten rounds at
most; the medians are of all of them. If that is not enough for five attacks, it is skipped, and says so.

The namespaces have names of their own and are removed again. Where there is no root, it is skipped, and says so.
"""

import argparse
import contextlib
import ctypes
import functools
import json
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_vectors  # noqa: E402
from hostile_test import CLIENT, PORT, SERVER, checksum, hello_from, hellos, ip_packet, os_setns, require_namespaces, run, skip, too_big  # noqa: E402

ROUNDS = 5
NARROW = "1mbit"  # from the server to the strangers, where its answers are to pile up
CLIENT_6, SERVER_6 = "fd77::1", "fd77::2"
TO_CLIENT, TO_SERVER = "10.78.1", "10.78.2"  # the stranger's networks
PATIENCE = 60
METRICS = 9400  # in the server's namespace
CLOSE, RESET = 11, 13  # types of packets


class Terms:
    """What is demanded. Shares of what was asked for."""

    def __init__(self, full):
        self.full = full
        self.keeps = 0.8
        self.undisturbed = 0.9 if full else 0  # of the link, by the flow alone
        self.attack = 0.9 if full else 0.5  # of the attack's packets, that arrive
        self.tries = ROUNDS if full else 2 * ROUNDS


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

    def add_ipv6(self):
        client, server, stranger = self.names.values()
        for name, device, address in ((client, "wire", CLIENT_6), (server, "wire", SERVER_6), (stranger, "s", "fd78::1"), (server, "bad", "fd78::2")):
            run("ip", "-n", name, "address", "add", f"{address}/64", "dev", device, "nodad")
        run("ip", "-n", server, "-6", "route", "add", "default", "via", "fd78::1")
        run("ip", "-n", stranger, "route", "add", f"{SERVER_6}/128", "via", "fd78::2")

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

    @contextlib.contextmanager
    def narrow(self):
        """What the server sends to strangers queues, so long that its sockets' buffers are full before the queue is."""
        run("tc", "-n", self.names["server"], "qdisc", "replace", "dev", "bad", "root", "tbf", "rate", NARROW, "burst", "16kb",
            "limit", "64mb")
        try:
            yield
        finally:
            run("tc", "-n", self.names["server"], "qdisc", "del", "dev", "bad", "root")

    def queued(self):
        """Packets that the server has sent to strangers and that wait; none where nothing is narrow."""
        told = json.loads(run("tc", "-n", self.names["server"], "-j", "-s", "qdisc", "show", "dev", "bad"))[0]
        return told.get("qlen", 0) if told["kind"] == "tbf" else 0

    def fullest(self):
        """How full the fullest of the server's send buffers is: a share."""
        told = run(*self.on("server", "ss", "-uamn"))
        return max((int(used) / int(room) for used, room in re.findall(r"skmem:\(r\d+,rb\d+,t(\d+),tb(\d+)", told)), default=0)

    def arrived(self):
        """Packets that have come by the stranger's links."""
        return sum(json.loads(run("ip", "-n", self.names[side], "-j", "-s", "link", "show", "bad"))[0]["stats64"]["rx"]["packets"]
                   for side in ("client", "server"))

    def ports(self, side):
        table = run(*self.on(side, "sh", "-c", "cat /proc/net/udp*"))
        return [int(port, 16) for port in re.findall(r"^ *\d+: [0-9A-F]+:([0-9A-F]{4}) ", table, re.MULTILINE)]


class Keys:
    """One that all share, and one of each host's own."""

    def __init__(self, program, folder):
        self.folder = folder
        self.shared = bytes.fromhex(run(program, "key"))
        pathlib.Path(f"{folder}/key").touch(mode=0o600)
        pathlib.Path(f"{folder}/key").write_text(self.shared.hex())
        self.public = {side: run(program, "key", "new", f"{folder}/{side}.id").strip() for side in ("client", "server")}
        run(program, "key", "trust", f"{folder}/trusted", "client", self.public["client"])

    def words(self, side, own):
        if not own:
            return ("--key-file", f"{self.folder}/key")
        whom = ("--trust", f"{self.folder}/trusted") if side == "server" else ("--peer", self.public["server"])
        return ("--identity", f"{self.folder}/{side}.id", *whom)


class Flow:
    """The honest one. `goodput` of a run is in Mb/s."""

    def __init__(self, world, program, keys, milliseconds, attack):
        self.world, self.program, self.milliseconds = world, program, milliseconds
        own, six = attack == "handshakes", attack == "floods-ipv6"
        self.address = f"[{SERVER_6}]" if six else SERVER
        self.options = (*keys.words("client", own), "--rate", f"{world.rate}Mb/s", "--paths", "16")
        # With one socket to answer by, its buffer is full soon; with many it takes longer, and is the same.
        words = ("--rate", f"{world.rate}Mb/s", "--paths", "1" if attack == "stuffing" else "16", "--metrics", f"127.0.0.1:{METRICS}")
        self.server = subprocess.Popen(world.on("server", program, "perf", "server", "--bind", f"{'[::]' if six else '0.0.0.0'}:{PORT}",
                                                *keys.words("server", own), *words),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        until = time.monotonic() + PATIENCE
        while PORT not in self.world.ports("server"):
            if self.server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server does not listen: {self.server.poll()}")
        return self

    def __exit__(self, *_exception):
        self.server.kill()
        self.server.communicate()

    def client(self, *words, side="client", to=None):
        return self.world.on(side, self.program, "perf", "client", f"{to or self.address}:{PORT}", *self.options, *words)

    def refused(self, cause):
        """Packets that the server has refused for this."""
        said = run(*self.world.on("server", sys.executable, "-c",
                                  f"import urllib.request as u; print(u.urlopen('http://127.0.0.1:{METRICS}/metrics').read().decode())"))
        return int(re.search(rf'^strack_refused_total{{.*cause="{cause}"}} (\d+)', said, re.MULTILINE).group(1))

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


def anybody(dice):
    return f"{dice.randrange(11, 200)}.{dice.randrange(256)}.{dice.randrange(256)}.9"


def flood(keys, _seen, dice):
    kinds = hellos(keys.shared)
    return [("server", hello_from(anybody(dice), kinds[i % 4])) for i in range(4000)]


def flood_by_6(keys, _seen, dice):
    """The same; here UDP has to have its checksum."""
    packets, kinds = [], hellos(keys.shared)
    for i in range(4000):
        addresses = bytes([0x20, 1]) + dice.randbytes(14) + socket.inet_pton(socket.AF_INET6, SERVER_6)
        size = 8 + len(kinds[i % 4])
        udp = struct.pack(">HHHH", dice.randrange(1024, 65536), PORT, size, 0) + kinds[i % 4]
        total = checksum(addresses + struct.pack(">II", size, 17) + udp + bytes(size % 2))
        udp = udp[:6] + struct.pack(">H", total or 0xFFFF) + udp[8:]
        packets.append(("server", struct.pack(">IHBB", 6 << 28, size, 17, 64) + addresses + udp))
    return packets


def stuffing(keys, _seen, dice):
    """Hellos that are answered: who has recorded one with a key can send it from any address."""
    good = hellos(keys.shared)[2]
    return [("server", hello_from(anybody(dice), good)) for _ in range(4000)]


def handshakes(keys, _seen, dice):
    """Of somebody who knows the server's public key, and is not trusted: each has to be opened to its end to know that."""
    door = bytes.fromhex(keys.public["server"])
    key_id = int.from_bytes(make_vectors.blake(32, door, b"strack2 key id")[:4], "big") or 1
    setup_key, identity, packets = make_vectors.blake(32, door, b"strack2 setup"), dice.randbytes(32), []
    for _ in range(4000):
        terms = make_vectors.terms(dice.randrange(1, 2**32), dice.randbytes(32), key_id, ciphers=3, extensions=0x0100)
        first = make_vectors.Noise(b"strack2 noise" + terms[0], door).first(dice.randbytes(32), identity, door, dice.randbytes(32))
        hello = make_vectors.macced(lambda mac, terms=terms, first=first: make_vectors.hello(terms, 1200, mac, first=first), b"hello", end=208, key=setup_key)
        packets.append(("server", hello_from(anybody(dice), hello[0])))
    return packets


def icmp(_keys, seen, _dice):
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


def replays(_keys, seen, _dice):
    return seen


def forgeries(_keys, seen, dice):
    """Of packets that were seen, with counters that were not: the whole packet must be opened to know it for a forgery."""
    out = []
    for side, packet in seen:
        payload = bytearray(packet[28:])
        if len(payload) < 40 or not payload[1] & 0x80:
            continue
        payload[8:16] = (2**39 + dice.randrange(2**38)).to_bytes(8, "big")
        out.append((side, with_payload(packet, bytes(payload))))
    return out


def resets(_keys, seen, dice):
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


BLIND = (flood, flood_by_6, stuffing, handshakes)  # they need nothing of what the flow sends
ONLY_IN_FULL = ("floods-ipv6",)
PACKETS = {"floods": flood, "floods-ipv6": flood_by_6, "stuffing": stuffing, "handshakes": handshakes, "icmp": icmp, "replays": replays, "forgeries": forgeries, "resets": resets}


@functools.cache
def made(make, keys):
    return make(keys, [], random.Random(1))


class IoVec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_char_p), ("size", ctypes.c_size_t)]


class MsgHdr(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("name_size", ctypes.c_uint32), ("vectors", ctypes.POINTER(IoVec)), ("vector_count", ctypes.c_size_t),
                ("control", ctypes.c_void_p), ("control_size", ctypes.c_size_t), ("flags", ctypes.c_int)]


class MMsgHdr(ctypes.Structure):
    _fields_ = [("header", MsgHdr), ("sent", ctypes.c_uint)]


class Volley:
    """Packets that are sent again and again, many with one call: the attack should not take the time that the flow needs."""
    MOST = 64

    def __init__(self, raw, packets):
        self.raw, self.next = raw, 0
        self.libc = ctypes.CDLL(None, use_errno=True)
        self.headers = (MMsgHdr * len(packets))()
        self.kept = []  # alive as long as the headers
        for header, (side, packet) in zip(self.headers, packets):
            if packet[0] >> 4 == 6:
                name = struct.pack("=HHI16sI", socket.AF_INET6, 0, 0, packet[24:40], 0)
            else:
                name = struct.pack("=HH4s8x", socket.AF_INET, 0, socket.inet_aton({"client": CLIENT, "server": SERVER}[side]))
            vector = IoVec(packet, len(packet))
            self.kept += [name, vector]
            header.header = MsgHdr(name, len(name), ctypes.pointer(vector), 1, None, 0, 0)

    def fire(self, count):
        """How many of `count` or fewer have left; at least one was tried."""
        count = min(count, self.MOST, len(self.headers) - self.next)
        sent = self.libc.sendmmsg(self.raw.fileno(), ctypes.byref(self.headers, self.next * ctypes.sizeof(MMsgHdr)), count, socket.MSG_DONTWAIT)
        self.next = (self.next + max(sent, 1)) % len(self.headers)
        return max(sent, 0), max(sent, 1)


class Attack:
    """Sends packets, again and again, at a rate, from a process of its own. `make` makes them of those of the flow."""

    def __init__(self, flow, keys, make, per_second):
        self.flow, self.world, self.keys, self.make, self.per_second = flow, flow.world, keys, make, per_second
        self.sent, self.seconds = multiprocessing.Value("Q", 0), multiprocessing.Value("d", 0)
        self.over = multiprocessing.Event()
        self.packets = made(make, keys) if make in BLIND else None
        self.process = multiprocessing.Process(target=self.work)
        self.narrow = self.world.narrow() if make is stuffing else contextlib.nullcontext()

    def of_the_flow(self):
        self.world.enter("server")
        with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as ear:
            ear.bind(("wire", 0x0800))
            seen = listen(ear, self.over)
        return self.make(self.keys, seen, random.Random(1))

    def work(self):
        packets = self.packets or self.of_the_flow()
        if not packets:
            return
        self.world.enter("stranger")
        family = socket.AF_INET6 if self.make is flood_by_6 else socket.AF_INET
        with socket.socket(family, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 22)
            volley = Volley(raw, packets)
            first = began = time.monotonic()
            tried = 0
            while not self.over.is_set():
                now = time.monotonic()
                self.seconds.value = now - first
                due = (now - began) * self.per_second
                if due - tried > self.per_second / 10:  # it was not let; what was missed is not made up for
                    began, tried, due = now, 0, 0
                while tried < due:
                    sent, attempts = volley.fire(int(due - tried) + 1)
                    tried += attempts
                    self.sent.value += sent
                time.sleep(0.002)

    def __enter__(self):
        self.narrow.__enter__()
        self.before, self.opened = self.world.arrived(), self.untrusted()
        self.process.start()
        if self.make is stuffing:  # until as much waits as ever will
            until = time.monotonic() + 5
            waiting = -1
            while time.monotonic() < until and waiting < (now := self.world.queued()):
                waiting = now
                time.sleep(0.3)
        return self

    def __exit__(self, *_exception):
        # While it still goes on: as much as there was during the flow.
        self.rate = (self.world.arrived() - self.before) / max(self.seconds.value, 0.001)
        self.queued, self.fullest = self.world.queued(), self.world.fullest()
        self.opened = self.untrusted() - self.opened
        self.over.set()
        self.process.join(10)
        self.process.kill()
        self.process.join()
        self.narrow.__exit__(None, None, None)

    def untrusted(self):
        return self.flow.refused("untrusted") if self.make is handshakes else 0

    def faults(self, flow):
        """Why it was no attack, or None."""
        if self.seconds.value < 0.7 * flow.milliseconds / 1000:
            return f"it lasted {self.seconds.value:.1f} s"
        if self.make is handshakes and self.opened < 300 * self.seconds.value:  # 1,000 a second are
            return f"{self.opened} handshakes were opened in {self.seconds.value:.1f} s"
        if self.make is stuffing and self.fullest < 0.15:
            return f"{self.queued} answers of the server wait to be sent, {100 * self.fullest:.0f} % of a send buffer"
        return None

    def harm(self):
        """What must not be, however fast the flow is; or None."""
        if self.make is stuffing and self.fullest > 0.5:  # a quarter [D140], and what the flow has in it
            return f"{100 * self.fullest:.0f} % of a send buffer of the server's is full of answers to strangers"
        return None


class SlowPeers:
    """They have the key, are behind a narrow link, and have the server send to them, which it can only do slowly; and they are asleep most
    of the time, half of them for good. So the server holds what they have not acknowledged, and asks again and again."""
    rate = None
    CONNECTIONS = 8  # of each
    AWAKE, ASLEEP = 0.02, 0.2  # seconds

    def __init__(self, flow, count):
        self.flow, self.count, self.over = flow, count, threading.Event()
        self.narrow = flow.world.narrow()
        self.sleepers = threading.Thread(target=self.doze)

    def __enter__(self):
        self.narrow.__enter__()
        self.began, self.before = time.monotonic(), self.told()
        self.peers = [subprocess.Popen(self.flow.client("--reverse", "--seconds", "1000", "--size", "1MB", "--connections", str(self.CONNECTIONS),
                                                        side="stranger", to=f"{TO_SERVER}.2"),
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) for _ in range(self.count)]
        # Until the server has more for them than the link takes.
        until = time.monotonic() + PATIENCE
        while self.flow.world.queued() < self.count and time.monotonic() < until:
            time.sleep(0.01)
        self.sleepers.start()
        return self

    def told(self):
        """Bytes from the server to strangers."""
        return json.loads(run("ip", "-n", self.flow.world.names["server"], "-j", "-s", "link", "show", "bad"))[0]["stats64"]["tx"]["bytes"]

    def doze(self):
        awake = self.peers[::2]
        for peer in self.peers:
            peer.send_signal(signal.SIGSTOP)
        while awake and not self.over.is_set():
            for peer in awake:
                peer.send_signal(signal.SIGCONT)
            self.over.wait(self.AWAKE)
            for peer in awake:
                peer.send_signal(signal.SIGSTOP)
            self.over.wait(self.ASLEEP)

    def __exit__(self, *_exception):
        self.over.set()
        self.sleepers.join()
        self.bytes, self.seconds = self.told() - self.before, time.monotonic() - self.began
        self.ended = sum(peer.poll() is not None for peer in self.peers)
        for peer in self.peers:
            peer.kill()
            peer.wait()
        self.narrow.__exit__(None, None, None)

    def harm(self):
        return None

    def faults(self, _flow):
        """Why it was no attack, or None."""
        if self.ended > self.count // 2:  # some give up what takes too long
            return f"{self.ended} of {self.count} slow peers have ended"
        if self.bytes < 1e6 / 8 * self.seconds / 2:
            return f"the server has sent {self.bytes} bytes to slow peers in {self.seconds:.1f} s, and their link takes twice that"
        return None


# --- The verdict ----------------------------------------------------------------------------------

def judge(name, flow, attack, wanted_rate, terms):
    """None, or what is wrong. All rounds count, good or bad."""
    quiet, attacked, rates, no_attack = [], [], [], None
    for _ in range(terms.tries):
        undisturbed = flow.goodput()
        with attack() as present:
            found = flow.goodput()
        if flow.server.poll() is not None:
            return f"{name}: the server has ended"
        no_attack = present.faults(flow)
        if not no_attack and (harm := present.harm()):
            return f"{name}: {harm}"
        if no_attack and terms.full:
            return f"{name}: that was no attack: {no_attack}"
        if not terms.full and wanted_rate and not no_attack and present.rate < terms.attack * wanted_rate:
            no_attack = f"{present.rate:.0f} packets a second have arrived, of {wanted_rate}"
        if no_attack:
            continue
        quiet.append(undisturbed)
        attacked.append(found)
        rates.append(present.rate or 0)
        if len(attacked) >= ROUNDS and (terms.full or statistics.median(attacked) >= terms.keeps * statistics.median(quiet)):
            break
    if len(attacked) < ROUNDS:
        return Busy(f"{name}: the machine is too busy: {ROUNDS - len(attacked)} of {terms.tries} rounds had no attack. {no_attack}")
    base, found, rate = (statistics.median(values) for values in (quiet, attacked, rates))
    told = f" at {rate:.0f} packets a second" if wanted_rate else ""
    print(f"{name}: {found:.0f} of {base:.0f} Mb/s, {found / base:.2f}{told} (medians of {len(attacked)} rounds; {min(attacked):.0f} to {max(attacked):.0f})",
          flush=True)
    if base < terms.undisturbed * flow.world.rate:
        return f"{name}: undisturbed the flow has {base:.0f} Mb/s, less than {terms.undisturbed} of {flow.world.rate}"
    if wanted_rate and rate < terms.attack * wanted_rate:
        return f"{name}: {rate:.0f} packets a second have arrived, less than {terms.attack} of {wanted_rate}"
    return None if found >= terms.keeps * base else f"{name}: the flow keeps {found / base:.2f}, less than {terms.keeps}"


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
    require_namespaces()
    if not shutil.which("tc"):
        skip("tc is not installed; Debian's package is iproute2")
    program = os.path.abspath(arguments.program)
    rate = arguments.rate or (1000 if arguments.full else 200)
    per_second = arguments.packets_per_second or (20_000 if arguments.full else 4_000)
    terms = Terms(arguments.full)
    failures, busy = [], []
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        try:
            world = stack.enter_context(World(rate))
        except subprocess.CalledProcessError as error:
            skip(f"no namespaces, or no such qdisc here: {error.stderr.strip()}")
        keys = Keys(program, folder)
        chosen = arguments.only or [name for name in [*PACKETS, "slow-peers"] if arguments.full or name not in ONLY_IN_FULL]
        if set(ONLY_IN_FULL) & set(chosen):
            world.add_ipv6()
        for name in chosen:
            with Flow(world, program, keys, 2000 if arguments.full else 500, name) as flow:
                if name == "slow-peers":
                    wrong = judge(name, flow, lambda flow=flow: SlowPeers(flow, 16 if arguments.full else 4), None, terms)
                else:
                    wrong = judge(name, flow, lambda flow=flow, make=PACKETS[name]: Attack(flow, keys, make, per_second), per_second, terms)
            if wrong:
                (busy if isinstance(wrong, Busy) else failures).append(wrong)
    if failures:
        sys.exit("\n".join(failures))
    if busy:
        skip("; ".join(busy))


if __name__ == "__main__":
    main()
