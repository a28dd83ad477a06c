#!/usr/bin/env python3
"""`strack key`, and connections between hosts that have keys of their own, over loopback.

usage: key_test.py PROGRAM [unittest arguments]
"""

import json
import os
import pathlib
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

    def test_mistakes(self):
        self.assertIn("--trust", self.bad("recv", "--dir", ".", "--identity", "b.id"))
        self.assertIn("--peer", self.bad("perf", "client", self.address, "--identity", "a.id"))
        self.assertIn("contradict", self.bad("perf", "client", self.address, *self.as_a, "--key-file", "x"))
        self.assertIn("--identity", self.bad("perf", "client", self.address, "--peer", self.public["b"]))
        self.assertIn("has no peer x", self.bad("perf", "client", self.address, *self.as_a[:-1], "x"))
        self.assertIn("no identity", self.bad("perf", "client", self.address, "--identity", "of-a", "--peer", self.public["b"]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
