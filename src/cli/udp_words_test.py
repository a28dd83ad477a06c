#!/usr/bin/env python3
"""What `strack perf`, `cp` and `recv` say: hints, progress on a terminal; how bursts are chosen, and what memory is given back. Over loopback.

usage: udp_words_test.py PROGRAM [unittest arguments]
"""

import json
import os
import pathlib
import pty
import resource
import signal
import socket
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import udp_test  # noqa: E402  (takes the program from the command line)

MB = udp_test.MB


class WordsTest(udp_test.UdpTest):
    def few_descriptors(self, count):
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))}

    def client(self, *words, **options):
        done = self.strack("perf", "client", self.address, "--json", *words, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def test_bursts_are_left_to_the_path(self):
        self.start("perf", "server", "--bind", self.address)
        test = ("--count", "20", "--size", "1MB")

        def packets_per_call(*words):
            found = self.client(*test, *words)
            return found["datagrams_sent"] / found["send_calls"]
        # Single ones go one by one; loopback takes seven of 8 KB at 10 Gb/s, and a link that is said to be slow gets none.
        single = packets_per_call("--burst", "1")
        self.assertLess(single, 2)
        for words in ((), ("--burst", "auto"), ("--burst", "7")):
            self.assertGreater(packets_per_call(*words), 1.5 * single, words)
        self.assertLess(packets_per_call("--rate", "500Mb/s"), 2)
        for wrong in ("0", "65", "-1", "some", "1.5"):
            self.assertIn("auto, or 1 to 64", self.bad("perf", "client", self.address, f"--burst={wrong}"))
        for command in (("perf", "client"), ("perf", "server"), ("cp",), ("recv",)):
            self.assertRegex(self.good(*command, "--help"), r"--burst N(=| \[)auto")

    def test_json_where_nothing_could_begin(self):
        empty = self.folder / "empty"
        empty.touch()
        pipe = self.folder / "pipe"
        os.mkfifo(pipe)
        client = ("perf", "client", self.address)
        self.start("perf", "server", "--bind", self.address)
        for words, status, wanted in (
                (("perf", "client", "no.such.host.invalid:5"), 1, "cannot resolve"),
                (("perf", "server", "--bind", self.address), 1, "in use"),
                ((*client, "--key-file", "missing"), 2, "missing: No such file"),
                ((*client, "--key-file", empty), 2, "this is empty"),
                ((*client, "--key-file", pipe), 2, "nothing came of it"),
                ((*client, "--key-file", self.folder), 2, "Is a directory"),
                (("perf", "server", "--key-file", "missing"), 2, "missing: No such file"),
                ((*client, "--seconds", "soon"), 2, "--seconds soon")):
            done = self.strack(*words, "--json")
            self.assertEqual(done.returncode, status, (words, done.stderr))
            found = json.loads(done.stdout)
            self.assertEqual(set(found), {"ok", "error"}, words)
            self.assertIs(found["ok"], False)
            self.assertIn(wanted, found["error"])
            self.assertIn(wanted, done.stderr)
            if pipe not in words: self.assertEqual(self.strack(*words).stdout, "", words)

    def test_memory_of_many_connections_is_given_back(self):
        server = self.start("perf", "server", "--bind", self.address)

        def resident():
            return int(pathlib.Path(f"/proc/{server.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        self.client("--count", "1", "--size", "64")
        before = resident()
        client = self.start("perf", "client", self.address, "--connections", "400", "--seconds", "1000", "--size", "10KB", ready=False)
        self.until(lambda: resident() > before + 25_000_000, "the server has many connections")
        client.send_signal(signal.SIGINT)
        self.finish(client, status=130)
        self.until(lambda: resident() < before + 15_000_000, "their memory is given back")

    def test_shared_ports_are_told(self):
        self.start("perf", "server", "--bind", self.address)
        test = ("--count", "20", "--size", "1MB", "--paths", "64", "--burst", "1", "--policy", "oblivious")
        self.assertFalse([hint for hint in self.client(*test)["hints"] if "port" in hint])
        found = [hint for hint in self.client(*test, **self.few_descriptors(40))["hints"] if "port" in hint]
        self.assertEqual(len(found), 1, found)
        self.assertRegex(found[0], r"\A\d+ of 64 paths got no port of their own and share one: ")

    def test_a_server_tells_when_its_ports_are_shared(self):
        server = self.start("perf", "server", "--bind", self.address, "--once", "--paths", "64", "--burst", "1", **self.few_descriptors(40))
        self.client("--count", "20", "--size", "1MB", "--reverse")
        _, err = self.finish(server)
        self.assertRegex(err, r"hint: \d+ of 64 paths got no port of their own")

    def test_small_buffers_are_told(self):
        """As the socket has them: where the system gives all that is asked for, nothing is said."""
        allowed = int(pathlib.Path("/proc/sys/net/core/rmem_max").read_text())
        may_exceed = int(next(line for line in pathlib.Path("/proc/self/status").read_text().splitlines()
                              if line.startswith("CapEff")).split()[1], 16) >> 12 & 1
        small = allowed < 4 << 20 and not may_exceed
        (self.folder / "in").mkdir()
        receiver = self.start("recv", "--dir", "in", "--bind", self.address)
        receiver.send_signal(signal.SIGINT)
        _, err = self.finish(receiver, status=130)
        self.assertEqual("hint: receive buffers have " in err, small, err)
        quiet = self.start("recv", "--dir", "in", "--bind", self.address, "--quiet", ready=False)
        self.until_it_can_be_interrupted(quiet)
        quiet.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(quiet, status=130)[1], "")

    def test_warm_up(self):
        self.start("perf", "server", "--bind", self.address)
        found = self.client("--seconds", "300ms", "--warm-up", "200ms", "--size", "100KB")
        self.assertGreater(found["warm_up_bytes"], 0)
        self.assertGreater(found["total_seconds"], found["seconds"] + 0.15)
        self.assertEqual(found["bytes"], 100_000 * found["messages"])
        self.assertGreater(found["server"]["bytes"], found["bytes"])


class TurnsTest(udp_test.FilesTest):
    def test_who_answers_once_is_tried_again(self):
        source = self.write("f")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as silent:
            silent.bind(("127.0.0.1", self.port))
            copy = self.start("cp", source, f"{self.address}:", ready=False)
            hello, peer = silent.recvfrom(2048)
            # A challenge: version 2, type 7; the hello's connection id and nonce; a cookie; the hello's size. Then nothing.
            reply_port = int.from_bytes(hello[76:78], "big")
            silent.sendto(b"\x27\0\0\0" + hello[8:12] + hello[12:20] + bytes(32) + len(hello).to_bytes(2, "big"),
                          (peer[0], reply_port))
            while silent.recvfrom(2048)[0][0] != 0x26:  # until it begins anew
                pass
        self.start("recv", "--bind", self.address, "--dir", self.into)
        out, err = self.finish(copy)
        self.assertRegex(out, r"\Acopied 1 file, 1 B ")
        self.assertEqual(err, f"no connection to {self.address}: the peer answered once and no more: it has no room, or ways "
                              "to it lose packets; trying again, for up to 60 s\n")
        self.assertEqual((self.into / "f").read_bytes(), b"x")


class ProgressTest(udp_test.UdpTest):
    """On a terminal, which a pipe is not."""

    def on_a_terminal(self, *words):
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.environ["TERM"] = "xterm"
            os.environ["COLUMNS"] = "200"
            os.execv(udp_test.PROGRAM, [udp_test.PROGRAM, *words])
        import fcntl
        import struct
        import termios
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))
        said = b""
        try:
            while got := os.read(terminal, 65536):
                said += got
        except OSError:  # its other side was closed
            pass
        os.close(terminal)
        _, status = os.waitpid(process, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 0, said)
        return said.decode()

    def shown(self, *words):
        """A copy that is slow enough to be looked at, whatever the machine: its rate is limited by the window."""
        for size in (400, 1600, 6400):
            with open(self.folder / "file", "wb") as file:
                file.truncate(0)
                for _ in range(size):
                    file.write(os.urandom(MB))
            said = self.on_a_terminal(*words, "--rate", "1Gb/s", "--force")
            lines = [line for line in said.replace("\x1b[K", "\n").replace("\r", "\n").splitlines() if "%" in line]
            if len(lines) > 2:
                return lines
        self.skipTest("this machine is too fast")

    def check(self, lines):
        for line in lines:
            self.assertRegex(line, r"\A\[=*>? *\] \d+\.\d %  ")
            self.assertEqual(line.index("]"), 21)
        self.assertRegex(lines[-1], r"  \d+ of 256 paths, .*b/s to .*b/s each")
        shares = [float(line.split("]")[1].split("%")[0]) for line in lines]
        self.assertEqual(shares, sorted(shares))
        filled = [line.count("=") for line in lines]
        self.assertEqual(filled, [int(share / 100 * 20 + 1e-9) if share % 5 else filled[i] for i, share in enumerate(shares)])

    def test_pushing(self):
        (self.folder / "in").mkdir()
        self.start("recv", "--dir", "in", "--bind", self.address)
        self.check(self.shown("cp", "file", f"{self.address}:"))

    def test_fetching(self):
        (self.folder / "out").mkdir()
        self.start("recv", "--serve", ".", "--bind", self.address)
        self.check(self.shown("cp", f"{self.address}:file", "out/"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
