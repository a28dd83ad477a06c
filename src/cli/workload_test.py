#!/usr/bin/env python3
"""`strack workload` and traces in scenarios, as a person meets them.

usage: workload_test.py PROGRAM [unittest arguments]
"""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import unittest
import xml.etree.ElementTree

from command import CommandTest

SCENARIOS = pathlib.Path(__file__).resolve().parents[2] / "scenarios"
TRACES = SCENARIOS / "traces"

NETWORK = """
[topology]
hosts = 32
hosts_per_rack = 8
"""

RING = NETWORK + """
[workload]
kind = "collective"
collective = "allreduce-ring"
ranks = 4
jobs = 2
size = "64 KB"
"""


class WorkloadTest(CommandTest):
    ERROR = r"\Aerror: [^\n]*\n\Z"

    def setUp(self):
        super().setUp()
        for file in TRACES.iterdir():
            shutil.copy(file, self.folder)
        self.write("ring.toml", RING)

    def bad(self, *words, **options):
        """The line of it."""
        return super().bad(*words, **options).strip()

    def result_hash(self, file):
        done = self.strack("sim", "run", file, "--out", "run.db", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of 1 finished", done.stdout)
        return re.search(r"^hash +(\w+)$", done.stdout, re.MULTILINE).group(1)

    # --- info ---

    def test_info_of_a_connection_matrix(self):
        self.assertEqual(self.good("workload", "info", "relay4.cm"), """\
relay4.cm
  format         cm, htsim's connection matrix, starts in ps
  ranks          4
  messages       5
  bytes          258192 (258.2 KB)
  channels       5
  computations   0
  sends most     rank 0, 100 KB
  receives most  rank 2, 150 KB
  longest chain  4 nodes
  start times    1, the last at 1 us
  failed links   1
  note           1 priority is ignored
""")

    def test_info_of_several(self):
        out = self.good("workload", "info", "pipeline3.goal", "step.1.et", "ring.toml", "step.0.et")
        self.assertEqual(re.findall(r"^\S.*$", out, re.MULTILINE),
                         ["pipeline3.goal", "step.0.et to step.1.et", "ring.toml"])
        self.assertIn("computations   5, 27 us in all", out)
        self.assertIn("format         chakra, 2 files", out)
        self.assertIn("format         scenario, 2 jobs of allreduce-ring", out)
        self.assertIn("ranks          4 of each job", out)

    def test_info_for_programs(self):
        found = json.loads(self.good("workload", "info", "relay4.cm", "pipeline3.goal", "--json"))
        self.assertEqual([one["file"] for one in found], ["relay4.cm", "pipeline3.goal"])
        self.assertEqual(found[0]["notes"], ["1 priority is ignored"])
        lines = self.good("workload", "info", "relay4.cm", "pipeline3.goal", "--csv").splitlines()
        self.assertEqual(len(lines), 3)
        self.assertEqual(lines[1].split(",")[0], "relay4.cm")
        self.assertIn(str(found[0]["bytes"]), lines[1].split(","))

    def test_info_of_flows(self):
        self.write("flows.toml", NETWORK + '[workload]\nsize = "1 MB"\n')
        out = self.good("workload", "info", "flows.toml", "--set", "workload.size=2 MB")
        self.assertIn("scenario, 32 permutation flows, seed 1", out)
        self.assertIn("bytes          64000000 (64 MB)", out)
        self.assertIn("longest chain  1 node\n", out)

    def test_all_ranks_by_a_pattern(self):
        by_pattern = self.good("workload", "info", "step.{rank}.et")
        self.assertEqual(by_pattern, self.good("workload", "info", "step.0.et", "step.1.et"))
        os.remove(self.folder / "step.0.et")
        self.assertIn('but no "step.0.et". ranks are numbered from 0',
                      self.bad("workload", "info", "step.{rank}.et"))

    def test_info_goes_on_after_a_bad_file(self):
        self.write("bad.cm", "Nodes 2\nConnections 1\n0->5 start 0 size 1\n")
        done = self.strack("workload", "info", "bad.cm", "pipeline3.goal")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Aerror: bad\.cm:3: ")
        self.assertIn("pipeline3.goal\n", done.stdout)

    # --- mistakes ---

    def test_mistakes_are_explained(self):
        self.assertIn("no.cm: there is no such file", self.bad("workload", "info", "no.cm"))
        self.write("a.txt", "num_ranks 1\nrank 0 {\na: calk 5\n}\n")
        self.assertIn("such as --format goal", self.bad("workload", "info", "a.txt"))
        self.assertIn("a.txt:3: ", self.bad("workload", "info", "a.txt", "--format", "goal"))
        (self.folder / "bad.et").write_bytes(b"\x7f")
        self.assertRegex(self.bad("workload", "info", "bad.et"), r"bad\.et: byte \d+: ")
        self.assertIn("it is from 0.001 to", self.bad("workload", "info", "relay4.cm", "--calc-ns", "0"))
        self.assertIn("--set changes keys of a scenario",
                      self.bad("workload", "info", "relay4.cm", "--set", "run.seed=1"))
        self.assertIn("ring.toml:9: ranks is 1",
                      self.bad_scenario("ranks = 4", "ranks = 1"))
        self.assertIn("a second workload",
                      self.bad("workload", "convert", "relay4.cm", "ring.toml", "--to", "goal"))
        for words in (("info",), ("convert", "relay4.cm"), ("convert", "relay4.cm", "--to", "svg"),
                      ("info", "relay4.cm", "--time", "ns"), ("info", "relay4.cm", "--format", "x")):
            done = self.strack("workload", *words)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, r"\Aerror: ")
        self.assertIn("strack workload --help", self.bad("workload"))

    def bad_scenario(self, old, new):
        self.write("ring.toml", RING.replace(old, new))
        try:
            return self.bad("workload", "info", "ring.toml")
        finally:
            self.write("ring.toml", RING)

    def test_help(self):
        self.assertIn("--own-connections", self.good("help", "workload", "convert"))
        self.assertIn("workload", self.good("--help"))

    # --- convert ---

    def test_convert_writes_what_is_asked_for(self):
        note = "note: 1 priority is ignored\n" \
               "note: 1 failed link is not written: they are no part of a workload here\n"
        text = self.good("workload", "convert", "relay4.cm", "--to", "cm", "--out-time", "us",
                         stderr=note)
        self.assertIn("\n0->1 id 1 start 1 size 100000 recv_done_trigger 1\n", text)
        self.good("workload", "convert", "relay4.cm", "--to", "cm", "--out-time", "us", "--out",
                  "us.cm", stderr=note)
        self.assertEqual((self.folder / "us.cm").read_text(), text)
        self.assertEqual(self.good("workload", "convert", "us.cm", "--time", "us", "--to", "cm"), text)
        goal = self.good("workload", "convert", "us.cm", "--time", "us", "--to", "goal",
                         "--out-calc-ns", "1000")
        self.assertIn("\nt0: calc 1 cpu 1\n", goal)
        self.assertIn("calc 1000000 cpu 1", self.good("workload", "convert", "us.cm", "--time", "us",
                                                      "--to", "goal", "--out-calc-ns", "0.001"))

    def test_convert_says_what_a_format_cannot(self):
        self.assertIn("pipeline3.goal: node 0 computes for 5 us",
                      self.bad("workload", "convert", "pipeline3.goal", "--to", "cm"))
        self.assertIn("no multiple of 3 ns, the time of calc 1. take 1 ps: --out-calc-ns 0.001",
                      self.bad("workload", "convert", "pipeline3.goal", "--to", "goal",
                               "--out-calc-ns", "3"))

    def test_convert_of_several_jobs_writes_one(self):
        text = self.good("workload", "convert", "ring.toml", "--to", "cm", "--own-connections",
                         stderr="note: the scenario has 2 jobs of this kind. one is written\n")
        self.assertTrue(text.startswith("Nodes 4\n"))
        self.assertNotIn("msg", text)

    def test_files_are_not_overwritten_unasked(self):
        convert = ("workload", "convert", "pipeline3.goal", "--to", "goal", "--out")
        self.good(*convert, "a.goal")
        self.assertIn("a.goal: exists already. choose another --out, or --force to replace it",
                      self.bad(*convert, "a.goal"))
        self.good(*convert, "a.goal", "--force")
        self.assertIn("it is a folder", self.bad(*convert, "."))
        self.assertIn("is there such a folder?", self.bad(*convert, "no/a.goal"))
        self.assertIn("is the disk full?", self.bad(*convert, "/dev/full", "--force", status=1))

    # --- draw ---

    def test_draw(self):
        self.good("workload", "draw", "pipeline3.goal", "--out", "p.svg")
        root = xml.etree.ElementTree.parse(self.folder / "p.svg").getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        plain = (self.folder / "p.svg").read_text()
        self.assertEqual(self.good("workload", "draw", "pipeline3.goal", "--latency", "1us", "--rate",
                                   "400Gb/s"), plain)
        self.assertNotEqual(self.good("workload", "draw", "pipeline3.goal", "--latency", "9us"), plain)
        self.assertNotEqual(self.good("workload", "draw", "pipeline3.goal", "--rate", "10"), plain)
        self.assertIn("it is a time, such as 1us",
                      self.bad("workload", "draw", "pipeline3.goal", "--latency", "1"))
        self.assertIn("it is a rate, such as 400Gb/s",
                      self.bad("workload", "draw", "pipeline3.goal", "--rate", "fast"))

    # A scenario is drawn with the figures of its network.
    def test_draw_a_scenario(self):
        plain = self.good("workload", "draw", "ring.toml")
        xml.etree.ElementTree.fromstring(plain)
        self.assertNotEqual(self.good("workload", "draw", "ring.toml", "--set",
                                      "topology.link_gbps=100"), plain)
        self.assertNotEqual(self.good("workload", "draw", "ring.toml", "--latency", "1us"), plain)
        self.assertIn("ring.toml: ", self.bad("workload", "draw", "ring.toml", "--set",
                                              "workload.chunk=10"))

    # --- the way round ---

    # A collective that is written as a trace and run again gives the same bits. Only a connection
    # matrix of an AllToAll with a limit does not: the words between its ranks have no bytes, and there
    # they have one.
    def test_collectives_survive_the_way_round(self):
        for scheme, collective, more in (
                ("strack", "allreduce-ring", ""), ("strack", "allreduce-dbt", ""),
                ("strack", "allreduce-hd", ""), ("strack", "alltoall", ""),
                ("strack", "alltoall", "parallel = 2"), ("strack", "allgather", ""),
                ("strack", "reduce-scatter", ""), ("strack", "broadcast", ""),
                ("rocev2", "allreduce-ring", ""), ("rocev2", "allreduce-dbt", "")):
            network = NETWORK + f'[transport]\nscheme = "{scheme}"\n'
            self.write("c.toml", network + f"""
[workload]
kind = "collective"
collective = "{collective}"
ranks = 16
size = "1 MB"
chunk = "16 KiB"
placement = "packed"
{more}
""")
            wanted = self.result_hash("c.toml")
            for to in ("cm", "goal"):
                with self.subTest(scheme=scheme, collective=collective, more=more, to=to):
                    done = self.strack("workload", "convert", "c.toml", "--to", to, "--out",
                                       "c." + to, "--force")
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.write("t.toml", network + f'[workload]\nkind = "trace"\nfile = "c.{to}"\n')
                    found = self.result_hash("t.toml")
                    if more and to == "cm":
                        self.assertIn("messages without bytes are written with one", done.stderr)
                        self.assertNotEqual(found, wanted)
                    else:
                        self.assertEqual(found, wanted)

    # Flows are messages of one job then, so it is their times that are the same, not the hash.
    def test_flows_become_a_trace(self):
        self.write("f.toml", NETWORK + '[workload]\nkind = "incast"\nfan_in = 4\nsize = "100 KB"\n')
        text = self.good("workload", "convert", "f.toml", "--to", "cm")
        self.assertEqual(text.count("->0 "), 4)
        self.write("f.cm", text)
        self.write("t.toml", NETWORK + '[workload]\nkind = "trace"\nfile = "f.cm"\n')
        self.result_hash("t.toml")

    # --- scenarios ---

    def test_examples_run(self):
        for name in ("relay4.cm", "pipeline3.goal", "step.{rank}.et"):
            for topology in ("leaf-spine-32.topo", "pods-64.topo"):
                with self.subTest(name=name, topology=topology):
                    self.write("t.toml", f'[topology]\nfile = "{topology}"\n'
                                         f'[workload]\nkind = "trace"\nfile = "{name}"\n')
                    self.result_hash("t.toml")
        self.result_hash("pipeline3.toml")

    def test_notes_are_passed_on(self):
        self.write("t.toml", NETWORK + '[workload]\nkind = "trace"\nfile = "relay4.cm"\n')
        done = self.strack("sim", "run", "t.toml")
        self.assertIn("warning: 1 priority is ignored\n", done.stderr)
        self.assertEqual(self.strack("sim", "run", "t.toml", "--quiet", "--force").stderr, "")
        shown = self.good("sim", "show", "t.toml")
        self.assertIn("\n# note           1 priority is ignored\n", shown)
        self.assertIn("\n# failed by the trace: rack 0, uplink 1\n", shown)
        # What is printed is a scenario again.
        self.write("again.toml", shown)
        self.assertEqual(self.good("sim", "show", "again.toml"), shown)

    # --- without a scenario ---

    def test_a_trace_runs_as_it_is(self):
        for name, ranks in (("relay4.cm", 4), ("pipeline3.goal", 3), ("step.0.et", 2)):
            with self.subTest(name=name):
                done = self.strack("sim", "run", name, "--out", "run.db", "--force")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertRegex(done.stdout, r"\nno scenario: 2 racks of 16 hosts at 400 Gb/s, 2 tiers, "
                                              r"oversubscription 1:1, base RTT [\d.]+ us; --topo, --scheme "
                                              r"and --set change that\n")
                self.assertIn(f"1 job of {ranks} ranks", done.stdout)
                self.assertIn("1 of 1 finished", done.stdout)
        done = self.strack("sim", "run", "relay4.cm", "--topo", "pods-64.topo", "--scheme", "rocev2",
                           "--set", "workload.time_unit=us", "--out", "run.db", "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("relay4: rocev2, seed 1, 64 hosts", done.stdout)
        self.assertIn("16 racks of 4 hosts at 100 Gb/s, 3 tiers", done.stdout)
        self.write("bad.cm", "Nodes 2\n0->5 start 0 size 1\n")
        self.assertRegex(self.bad("sim", "run", "bad.cm"), r"^error: bad\.cm:2: ")
        self.assertRegex(self.bad("sim", "run", "no.goal"), r"^error: no\.goal: there is no such file")

    def test_every_message_is_a_flow(self):
        self.good("sim", "run", "relay4.cm", "--out", "run.db", "--quiet")
        with sqlite3.connect(self.folder / "run.db") as database:
            rows = database.execute("SELECT flow, src, dst, size_bytes, start_ps / 1000000, "
                                    "start_ps < delivered_ps, delivered_ps < end_ps FROM flows "
                                    "ORDER BY flow").fetchall()
        self.assertEqual(rows[0], (0, 0, 1, 100000, 1, 1, 1))
        self.assertEqual(len(rows), 5)
        text = self.good("sim", "summary", "run.db")
        self.assertRegex(text, r"\nflows +5 of 5 finished, 258.2 KB in ")
        self.assertRegex(text, r"\nmax FCT +[\d.]+ +-\n")
        self.assertRegex(text, r"\nslowest flow +flow \d+: host \d+ to host \d+, [\d.]+ KB, from ")
        self.good("sim", "run", "relay4.cm", "--out", "off.db", "--quiet", "--set", "record.messages=off")
        self.assertNotIn("FCT", self.good("sim", "summary", "off.db"))
        self.assertEqual(re.findall(r"hash .*", text),
                         re.findall(r"hash .*", self.good("sim", "summary", "off.db")))

    def test_a_run_remembers_what_was_in_the_trace(self):
        self.write("t.toml", NETWORK + '[workload]\nkind = "trace"\nfile = "pipeline3.goal"\n')
        self.assertRegex(self.good("sim", "show", "t.toml"),
                         r"# the trace: 3 ranks, 4 messages, fingerprint [0-9a-f]{16}\n")

    def test_a_training_step_is_made_and_run(self):
        words = ("workload", "make", "--model", "llama2-7b", "--layers", "2", "--sequence", "256", "--pp", "2",
                 "--dp", "2", "--batch", "4", "--bucket", "50MB", "--chunk", "4MB")
        made = self.strack(*words, "--out", "step.toml")
        self.assertEqual((made.returncode, made.stdout), (0, ""))
        self.assertIn("note: training: 0.67 billion weights on 32 GPUs (tp 8 x pp 2 x dp 2), 4 sequences of 256 "
                      "tokens a step in 2 microbatches a replica\n", made.stderr)
        self.assertIn("step.toml: exists already", self.bad(*words, "--out", "step.toml"))
        self.assertEqual(self.strack(*words).stdout, (self.folder / "step.toml").read_text())
        text = self.strack("sim", "run", "step.toml", "--out", "run.db").stdout
        self.assertRegex(text, r"\ntraining: [\d.]+ us a step, [\d.]+ us of it computation and [\d.]+ us exposed "
                               r"communication \([\d.]+ %\)\n")
        self.assertRegex(text, r"\ngradients, allreduce +training +4 +2 ")
        self.assertRegex(text, r"\nactivations to the next stage +training +4 +1 ")
        [run] = json.loads(self.good("sim", "summary", "run.db", "--json"))
        kinds = {one["name"]: one for one in run["communications"]}
        self.assertEqual(kinds["gradients, allreduce"]["count"], 4)
        [exposed] = run["exposed"]
        self.assertEqual(exposed["time_ps"], exposed["computation_ps"] + exposed["exposed_ps"])
        with sqlite3.connect(self.folder / "run.db") as database:
            [[rows]] = database.execute("SELECT count(*) FROM communications").fetchall()
        self.assertEqual(rows, sum(one["count"] for one in run["communications"]))
        self.assertIn("pp x dp x rails is 1", self.bad("workload", "make", "--model", "llama2-7b"))
        for wrong in ("0", "-4", "many"):
            self.assertIn(f"--dp is {wrong}. it is a number from 1, such as --dp 8",
                          self.bad("workload", "make", "--model", "llama2-7b", f"--dp={wrong}"))
        self.assertIn("model is \"x\"", self.bad("workload", "make", "--model", "x", "--dp", "2"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
