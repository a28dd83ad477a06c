#!/usr/bin/env python3
"""`strack doctor` with a peer over loopback, as a person meets it.

usage: doctor_test.py PROGRAM [unittest arguments]
"""

import json
import os
import re
import unittest

from udp_test import UdpTest  # takes PROGRAM from the command line


class DoctorTest(UdpTest):
    def doctor(self, *words):
        """Exit status, and what was found by name."""
        done = self.strack("doctor", *words, "--json")
        return done.returncode, {row["what"]: row for row in json.loads(done.stdout)}

    def test_a_perf_server(self):
        alone, here = self.doctor()
        self.start("perf", "server", "--bind", self.address)
        status, found = self.doctor(self.address, "--paths", "16")
        self.assertEqual(status, alone, "nothing is wrong on the way")
        self.assertEqual(set(here) - set(found), set(), "this host is looked at, too")
        self.assertIn("`strack perf server`", found["peer"]["found"])
        self.assertEqual(found["entropies used"]["value"], 16)
        self.assertEqual(found["entropies that answered"]["value"], 16)
        self.assertEqual(found["payload of a packet"]["value"], 8192)
        self.assertGreater(found["largest datagram"]["value"], 8192)
        self.assertGreater(found["base RTT"]["value"], 0)
        self.assertEqual(found["rate found"]["value"], 10_000_000_000)
        self.assertEqual(found["data"]["value"], 16 * 8)
        self.assertNotIn("ways to the peer", found, "there are no routers within a host")
        self.assertIn("none", found["encryption"]["found"])
        text = self.strack("doctor", self.address).stdout
        self.assertRegex(text, r"(?m)^ok   entropies that answered  256, all of them$")

    def test_its_status_is_what_its_lines_say(self):
        """1 for a line with !!, and not for one with --; each is explained where it occurs."""
        for words in ((), (self.address,)):  # nobody is there
            done = self.strack("doctor", *words)
            states = {line[:2] for line in done.stdout.splitlines() if line[2:4] == "  "}
            self.assertLessEqual(states, {"ok", "--", "!!"})
            self.assertEqual(done.returncode, 1 if "!!" in states else 0, done.stdout)
            self.assertEqual("--: goes without" in done.stdout, "--" in states)
            self.assertEqual("!!: is needed, and missing or broken" in done.stdout, "!!" in states)
            self.assertIn("Exit status: 1 if there is a !!", self.good("doctor", "--help"))
        self.assertIn("!!", states)

    def test_what_it_says_is_ready_works(self):
        done = self.strack("doctor")
        if done.returncode != 0:
            self.skipTest("something is missing here")
        ready = re.search(r"(?m)^ready: strack (mpirun .*)PROGRAM$", done.stdout)
        ran = self.strack(*ready[1].split(), "true")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        if os.geteuid() == 0:
            for value in ("0", "1"):
                env = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": value, "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": value}
                said = self.strack("doctor", env=env).stdout
                for word in ("strack mpirun --allow-run-as-root -n", "--   root"):
                    self.assertEqual(word in said, value == "0", said)

    def test_settings_that_the_provider_refuses(self):
        if self.strack("doctor").returncode != 0:
            self.skipTest("something is missing here")
        for name, value, why in (("EAGER", "1", "it takes a number from 4096"), ("ADDRESS", "8.8.8.8", "none of this host's"), ("KEY_FILE", "/nowhere", "no key can be read")):
            with self.subTest(name):
                done = self.strack("doctor", env=os.environ | {f"FI_STRACK_{name}": value})
                self.assertEqual(done.returncode, 1, done.stdout)
                said = " ".join(done.stdout.split())
                self.assertRegex(said, f"!! provider .*: FI_STRACK_{name} is '{re.escape(value)}'")
                self.assertIn(why, said)
                self.assertNotIn("ready", said)

    def test_recv_and_a_key(self):
        key = self.key()
        (self.folder / "in").mkdir()
        self.start("recv", "--dir", "in", "--bind", self.address, "--key-file", key)
        status, found = self.doctor(self.address, "--key-file", key)
        self.assertEqual(status, self.doctor()[0])
        self.assertIn("`strack recv`", found["peer"]["found"])
        self.assertRegex(found["encryption"]["found"], r"^by \w")
        self.assertGreater(found["largest datagram"]["value"], 8192)
        self.assertNotIn("entropies that answered", found)
        self.assertIn("not tried", found["entropies"]["found"])
        status, found = self.doctor(self.address)
        self.assertEqual(status, 1)
        self.assertEqual(found["peer"]["state"], "!!")
        self.assertIn("wants a key", found["peer"]["found"])

    def test_nobody(self):
        for peer, why in ((self.address, "nobody answers at "), ("no.such.host.invalid", "no.such.host.invalid"), ("192.0.2.1", "key")):
            status, found = self.doctor(peer)
            self.assertEqual(status, 1, found["peer"])
            self.assertEqual(found["peer"]["state"], "!!")
            self.assertIn(why, found["peer"]["found"])
        self.assertIn("something is wrong on the way", self.strack("doctor", self.address).stdout)


if __name__ == "__main__":
    unittest.main()
