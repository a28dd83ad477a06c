#!/usr/bin/env python3
"""`strack key`, and connections between hosts that have keys of their own, over loopback.

usage: key_test.py PROGRAM [unittest arguments]
"""

import json
import os
import pathlib
import pty
import signal
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import udp_test  # noqa: E402  (takes the program from the command line)


class HostKeysTest(udp_test.UdpTest):
    """Each side has a key of its own, and knows the other by its public key."""

    def setUp(self):
        super().setUp()
        self.public = {name: self.good("key", "new", name + ".id").strip() for name in ("a", "b", "c")}
        self.good("key", "trust", "of-b", "a", self.public["a"])
        self.good("key", "trust", "of-a", "b", self.public["b"])
        self.as_b = ("--identity", "b.id", "--trust", "of-b")
        self.as_a = ("--identity", "a.id", "--trust", "of-a", "--peer", "b")

    def test_files(self):
        path = self.folder / "a.id"
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertRegex(self.public["a"], r"\A[0-9a-f]{64}\Z")
        self.assertEqual(self.good("key", "show", "a.id").strip(), self.public["a"])
        self.assertIn("is there already", self.bad("key", "new", "a.id"))
        self.assertIn("another key for a", self.bad("key", "trust", "of-b", "a", self.public["c"]))
        self.assertIn("64 hexadecimal digits", self.bad("key", "trust", "of-b", "d", "12"))
        self.assertIn("is no public key: nobody has an identity for it", self.bad("key", "trust", "of-b", "d", "0" * 64))
        self.assertIn("there is no key in it", self.bad("perf", "server", "--identity", "a.id", "--trust", "/dev/null"))
        colons = ":".join(self.public["a"][i:i + 2] for i in range(0, 64, 2))
        self.assertIn("a was in of-b", self.good("key", "trust", "of-b", "a", colons))
        self.assertEqual((self.folder / "of-b").read_text(), f"a {self.public['a']}\n")

    def test_copies_and_measures(self):
        self.start("perf", "server", "--bind", self.address, *self.as_b)
        found = json.loads(self.good("perf", "client", self.address, "--count", "20", "--size", "100KB", "--json", *self.as_a))
        self.assertTrue(found["ok"] and found["keyed"])
        (self.folder / "file").write_bytes(os.urandom(3 * udp_test.MB))
        port = udp_test.free_port()
        self.start("recv", "--dir", "in", "--create", "--bind", f"127.0.0.1:{port}", *self.as_b)
        self.good("cp", "--quiet", "file", f"127.0.0.1:{port}:", *self.as_a)
        self.assertEqual((self.folder / "in/file").read_bytes(), (self.folder / "file").read_bytes())
        # The key itself does as well as a name.
        self.good("cp", "--quiet", "file", f"127.0.0.1:{port}:again", "--identity", "a.id", "--peer", self.public["b"])

    def test_strangers(self):
        self.start("perf", "server", "--bind", self.address, *self.as_b)
        for words in (("--identity", "c.id", "--peer", self.public["b"]),  # not trusted there
                      ("--identity", "a.id", "--peer", self.public["c"]),  # not who is there
                      ("--insecure",)):
            self.assertIn("nobody answers", self.bad("perf", "client", self.address, "--count", "1", *words, status=1))

    def listener(self, *words):
        """A server, and a function that waits until it has read its keys again and gives what it said."""
        server = self.start("perf", "server", "--bind", self.address, *words)

        def read_again():
            while line := server.stderr.readline():
                if "read again" in line:
                    return line
            self.fail("the server has ended")
        return server, read_again

    def running(self, *words):
        """A test that goes on until it is told to end, and a function that ends it: it was never disturbed."""
        client = self.start("perf", "client", self.address, "--json", "--seconds", "600s", "--size", "10KB", "--target-rate", "50Mb/s", "--reconnect", "0",
                            *words, ready=False)
        self.until_it_can_be_interrupted(client)

        def end():
            self.assertIsNone(client.poll(), "it has ended before")
            client.send_signal(signal.SIGINT)
            out, _ = self.finish(client, status=130)
            found = json.loads(out)
            self.assertEqual((found.get("error", ""), found["reconnects"]), ("", 0))
            self.assertGreater(found["messages"], 0)
        return end

    def asks(self, *words, good=True):
        done = self.strack("perf", "client", self.address, "--count", "1", "--size", "1KB", *words)
        self.assertEqual(done.returncode, 0 if good else 1, done.stderr)
        if not good:
            self.assertIn("nobody answers", done.stderr)

    def test_the_listener_changes_its_key(self):
        _, read_again = self.listener(*self.as_b)
        end = self.running(*self.as_a)
        self.asks(*self.as_a)
        new = self.good("key", "rotate", "b.id").strip()
        self.assertIn("by 2 keys, 1 peer is trusted", read_again())
        as_new = ("--identity", "a.id", "--peer", new)
        for words in (self.as_a, as_new):
            self.asks(*words)
        self.assertEqual(self.good("key", "rotate", "b.id", "--use").strip(), new)
        self.assertEqual(self.good("key", "show", "b.id").strip(), new)
        self.assertIn("by 2 keys", read_again())
        for words in (self.as_a, as_new):
            self.asks(*words)
        self.good("key", "rotate", "b.id", "--end")
        self.assertIn("by 1 key,", read_again())
        self.asks(*self.as_a, good=False)
        self.asks(*as_new)
        end()

    def test_who_connects_changes_its_key(self):
        server, read_again = self.listener(*self.as_b)
        end = self.running(*self.as_a)
        new = self.good("key", "rotate", "a.id").strip()
        self.good("key", "trust", "of-b", "a-2", new)
        server.send_signal(signal.SIGHUP)
        self.assertIn("2 peers are trusted", read_again())
        self.asks(*self.as_a)
        self.good("key", "rotate", "a.id", "--use")
        self.asks(*self.as_a)
        (self.folder / "of-b").write_text(f"a-2 {new}\n")
        self.assertIn("1 peer is trusted", read_again())
        self.asks("--identity", "a.id.old", "--peer", self.public["b"], good=False)
        self.asks(*self.as_a)
        end()
        # What cannot be read changes nothing.
        (self.folder / "of-b").write_text("nonsense\n")
        self.assertIn("stay as they were", read_again())
        self.asks(*self.as_a)

    def test_a_shared_key_is_changed(self):
        key = self.key("job.key")
        _, read_again = self.listener("--key-file", key)
        end = self.running("--key-file", key)
        self.assertNotIn((self.folder / "job.key").read_text().strip(), self.good("key", "rotate", "job.key"))
        self.assertIn("by 2 keys", read_again())
        self.asks("--key-file", key)
        self.asks("--key-file", key + ".new")
        self.good("key", "rotate", "job.key", "--use")
        self.assertIn("by 2 keys", read_again())
        self.asks("--key-file", key)
        self.asks("--key-file", key + ".old")
        self.good("key", "rotate", "job.key", "--end")
        self.assertIn("by 1 key", read_again())
        self.asks("--key-file", key)
        end()

    def test_who_connects_again_reads_its_key_again(self):
        """A key is changed while a test runs, and then the server is started again: the connection is lost, and made again by the new key."""
        key = self.key("job.key")
        words = ("perf", "server", "--bind", self.address, "--metrics", "127.0.0.1:0", "--key-file", key)
        server = self.start(*words)
        client = self.start("perf", "client", self.address, "--json", "--seconds", "600s", "--size", "10KB", "--target-rate", "50Mb/s",
                            "--peer-timeout", "2s", "--key-file", key, ready=False)
        self.until_traffic(server)
        for word in ((), ("--use",), ("--end",)):
            self.good("key", "rotate", "job.key", *word)
        self.end(server)
        self.until_traffic(self.start(*words))
        client.send_signal(signal.SIGINT)
        out, err = self.finish(client, status=130)
        self.assertGreaterEqual(json.loads(out)["reconnects"], 1, err)

    def test_a_host_that_connects_again_reads_its_keys_again(self):
        """Both hosts change theirs while a test runs, and then the server is started again with the new ones alone."""
        server = self.start("perf", "server", "--bind", self.address, "--metrics", "127.0.0.1:0", *self.as_b)
        client = self.start("perf", "client", self.address, "--json", "--seconds", "600s", "--size", "10KB", "--target-rate", "50Mb/s",
                            "--peer-timeout", "2s", *self.as_a, ready=False)
        self.until_traffic(server)
        new = {}
        for name in ("a", "b"):
            new[name] = self.good("key", "rotate", name + ".id").strip()
            for word in ("--use", "--end"):
                self.good("key", "rotate", name + ".id", word)
        (self.folder / "of-b").write_text(f"a {new['a']}\n")
        (self.folder / "of-a").write_text(f"b {new['b']}\n")
        self.end(server)
        self.until_traffic(self.start("perf", "server", "--bind", self.address, "--metrics", "127.0.0.1:0", *self.as_b))
        client.send_signal(signal.SIGINT)
        out, err = self.finish(client, status=130)
        self.assertGreaterEqual(json.loads(out)["reconnects"], 1, err)

    def test_a_terminal_that_goes_ends_the_listener(self):
        """SIGHUP is read as a wish for new keys only while there is a terminal, or where there never was one."""
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(self.folder)
            os.execv(udp_test.PROGRAM, [udp_test.PROGRAM, "recv", "--dir", ".", "--bind", self.address, *self.as_b])
        said = b""
        while b"receiving into" not in said:
            said += os.read(terminal, 1000)
        os.kill(process, signal.SIGHUP)
        while b"read again" not in said:
            said += os.read(terminal, 1000)
        os.close(terminal)
        _, status = os.waitpid(process, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 128 + signal.SIGHUP)

    def test_mistakes(self):
        self.assertIn("there is no b.id.new", self.bad("key", "rotate", "b.id", "--use"))
        self.assertIn("there is no b.id.old", self.bad("key", "rotate", "b.id", "--end"))
        self.assertIn("--trust", self.bad("recv", "--dir", ".", "--identity", "b.id"))
        self.assertIn("--peer", self.bad("perf", "client", self.address, "--identity", "a.id"))
        self.assertIn("contradict", self.bad("perf", "client", self.address, *self.as_a, "--key-file", "x"))
        self.assertIn("--identity", self.bad("perf", "client", self.address, "--peer", self.public["b"]))
        self.assertIn("has no peer x", self.bad("perf", "client", self.address, *self.as_a[:-1], "x"))
        self.assertIn("no identity", self.bad("perf", "client", self.address, "--identity", "of-a", "--peer", self.public["b"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
