#!/usr/bin/env python3
"""`strack plan` as a person meets it: a small plan that goes on where it was, its table, its page and its errors.

usage: plan_test.py PROGRAM [unittest arguments]
"""

import csv
import io
import json
import os
import pathlib
import re
import shutil
import unittest

from command import CommandTest

ROOT = pathlib.Path(__file__).resolve().parents[2]

MIX = """
[topology]
hosts = 16
hosts_per_rack = 4
[[workload]]
name = "step"
kind = "collective"
collective = "allreduce-ring"
size = "200 KB"
jobs = 2
ranks = 4
[[workload]]
name = "storage"
kind = "permutation"
size = "50 KB"
"""

PLAN = """
scenario = "mix.toml"
schemes = ["strack", "rocev2"]
[cost]
switch = 1000
switch_port = 10
host_port = 2.5
link = 1
[[network]]
name = "1:1"
[[network]]
name = "4:1"
set = ["topology.oversubscription=4:1"]
[[failure]]
name = "spine dead"
networks = ["1:1"]
set = ["failure.0.switch=spine 0"]
"""


class PlanTest(CommandTest):
    COMMAND = ("plan",)
    FILES = {"mix.toml": MIX, "p.toml": PLAN}
    PATIENCE = 250

    def value(self, name, sql):
        return self.rows(f"results/p-plan/{name}", sql)[0][0]

    def test_a_small_plan(self):
        listed = self.good("p.toml", "--dry-run")
        self.assertEqual(len(re.findall(r"\.db", listed)), 6)
        self.assertFalse((self.folder / "results").exists())

        said = self.good("p.toml")
        self.assertIn("6 runs, results in results/p-plan", said)
        self.assertIn("page: results/p-plan/plan.html", said)
        made = {f: os.stat(self.folder / "results/p-plan" / f).st_mtime_ns
                for f in os.listdir(self.folder / "results/p-plan") if f.endswith(".db")}
        self.assertEqual(len(made), 6)

        # One is missing: only that one is run again.
        gone = sorted(made)[0]
        os.remove(self.folder / "results/p-plan" / gone)
        rows = json.loads(self.good("p.toml", "--json"))
        for name, time in made.items():
            if name != gone:
                self.assertEqual(os.stat(self.folder / "results/p-plan" / name).st_mtime_ns, time, name)
        self.assertEqual([(r["network"], r["scheme"]) for r in rows],
                         [("1:1", "strack"), ("1:1", "rocev2"), ("4:1", "strack"), ("4:1", "rocev2")])
        # 16 hosts in 4 racks: 16 host links and 16 to 4 spines; 4 to a spine at 4:1. Both directions.
        self.assertEqual(rows[0]["cost"], 8 * 1000 + 10 * 48 + 2.5 * 16 + 32)
        self.assertEqual(rows[2]["cost"], 5 * 1000 + 10 * 24 + 2.5 * 16 + 20)
        slowest = "SELECT max(end_ps - start_ps) / 1e6 FROM jobs"
        self.assertAlmostEqual(rows[0]["step_us"]["median"], self.value("1_1-strack-well-s1.db", slowest))
        self.assertAlmostEqual(rows[0]["failing_us"]["spine dead"]["median"],
                               self.value("1_1-strack-spinedead-s1.db", slowest))
        self.assertIsNone(rows[2]["failing_us"]["spine dead"]["median"])
        self.assertEqual(list(rows[0]["workloads_us"]), ["step", "storage"])
        self.assertEqual(rows[0]["workloads_us"]["step"]["median"], rows[0]["step_us"]["median"])

        table = list(csv.reader(io.StringIO(self.good("p.toml", "--csv"))))
        self.assertEqual(table[0], ["network", "transport", "none better", "cost", "step (us)", "least", "largest",
                                    "spine dead (x)", "within the spread of seeds"])
        self.assertEqual(len(table), 5)
        self.assertEqual(table[3][7], "")
        for row in table[1:]:
            for cell in row[3:8]:
                self.assertTrue(cell == "" or float(cell) > 0, row)

        text = (self.folder / "results/p-plan/plan.html").read_text()
        page = json.loads(re.search(r'<script id="report-data" type="application/json">(.*?)</script>', text, re.S).group(1))
        pareto, bars = page["sections"][0]["figures"]
        self.assertEqual([s["name"] for s in pareto["series"]], ["STrack", "RoCEv2", "none is better in both"])
        self.assertEqual([m["label"] for m in pareto["marks"]], ["4:1", "1:1"])
        self.assertEqual(len(page["runs"]), 6)
        # Bars of networks on which the failure was tried only.
        self.assertEqual(bars["categories"], ["1:1, STrack", "1:1, RoCEv2"])

    def test_wrong_ones(self):
        self.assertIn("error: none.toml", self.bad("none.toml"))
        (self.folder / "q.toml").write_text(PLAN.replace("spine 0", "spine 99"))
        said = self.bad("q.toml")
        self.assertIn('error: q.toml:14: failure "spine dead" of the network "1:1": --set', said)
        self.assertIn("spine 99", said)
        (self.folder / "q.toml").write_text(PLAN.replace("oversubscription=4:1", "oversubscription=0:1"))
        self.assertIn('error: q.toml:11: network "4:1": ', self.bad("q.toml"))
        (self.folder / "q.toml").write_text(PLAN.replace("link = 1", "lnik = 1"))
        self.assertIn("error: q.toml:8: there is no key lnik in [cost]", self.bad("q.toml"))
        self.assertIn("excludes", self.bad("p.toml", "--json", "--csv"))

    def test_another_scenario_is_not_taken_for_this_one(self):
        (self.folder / "one.toml").write_text(PLAN.split("[[failure]]")[0].replace(', "rocev2"', ""))
        self.good("one.toml", "--quiet")
        (self.folder / "mix.toml").write_text(MIX.replace("200 KB", "100 KB"))
        self.assertIn("holds a finished run of another scenario", self.bad("one.toml"))
        self.good("one.toml", "--quiet", "--force")

    def test_the_example_is_right(self):
        shutil.copytree(ROOT / "scenarios", self.folder / "scenarios")
        self.assertIn("fabric-plan", self.good("scenarios/plans/fabric.toml", "--dry-run"))


if __name__ == "__main__":
    unittest.main()
