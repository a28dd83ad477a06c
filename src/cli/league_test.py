#!/usr/bin/env python3
"""`strack league` as a person meets it: a small league that goes on where it was, its page and its tables.

usage: league_test.py PROGRAM [unittest arguments]
"""

import json
import pathlib
import re
import sqlite3
import unittest

from command import CommandTest

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Two cases, one of them with a list of flows of its own; two schemes.
SMALL = ("--part", "perm-4KB,victims", "--transports", "strack,rocev2", "--seeds", "1")


class LeagueTest(CommandTest):
    COMMAND = ("league",)
    PATIENCE = 250

    def test_a_small_league(self):
        said = self.good("run", *SMALL)
        runs = int(re.search(r"^(\d+) runs at the quick scale, results in results/league-quick$", said, re.M).group(1))
        self.assertIn(f"all {runs} runs are done. `strack league report --scale quick` makes the report", said)
        self.assertIn(f"{runs} of them there already", self.good("run", *SMALL))

        said = self.good("report", *SMALL, "--markdown", "l.md", "--data", "l.csv")
        self.assertIn("report: results/league-quick/report.html", said)
        text = (self.folder / "results/league-quick/report.html").read_text()
        page = json.loads(re.search(r'<script id="report-data" type="application/json">(.*?)</script>', text, re.S).group(1))
        heat = page["sections"][0]["figures"][0]
        self.assertEqual(heat["kind"], "heat")
        self.assertEqual(heat["columns"], ["permutation 4 KB", "victims of an incast"])
        self.assertEqual(len(heat["rows"]), runs // 2)
        self.assertEqual(len(page["runs"]), runs)

        # The numbers are those of the result files: the victims' own slowest flow.
        standings = json.loads(self.good("report", *SMALL, "--json"))
        strack = next(s for s in standings["schemes"] if s["scheme"] == "strack")
        victims = next(c for c in strack["cells"] if c["case"] == "victims")
        with sqlite3.connect(self.folder / "results/league-quick/victims/strack-s1.db") as db:
            slowest = db.execute("SELECT max(end_ps - start_ps) / 1e6 FROM flows WHERE size_bytes = 1000000").fetchone()[0]
        self.assertAlmostEqual(victims["median_us"], slowest, places=6)
        bound = next(c for c in standings["cases"] if c["id"] == "victims")["bound_us"]
        self.assertAlmostEqual(victims["median"], slowest / bound, places=9)
        self.assertGreaterEqual(victims["median"], 1)

        # The table alone gives the same words again.
        self.good("report", "--from", "l.csv", "--markdown", "again.md")
        self.assertEqual((self.folder / "l.md").read_text(), (self.folder / "again.md").read_text())

        # A result that is no more, and one that the program died over: said, not dropped.
        (self.folder / "results/league-quick/perm-4KB/strack-s1.db").unlink()
        (self.folder / "results/league-quick/victims/strack-s1.txt").write_text("check failed: x\n")
        done = self.strack("report", *SMALL, "--json")
        missing = f"1 of {runs} runs are not there: ranks and means are over those that are"
        self.assertEqual((done.returncode, done.stderr), (0, f"warning: {missing}\n"))
        standings = json.loads(done.stdout)
        self.assertEqual((standings["runs"], standings["planned"]), (runs - 1, runs))
        self.assertEqual(standings["problems"], [missing])
        strack = next(s for s in standings["schemes"] if s["scheme"] == "strack")
        self.assertEqual([(c["case"], c["ending"], c["why"], c["median"]) for c in strack["cells"]],
                         [("victims", "failed", "check failed: x", None)])

    def test_the_pages_of_the_repository_are_what_their_tables_say(self):
        for name, scale in (("league", "quick"), ("league-full", "full")):
            page, table = ROOT / f"docs/{name}.md", ROOT / f"docs/{name}.csv"
            self.good("report", "--scale", scale, "--from", str(table), "--markdown", "l.md")
            self.assertEqual((self.folder / "l.md").read_text(), page.read_text(),
                             f"docs/{name}.md is out of date: strack league report --scale {scale} "
                             f"--from docs/{name}.csv --markdown docs/{name}.md")

    def test_mistakes(self):
        self.assertIn("the scales are quick, full", self.bad("run", "--scale", "huge"))
        self.assertIn("there is no part or case nowhere", self.bad("run", "--part", "nowhere"))
        self.assertIn("there is no transport or scheme pigeons", self.bad("run", "--transports", "pigeons"))
        self.assertIn("there are no results", self.bad("report"))
        self.assertIn("nothing.csv", self.bad("report", "--from", "nothing.csv"))
        self.assertIn("--part jobs", self.good("cases"))


if __name__ == "__main__":
    unittest.main()
