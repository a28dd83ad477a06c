#!/usr/bin/env python3
"""`strack paper` as a person meets it: runs that go on where they were, verdicts, the report.

usage: paper_test.py PROGRAM [unittest arguments]
"""

import csv
import json
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from command import CommandTest, PROGRAM

ROOT = pathlib.Path(__file__).resolve().parents[2]

ROW = """
[topology]
hosts = 16
hosts_per_rack = 4

[workload]
kind = "permutation"
size = "200 KB"

[record]
interval_us = 2
queues = true
links = true
flows = 2
inspect = 1

[paper]
title = "A small row"
group = "Small"
claim = "Two to one."
section = "Evaluation"
explain = ["STrack is {gain} times as fast."]

[paper.numbers]
gain = "SELECT avg(r.max_us / s.max_us) FROM runs s JOIN runs r USING (row, seed, size) WHERE s.who = 'strack' AND r.who = 'rocev2'"

[paper.measures]
flows_done = "SELECT count(*) FROM flows WHERE end_ps IS NOT NULL"

[[paper.runs]]
axes = {"transport.scheme" = ["strack", "rocev2"], "workload.size" = ["100 KB", "200 KB"]}
seeds = [1, 2]

[paper.scale.quick]
axes = {"workload.size" = ["100 KB"]}
seeds = [1]

[[paper.check]]
says = "all flows are done"
value = "SELECT seed, min(flows_done) FROM runs WHERE row = 'A' GROUP BY seed"
paper = 16
reproduced = [16, 16]

[[paper.figure]]
kind = "lines"
title = "By size"
caption = "Smaller is better."

[[paper.figure]]
kind = "fabric"
title = "Replay"
caption = "All links."
where = "seed = 1 AND size = (SELECT max(size) FROM runs)"

[[paper.figure]]
kind = "flow"
title = "One flow"
caption = "Packet by packet."
where = "seed = 1"
"""


class PaperTest(CommandTest):
    COMMAND = ("paper",)

    def setUp(self):
        super().setUp()
        (self.folder / "scenarios/paper").mkdir(parents=True)
        self.write("A.toml", ROW)
        self.write("ORDER", "A\n")

    def write(self, name, text):
        (self.folder / "scenarios/paper" / name).write_text(text)

    def test_runs_reports_and_runs_nothing_twice(self):
        self.assertIn("2 runs at the quick scale,", self.good("run"))
        self.assertIn("2 of them there already", self.good("run"))
        self.assertIn("8 runs at the full scale,", self.good("run", "--scale", "full", "--jobs", "2"))
        said = self.good("report", "--scale", "full", "--markdown", "v.md", "--data", "runs.csv")
        self.assertIn("report: results/paper-full/report.html", said)
        self.assertRegex(said, r"A +8/8 +reproduced +A small row")

        page = self.page("results/paper-full/report.html")
        section = next(s for s in page["sections"] if s["id"] == "A")
        self.assertEqual(section["verdict"], "reproduced")
        self.assertEqual(len(page["runs"]), 8)
        # The figure has the numbers of the result files.
        figure = section["figures"][0]
        strack = next(s for s in figure["series"] if s["role"] == "strack")
        slowest = []
        for seed in (1, 2):
            with sqlite3.connect(self.folder / f"results/paper-full/A/strack-200KB-s{seed}.db") as db:
                slowest.append(db.execute("SELECT max(end_ps - start_ps) / 1e6 FROM flows").fetchone()[0])
        point = next(p for p in strack["points"] if p[0] == 200000)
        for drawn, wanted in zip(point[1:], (sum(slowest) / 2, min(slowest), max(slowest))):
            self.assertAlmostEqual(drawn, wanted, places=6)
        self.assertEqual([f["kind"] for f in section["figures"]], ["xy", "fabric", "flow"])

        # The table alone gives the same words again.
        self.good("report", "--scale", "full", "--from", "runs.csv", "--markdown", "again.md")
        self.assertEqual((self.folder / "v.md").read_text(), (self.folder / "again.md").read_text())
        # A page from it has the figures that need no result files.
        self.good("report", "--scale", "full", "--from", "runs.csv", "--out", "again.html")
        again = next(s for s in self.page("again.html")["sections"] if s["id"] == "A")
        self.assertEqual([f["kind"] for f in again["figures"]], ["xy"])
        self.assertEqual(again["figures"][0]["series"][0]["points"], strack["points"])

    def test_parts_on_other_machines_are_put_together(self):
        said = self.good("run", "--scale", "full", "--dry-run")
        self.assertRegex(said, r"8 of 8 runs at the full scale are missing: about 0.0 hours of CPU time")
        self.assertFalse((self.folder / "results").exists())

        # No time at all: nothing is begun, and the status says that there is more to do.
        part = self.strack("run", "--scale", "full", "--stop-after", "0.001s", "--table", "none.csv")
        self.assertEqual(part.returncode, 3, part.stdout + part.stderr)
        self.assertIn("0 of 8 runs are done; the same command goes on from here", part.stdout)

        self.write("ORDER", "A\nB\n")
        self.write("B.toml", ROW.replace("'A'", "'B'"))
        self.good("run", "A", "--scale", "full", "--stop-after", "1h", "--table", "first.csv")
        shutil.rmtree(self.folder / "results")
        said = self.good("run", "--scale", "full", "--have", "first.csv", "--table", "both.csv")
        self.assertIn("16 runs at the full scale, 8 of them there already", said)
        self.assertFalse(list((self.folder / "results/paper-full/A").glob("*.db")))
        self.good("report", "--scale", "full", "--from", "both.csv", "--markdown", "both.md")
        self.assertIn("2 rows: 2 reproduced", (self.folder / "both.md").read_text())
        # Overlapping tables count each run once.
        self.good("report", "--scale", "full", "--from", "first.csv", "both.csv", "--markdown", "again.md")
        # Which table has the runs is said where it is one.
        where = ", the numbers of every run in `both.csv`"
        self.assertIn(where, (self.folder / "both.md").read_text())
        self.assertEqual((self.folder / "both.md").read_text().replace(where, ""), (self.folder / "again.md").read_text())

        # A note above a table stands in what is made of it.
        text = (self.folder / "both.csv").read_text()
        (self.folder / "both.csv").write_text("# Older than the rules.\n" + text)
        self.good("report", "--scale", "full", "--from", "both.csv", "--markdown", "noted.md")
        self.assertIn("\n\nOlder than the rules.\n\n", (self.folder / "noted.md").read_text())

    def test_a_gpu_takes_what_it_can_run(self):
        self.good("run", "--scale", "full", "--table", "cpu.csv")
        # Where this build has no GPU engine, processors do it, and it is said.
        done = self.strack("run", "--scale", "full", "--engine", "emulated", "--results", "gpu", "--table", "gpu.csv")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for line in done.stderr.splitlines():
            self.assertRegex(line, "^warning: run by the processor, since the GPU did not: .*there is no GPU engine")
        hashes = []
        for table in ("cpu.csv", "gpu.csv"):
            with open(self.folder / table, encoding="utf-8") as file:
                hashes.append({row["run"]: row["hash"] for row in csv.DictReader(file)})
        self.assertEqual(len(hashes[0]), 8)
        self.assertEqual(hashes[0], hashes[1])
        self.assertIn("with a GPU: ", self.good("run", "--scale", "full", "--force", "--engine", "auto", "--dry-run"))

    def test_calibrate_searches_and_goes_on(self):
        self.write("A.toml", ROW.replace("paper = 16\nreproduced", "paper = 20\nreproduced"))
        self.write("CALIBRATE", "held-out B\nleave-out 200 KB\nside strack\ntransport.max_cwnd = 1 BDP | 2 BDP\n")
        self.write("ORDER", "A\nB\n")
        self.write("B.toml", ROW.replace("'A'", "'B'"))
        said = self.good("calibrate", "--points", "2", "--markdown", "c.md")
        self.assertRegex(said, r"strack: error 0.22 with the defaults, 0.22 with transport.max_cwnd = ")
        text = (self.folder / "c.md").read_text()
        self.assertIn("| A | all flows are done | 20 | 16 | 16 | yes |", text)
        self.assertIn("Held out:\n", text)
        rows = (self.folder / "results/paper-calibrate/points.csv").read_text().splitlines()
        self.assertEqual(len(rows), 1 + 3 + 2)  # the defaults, two points, and both columns of what was held out
        self.assertTrue((self.folder / "results/paper-calibrate/calibration.html").exists())
        before = {p: p.stat().st_mtime_ns for p in (self.folder / "results/paper-calibrate").rglob("*.db")}
        self.good("calibrate", "--points", "2")
        after = {p: p.stat().st_mtime_ns for p in (self.folder / "results/paper-calibrate").rglob("*.db")}
        self.assertEqual(before, after)
        # At the paper's scale the defaults' runs are in a table, and only the best point's are made.
        self.good("run", "--scale", "full", "--table", "t.csv")
        said = self.good("calibrate", "--points", "2", "--confirm", "t.csv", "--markdown", "c.md")
        self.assertRegex(said, r"strack: at the paper's scale 0\.\d\d and 0\.\d\d")
        text = (self.folder / "c.md").read_text()
        self.assertIn("At the paper's scale, one seed, as far as it was run. Error of the best point ", text)
        made = sorted(p.name for p in (self.folder / "results/paper-calibrate/full").rglob("*.db"))
        self.assertTrue(made and all("BDP-s1" in name for name in made), made)
        self.assertIn("nowhere.csv", self.bad("calibrate", "--confirm", "nowhere.csv"))
        # The tables of what was run are enough to go on from, at both scales.
        self.assertIn("nowhere.csv", self.bad("calibrate", "--have", "nowhere.csv"))
        tables = [f"results/paper-calibrate/runs-{scale}.csv" for scale in ("quick", "full")]
        self.good("calibrate", "--points", "2", "--confirm", "t.csv", "--have", *tables, "--results", "elsewhere", "--markdown", "there.md")
        self.assertEqual(list((self.folder / "elsewhere").rglob("*.db")), [])
        self.assertEqual((self.folder / "there.md").read_text(), text)
        for table in tables:
            # A run that both scales have is in either table then.
            there = (self.folder / "elsewhere" / pathlib.Path(table).name).read_text().splitlines()
            self.assertLessEqual({",".join(line.split(",")[:7]) for line in (self.folder / table).read_text().splitlines()},
                                 {",".join(line.split(",")[:7]) for line in there})
        # One side alone, with the runs that are there.
        self.assertRegex(self.good("calibrate", "--points", "2", "--side", "strack"), r"strack: error 0.22 ")
        self.assertIn("the sides are strack", self.bad("calibrate", "--side", "rocev2"))
        # No more rows at the paper's scale than were asked for; points that are named go with the best one.
        self.write("CALIBRATE", "side strack\ntransport.max_cwnd = 1 BDP | 2 BDP | 4 BDP\ntry transport.max_cwnd=4 BDP\n")
        self.good("calibrate", "--points", "2", "--rounds", "0", "--confirm", "t.csv", "--named", "--only", "A",
                  "--results", "some", "--markdown", "c.md")
        self.assertTrue(list((self.folder / "some/full/A").glob("*4BDP-s1.db")))
        self.assertFalse((self.folder / "some/full/B").exists())
        self.assertIn("Point 1 is transport.max_cwnd = 4 BDP: ", (self.folder / "c.md").read_text())
        self.write("CALIBRATE", "side\n")
        self.assertIn("CALIBRATE:1: a side has a name", self.bad("calibrate"))

    def test_an_interrupted_search_leaves_its_table(self):
        search = ("calibrate", "--points", "2", "--rounds", "0", "--results", "r", "--jobs", "2")
        self.write("CALIBRATE", "side strack\ntransport.max_cwnd = 1 BDP | 2 BDP\n")
        self.good(*search)
        table = self.folder / "r/runs-quick.csv"
        whole = table.read_text()
        table.unlink()
        made = len(list((self.folder / "r/A").glob("*.db")))
        self.write("A.toml", ROW.replace('axes = {"workload.size" = ["100 KB"]}', 'axes = {"workload.size" = ["100 KB", "400 MB"]}'))
        # `timeout` sends SIGINT to the program and then to its group, so that it comes twice.
        said = self.interrupted("r/A", made + 2, *search, times=2)
        self.assertRegex(said, rf"{made} of {2 * made} runs are done; the same command goes on from here\nr/runs-quick\.csv\n$")
        self.assertEqual(table.read_text(), whole)

    def test_the_program_carries_its_rows(self):
        shutil.rmtree(self.folder / "scenarios")
        said = self.good("run", "--scale", "full", "--dry-run")
        self.assertIn("P400 ", said)
        # Who only looks leaves nothing behind.
        self.assertFalse((self.folder / "results").exists())
        self.assertIn("leave --rows out", self.bad("run", "--rows", "nowhere"))

    def test_a_changed_row_is_run_anew_and_only_that(self):
        self.good("run")
        self.write("A.toml", ROW.replace('size = "200 KB"', 'size = "200 KB"\nstart_us = 1'))
        left_out = self.strack("report")
        self.assertIn("holds another scenario", left_out.stderr)
        self.assertNotIn("already", self.good("run"))
        # Judging otherwise is no reason to run again.
        self.write("A.toml", ROW.replace('size = "200 KB"', 'size = "200 KB"\nstart_us = 1')
                   .replace("[16, 16]", "[99, 99]"))
        self.assertIn("2 of them there already", self.good("run"))
        self.assertRegex(self.good("status"), r"not +16 +\(paper 16\)")

    def interrupted(self, folder, results, *words, times=1):
        """What a command says that gets SIGINT so many times, 50 ms apart, once there are so many results in a folder."""
        process = subprocess.Popen([PROGRAM, "paper", *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 60
        while len(list((self.folder / folder).glob("*.db"))) < results and time.monotonic() < deadline:
            time.sleep(0.01)
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.05)
        said, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, said + errors)
        return said

    def test_ctrl_c_and_on(self):
        self.write("A.toml", ROW.replace('"200 KB"]', '"40 MB"]').replace("inspect = 1", ""))
        said = self.interrupted("results/paper-full/A", 1, "run", "--scale", "full", "--jobs", "1")
        self.assertIn("the same command goes on from here", said)
        self.assertIn("missing", json.dumps(self.page_after_report()))

    def page_after_report(self):
        """Whatever is there can be reported; with nothing complete that is an error."""
        done = self.strack("report", "--scale", "full")
        if done.returncode == 2:
            self.assertIn("no results of these rows", done.stderr)
            return "missing"
        return self.page("results/paper-full/report.html")["notices"]

    def test_the_validation_page_is_what_its_table_says(self):
        done = self.strack("report", "--scale", "full", "--rows", str(ROOT / "scenarios/paper"), "--from",
                           str(ROOT / "docs/validation.csv"), "--markdown", "v.md")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for line in done.stderr.splitlines():
            self.assertRegex(line, r"^warning: [A-Z0-9-]+: seed \d+ has \d+ of its \d+ runs, and counts when it has all$")
        # Names of columns and of settings are for programs.
        words = re.sub(r"`[^`]*`|\]\([^)]*\)|https?://\S+", "", (self.folder / "v.md").read_text())
        self.assertEqual(re.findall(r"\b[a-z]+_[a-z_]+\b", words), [])
        self.assertEqual((self.folder / "v.md").read_text(), (ROOT / "docs/validation.md").read_text(),
                         "docs/validation.md is out of date: strack paper report --scale full "
                         "--from docs/validation.csv --markdown docs/validation.md")

    def test_mistakes(self):
        self.assertIn("there is no row Z. the rows are A", self.bad("run", "Z"))
        self.assertIn("the scales are full, quick", self.bad("run", "--scale", "huge"))
        self.assertIn("there is no such folder", self.bad("run", "--rows", "nowhere"))
        self.assertIn("no results of these rows", self.bad("report"))
        self.write("A.toml", ROW.replace("group =", "grup ="))
        self.assertRegex(self.bad("status"), r"A.toml:\d+: ")
        self.write("A.toml", ROW.replace("SELECT seed, min(flows_done)", "SELECT sed, flowsdone"))
        self.assertIn("no such column", self.bad("status"))
        self.write("A.toml", ROW)
        self.good("run")
        (self.folder / "notes.html").write_text("my notes")
        self.assertIn("notes.html", self.bad("report", "--out", "notes.html"))
        self.assertEqual((self.folder / "notes.html").read_text(), "my notes")

    def test_a_damaged_result_is_named_and_the_others_are_shown(self):
        self.good("run")
        damaged = self.folder / "results/paper-quick/A/strack-100KB-s1.db"
        damaged.write_bytes(damaged.read_bytes()[:5000])
        done = self.strack("report")
        self.assertEqual(done.returncode, 0)
        self.assertIn("strack-100KB-s1.db", done.stderr)
        page = self.page("results/paper-quick/report.html")
        self.assertTrue(any("strack-100KB-s1.db" in n["text"] for n in page["notices"]))
        self.assertEqual(len(page["runs"]), 1)

    def result(self, scheme="strack"):
        return self.folder / f"results/paper-quick/A/{scheme}-100KB-s1.db"

    def test_a_damaged_result_is_made_anew_and_what_is_none_is_in_the_way_of_its_run_only(self):
        self.good("run")
        damaged = self.result()
        damaged.write_bytes(damaged.read_bytes()[:5000])
        for words in (("run", "--dry-run"), ("run",)):
            done = self.strack(*words)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertRegex(done.stderr, r"^warning: results/paper-quick/A/strack-100KB-s1\.db: is damaged \(.*\), so the run is made anew\n$")
        self.assertIn("all 2 runs are done", done.stdout)
        self.good("run", "--quiet")

        self.result().write_text("garbage\n")
        self.result("rocev2").unlink()
        said = self.bad("run", status=1)
        self.assertIn("strack-100KB-s1.db: is not a result file of strack. delete it, or choose another --results\n", said)
        self.assertIn("error: 1 of 2 runs failed; the same command tries them again\n", said)
        self.assertTrue(self.result("rocev2").exists())
        self.assertEqual(self.result().read_text(), "garbage\n")
        # A search goes past what is damaged, too.
        self.write("CALIBRATE", "side strack\ntransport.max_cwnd = 1 BDP | 2 BDP\n")
        search = ("calibrate", "--points", "2", "--rounds", "0")
        self.good(*search)
        point = next((self.folder / "results/paper-calibrate/A").glob("strack*1BDP*.db"))
        point.write_bytes(point.read_bytes()[:5000])
        done = self.strack(*search)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r"^warning: .*BDP-s1\.db: is damaged \(.*\), so the run is made anew\n$")

    def test_a_run_that_has_not_finished_counts_for_nobody(self):
        self.write("A.toml", ROW + "\n[run]\nend_ms = 0.006\n")
        for words in (("run",), ("run",)):  # it would end so again, so it is not made again
            said = self.bad(*words, status=1)
            self.assertRegex(said, r"strack-100KB-s1\.db: the run has not finished \(time limit\), so it does not count, and would end so again\. delete ")
            self.assertIn("error: 2 of 2 runs ended unfinished\n", said)
        self.assertRegex(self.strack("status").stdout, r"A +0/2 +open")
        made = self.result().stat().st_mtime_ns
        dry = self.strack("run", "--dry-run")
        self.assertIn("0 of 2 runs at the quick scale are missing", dry.stdout)
        self.assertIn("has not finished (time limit)", dry.stderr)
        self.assertEqual(self.result().stat().st_mtime_ns, made)

    def test_tables_that_are_none_are_refused(self):
        self.write("CALIBRATE", "side strack\ntransport.max_cwnd = 1 BDP | 2 BDP\n")
        (self.folder / "empty.csv").write_text("")
        (self.folder / "garbage.csv").write_text("garbage,here\n1,2\n")
        for command in (("run",), ("calibrate", "--points", "2")):
            self.assertIn("empty.csv: holds no table. a table of runs is what `strack paper run --table` writes",
                          self.bad(*command, "--have", "empty.csv"))
            self.assertIn("garbage.csv:1: there is no column row", self.bad(*command, "--have", "garbage.csv"))
            self.assertIn("there is no column scenario", self.bad(*command, "--have", str(ROOT / "docs/validation.csv")))
        self.assertFalse((self.folder / "results").exists())

        self.good("run", "--table", "t.csv")
        with open(self.folder / "t.csv", encoding="utf-8") as file:
            lines = list(csv.reader(file))

        def table(name, **cells):
            changed = [list(line) for line in lines]
            for column, value in cells.items():
                changed[1][lines[0].index(column)] = value
            with open(self.folder / name, "w", encoding="utf-8", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(changed)
            return name

        for column, value in (("max_us", "nan"), ("max_us", "-5"), ("drops", "-1"), ("flows_done", "NaN")):
            for command in (("report", "--markdown", "v.md", "--from"), ("run", "--have"), ("calibrate", "--have")):
                self.assertIn(f'bad.csv:2: {column} is "{value}". it is a ', self.bad(*command, table("bad.csv", **{column: value})))
        self.assertIn("bad.csv:2: there is no row PXXX. the rows are A", self.bad("report", "--from", table("bad.csv", row="PXXX")))

        # What is taken is counted, and what is not.
        self.assertIn("t.csv: 2 of 2 runs are taken\n", self.good("run", "--results", "r", "--have", "t.csv"))
        said = self.good("run", "--results", "r", "--dry-run", "--have", table("other.csv", scenario="0123"))
        self.assertIn("other.csv: 1 of 2 runs is taken. 1 of other scenarios than the rows have now\n", said)
        said = self.good("run", "--results", "r", "--dry-run", "--have", table("old.csv", version="0/0"))
        self.assertIn("old.csv: 1 of 2 runs is taken. 1 of another version of the program\n", said)
        said = self.good("run", "--results", "r", "--dry-run", "--have", table("late.csv", status="time limit"))
        self.assertIn("late.csv: 1 of 2 runs is taken. 1 not finished\n", said)
        self.assertIn("1 of 2 runs at the quick scale are missing", said)
        done = self.strack("report", "--from", "late.csv", "--markdown", "v.md")
        self.assertEqual(done.stderr, "warning: late.csv: a run is not finished (time limit), so it is left out\n")
        said = self.good("calibrate", "--points", "2", "--rounds", "0", "--have", table("other.csv", scenario="0123", run="strack-2BDP-s1"))
        self.assertIn("other.csv: 2 runs\n", said)

    def test_calibrate_says_what_needs_the_papers_scale(self):
        for words in (("--only", "A"), ("--named",)):
            self.assertIn(f"{' '.join(words)} is about runs at the paper's scale, which --confirm asks for. add ", self.bad("calibrate", *words))
        self.assertFalse((self.folder / "results").exists())

    def test_a_report_of_nothing_leaves_nothing(self):
        shutil.rmtree(self.folder / "scenarios")
        self.assertIn("there are no results", self.bad("report", "--scale", "full", "--results", "nowhere"))
        self.assertFalse((self.folder / "nowhere").exists())


if __name__ == "__main__":
    unittest.main()
