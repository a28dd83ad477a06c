#!/usr/bin/env python3
"""`strack report` as a person meets it: pages whose numbers are those of the files, CSV, pictures, errors.

usage: report_test.py PROGRAM [unittest arguments]
"""

import base64
import csv
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import time
import unittest

from command import CommandTest, LONG, PROGRAM


SMALL = """
name = "small"
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
flows = 4
inspect = 2
"""

JOBS = """
name = "jobs"
[topology]
hosts = 16
hosts_per_rack = 4
[workload]
kind = "collective"
collective = "allreduce-ring"
size = "400 KB"
jobs = 4
ranks = 4
"""


class ReportTest(CommandTest):
    FILES = {"small.toml": SMALL, "jobs.toml": JOBS, "long.toml": LONG}
    PATIENCE = 300
    ERROR = r"\A(error: .*\n)+\Z"

    def run_small(self, out, *words):
        self.good("sim", "run", "small.toml", "--quiet", "--out", out, *words)

    def figure(self, data, ending):
        found = [f for s in data["sections"] for f in s["figures"] if f["id"].endswith(ending)]
        self.assertEqual(len(found), 1, ending)
        return found[0]

    def csv_rows(self, file):
        with open(self.folder / file, newline="") as lines:
            return list(csv.DictReader(lines))

    # --- one run ---

    def test_one_run_makes_a_page_beside_it(self):
        self.good("sim", "run", "small.toml", "--quiet")
        out = self.good("report", "results/small-strack-s1.db")
        self.assertEqual(out, "report: results/small-strack-s1.html\n")
        self.assertEqual(sorted(os.listdir(self.folder / "results")),
                         ["small-strack-s1.db", "small-strack-s1.html"])
        text = (self.folder / "results/small-strack-s1.html").read_text()
        self.assertIn("<title>small: STrack, 200 KB, seed 1</title>", text)
        # It fetches nothing.
        self.assertNotRegex(text, r'(src|href)="?https?:')
        data = self.page("results/small-strack-s1.html")
        self.assertEqual(data["format"], 1)
        self.assertEqual(data["notices"], [])
        self.assertEqual(data["made"]["command"], "strack report results/small-strack-s1.db")
        kinds = [f["kind"] for f in data["sections"][0]["figures"]]
        self.assertIn("fabric", kinds)
        self.assertIn("flow", kinds)
        ids = [f["id"] for s in data["sections"] for f in s["figures"]]
        self.assertEqual(len(ids), len(set(ids)))

    def test_numbers_are_those_of_the_file(self):
        self.run_small("a.db")
        self.good("report", "a.db", "--out", "a.html")
        data = self.page("a.html")
        run = data["runs"][0]
        largest, mean = self.rows("a.db", "SELECT max(fct_us), avg(fct_us) FROM fct")[0]
        self.assertAlmostEqual(run["max_us"], largest)
        self.assertAlmostEqual(run["mean_us"], mean, places=5)
        self.assertEqual(run["hash"], self.rows("a.db", "SELECT hash FROM run")[0][0])
        self.assertEqual(run["marks"],
                         self.rows("a.db", "SELECT value FROM counters WHERE name='marks'")[0][0])

        # Every step of the distribution.
        wanted = self.rows("a.db", "SELECT fct_us, max(c) FROM (SELECT fct_us, cume_dist() OVER "
                           "(ORDER BY fct_us) AS c FROM fct) GROUP BY fct_us ORDER BY fct_us")
        drawn = self.figure(data, "-cdf")["series"][0]["points"][1:]
        self.assertEqual(len(drawn), len(wanted))
        for (x, y), (us, share) in zip(drawn, wanted):
            self.assertAlmostEqual(x, us)
            self.assertAlmostEqual(y, share)

        # The deepest queue at each time; hosts' own links are not counted.
        wanted = dict(self.rows(
            "a.db", "SELECT time_ps / 1e6, max(qdelay_max_ps) / 1e6 FROM link_samples JOIN links "
            "USING (link) WHERE from_node NOT LIKE 'host%' GROUP BY time_ps"))
        self.assertGreater(max(wanted.values()), 0)
        queues = self.figure(data, "-queues")
        for x, y in queues["series"][1]["points"]:
            self.assertAlmostEqual(y, wanted.get(x, 0))
        self.assertEqual(max(y for _, y in queues["series"][1]["points"]), max(wanted.values()))
        all_samples = set(self.rows("a.db", "SELECT time_ps / 1e6, qdelay_max_ps / 1e6 FROM "
                                    "link_samples"))
        self.assertLessEqual({tuple(p) for p in queues["series"][0]["points"]}, all_samples)

        # What was acknowledged, added up again.
        for series in self.figure(data, "-throughput")["series"]:
            flow = int(re.match(r"flow (\d+):", series["name"]).group(1))
            acked = 0
            before = 0
            for x, y in series["points"]:
                acked += y * (x - before) * 1000 / 8
                before = x
            self.assertAlmostEqual(
                acked, self.rows("a.db", f"SELECT sum(acked_bytes) FROM flow_samples WHERE "
                                 f"flow = {flow}")[0][0], delta=1)

    def test_the_fabric_is_that_of_the_file(self):
        self.run_small("a.db")
        self.good("report", "a.db", "--out", "a.html")
        variant = self.figure(self.page("a.html"), "-fabric")["variants"][0]
        self.assertEqual((variant["tors"], variant["spines"]), (4, 4))
        layers = {layer["id"]: layer for layer in variant["layers"]}
        self.assertEqual(set(layers), {"up-use", "up-queue", "down-use", "down-queue"})
        samples = self.rows("a.db", "SELECT time_ps, from_node, to_node, carried_bytes, "
                            "qdelay_max_ps, rate_bps FROM link_samples JOIN links USING (link) "
                            "WHERE from_node LIKE 'tor%' AND to_node LIKE 'spine%'")
        self.assertGreater(len(samples), 10)
        use = base64.b64decode(layers["up-use"]["data"])
        queue = base64.b64decode(layers["up-queue"]["data"])
        self.assertEqual(len(use), len(variant["times"]) * 16)
        spans = {t: t - b for b, t in zip([0] + variant["times"], variant["times"])}
        for time_ps, tor, spine, carried, qdelay, rate in samples:
            at = time_ps / 1e6
            cell = (variant["times"].index(at) * 16 + int(tor.split()[1]) * 4 +
                    int(spine.split()[1]))
            share = min(carried * 8 / (rate * spans[at] * 1e-6), 1)
            self.assertAlmostEqual(use[cell] / 255, share, delta=0.5 / 255 + 1e-6)
            self.assertAlmostEqual(queue[cell] / 255 * layers["up-queue"]["max"], qdelay / 1e6,
                                   delta=layers["up-queue"]["max"] * 0.51 / 255)

    def test_the_inspector_has_every_event(self):
        self.run_small("a.db")
        self.good("report", "a.db", "--out", "a.html")
        flows = self.figure(self.page("a.html"), "-flows")["flows"]
        self.assertEqual(len(flows), 2)
        wanted = self.rows("a.db", "SELECT time_ps / 1e6, name, psn, path, ecn, rtt_ps, cwnd_bytes "
                           "FROM flow_events JOIN event_kinds USING (kind) WHERE flow = 0 "
                           "ORDER BY flow_events.rowid")
        events = flows[0]["events"]
        self.assertGreater(len(wanted), 50)
        self.assertEqual(len(events["t"]), len(wanted))
        for i, (us, kind, psn, path, ecn, rtt, cwnd) in enumerate(wanted):
            self.assertAlmostEqual(events["t"][i], us, delta=0.0006)
            self.assertEqual(flows[0]["kinds"][events["kind"][i]], kind)
            self.assertEqual(events["psn"][i], psn)
            self.assertEqual(events["path"][i], path)
            self.assertEqual(events["cwnd"][i], cwnd)
            if rtt is not None:
                self.assertAlmostEqual(events["rtt"][i], rtt / 1e6, delta=0.0006)
            if ecn is not None:
                self.assertEqual(events["ecn"][i], ecn)

    # --- several ---

    def test_schemes_are_compared(self):
        for scheme in ("strack", "strack-oblivious", "rocev2"):
            for seed in ("1", "2", "3"):
                self.run_small(f"{scheme}-{seed}.db", "--set", f"transport.scheme={scheme}",
                               "--seed", seed)
        files = sorted(p.name for p in self.folder.glob("*.db"))
        self.assertEqual(self.good("report", *files), "report: report.html\n")
        data = self.page("report.html")
        self.assertEqual(len(data["runs"]), 9)
        bars = self.figure(data, "-bars")
        self.assertEqual(bars["categories"], ["max", "p99", "mean"])
        by_role = {series["role"]: series for series in bars["series"]}
        self.assertEqual(set(by_role), {"strack", "oblivious", "rocev2", "ideal"})
        largest = sorted(self.rows(f"strack-{seed}.db", "SELECT max(fct_us) FROM fct")[0][0]
                         for seed in (1, 2, 3))
        for name, value in zip(("low", "values", "high"), largest):
            self.assertAlmostEqual(by_role["strack"][name][0], value)
        self.assertEqual(len(self.figure(data, "small-fabric")["variants"]), 9)
        # Each run has a section with what it recorded.
        self.assertEqual(len(data["sections"]), 10)

    def test_sizes_make_a_curve(self):
        for size in ("50 KB", "200 KB"):
            for scheme in ("strack", "rocev2"):
                self.run_small(f"{scheme}-{size[:2]}.db", "--set", f"workload.size={size}", "--set",
                               f"transport.scheme={scheme}")
        self.good("report", "strack-50.db", "strack-20.db", "rocev2-50.db", "rocev2-20.db")
        curve = self.figure(self.page("report.html"), "-by-size")
        by_role = {series["role"]: series["points"] for series in curve["series"]}
        for x, file in ((50_000, "strack-50.db"), (200_000, "strack-20.db")):
            y = self.rows(file, "SELECT max(fct_us) FROM fct")[0][0]
            ideal = self.rows(file, "SELECT ideal_fct_ps / 1e6 FROM run")[0][0]
            self.assertAlmostEqual(dict(by_role["strack"])[x], y)
            self.assertAlmostEqual(dict(by_role["ideal"])[x], ideal)

    def test_jobs_have_their_times(self):
        self.good("sim", "run", "jobs.toml", "--quiet", "--out", "a.db")
        self.good("report", "a.db")
        data = self.page("a.html")
        wanted = self.rows("a.db", "SELECT time_us, cdf FROM job_times ORDER BY time_us")
        self.assertEqual(len(wanted), 4)
        drawn = self.figure(data, "-cdf")["series"][0]["points"]
        self.assertAlmostEqual(drawn[-1][0], wanted[-1][0])
        self.assertEqual(drawn[-1][1], 1)
        self.assertAlmostEqual(data["runs"][0]["max_us"], wanted[-1][0])

    # --- CSV ---

    def test_csv_has_the_numbers(self):
        self.run_small("a.db")
        out = self.good("report", "a.db", "--csv", "tables/of/a")
        figures = self.page("a.html")["sections"][0]["figures"]
        names = sorted(os.listdir(self.folder / "tables/of/a"))
        self.assertRegex(out, rf"\A{len(names)} CSV files: tables/of/a\nreport: a.html\n\Z")
        for figure in figures:
            self.assertIn(figure["id"] + ".csv", names)
        times = [float(row["FCT (us)"]) for row in self.csv_rows("tables/of/a/small-cdf.csv")]
        wanted = [us for us, in self.rows("a.db", "SELECT DISTINCT fct_us FROM fct ORDER BY 1")]
        self.assertEqual(times[1:], wanted)
        runs = self.csv_rows("tables/of/a/runs.csv")
        self.assertEqual(len(runs), 1)
        self.assertEqual(float(runs[0]["max_us"]), max(wanted))
        self.assertEqual(runs[0]["what"], "16 flows, 200 KB each")
        sent = [row for row in self.csv_rows("tables/of/a/small-flows.csv")
                if row["event"] == "sent"]
        self.assertEqual(len(sent), self.rows("a.db", "SELECT count(*) FROM flow_events JOIN "
                                              "event_kinds USING (kind) WHERE name = 'sent'")[0][0])
        self.assertEqual((self.folder / "tables/of/a/runs.csv").read_bytes().count(b"\r\n"), 2)

    # --- where it goes ---

    # --- what changed ---

    def test_two_runs_are_compared(self):
        self.run_small("a.db")
        self.run_small("b.db", "--set", "transport.max_paths=8")
        done = self.strack("diff", "a.db", "b.db")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertRegex(done.stdout, r"(?m)^transport\.max_paths +256 +8$")
        slowest = [self.rows(f, "SELECT max(fct_us) FROM fct")[0][0] for f in ("a.db", "b.db")]
        self.assertRegex(done.stdout, rf"(?m)^max FCT \(us\) +{slowest[0]:.1f} +{slowest[1]:.1f} +[+-].* % +differs$")
        self.assertIn("takes two seeds or more on both sides", done.stdout)
        self.assertEqual(self.good("sim", "diff", "a.db", "a.db").splitlines()[-1],
                         "results do not differ by more than seeds explain")

    def test_folders_of_seeds_are_compared(self):
        for side, more in (("a", ()), ("b", ("--set", "workload.size=400KB"))):
            self.good("sim", "sweep", "small.toml", "--seeds", "1-3", "--quiet", "--out", side, *more)
        done = self.strack("diff", "a", "b", "--json")
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        made = json.loads(done.stdout)
        self.assertEqual(made["settings"], [{"key": "workload.size", "a": "200 KB", "b": "400KB"}])
        (pair,) = made["pairs"]
        self.assertEqual([len(pair["a"]), len(pair["b"])], [3, 3])
        (worst,) = [f for f in pair["figures"] if f["name"] == "max FCT"]
        self.assertEqual(worst["change"], "beyond")
        self.assertGreater(worst["b"]["low"], worst["a"]["high"])
        self.assertEqual(worst["a"]["seeds"], 3)
        self.assertTrue(made["differs"])

    def test_what_cannot_be_compared_says_why(self):
        self.run_small("a.db")
        self.good("sim", "run", "jobs.toml", "--quiet", "--out", "jobs.db")
        self.assertIn("a.db is a run of flows, jobs.db one of jobs", self.bad("diff", "a.db", "jobs.db"))
        self.assertIn("`strack diff A B` takes two",
                      self.bad("diff", "a.db"))
        (self.folder / "empty").mkdir()
        self.assertIn("empty: there are no result files (.db)", self.bad("diff", "a.db", "empty"))
        self.assertIn("nothing.db", self.bad("diff", "a.db", "nothing.db"))

    def test_only_reports_are_replaced(self):
        self.run_small("a.db")
        self.good("report", "a.db", "--out", "x/page.html", "--title", "First")
        self.good("report", "a.db", "--out", "x/page.html", "--title", "A </title> & <b>")
        self.assertIn("<title>A &lt;/title> &amp; &lt;b></title>",
                      (self.folder / "x/page.html").read_text())
        self.assertEqual(self.page("x/page.html")["title"], "A </title> & <b>")
        (self.folder / "mine.html").write_text("mine")
        self.assertIn("mine.html: exists already, and is not a report",
                      self.bad("report", "a.db", "--out", "mine.html"))
        for name in ("a.db", "./a.db"):
            self.assertIn("a.db: is one of the result files",
                          self.bad("report", "a.db", "--out", name, "--force"))
        self.assertEqual((self.folder / "mine.html").read_text(), "mine")
        self.good("report", "a.db", "--out", "mine.html", "--force")
        self.page("mine.html")
        self.assertIn("x: is a folder", self.bad("report", "a.db", "--out", "x"))
        self.assertEqual(os.listdir(self.folder / "x"), ["page.html"])

    def test_no_room_leaves_nothing_half_written(self):
        self.run_small("a.db")

        def small_files():
            resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

        before = sorted(os.listdir(self.folder))
        said = self.bad("report", "a.db", status=1, preexec_fn=small_files)
        self.assertIn("a.html: the file has reached the largest size", said)
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    # --- files that are not whole ---

    def test_an_interrupted_run_is_shown_and_says_so(self):
        process = subprocess.Popen([PROGRAM, "sim", "run", "long.toml", "--out", "a.db"],
                                   cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        for _ in range(1200):
            time.sleep(0.05)
            try:
                if self.rows("a.db", "SELECT count(*) FROM flows")[0][0] > 0:
                    break
            except sqlite3.Error:
                pass
        self.good("report", "a.db", "--out", "live.html")
        self.assertIn("the run is still going on", self.page("live.html")["notices"][0]["text"])
        process.send_signal(signal.SIGINT)
        process.wait(60)
        self.good("report", "a.db", "--out", "cut.html")
        data = self.page("cut.html")
        self.assertRegex(data["notices"][0]["text"],
                         r"\Aa.db: partial: the run was interrupted at .* unfinished")
        self.assertTrue(data["runs"][0]["partial"])
        self.assertEqual(data["runs"][0]["status"], "partial: interrupted")

    def test_files_that_cannot_be_read_are_named(self):
        self.run_small("good.db")
        whole = (self.folder / "good.db").read_bytes()
        newer = bytearray(whole)
        newer[60:64] = struct.pack(">i", 99)
        (self.folder / "newer.db").write_bytes(newer)
        (self.folder / "corrupt.db").write_bytes(whole[:4096] + b"Z" * (len(whole) - 4096))
        (self.folder / "empty.db").write_bytes(b"")
        (self.folder / "text.db").write_text("hello " * 1000)
        expected = {"newer.db": "was written by a newer strack", "corrupt.db": "is damaged",
                    "empty.db": "is empty", "text.db": "is not a result file of strack",
                    "missing.db": "there is no such file"}
        for name, says in expected.items():
            with self.subTest(name):
                said = self.bad("report", name)
                self.assertRegex(said, rf"\Aerror: {re.escape(name)}: .*{says}")
                self.assertFalse((self.folder / name).with_suffix(".html").exists())
        # The others are still shown, and the page says what is missing.
        done = self.strack("report", *expected, "good.db")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "report: good.html\n")
        self.assertEqual(len(done.stderr.splitlines()), len(expected))
        data = self.page("good.html")
        self.assertEqual(len(data["runs"]), 1)
        self.assertEqual([n["text"].split(":")[0] for n in data["notices"]], list(expected))

    def test_names_are_only_text(self):
        (self.folder / "odd.toml").write_text(
            SMALL.replace('"small"', '"</script><script>alert(1)</script>"'))
        self.good("sim", "run", "odd.toml", "--quiet", "--out", "a b,'c'.db")
        self.good("report", "a b,'c'.db", "--csv", "csv")
        text = (self.folder / "a b,'c'.html").read_text()
        self.assertNotIn("<script>alert", text)
        self.assertEqual(self.page("a b,'c'.html")["runs"][0]["name"],
                         "</script><script>alert(1)</script>")
        for name in os.listdir(self.folder / "csv"):
            self.assertRegex(name, r"\A[A-Za-z0-9_.-]+\.csv\Z")

    # --- pictures ---

    def test_without_a_browser_it_says_how_to_get_one(self):
        self.run_small("a.db")
        environment = {k: v for k, v in os.environ.items() if k != "CHROMIUM"}
        environment["PATH"] = str(self.folder)
        said = self.bad("report", "a.db", "--png", "png", env=environment)
        self.assertIn("apt-get install chromium", said)
        environment["CHROMIUM"] = "/nonexistent"
        self.assertIn("$CHROMIUM is /nonexistent",
                      self.bad("report", "a.db", "--png", "png", env=environment))
        self.assertFalse((self.folder / "a.html").exists())

    @unittest.skipUnless(os.environ.get("CHROMIUM") or shutil.which("chromium") or
                         shutil.which("google-chrome"), "there is no Chromium here")
    def test_every_figure_becomes_a_picture(self):
        self.good("sim", "run", "jobs.toml", "--quiet", "--out", "a.db")
        self.good("sim", "run", "jobs.toml", "--quiet", "--out", "b.db", "--seed", "2")
        left = set(pathlib.Path(tempfile.gettempdir()).glob("strack-png-*"))
        out = self.good("report", "a.db", "b.db", "--png", "pictures of it")
        figures = [f["id"] for s in self.page("report.html")["sections"] for f in s["figures"]]
        self.assertEqual(out, f"{len(figures)} pictures: pictures of it\nreport: report.html\n")
        self.assertEqual(sorted(os.listdir(self.folder / "pictures of it")),
                         sorted(f"{figure}.png" for figure in figures))
        for figure in figures:
            image = (self.folder / "pictures of it" / f"{figure}.png").read_bytes()
            self.assertEqual(struct.unpack(">II", image[16:24]), (1920, 1200))
            self.assertGreater(len(image), 5_000)  # a blank one is smaller
        self.assertEqual(set(pathlib.Path(tempfile.gettempdir()).glob("strack-png-*")), left)

    def browser(self, script):
        """The environment in which `$CHROMIUM` is a program of ours."""
        program = self.folder / "browser"
        program.write_text("#!/bin/sh\n" + script)
        program.chmod(0o755)
        return {**os.environ, "CHROMIUM": str(program)}

    @unittest.skipUnless(os.environ.get("CHROMIUM") or shutil.which("chromium") or
                         shutil.which("google-chrome"), "there is no Chromium here")
    def test_a_message_is_no_picture(self):
        self.good("sim", "run", "jobs.toml", "--quiet", "--out", "a.db")
        real = (os.environ.get("CHROMIUM") or shutil.which("chromium") or
                shutil.which("google-chrome"))
        # A real browser that asks the page for a figure it does not have.
        environment = self.browser(f"""for word; do shift
case $word in *'#export='*) word="${{word%%#*}}#export=nothing";; esac
set -- "$@" "$word"; done
exec '{real}' "$@"
""")
        said = self.bad("report", "a.db", "--png", "png", status=1, env=environment)
        self.assertIn('a.html: there is no picture of figure jobs-network: the report has no figure '
                      '"nothing"', said)
        self.assertEqual(os.listdir(self.folder / "png"), [])

    def test_a_browser_that_shows_nothing_is_named(self):
        self.good("sim", "run", "jobs.toml", "--quiet", "--out", "a.db")
        picture = ('for word; do case $word in --screenshot=*) '
                   'printf "\\211PNG\\r\\n\\032\\n" > "${word#*=}";; esac; done\n')
        for script, says in ((picture, "did not show the page"),
                             (picture + "echo '<html lang=\"en\">'\n", "was not drawn in time"),
                             ("echo it broke\nexit 3\n", "could not draw figure jobs-network: it broke")):
            with self.subTest(says):
                said = self.bad("report", "a.db", "--png", "png", status=1,
                                env=self.browser(script))
                self.assertIn(says, said)
                self.assertEqual(os.listdir(self.folder / "png"), [])


if __name__ == "__main__":
    unittest.main(verbosity=1)
