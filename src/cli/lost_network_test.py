#!/usr/bin/env python3
"""`strack cp` while the network is gone for longer than `--peer-timeout`, and back: the copy ends whole, by itself.

usage: lost_network_test.py PROGRAM [unittest arguments]

    near --- middle --- far          network namespaces; cp runs in near, recv or sshd in far

The receiver is the same all the time, and still has the old connection and its part of the file when cp comes back. It needs root; else it
is skipped, with exit status 77, and says so.
"""

import os
import re
import shutil
import subprocess
import sys
import unittest

import fetch_test
import udp_test
from udp_test import MB, digest_of

SKIP = 77
RATE = "100mbit"  # so that a copy takes some seconds
SIZE = 30 * MB
CUT_AT = 8 * MB  # of it have left when the network goes
PEER_TIMEOUT = 1  # seconds
GONE = 4  # seconds
NEAR, FAR = "10.79.1.1", "10.79.2.1"
VIA = {"near": "10.79.1.2", "far": "10.79.2.2"}
SSH_PORT = 2222


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


class Network:
    """Two hosts and a router between them."""

    def __init__(self):
        self.names = {node: f"strack-lost-{os.getpid()}-{node}" for node in ("near", "middle", "far")}

    def up(self):
        for name in self.names.values():
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for host, address in (("near", NEAR), ("far", FAR)):
            ip("-n", self.names["middle"], "link", "add", host, "mtu", "9000", "type", "veth", "peer", "name", "wire", "mtu", "9000", "netns", self.names[host])
            for node, device, its in ((host, "wire", address), ("middle", host, VIA[host])):
                ip("-n", self.names[node], "address", "add", f"{its}/24", "dev", device)
                ip("-n", self.names[node], "link", "set", device, "up")
            self.route(host)
            subprocess.run(["tc", "-n", self.names[host], "qdisc", "add", "dev", "wire", "root", "tbf", "rate", RATE, "burst", "64kb", "latency", "20ms"],
                           check=True, capture_output=True, text=True)
        subprocess.run(self.inside("middle", "sysctl", "-qw", "net.ipv4.ip_forward=1"), check=True)

    def down(self):
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)

    def route(self, host):
        ip("-n", self.names[host], "route", "replace", "default", "via", VIA[host])

    def inside(self, node, *command):
        return ["ip", "netns", "exec", self.names[node], *map(str, command)]

    def sent(self, node):
        """Bytes that have left a host."""
        with_counts = subprocess.run(["ip", "-n", self.names[node], "-s", "link", "show", "wire"], check=True, capture_output=True, text=True).stdout
        return int(re.search(r"TX:.*\n\s*(\d+)", with_counts)[1])

    # Ways to lose it, and to have it back.

    def silence(self, gone):
        """The router drops what it gets, and says nothing."""
        for address in (NEAR, FAR):
            ip("-n", self.names["middle"], "route", "add" if gone else "del", "blackhole", f"{address}/32")

    def unplugged(self, gone):
        """The cable is out, at the router's end."""
        ip("-n", self.names["middle"], "link", "set", "near", "down" if gone else "up")

    def no_route(self, gone):
        """The device of the host that copies is down, and its routes are gone."""
        ip("-n", self.names["near"], "link", "set", "wire", "down" if gone else "up")
        if not gone:
            self.route("near")


class LostNetwork(udp_test.FilesTest):
    def setUp(self):
        super().setUp()
        self.network = Network()
        self.addCleanup(self.network.down)
        self.network.up()
        self.at = f"{FAR}:4794"
        self.source = self.write("f", os.urandom(SIZE))

    def begin(self, node, *words, ready=False):
        process = subprocess.Popen(self.network.inside(node, udp_test.PROGRAM, *words), cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        if ready:
            self.assertIn(" at ", process.stdout.readline())
        return process

    def copy(self, *words, sender="near", lose="silence", gone=GONE):
        """A copy in the middle of which the network is gone. What it said."""
        before = self.network.sent(sender)
        copy = self.begin("near", "cp", "--peer-timeout", f"{PEER_TIMEOUT}s", "--rate", "100Mb/s", *words)
        self.until(lambda: copy.poll() is not None or self.network.sent(sender) - before > CUT_AT, "the copy is under way")
        self.assertIsNone(copy.poll(), "the copy ended before anything could happen to it")
        cut = getattr(self.network, lose)
        cut(True)
        try:
            copy.wait(gone)
        except subprocess.TimeoutExpired:
            pass
        else:
            out, err = copy.communicate()
            self.fail(f"it did not wait for the network: {copy.returncode}, {out}{err}")
        cut(False)
        out, err = self.finish(copy)
        self.assertRegex(out, r"; connected again [1-9]\d* times?")
        self.assertRegex(err, r"connecting again, for up to 60 s")
        return out, err


class LostTest(LostNetwork):
    def receiver(self, *words):
        return self.begin("far", "recv", "--bind", f"{FAR}:4794", "--key-file", self.secret, *words, ready=True)

    @property
    def secret(self):
        path = self.folder / "key"
        return str(path) if path.exists() else self.key()

    def push(self, lose, *words):
        receiver = self.receiver("--dir", self.into, *words)
        self.copy(self.source, f"{self.at}:", "--key-file", self.secret, lose=lose)
        self.assertEqual(digest_of(self.source), digest_of(self.into / "f"))
        self.assertIsNone(receiver.poll())

    def pull(self, lose, *words):
        receiver = self.receiver("--serve", self.out, *words)
        self.copy(f"{self.at}:f", self.into, "--key-file", self.secret, sender="far", lose=lose)
        self.assertEqual(digest_of(self.source), digest_of(self.into / "f"))
        self.assertIsNone(receiver.poll())

    def test_push_and_silence(self):
        self.push("silence")

    def test_push_where_the_receiver_gives_up_too(self):
        self.push("silence", "--peer-timeout", f"{PEER_TIMEOUT}s")

    def test_push_unplugged(self):
        self.push("unplugged")

    def test_push_without_a_route(self):
        self.push("no_route")

    def test_pull_and_silence(self):
        self.pull("silence")

    def test_pull_where_the_server_gives_up_too(self):
        self.pull("silence", "--peer-timeout", f"{PEER_TIMEOUT}s")

    def test_pull_without_a_route(self):
        self.pull("no_route")


@unittest.skipUnless(fetch_test.SSHD and shutil.which("ssh"), "no ssh here: apt-get install openssh-client openssh-server brings it")
class LostSshTest(LostNetwork):
    """With the far side over ssh, which outlives the loss, or does not."""

    def sshd(self, *more, **options):
        command = fetch_test.ssh_settings(self.folder, FAR, SSH_PORT, *more, **options)
        log = open(self.folder / "sshd.log", "w+")
        self.addCleanup(log.close)
        sshd = subprocess.Popen(self.network.inside("far", *command), stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.addCleanup(fetch_test.end, sshd)
        listens = self.network.inside("far", "cat", "/proc/net/tcp")
        wanted = f":{SSH_PORT:04X} 00000000:0000 0A "
        self.until(lambda: sshd.poll() is not None or wanted in subprocess.run(listens, capture_output=True, text=True).stdout, "sshd listens")
        self.assertIsNone(sshd.poll(), (self.folder / "sshd.log").read_text())

    def over_ssh(self):
        return ("--ssh", "--ssh-command", f"ssh -F {self.folder}/ssh_config", "--remote-strack", udp_test.PROGRAM)

    def check(self, lose, sender, **options):
        words = (self.source, f"far:{self.into}/") if sender == "near" else (f"far:{self.source}", self.into)
        self.copy(*self.over_ssh(), *words, sender=sender, lose=lose, **options)
        self.assertEqual(digest_of(self.source), digest_of(self.into / "f"))

    def test_push_and_silence(self):
        self.sshd()
        self.check("silence", "near")

    def test_pull_and_silence(self):
        self.sshd()
        self.check("silence", "far")

    # ssh is lost with the network, so the far side is started again, however often that fails before: for longer than cp takes to find that
    # nobody answers at the old one.
    LONGER = 9  # seconds
    IMPATIENT = ("ServerAliveInterval 1", "ServerAliveCountMax 1", "ConnectTimeout 1")
    FORGETFUL = ("ClientAliveInterval 1", "ClientAliveCountMax 1")

    def test_push_and_ssh_is_lost(self):
        self.sshd(*self.IMPATIENT, sshd=self.FORGETFUL)
        self.check("silence", "near", gone=self.LONGER)

    def test_pull_and_ssh_is_lost(self):
        self.sshd(*self.IMPATIENT, sshd=self.FORGETFUL)
        self.check("no_route", "far", gone=self.LONGER)


def main():
    if os.geteuid() != 0:
        print("skipped: network namespaces take root")
        sys.exit(SKIP)
    if not shutil.which("ip") or not shutil.which("tc"):
        print("skipped: ip and tc are not installed; Debian's package is iproute2")
        sys.exit(SKIP)
    trial = Network()
    try:
        trial.up()
    except subprocess.CalledProcessError as error:
        print(f"skipped: no namespaces, or no such qdisc here: {error.stderr}")
        sys.exit(SKIP)
    finally:
        trial.down()
    unittest.main()


if __name__ == "__main__":
    main()
