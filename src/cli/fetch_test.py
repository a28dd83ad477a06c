#!/usr/bin/env python3
"""`strack cp HOST:PATH LOCAL`, both ways over ssh, hard links, and what `strack perf` tells, over loopback.

usage: fetch_test.py PROGRAM [unittest arguments]
"""

import contextlib
import csv
import io
import json
import os
import pathlib
import pwd
import shutil
import socket
import stat
import subprocess
import unittest

import udp_test
from udp_test import MB, digest_of, tree_of

# By its whole path, which is what it wants to be started by.
SSHD = shutil.which("sshd", path=os.environ.get("PATH", "") + ":/usr/sbin")


def is_open(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def end(process):
    process.terminate()
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class ServedTest(udp_test.FilesTest):
    def serve(self, *words, **options):
        return self.start("recv", "--bind", self.address, "--serve", self.out, *words, **options)

    def of(self, path=""):
        return f"{self.address}:{path}"

    def make_tree(self):
        self.write("t/big", os.urandom(5 * MB))
        self.write("t/d/empty", b"")
        self.write("t/it's a \"name\" $HOME", b"odd")
        (self.out / "t/l").symlink_to("d/empty")
        (self.out / "t/d").chmod(0o555)


class FetchTest(ServedTest):
    def test_a_tree(self):
        self.make_tree()
        key = self.key()
        server = self.serve("--once", "--key-file", key)
        said = self.good("cp", self.of("t"), self.into, "--key-file", key)
        self.assertRegex(said, r"\Acopied 3 files, 1 link, 5 MB in ")
        self.assertEqual(tree_of(self.out / "t"), tree_of(self.into / "t"))
        self.assertEqual(os.listdir(self.into), ["t"])
        out, err = self.finish(server)
        self.assertRegex(out, r": fetched 3 files, 1 link, 5 MB in ")
        self.assertEqual(err, "")

    def test_threads(self):
        """Packets are moved by threads, of several copies at once and both ways."""
        self.make_tree()
        self.serve("--dir", self.into, "--threads", "2", "--paths", "16")
        copies = [self.start("cp", self.out / "t", self.of(f"{i}/"), ready=False) for i in range(3)]
        copies.append(self.start("cp", self.of("t"), self.folder / "back", ready=False))
        for copy in copies:
            self.finish(copy)
        for place in (*(self.into / str(i) / "t" for i in range(3)), self.folder / "back"):
            self.assertEqual(tree_of(self.out / "t"), tree_of(place))

    def test_where_things_go(self):
        self.write("d/a", b"a")
        self.write("b", b"b")
        self.serve()
        self.good("cp", self.of("d/a"), self.into)
        self.good("cp", self.of("d/a"), self.into / "renamed")
        self.good("cp", self.of("d/a"), self.of("b"), f"{self.into}/new/")
        self.good("cp", self.of(), self.into / "all")
        self.good("cp", self.of(), self.into)
        found = sorted(str(path.relative_to(self.into)) for path in self.into.rglob("*") if path.is_file())
        self.assertEqual(found, ["a", "all/b", "all/d/a", "b", "d/a", "new/a", "new/b", "renamed"])

    def test_what_may_not_be_fetched(self):
        (self.folder / "secret").write_text("secret")
        (self.out / "up").symlink_to("..")
        self.serve()
        for path, wanted in (("../secret", "'..'"), ("/etc/passwd", "is not relative"), ("no", "No such file or directory"),
                             ("up/secret", "the way there is a link, and none is followed"), (".strack/x", "begins with '.strack'")):
            said = self.bad("cp", self.of(path), self.into, status=1 if path in ("no", "up/secret") else 2)
            self.assertIn(wanted, said)
        self.assertEqual(os.listdir(self.into), [])
        self.assertIn("nothing is taken here", self.bad("cp", self.folder / "secret", self.of(), status=1))
        self.assertIn("different hosts", self.bad("cp", self.of("a"), "other:b", self.into))
        self.assertIn("cannot all be called", self.bad("cp", self.of("a"), self.of("b"), self.into / "x"))

    def test_who_serves_nothing(self):
        self.start("recv", "--bind", self.address, "--dir", self.into)
        self.assertIn("runs without --serve", self.bad("cp", self.of("a"), self.out, status=1))
        self.assertIn("--dir DIR is missing", self.bad("recv", "--bind", self.address))

    def test_a_server_that_is_started_again(self):
        """What has come stays, and only the rest comes from the next one."""
        self.write("f", os.urandom(60 * MB))
        server = self.serve()
        client = self.start("cp", self.of("f"), self.into, ready=False)
        self.until(lambda: any(path.suffix == ".part" for path in self.into.rglob("*")), "something has come")
        server.kill()
        server.wait()
        self.serve()
        out, err = self.finish(client)
        self.assertEqual(digest_of(self.out / "f"), digest_of(self.into / "f"))
        if "connected again" in out:  # or it was quicker than this test
            self.assertRegex(err, r"connecting again, for up to 60 s")

    def test_what_cannot_be_read_is_told(self):
        self.write("t/f", b"1")
        (self.out / "t/l").symlink_to("/etc/passwd")
        self.serve()
        done = self.strack("cp", self.of("t"), self.into)
        self.assertEqual(done.returncode, 1)
        self.assertIn("t/l: a link to '/etc/passwd'", done.stderr)
        self.assertRegex(done.stdout, r"\Acopied 1 file, 1 B in .*; 1 skipped\n\Z")
        for i in range(150):
            (self.out / f"t/m{i}").symlink_to("/etc/passwd")
        self.assertRegex(self.strack("cp", self.of("t"), self.into).stdout, r"; 1 file there already; at least 101 skipped\n\Z")
        self.assertTrue((self.into / "t/f").exists())

    def test_exclude(self):
        for name in ("t/a.o", "t/a.c", "t/d/b.o"):
            self.write(name)
        self.serve()
        self.good("cp", self.of("t"), self.into, "--exclude", "*.o")
        self.assertEqual(sorted(path.name for path in self.into.rglob("*")), ["a.c", "d", "t"])

    def test_exclude_by_characters(self):
        """A character is one, however many bytes it has, whichever side leaves it out."""
        names = ("é", "日", "aé", "ab", "abc")
        for name in names:
            self.write(f"t/{name}")
        self.serve("--dir", self.into)
        for i, (pattern, left_out) in enumerate((("??", {"aé", "ab"}), ("???", {"abc"}), ("[!a][!a]", set()), ("[!a]", {"é", "日"}))):
            self.good("cp", self.out / "t", self.of(f"to{i}"), "--exclude", pattern)
            self.good("cp", self.of("t"), self.into / f"from{i}", "--exclude", pattern)
            for place in (f"to{i}", f"from{i}"):
                self.assertEqual(set(os.listdir(self.into / place)), set(names) - left_out, pattern)
        for pattern in ("[z-a]", "a\\"):
            self.assertIn("is no pattern", self.bad("cp", self.out / "t", self.of(), "--exclude", pattern))

    def test_unfinished_files_are_not_served(self):
        self.write("a/.strack/x", b"of somebody else")
        self.write("a/y", b"1")
        self.serve()
        self.good("cp", self.of("a"), self.into)
        self.good("cp", self.of(), self.into / "all")
        found = sorted(str(path.relative_to(self.into)) for path in self.into.rglob("*") if path.is_file())
        self.assertEqual(found, ["a/y", "all/a/y"])
        for path in ("a/.strack", "a/.strack/x"):
            self.assertIn("what is called '.strack' is not served", self.bad("cp", self.of(path), self.into / "z", status=1))

    def test_a_disk_that_cannot_be_written(self):
        """Nothing can be stored: that is said of each, and in a last line."""
        if os.geteuid() != 0 or subprocess.run(["mount", "-t", "tmpfs", "tmpfs", self.into], capture_output=True).returncode != 0:
            self.skipTest("needs root, for a disk of its own")
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.into], check=False)
        self.serve("--dir", self.into)
        subprocess.run(["mount", "-o", "remount,ro", self.into], check=True)
        for i in range(3):
            self.write(f"f{i}")
        done = self.strack("cp", *(self.out / f"f{i}" for i in range(3)), self.of())
        self.assertEqual(done.returncode, 1)
        self.assertEqual(len(done.stderr.splitlines()), 3, done.stderr)
        self.assertRegex(done.stdout, r"\Acopied 0 files, 0 B in .*; 3 refused\n\Z")

    def test_delete(self):
        self.write("t/a", b"a")
        self.write("t/d/b", b"b")
        server = self.start("recv", "--bind", self.address, "--dir", self.into, "--serve", self.out, "--allow-delete")
        self.good("cp", self.out / "t", self.of())
        for name in ("t/x", "t/d/y.o", "t/e/z", "beside"):
            (self.into / name).parent.mkdir(exist_ok=True)
            (self.into / name).write_text("x")
        words = ("--delete", "--exclude", "*.o")
        self.assertEqual(sorted(self.good("cp", self.out / "t", self.of(), *words, "--dry-run").splitlines()),
                         ["would remove t/e", "would remove t/e/z", "would remove t/x"])
        self.assertIn("; 3 removed", self.good("cp", self.out / "t", self.of(), *words))
        found = sorted(str(path.relative_to(self.into)) for path in self.into.rglob("*") if path.is_file())
        self.assertEqual(found, ["beside", "t/a", "t/d/b", "t/d/y.o"])
        (self.into / "t/e").mkdir()
        self.assertEqual(self.good("cp", self.of("t"), self.into, *words, "--dry-run"), "would remove t/e\n")
        log = []
        self.until(lambda: log.append(server.stdout.readline()) or "fetched" in log[-1], "the server says what it gave")
        self.assertRegex(log[-1], r": fetched 0 files, 0 B in .* s, 2 not needed\n\Z")
        self.assertIn("; 1 removed", self.good("cp", self.of("t"), self.into, "--delete", "--exclude", "*.o"))
        self.assertEqual(sorted(os.listdir(self.into / "t")), ["a", "d"])
        self.assertIn("is for --delete", self.bad("cp", self.out / "t", self.of(), "--dry-run"))
        del server

    def test_unfinished_files_are_nobodys(self):
        for name in ("t/a", "t/.strack/b", "t/d/.strack"):
            self.write(name, b"a")
        for name in ("t/.strack/c", "t/d/.strack/c", "t/d/x", "t/e/.strack/c"):
            (self.into / name).parent.mkdir(parents=True, exist_ok=True)
            (self.into / name).write_text("x")
        self.start("recv", "--bind", self.address, "--dir", self.into, "--serve", self.out, "--allow-delete")
        done = self.strack("cp", self.out / "t", self.of(), "--delete")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "warning: not copied: 2 things called '.strack', as unfinished files are\n")
        self.assertIn("; 1 removed", done.stdout)
        self.assertEqual(self.good("cp", self.of("t"), self.into, "--delete", "--dry-run"), "")
        found = sorted(str(path.relative_to(self.into)) for path in self.into.rglob("*") if path.is_file())
        self.assertEqual(found, ["t/.strack/c", "t/a", "t/d/.strack/c", "t/e/.strack/c"])

    def test_delete_is_not_for_everybody(self):
        self.write("t/a", b"a")
        (self.into / "t").mkdir()
        (self.into / "t/x").write_text("x")
        self.start("recv", "--bind", self.address, "--dir", self.into)
        said = self.bad("cp", self.out / "t", self.of(), "--delete", status=1)
        self.assertIn("t: nothing is removed here: `strack recv` runs without --allow-delete", said)
        self.assertTrue((self.into / "t/x").exists())

    def test_hard_links(self):
        self.write("t/a", os.urandom(2 * MB))
        (self.out / "t/d").mkdir()
        os.link(self.out / "t/a", self.out / "t/d/b")
        self.start("recv", "--bind", self.address, "--dir", self.into)
        self.good("cp", "-H", self.out / "t", self.of())
        self.assertEqual((self.into / "t/a").stat().st_ino, (self.into / "t/d/b").stat().st_ino)
        self.good("cp", "-H", self.out / "t", self.of())
        self.good("cp", self.out / "t", self.of("apart"))
        self.assertEqual((self.into / "apart/a").stat().st_nlink, 1)


class SshTest(ServedTest):
    """The other side is started; in the place of ssh is a script that runs the command here."""

    def setUp(self):
        super().setUp()
        self.ssh = self.folder / "ssh"
        self.ssh.write_text('#!/bin/sh\n[ "$1" = -G ] && { echo "user me"; echo "hostname 127.0.0.1"; exit; }\n'
                            'echo "$1" >> "$0.hosts"; shift; exec sh -c "$*"\n')
        self.ssh.chmod(self.ssh.stat().st_mode | stat.S_IXUSR)

    def over_ssh(self, *words):
        return ("cp", "--ssh", "--ssh-command", self.ssh, "--remote-strack", udp_test.PROGRAM, *words)

    def test_to_and_from(self):
        self.make_tree()
        self.good(*self.over_ssh(self.out / "t", f"me@far:{self.into}/"))
        self.assertEqual(tree_of(self.out / "t"), tree_of(self.into / "t"))
        self.good(*self.over_ssh(self.out / "t", f"me@far:{self.into}/n$ew 'one"))
        self.assertEqual(tree_of(self.out / "t"), tree_of(self.into / "n$ew 'one"))
        back = self.folder / "back"
        back.mkdir()
        self.good(*self.over_ssh(f"far:{self.into}/t", back))
        self.assertEqual(tree_of(self.out / "t"), tree_of(back / "t"))
        self.assertEqual((self.folder / "ssh.hosts").read_text().split(), ["me@far", "me@far", "far"])

    def test_what_goes_wrong(self):
        self.write("a")
        done = self.strack("cp", "--ssh", "--ssh-command", self.ssh, "--remote-strack", "/no/such", self.out / "a", "far:")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--remote-strack says where", done.stderr.splitlines()[-1])  # after what the shell says
        self.assertIn("a key of its own", self.bad("cp", "--ssh", "--insecure", self.out / "a", "far:"))
        self.assertIn("different folders", self.bad("cp", "--ssh", "far:a/b", "far:c/d", self.into))
        self.assertIn("No such file", self.bad(*self.over_ssh(f"far:{self.out}/no", self.into), status=1))


def ssh_settings(folder, address, port, *more, sshd=()):
    """Keys and settings of an sshd of a test's own, and of an ssh to `far` that knows it and nobody else. More lines for either: the first that
    says something counts."""
    for name in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / name], check=True, timeout=60)
    (folder / "sshd_config").write_text("\n".join([
        f"ListenAddress {address}", f"Port {port}", f"HostKey {folder}/host", "PidFile none", f"AuthorizedKeysFile {folder}/user.pub",
        "StrictModes no", "UsePAM no", "PasswordAuthentication no", "KbdInteractiveAuthentication no", "PermitRootLogin prohibit-password",
        "LoginGraceTime 60", *sshd, ""]))
    (folder / "known_hosts").write_text(f"[{address}]:{port} " + (folder / "host.pub").read_text())
    (folder / "ssh_config").write_text("\n  ".join([
        "Host far", *more, f"HostName {address}", f"Port {port}", f"User {pwd.getpwuid(os.geteuid()).pw_name}", f"IdentityFile {folder}/user",
        "IdentitiesOnly yes", "BatchMode yes", "ConnectTimeout 60", f"UserKnownHostsFile {folder}/known_hosts", "StrictHostKeyChecking yes", ""]))
    if os.geteuid() == 0:
        pathlib.Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)  # where it would confine itself
    return [SSHD, "-D", "-e", "-f", folder / "sshd_config"]


@unittest.skipUnless(SSHD and shutil.which("ssh"), "no ssh here: apt-get install openssh-client openssh-server brings it")
class RealSshTest(ServedTest):
    """The same with an sshd of its own on loopback: its keys, its settings, and nobody's but ours may come in."""

    def setUp(self):
        super().setUp()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        command = ssh_settings(self.folder, "127.0.0.1", self.port)
        self.log = open(self.folder / "sshd.log", "w+")
        self.addCleanup(self.log.close)
        sshd = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.addCleanup(end, sshd)
        self.until(lambda: sshd.poll() is not None or is_open(self.port), "sshd listens")
        self.assertIsNone(sshd.poll(), (self.folder / "sshd.log").read_text())

    def over_ssh(self, *words):
        return ("cp", "--ssh", "--ssh-command", f"ssh -F {self.folder}/ssh_config", "--remote-strack", udp_test.PROGRAM, *words)

    def test_there_and_back(self):
        self.make_tree()
        self.good(*self.over_ssh(self.out / "t", f"far:{self.into}/"))
        self.assertEqual(tree_of(self.out / "t"), tree_of(self.into / "t"))
        back = self.folder / "back"
        back.mkdir()
        self.good(*self.over_ssh(f"far:{self.into}/t", back))
        self.assertEqual(tree_of(self.out / "t"), tree_of(back / "t"))
        # Nobody is left behind: with its session the far side ends.
        self.until(lambda: not self.far_sides(), "the far sides have ended")

    def test_who_may_not_come_in(self):
        self.write("a")
        (self.folder / "user.pub").write_text("")
        done = self.strack(*self.over_ssh(self.out / "a", f"far:{self.into}/"))
        self.assertEqual(done.returncode, 2)
        self.assertIn("Permission denied", done.stderr)
        self.assertIn("has not started the other side on far", done.stderr.splitlines()[-1])
        self.assertEqual(os.listdir(self.into), [])

    def far_sides(self):
        """Processes that take or give files in this test's folder."""
        found = []
        for line in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
            with contextlib.suppress(OSError):
                words = line.read_bytes().split(b"\0")
                if b"--until-eof" in words and any(word.startswith(bytes(self.folder)) for word in words):
                    found.append(line.parent.name)
        return found


class PerfTest(udp_test.UdpTest):
    def setUp(self):
        super().setUp()
        self.start("perf", "server", "--bind", self.address)

    def client(self, *words):
        return self.good("perf", "client", self.address, "--paths", "8", "--size", "100KB", "--count", "50", *words)

    def test_both_ways(self):
        found = json.loads(self.client("--both", "--json"))
        self.assertEqual((found["both"], found["bytes"], found["received_bytes"]), (True, 5 * MB, 5 * MB))
        self.assertEqual(found["server"]["sent_bytes"], 5 * MB)
        self.assertGreater(found["server"]["cpu_seconds"], 0)
        self.assertRegex(self.client("--both"), r"\Aboth ways stream .*\n.*\n  from there  .*\n(.*\n)+  CPU .* % of one here, \d+ % there\n")

    def test_path_by_path(self):
        found = json.loads(self.client("--per-path", "--json"))
        self.assertEqual(sum(path["packets"] for path in found["per_path"]), found["packets"])
        self.assertEqual(len(found["per_path"]), found["paths_used"])
        rows = list(csv.DictReader(io.StringIO(self.client("--csv"))))
        self.assertTrue(rows)
        self.assertEqual(list(rows[0]), ["sender", "path", "packets", "lost", "sacks", "marks", "rtt_us", "lowest_rtt_us"])
        self.assertRegex(self.client("--per-path"), r"  path     packets   share    lost   marks      RTT us   lowest us\n")
        self.assertNotIn("per_path", self.client("--json"))
        # What the server sends, the server tells.
        found = json.loads(self.client("--reverse", "--per-path", "--json"))
        self.assertNotIn("per_path", found)
        self.assertGreaterEqual(sum(path["packets"] for path in found["server_per_path"]), 5 * MB // found["payload_bytes"])
        self.assertTrue(all(path["lowest_rtt_us"] > 0 for path in found["server_per_path"] if path["sacks"]))
        self.assertRegex(self.client("--both", "--per-path"), r"lowest us\n(.*\n)+what the server sent:\n  path ")
        many = ("--reverse", "--per-path", "--connections", "70")
        found = json.loads(self.client(*many, "--json"))
        self.assertEqual((found["connections"], found["server_per_path_connections"]), (70, 64))
        self.assertEqual((found["server"]["messages"], found["server"]["bytes"]), (3500, 350 * MB))
        self.assertIn("what the server sent on 64 of 70 connections:\n", self.client(*many))
        senders = {row["sender"] for row in csv.DictReader(io.StringIO(self.client("--both", "--csv")))}
        self.assertEqual(senders, {"client", "server"})

    def test_a_rate_that_no_link_has(self):
        for rate in ("100Tb/s", "0.5Mb/s"):
            self.assertEqual(self.bad("perf", "client", self.address, "--rate", rate),
                             f"error: --rate {rate} is out of range. 1Mb/s to 10Tb/s are possible")

    def test_target_rate(self):
        """One message goes at once, and the next only after the test."""
        found = json.loads(self.good("perf", "client", self.address, "--size", "1MB", "--target-rate", "1Mb/s", "--seconds", "500ms",
                                     "--connections", "3", "--json"))
        self.assertEqual(found["messages"], 1)

    def test_threads(self):
        self.address = f"127.0.0.1:{udp_test.free_port()}"
        self.start("perf", "server", "--bind", self.address, "--threads", "2")
        found = json.loads(self.client("--threads", "2", "--connections", "4", "--json"))
        self.assertTrue(found["ok"])
        self.assertEqual((found["messages"], found["server"]["threads"]), (200, 2))
        self.assertIn("not in range 0 to 64", self.bad("perf", "client", self.address, "--threads", "65"))


if __name__ == "__main__":
    unittest.main()
