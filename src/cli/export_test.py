#!/usr/bin/env python3
"""What other tools are given: a timeline for Perfetto, a capture that tshark dissects, a live page, tables.

usage: export_test.py PROGRAM STRACK.LUA [unittest arguments]
"""

import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

from command import CommandTest, LONG, PROGRAM

DISSECTOR = os.path.abspath(sys.argv.pop(1))

FLOWS = """
name = "flows"
[topology]
hosts = 16
hosts_per_rack = 4
[workload]
kind = "permutation"
size = "100 KB"
"""

JOBS = """
name = "jobs"
[topology]
hosts = 16
hosts_per_rack = 4
[workload]
kind = "collective"
collective = "allreduce-ring"
size = "100 KB"
jobs = 2
ranks = 4
"""


class ExportTest(CommandTest):
    FILES = {"flows.toml": FLOWS, "jobs.toml": JOBS}

    def test_a_timeline_has_every_job_and_message(self):
        out = self.good("sim", "run", "jobs.toml", "--out", "a.db", "--perfetto", "a.json")
        self.assertIn("timeline: a.json; ui.perfetto.dev opens it\n", out)
        events = json.loads((self.folder / "a.json").read_text())["traceEvents"]
        slices = [e for e in events if e["ph"] == "X"]
        jobs = [e for e in slices if e["pid"] == 1]
        times = self.rows("a.db", "SELECT start_ps / 1e6, end_ps / 1e6 FROM jobs ORDER BY job")
        self.assertEqual([(e["ts"], round(e["ts"] + e["dur"], 6)) for e in jobs], times)
        sent = [e for e in slices if e["name"].startswith("to host")]
        self.assertEqual(len(sent), self.rows("a.db", "SELECT count(*) FROM flows")[0][0])
        self.assertGreater(len(sent), 0)
        # Slices of one lane do not overlap.
        lanes = {}
        for one in sorted(slices, key=lambda e: e["ts"]):
            end = lanes.get((one["pid"], one["tid"]), 0)
            self.assertGreaterEqual(round(one["ts"], 6), round(end, 6))
            lanes[one["pid"], one["tid"]] = one["ts"] + one["dur"]
        self.assertIn("--force replaces it", self.bad("sim", "export", "a.db", "--perfetto", "a.json"))
        self.good("sim", "export", "a.db", "--perfetto", "a.json", "--force")
        self.assertIn("nothing to be written", self.bad("sim", "export", "a.db"))

    def test_a_capture_is_dissected(self):
        out = self.good("sim", "run", "flows.toml", "--out", "a.db", "--pcap", "a.pcap", "--pcap-flow", "3")
        self.assertIn("packets of flow 3;", out)
        # What cannot be is said before the run.
        self.assertIn("--pcap: flow 0 is a job's connection",
                      self.bad("sim", "run", "jobs.toml", "--out", "j.db", "--quiet", "--pcap", "j.pcap"))
        self.assertIn("--pcap: there is no flow 99",
                      self.bad("sim", "run", "flows.toml", "--out", "j.db", "--quiet", "--pcap", "j.pcap", "--pcap-flow", "99"))
        for scheme in ("rocev2", "roce-ar", "smartt", "dctcp", "swift", "hpcc", "falcon-like"):
            self.assertIn(f"--pcap: {scheme} has packets that STrack's wire format does not",
                          self.bad("sim", "run", "flows.toml", "--out", "j.db", "--quiet", "--scheme", scheme, "--pcap", "j.pcap"))
        self.assertIn("there is no folder none",
                      self.bad("sim", "run", "flows.toml", "--out", "j.db", "--quiet", "--perfetto", "none/j.json"))
        self.assertFalse((self.folder / "j.db").exists())
        self.assertIn("no events of flow 9", self.bad("sim", "export", "a.db", "--pcap", "b.pcap", "--pcap-flow", "9", status=1))
        if shutil.which("tshark") is None:
            self.skipTest("there is no tshark")
        command = ["tshark", "-X", f"lua_script:{DISSECTOR}", "-r", "a.pcap", "-n", "-T", "fields"]
        for field in ("frame.time_epoch", "ip.src", "ip.dst", "strack.type", "strack.fault"):
            command += ["-e", field]
        shown = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, timeout=60, check=True).stdout
        packets = [line.split("\t") for line in shown.splitlines()]
        events = self.rows("a.db", "SELECT kind, time_ps FROM flow_events WHERE flow = 3 AND kind != 3 ORDER BY rowid")
        self.assertEqual(len(packets), len(events))
        src, dst = self.rows("a.db", "SELECT src, dst FROM flows WHERE flow = 3")[0]
        for (time, source, target, kind, fault), (event, ps) in zip(packets, events):
            self.assertEqual(round(float(time) * 1e9), ps // 1000)
            self.assertEqual(kind, {0: "1", 2: "1", 1: "2", 5: "2", 4: "3"}[event])
            self.assertEqual((source, target), (f"10.0.0.{src}", f"10.0.0.{dst}") if kind != "2"
                             else (f"10.0.0.{dst}", f"10.0.0.{src}"))
            self.assertEqual(fault, "")

    def test_schemes_that_answer_with_sacks_are_captured(self):
        for scheme in ("strack-plus", "nscc", "ndp", "mrc"):
            self.good("sim", "run", "flows.toml", "--out", f"{scheme}.db", "--quiet", "--scheme", scheme, "--pcap", f"{scheme}.pcap")
        # Of a file, too, whatever happened in its run.
        self.good("sim", "run", "flows.toml", "--out", "r.db", "--quiet", "--scheme", "rocev2", "--set", "record.inspect=1")
        self.assertIn("rocev2 has packets", self.bad("sim", "export", "r.db", "--pcap", "r.pcap"))
        self.assertFalse((self.folder / "r.pcap").exists())

    def test_nothing_is_written_over_what_the_command_uses(self):
        """Neither its scenario, nor its traffic, nor its result, by whatever name; --force or not."""
        self.write("t.txt", "0 1 1000 0\n")
        (self.folder / "l.db").symlink_to("w.db")
        named = {name: (self.folder / name).read_text() for name in ("flows.toml", "t.txt")}
        for words in (("--perfetto", "flows.toml"), ("--pcap", "./flows.toml"), ("--perfetto", "l.db"), ("--pcap", "w.db.checkpoint")):
            self.assertIn("is named for two things",
                          self.bad("sim", "run", "flows.toml", "--out", "w.db", "--quiet", "--force", *words))
            self.assertFalse((self.folder / "w.db").exists())
        self.write("traffic.toml", FLOWS.split("[workload]", maxsplit=1)[0] + "[workload]\nkind = 'file'\nfile = 't.txt'\n")
        self.assertIn("is named for two things",
                      self.bad("sim", "run", "traffic.toml", "--out", "w.db", "--force", "--perfetto", "./t.txt"))
        self.assertEqual(named, {name: (self.folder / name).read_text() for name in named})
        (self.folder / "results").mkdir()
        self.assertIn("is named for two things: it is results/flows-strack-s1.db",
                      self.bad("sim", "run", "flows.toml", "--perfetto", "./results/flows-strack-s1.db", "--force"))

    def test_a_run_is_watched_while_it_goes_on(self):
        (self.folder / "long.toml").write_text(LONG)
        run = subprocess.Popen([PROGRAM, "sim", "run", "long.toml", "--quiet", "--out", "long.db"], cwd=self.folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.wait)
        self.addCleanup(run.kill)
        deadline = time.monotonic() + 60
        while self.strack("sim", "summary", "long.db").returncode != 0 and time.monotonic() < deadline:
            time.sleep(0.1)
        watch = subprocess.Popen([PROGRAM, "sim", "watch", "long.db", "--every", "1"], cwd=self.folder, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(watch.stderr.close)
        self.addCleanup(watch.stdout.close)
        self.addCleanup(watch.kill)
        port = int(re.match(r"http://127\.0\.0\.1:(\d+)/ shows long\.db; Ctrl-C ends it\n", watch.stdout.readline()).group(1))

        def get(path, host):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            try:
                connection.request("GET", path, headers={"Host": host})
                reply = connection.getresponse()
                return reply.status, reply.read().decode()
            finally:
                connection.close()

        # Somebody who asks and never finishes, or never reads, holds nobody up.
        slow = socket.create_connection(("127.0.0.1", port))
        self.addCleanup(slow.close)
        slow.sendall(b"GET / HTTP/1.1\r\n")
        status, page = get("/", f"127.0.0.1:{port}")
        self.assertEqual(status, 200)
        self.assertIn('<meta http-equiv="refresh" content="1">', page)
        self.assertIn("the run is still going on", page)
        self.assertEqual(get("/other", f"localhost:{port}")[0], 404)
        # A browser names no port where it is 80.
        self.assertEqual(get("/", "localhost")[0], 200)
        self.assertEqual(get("/", "localhost.example")[0], 403)
        # Another site's name for this address is not ours.
        self.assertEqual(get("/", f"elsewhere.example:{port}")[0], 403)
        run.send_signal(signal.SIGINT)
        run.wait(timeout=60)
        time.sleep(1.1)
        self.assertNotIn('http-equiv="refresh"', get("/", f"localhost:{port}")[1])
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(timeout=60), 0)
        self.assertIn("nothing.db", self.bad("sim", "watch", "nothing.db"))

    def test_a_sweep_is_a_table_for_spreadsheets(self):
        out = self.good("sim", "sweep", "flows.toml", "--seeds", "1-2", "--csv", "--out", "s")
        head, *lines = out.splitlines()
        self.assertTrue(head.startswith("file,name,scheme,seed,"), head)
        self.assertEqual([line.split(",")[3] for line in lines], ["1", "2"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
