#!/usr/bin/env python3
"""`strack sim` as a person meets it: results, errors, Ctrl-C, crashes, full disks, sweeps.

usage: sim_test.py PROGRAM [unittest arguments]
"""

import csv
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import sqlite3
import subprocess
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
"""


class SimTest(CommandTest):
    FILES = {"small.toml": SMALL, "long.toml": LONG}

    def bad(self, *words, **options):
        """The first line of it."""
        return super().bad(*words, **options).splitlines()[0]

    def start(self, *words):
        """A process of ours in the background."""
        process = subprocess.Popen([PROGRAM, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def wait_until(self, condition, what):
        for _ in range(1200):
            if condition():
                return
            time.sleep(0.05)
        self.fail(f"timed out: {what}")

    def flows_in(self, file):
        """Committed so far, seen from outside."""
        try:
            return self.rows(file, "SELECT count(*) FROM flows")[0][0]
        except sqlite3.Error:
            return 0

    def check_integrity(self, file):
        self.assertEqual(self.rows(file, "PRAGMA integrity_check"), [("ok",)])

    # --- run ---

    def test_run_writes_results_and_names_the_file_last(self):
        out = self.good("sim", "run", "small.toml")
        self.assertRegex(out, r"\Asmall: strack, seed 1, 16 hosts, 16 flows, 3.2 MB in all\n")
        self.assertRegex(out, r"max FCT +\d+\.\d +\d+\.\d{3}\n")
        self.assertEqual(out.splitlines()[-1], "results: results/small-strack-s1.db")
        self.assertEqual(os.listdir(self.folder / "results"), ["small-strack-s1.db"])
        file = "results/small-strack-s1.db"
        self.check_integrity(file)
        self.assertEqual(self.rows(file, "SELECT status, seed, name, flows FROM run"),
                         [("finished", 1, "small", 16)])
        self.assertGreaterEqual(self.rows(file, "SELECT max(slowdown) FROM fct")[0][0], 1)
        self.assertEqual(self.flows_in(file), 16)

    def test_run_takes_overrides_seed_and_out(self):
        self.good("sim", "run", "small.toml", "--set", "topology.hosts=8", "--set",
                  "transport.scheme=strack-oblivious", "--seed", "7", "--out", "a/b/c.db")
        self.assertEqual(self.rows("a/b/c.db", "SELECT scheme, seed, hosts FROM run"),
                         [("strack-oblivious", 7, 8)])

    def test_the_scenario_in_a_result_repeats_the_run(self):
        self.good("sim", "run", "small.toml", "--seed", "3", "--out", "a.db")
        self.write("again.toml", self.rows("a.db", "SELECT scenario FROM run")[0][0])
        self.good("sim", "run", "again.toml", "--out", "b.db")
        hashes = [self.rows(f, "SELECT hash, seed FROM run") for f in ("a.db", "b.db")]
        self.assertEqual(hashes[0], hashes[1])

    def test_threads_change_nothing(self):
        self.good("sim", "run", "small.toml", "--out", "a.db")
        self.good("sim", "run", "small.toml", "--out", "b.db", "--threads", "3")
        hashes = [self.rows(f, "SELECT hash FROM run") for f in ("a.db", "b.db")]
        self.assertEqual(hashes[0], hashes[1])

    def test_quiet_says_nothing(self):
        self.assertEqual(self.good("sim", "run", "small.toml", "--quiet"), "")

    def test_time_series_are_recorded_as_asked(self):
        self.good("sim", "run", "small.toml", "--out", "a.db", "--set", "record.interval_us=2",
                  "--set", "record.queues=true", "--set", "record.links=true", "--set",
                  "record.flows=2")
        self.assertGreater(self.rows("a.db", "SELECT count(*) FROM link_samples")[0][0], 0)
        self.assertEqual(self.rows("a.db", "SELECT DISTINCT flow FROM flow_samples ORDER BY flow"),
                         [(0,), (1,)])
        # Every sample's link has a name.
        self.assertEqual(self.rows("a.db", "SELECT count(*) FROM link_samples "
                                   "WHERE link NOT IN (SELECT link FROM links)"), [(0,)])
        self.assertEqual(self.rows("a.db", "SELECT count(*) FROM links"),
                         self.rows("a.db", "SELECT links FROM run"))

    def test_inspected_flows_have_every_event(self):
        self.good("sim", "run", "small.toml", "--out", "a.db", "--set", "record.inspect=2")
        # Without an interval there are no samples, and no links to go with them.
        self.assertEqual(self.rows("a.db", "SELECT (SELECT count(*) FROM links), "
                                   "(SELECT count(*) FROM flow_samples)"), [(0, 0)])
        sent = self.rows("a.db", "SELECT flow, count(*) FROM flow_log "
                         "WHERE event IN ('sent', 'resent') GROUP BY flow")
        self.assertEqual(sent, self.rows("a.db", "SELECT flow, packets FROM flows WHERE flow < 2"))
        self.assertEqual(self.rows("a.db", "SELECT count(*) FROM flow_log WHERE event = 'ack' "
                                   "AND (rtt_us IS NULL OR path IS NULL OR ecn IS NULL)"), [(0,)])
        # Nothing of the run depends on whether somebody looks.
        self.good("sim", "run", "small.toml", "--out", "b.db")
        self.assertEqual(self.rows("a.db", "SELECT hash FROM run"),
                         self.rows("b.db", "SELECT hash FROM run"))
        self.assertEqual(self.rows("b.db", "SELECT count(*) FROM flow_events"), [(0,)])

    def test_only_the_links_asked_for_are_sampled(self):
        self.good("sim", "run", "small.toml", "--out", "a.db", "--set", "record.interval_us=2",
                  "--set", "record.links=true", "--set", "record.tier=last-hop")
        self.assertEqual(self.rows("a.db", "SELECT DISTINCT substr(from_node, 1, 4), "
                                   "substr(to_node, 1, 5) FROM link_samples JOIN links "
                                   "USING (link)"), [("tor ", "host ")])
        self.assertGreater(self.rows("a.db", "SELECT sum(arrived_bytes) FROM link_samples")[0][0], 0)

    def test_unfinished_flows_are_loud(self):
        out = self.good("sim", "run", "small.toml", "--out", "a.db", "--set", "run.end_ms=0.005")
        self.assertIn("STOPPED at its time limit", out)
        self.assertIn("16 of 16 flows are UNFINISHED", out)
        self.assertEqual(self.rows("a.db", "SELECT status FROM run"), [("time limit",)])

    # --- mistakes ---

    def test_mistakes_are_explained(self):
        self.assertIn("missing.toml", self.bad("sim", "run", "missing.toml"))
        self.assertIn("hots in [topology]. did you mean hosts?",
                      self.bad("sim", "run", "small.toml", "--set", "topology.hots=3"))
        self.assertIn("--seed", self.bad("sim", "run", "small.toml", "--seed", "tuesday"))
        self.assertIn("--threads", self.bad("sim", "run", "small.toml", "--threads", "0"))
        self.assertIn("FILE is required", self.bad("sim", "run"))
        self.assertIn("no command given", self.bad("sim"))
        self.assertIn("--frobnicate", self.bad("sim", "run", "small.toml", "--frobnicate"))
        self.assertEqual(sorted(os.listdir(self.folder)), ["long.toml", "small.toml"])

    def test_an_existing_file_is_kept(self):
        self.good("sim", "run", "small.toml", "--out", "a.db", "--quiet")
        before = (self.folder / "a.db").read_bytes()
        self.assertEqual(self.bad("sim", "run", "small.toml", "--out", "a.db", "--seed", "2"),
                         "error: a.db: exists already. choose another --out, or --force to "
                         "replace it")
        self.assertEqual((self.folder / "a.db").read_bytes(), before)
        self.good("sim", "run", "small.toml", "--out", "a.db", "--seed", "2", "--force")
        self.assertEqual(self.rows("a.db", "SELECT seed FROM run"), [(2,)])

    def test_force_spares_what_is_no_result(self):
        self.assertIn("small.toml: is not a result file",
                      self.bad("sim", "run", "small.toml", "--out", "small.toml", "--force"))
        self.assertEqual((self.folder / "small.toml").read_text(), SMALL)

    def test_an_out_that_cannot_be_is_explained(self):
        self.assertIn("is a folder", self.bad("sim", "run", "small.toml", "--out", "."))
        self.assertIn("its folder cannot be made",
                      self.bad("sim", "run", "small.toml", "--out", "small.toml/a.db"))
        self.assertIn("choose another --out",
                      self.bad("sim", "run", "small.toml", "--out", "/proc/a.db"))

    def test_a_full_disk_is_explained(self):
        disk = self.folder / "disk"
        disk.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", disk],
                                 capture_output=True, check=False)
        if mounted.returncode != 0:
            self.skipTest("not allowed to mount a small disk")
        try:
            message = self.bad("sim", "run", "long.toml", "--out", "disk/a.db")
            self.assertEqual(message, "error: disk/a.db: the disk is full. free some space or "
                             "choose another --out")
            summary = self.good("sim", "summary", "disk/a.db")
            self.assertIn("PARTIAL", summary)
            self.assertEqual(self.rows("disk/a.db", "SELECT status FROM run"), [("partial: disk full",)])
            with open(disk / "ballast", "wb", buffering=0) as ballast, \
                    self.assertRaises(OSError):
                while True:
                    ballast.write(b"x" * 4096)
            message = self.bad("sim", "run", "small.toml", "--out", "disk/b.db")
            self.assertIn("disk/b.db: the disk is full", message)
            self.assertNotIn("b.db", os.listdir(disk))
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_a_file_size_limit_is_explained(self):
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

        message = self.bad("sim", "run", "long.toml", "--out", "a.db", preexec_fn=limit)
        self.assertIn("a.db: the file has reached the largest size allowed here", message)
        self.assertIn("PARTIAL", self.good("sim", "summary", "a.db"))
        self.assertEqual(self.rows("a.db", "SELECT status FROM run"), [("partial: disk full",)])

    def test_a_folder_that_cannot_be_written_is_said_once(self):
        """Root may write anywhere but where nothing can be written."""
        self.good("sim", "run", "small.toml", "--out", "disk/a.db", "--quiet")
        disk = self.folder / "disk"
        made = [["mount", "--bind", disk, disk], ["mount", "-o", "remount,bind,ro", disk]]
        if subprocess.run(made[0], capture_output=True, check=False).returncode != 0:
            self.skipTest("not allowed to mount")
        try:
            if subprocess.run(made[1], capture_output=True, check=False).returncode != 0:
                self.skipTest("not allowed to mount read-only")
            message = self.bad("sim", "run", "small.toml", "--out", "disk/b.db")
            self.assertEqual(message, "error: disk/b.db: Read-only file system. choose another --out")
            message = self.bad("sim", "run", "small.toml", "--out", "disk/a.db", "--force")
            self.assertEqual(message,
                             "error: disk/a.db: cannot be replaced: Read-only file system. choose another --out")
        finally:
            subprocess.run(["umount", disk], check=True)

    # --- stopping ---

    def kept(self, *more):
        """A run that was stopped late enough to be gone on with."""
        process = self.start("sim", "run", "long.toml", "--out", "a.db", *more)
        self.wait_until(lambda: self.flows_in("a.db") > 0, "no flow was committed")
        time.sleep(2.5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130, out + err)
        self.assertTrue((self.folder / "a.db.checkpoint").exists(), out + err)
        return out

    def test_what_was_stopped_exports_when_it_is_done(self):
        """[D124] The same command needs no other word, and --force does not throw away what was done."""
        self.write("long.toml", LONG.replace("50000", "30000"))
        out = self.kept("--perfetto", "t.json")
        self.assertIn("written when the run has come to its end", out)
        self.assertFalse((self.folder / "t.json").exists())
        done = self.strack("sim", "run", "long.toml", "--out", "a.db", "--perfetto", "t.json", "--force")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("note: goes on at ", done.stderr)
        self.assertIn("timeline: t.json", done.stdout)
        self.assertTrue(json.loads((self.folder / "t.json").read_text())["traceEvents"])
        self.assertFalse((self.folder / "a.db.checkpoint").exists())

    def test_a_checkpoint_that_cannot_be_used_is_explained_once(self):
        self.kept()
        subprocess.run(["mount", "--bind", self.folder, self.folder], capture_output=True, check=False)
        if subprocess.run(["mount", "-o", "remount,bind,ro", self.folder], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("not allowed to mount read-only")
        try:
            done = self.strack("sim", "run", "long.toml", "--out", "a.db")
        finally:
            subprocess.run(["umount", self.folder], check=True)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertNotIn("starts anew", done.stderr)
        self.assertIn("read-only", done.stderr)
        self.assertTrue((self.folder / "a.db.checkpoint").exists())

    def test_minutes_between_checkpoints_are_a_number(self):
        for wrong in ("nan", "inf", "-1", "soon"):
            self.assertIn("--checkpoint", self.bad("sim", "run", "small.toml", "--checkpoint", wrong))

    def stopped_by(self, number):
        process = self.start("sim", "run", "long.toml", "--out", "a.db")
        self.wait_until(lambda: self.flows_in("a.db") > 0, "no flow was committed")
        process.send_signal(number)
        asked = time.monotonic()
        out, err = process.communicate(timeout=60)
        self.assertLess(time.monotonic() - asked, 20)
        return process.returncode, out, err

    def test_ctrl_c_leaves_a_partial_file(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            status, out, err = self.stopped_by(number)
            self.assertEqual(status, 130, out + err)
            self.assertEqual(err, "")
            self.assertIn("!! a.db: PARTIAL: interrupted at", out)
            self.assertIn("results: a.db", out.splitlines())  # where it took seconds, a line says how to go on
            self.check_integrity("a.db")
            self.assertEqual(self.rows("a.db", "SELECT status FROM run"),
                             [("partial: interrupted",)])
            self.assertFalse((self.folder / "a.db-wal").exists())
            # Flows that were on their way are there, without an end.
            self.assertGreater(
                self.rows("a.db", "SELECT count(*) FROM flows WHERE end_ps IS NULL")[0][0], 0)
            self.assertIn("UNFINISHED", self.good("sim", "summary", "a.db"))
            (self.folder / "a.db").unlink()

    def test_kill_leaves_a_readable_partial_file(self):
        status, _, _ = self.stopped_by(signal.SIGKILL)
        self.assertEqual(status, -signal.SIGKILL)
        summary = self.good("sim", "summary", "a.db")
        self.assertIn("PARTIAL: the program died", summary)
        self.assertIn("UNFINISHED", summary)
        self.check_integrity("a.db")
        self.assertGreater(self.flows_in("a.db"), 0)
        # Nobody holds it any more.
        self.good("sim", "run", "small.toml", "--out", "a.db", "--force", "--quiet")
        self.assertEqual(self.rows("a.db", "SELECT name, status FROM run"),
                         [("small", "finished")])

    def test_a_run_can_be_watched_and_is_not_overrun(self):
        process = self.start("sim", "run", "long.toml", "--out", "a.db")
        self.wait_until(lambda: self.flows_in("a.db") > 0, "no flow was committed")
        self.assertIn("STILL RUNNING", self.good("sim", "summary", "a.db"))
        self.assertIn("another run is writing it",
                      self.bad("sim", "run", "small.toml", "--out", "a.db", "--force"))
        # With --fresh, too, and no word of --force that would not help.
        for word in ("--fresh", "--quiet"):
            self.assertEqual(self.bad("sim", "run", "long.toml", "--out", "a.db", word),
                             "error: a.db: another run is writing it. wait for it or choose another --out")
        self.assertIsNone(process.poll())

    # --- progress ---

    def on_terminal(self, seconds, *words, terminal="xterm"):
        """What a person sees in the first seconds, and the status after Ctrl-C."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.environ["TERM"] = terminal
            os.execv(PROGRAM, [PROGRAM, *words])
        seen = b""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if select.select([fd], [], [], 0.1)[0]:
                try:
                    seen += os.read(fd, 65536)
                except OSError:
                    break
        os.write(fd, b"\x03")
        while True:
            try:
                more = os.read(fd, 65536)
            except OSError:
                break
            if not more:
                break
            seen += more
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.close(fd)
        return seen.decode(), status

    def test_progress_on_a_terminal(self):
        seen, status = self.on_terminal(4.5, "sim", "run", "long.toml", "--out", "a.db")
        self.assertEqual(status, 130, seen)
        self.assertRegex(seen, r"\r\x1b\[K[0-9.]+ [um]s  \d+ of \d+ flows  \d+\.\d % of bytes  "
                         r"\d+\.\d M packet-hops/s  about ")
        # The last that is drawn is nothing, so that the table stands alone.
        self.assertIn("\r\x1b[K\r\n", seen)
        self.assertEqual(self.rows("a.db", "SELECT status FROM run"), [("partial: interrupted",)])

    def test_no_progress_for_short_runs_and_for_quiet_ones(self):
        seen, status = self.on_terminal(1, "sim", "run", "small.toml", "--out", "a.db")
        self.assertEqual(status, 0, seen)
        self.assertNotIn("\x1b", seen)
        for words, terminal in ((("--quiet",), "xterm"), ((), "dumb")):
            seen, status = self.on_terminal(3, "sim", "run", "long.toml", "--out", "b.db",
                                            "--force", *words, terminal=terminal)
            self.assertEqual(status, 130, seen)
            self.assertNotIn("\x1b", seen)

    def test_quiet_when_not_a_terminal(self):
        process = self.start("sim", "run", "long.toml", "--out", "a.db")
        time.sleep(3)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        self.assertEqual(err, "")
        self.assertNotIn("\r", out)

    # --- summary ---

    def test_summary_of_several_files_is_one_table(self):
        self.good("sim", "run", "small.toml", "--out", "a.db", "--quiet")
        self.good("sim", "run", "small.toml", "--out", "b.db", "--quiet", "--seed", "2", "--set",
                  "run.end_ms=0.005")
        out = self.good("sim", "summary", "a.db", "b.db")
        lines = out.splitlines()
        self.assertRegex(lines[0], r"^scenario +scheme +seed +flows +max us +mean us +p50 us +p99 "
                         r"us +ideal us +x ideal +drops +marks +resent +util %$")
        self.assertRegex(lines[1], r"^small +strack +1 +16 ")
        self.assertRegex(lines[2], r"^small +strack +2 +0 of 16 +- ")
        self.assertIn("!! b.db: 16 of 16 flows are UNFINISHED", out)

    def test_summary_for_programs(self):
        self.good("sim", "run", "small.toml", "--out", "a.db", "--quiet")
        (only,) = json.loads(self.good("sim", "summary", "a.db", "--json"))
        self.assertEqual(only["status"], "finished")
        self.assertEqual(only["flows_finished"], 16)
        self.assertGreaterEqual(only["slowdown"], 1)
        self.assertGreaterEqual(only["max_fct_ps"], only["ideal_fct_ps"])
        self.assertEqual(only["hash"], self.rows("a.db", "SELECT hash FROM run")[0][0])

    def test_summary_of_what_is_no_result(self):
        self.write("empty.db", "")
        self.write("text.db", "hello, hello, hello")
        self.assertIn("there is no such file", self.bad("sim", "summary", "nothing.db"))
        self.assertIn("is empty", self.bad("sim", "summary", "empty.db"))
        self.assertIn("is not a result file", self.bad("sim", "summary", "text.db"))
        self.assertIn("is a folder", self.bad("sim", "summary", "."))
        self.good("sim", "run", "small.toml", "--out", "a.db", "--quiet")
        connection = sqlite3.connect(self.folder / "a.db")
        connection.execute("PRAGMA user_version = 99")
        connection.close()
        self.assertIn("was written by a newer strack", self.bad("sim", "summary", "a.db"))

    # --- show, help ---

    def test_show_prints_a_scenario_that_loads(self):
        out = self.good("sim", "show", "small.toml", "--set", "topology.hosts=8")
        self.assertRegex(out, r"# base RTT +8 us\n")
        self.assertRegex(out, r"# BDP +400 KB\n")
        self.assertRegex(out, r"# flows +8, 1.6 MB in all\n")
        self.assertRegex(out, r"# ideal FCT +1\d\.\d+ us")
        self.assertRegex(out, r"# memory +about ")
        self.assertRegex(out, r"# run time +less than a second with one thread\n")
        self.write("shown.toml", out)
        self.assertEqual(self.good("sim", "show", "shown.toml"), out)

    def test_help(self):
        self.assertIn("hosts_per_rack", self.good("help", "scenario"))
        self.assertIn("strack help scenario", self.good("help"))
        self.assertIn("--threads", self.good("help", "sim", "run"))
        self.assertIn("strack sim run", self.good("help", "sim", "run"))
        self.assertIn("there is no help on", self.bad("help", "flying"))

    # --- sweep ---

    def test_sweep_runs_the_product_and_resumes(self):
        words = ("sim", "sweep", "small.toml", "--set", "workload.size=4096,64 KB", "--set",
                 "transport.scheme=strack,strack-oblivious", "--seeds", "1-2", "--out", "s")
        out = self.good(*words)
        self.assertIn("8 runs, results in s\n", out)
        table = [line for line in out.splitlines() if line.startswith(("4096", "64 KB"))]
        self.assertEqual(len(table), 8)
        self.assertRegex(out, r"\nsize +scheme +seed +flows ")
        self.assertRegex(table[0], r"^4096 +strack +1 +16 ")
        self.assertRegex(table[7], r"^64 KB +strack-oblivious +2 +16 ")
        self.assertEqual(out.splitlines()[-1], "results: s")
        files = sorted(os.listdir(self.folder / "s"))
        self.assertEqual(files[0], "small-4096-strack-oblivious-s1.db")
        self.assertEqual(len(files), 8)

        # One is missing, one is partial; the others are left as they are.
        before = {f: (self.folder / "s" / f).stat().st_mtime_ns for f in files}
        (self.folder / "s" / files[0]).unlink()
        connection = sqlite3.connect(self.folder / "s" / files[1])
        connection.execute("UPDATE run SET status = 'partial: interrupted'")
        connection.commit()
        connection.close()
        again = self.good(*words)
        self.assertIn("8 runs, 6 of them there already", again)
        self.assertEqual(again.split("\n\n", 1)[1], out.split("\n\n", 1)[1])
        after = {f: (self.folder / "s" / f).stat().st_mtime_ns for f in files}
        self.assertEqual([f for f in files if before[f] != after[f]], files[:2])

        # More seeds are run beside what is there.
        more = self.good(*words[:-4], "--seeds", "1-3", "--out", "s")
        self.assertIn("12 runs, 8 of them there already", more)

        # A changed scenario does not silently take the place of the old one's results.
        self.write("small.toml", SMALL + "start_us = 1\n")
        self.assertIn("holds a finished run of another scenario", self.bad(*words))
        self.assertIn("8 runs, results in s\n", self.good(*words, "--force"))

    def test_runs_that_share_a_gpu_give_the_same(self):
        # Where this build has no GPU engine, processors do it, and it is said.
        shared = self.good("sim", "sweep", "small.toml", "--seeds", "1-3", "--out", "shared", "--engine", "emulated",
                           "--gpu-jobs", "3")
        for line in shared.splitlines():
            if line.startswith("!!"):
                self.assertRegex(line, "run by the processor, since the GPU did not: .*there is no GPU engine")
        self.good("sim", "sweep", "small.toml", "--seeds", "1-3", "--out", "apart")
        for seed in (1, 2, 3):
            hashes = [self.rows(f"{folder}/small-strack-s{seed}.db", "SELECT hash FROM run")
                      for folder in ("shared", "apart")]
            self.assertEqual(len(hashes[0]), 1)
            self.assertEqual(hashes[0], hashes[1])

    def test_sweep_finds_mistakes_before_it_starts(self):
        self.assertIn("hots", self.bad("sim", "sweep", "small.toml", "--set", "topology.hots=1,2"))
        self.assertIn("write key=v1,v2", self.bad("sim", "sweep", "small.toml", "--set", "size"))
        self.assertIn("--seeds", self.bad("sim", "sweep", "small.toml", "--seeds", "x"))
        self.bad("sim", "sweep", "small.toml", "--set", "topology.hosts=16,17")
        self.assertFalse((self.folder / "results").exists())

    def children_of(self, pid):
        found = []
        for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
            found += [int(word) for word in task.read_text().split()]
        return found

    def test_sweep_stops_its_runs(self):
        for number in (signal.SIGINT, signal.SIGKILL):
            shutil.rmtree(self.folder / "s", ignore_errors=True)
            process = self.start("sim", "sweep", "long.toml", "--seeds", "1-4", "--jobs", "2",
                                 "--out", "s")
            files = [f"s/long-strack-s{seed}.db" for seed in (1, 2)]
            self.wait_until(lambda: all(self.flows_in(f) > 0 for f in files), "no run started")
            children = self.children_of(process.pid)
            self.assertEqual(len(children), 2)
            process.send_signal(number)
            out, _ = process.communicate(timeout=60)
            self.wait_until(lambda: not any(os.path.exists(f"/proc/{c}") for c in children),
                            "runs outlived their sweep")
            for file in files:
                self.assertEqual(self.rows(file, "SELECT status FROM run"),
                                 [("partial: interrupted",)])
            self.assertEqual(len(list((self.folder / "s").glob("*.db"))), 2)
            if number == signal.SIGINT:
                self.assertEqual(process.returncode, 130)
                self.assertIn("0 of 4 runs are done; the same command goes on from here", out)

    def test_sweep_says_which_run_failed(self):
        (self.folder / "s").mkdir()
        (self.folder / "s" / "small-strack-s2.db").mkdir()
        self.assertIn("small-strack-s2.db", self.bad("sim", "sweep", "small.toml", "--seeds",
                                                     "1-2", "--out", "s"))

    def test_compare_puts_schemes_side_by_side(self):
        schemes = [line.split()[0] for line in self.good("sim", "schemes").splitlines()]
        out = self.good("sim", "compare", "small.toml", "--out", "c")
        lines = out.split("\n\n")[1].splitlines()
        self.assertRegex(lines[0], r"^scheme +flows .* +CNPs +pauses +x strack$")
        self.assertRegex(lines[1], r"^strack +16 .* 1\.000$")
        for line in lines[2:-1]:
            self.assertRegex(line, r"^[\w-]+ +16 ")
        self.assertEqual([line.split()[0] for line in lines[1:-1]], schemes)
        self.assertIn("rocev2", schemes)
        self.assertEqual(lines[-1], "results: c")

    def test_compare_of_seeds_is_seed_by_seed(self):
        out = self.good("sim", "compare", "small.toml", "--schemes", "strack,strack-oblivious", "--seeds",
                        "1-3", "--out", "c")
        rows = re.findall(r"^(strack\S*) +(\d) +16 +([\d.]+) .* ([\d.]+)$", out, re.MULTILINE)
        self.assertEqual(len(rows), 6)
        times = {(scheme, seed): float(time) for scheme, seed, time, _ in rows}
        ratios = [float(ratio) for _, _, _, ratio in rows]
        self.assertEqual(ratios[:3], [1, 1, 1])
        for i, ratio in enumerate(ratios[3:], 1):
            self.assertAlmostEqual(
                ratio, times["strack-oblivious", str(i)] / times["strack", str(i)], delta=0.002)
        low, middle, high = sorted(ratios[3:])
        self.assertRegex(out, r"\nof the slowest, over seeds; ratios are of runs with the same seed\n")
        self.assertRegex(out, rf"\nstrack-oblivious +3 .* {middle:.3f} +{low:.3f} +{high:.3f}\n")

    def test_summary_shows_what_was_swept(self):
        self.good("sim", "sweep", "small.toml", "--set", "workload.size=20KB,40KB", "--set",
                  "transport.scheme=strack,rocev2", "--out", "s")
        files = sorted(str(p.relative_to(self.folder)) for p in (self.folder / "s").glob("*.db"))
        lines = self.good("sim", "summary", *files).splitlines()
        self.assertRegex(lines[0], r"^scenario +scheme +seed +size +flows ")
        self.assertEqual(sorted(re.match(r"small +(\w+) +1 +(\d+KB) ", line).groups() for line in lines[1:5]),
                         [("rocev2", "20KB"), ("rocev2", "40KB"), ("strack", "20KB"), ("strack", "40KB")])
        for run in json.loads(self.good("sim", "summary", "--json", *files)):
            self.assertIn(run["settings"]["workload.size"], ("20KB", "40KB"))
            self.assertEqual(run["bytes"], run["acked_bytes"])
        self.assertIn("\nworkload       permutation, 20KB\n", self.good("sim", "summary", files[0]))

    def test_compare_of_chosen_schemes(self):
        out = self.good("sim", "compare", "small.toml", "--schemes", "rocev2,strack", "--out", "c")
        lines = out.split("\n\n")[1].splitlines()
        self.assertRegex(lines[0], r" x rocev2$")
        self.assertRegex(lines[1], r"^rocev2 +16 .* 1\.000$")
        self.assertIn("sim compare", self.good("help", "sim", "compare"))
        schemes = [line.split()[0] for line in self.good("sim", "schemes").splitlines()]
        self.assertIn(",".join(schemes), self.good("sim", "compare", "--help"))

    # --- jobs ---

    JOBS = """
name = "jobs"
[topology]
hosts = 16
hosts_per_rack = 4
[workload]
kind = "collective"
collective = "allreduce-ring"
size = "256 KiB"
chunk = "16 KiB"
jobs = 2
ranks = 4
"""

    def test_jobs_are_run_and_written(self):
        self.write("jobs.toml", self.JOBS)
        out = self.good("sim", "run", "jobs.toml", "--out", "a.db")
        self.assertRegex(out, r"\Ajobs: strack, seed 1, 16 hosts, 2 jobs of 4 ranks, 192 messages, "
                         r"3.1 MB in all\n")
        self.assertRegex(out, r"\njobs +2 of 2 finished, 3.1 MB in ")
        self.assertRegex(out, r"\nmax job +\d+\.\d +\d\.\d{3}\n")
        self.assertRegex(out, r"\nslowest job +job \d, \d\.\d{3} x its own ideal, ")
        self.assertNotIn("FCT", out)
        self.assertNotIn("!!", out)
        self.assertEqual(self.rows("a.db", "SELECT status, flows, jobs FROM run"),
                         [("finished", 0, 2)])
        # 4 ranks send 6 blocks of 64 KiB each, in 4 messages.
        self.assertEqual(self.rows("a.db", "SELECT job, name, ranks, messages, bytes FROM jobs"),
                         [(j, "allreduce-ring", 4, 96, 24 * 65536) for j in (0, 1)])
        self.assertEqual(self.rows("a.db", "SELECT count(*) FROM jobs WHERE end_ps - start_ps < "
                                   "ideal_ps OR ideal_ps <= 0"), [(0,)])
        self.assertEqual(self.rows("a.db", "SELECT max(ideal_ps) FROM jobs"),
                         self.rows("a.db", "SELECT ideal_fct_ps FROM run"))
        self.assertGreaterEqual(self.rows("a.db", "SELECT min(slowdown) FROM job_times")[0][0], 1)
        slowest = self.rows("a.db", "SELECT cdf FROM job_times ORDER BY time_us DESC")[0][0]
        self.assertEqual(slowest, 1)
        found = json.loads(self.good("sim", "summary", "--json", "a.db"))[0]
        self.assertEqual(found["jobs_finished"], 2)
        self.assertEqual(found["flows_finished"], 0)
        self.assertGreaterEqual(found["slowdown"], 1)
        self.assertIsNone(found["max_fct_ps"])

    def test_jobs_repeat_from_their_result_and_with_any_threads(self):
        self.write("jobs.toml", self.JOBS + "[host]\nstart_jitter_us = 2\n")
        self.good("sim", "run", "jobs.toml", "--seed", "3", "--out", "a.db")
        self.write("again.toml", self.rows("a.db", "SELECT scenario FROM run")[0][0])
        self.good("sim", "run", "again.toml", "--out", "b.db", "--threads", "3")
        found = [self.rows(f, "SELECT hash, seed FROM run") for f in ("a.db", "b.db")]
        self.assertEqual(found[0], found[1])
        found = [self.rows(f, "SELECT * FROM jobs") for f in ("a.db", "b.db")]
        self.assertEqual(found[0], found[1])
        self.good("sim", "run", "jobs.toml", "--seed", "4", "--out", "c.db")
        self.assertNotEqual(self.rows("c.db", "SELECT hash FROM run"),
                            self.rows("a.db", "SELECT hash FROM run"))

    def test_every_collective_finishes_with_every_protocol(self):
        self.write("jobs.toml", self.JOBS)
        out = self.good("sim", "sweep", "jobs.toml", "--set", "workload.collective=allreduce-ring,"
                        "allreduce-hd,allreduce-dbt,alltoall,allgather,reduce-scatter,broadcast",
                        "--set", "transport.scheme=strack,rocev2", "--out", "s")
        self.assertEqual(len(os.listdir(self.folder / "s")), 14)
        self.assertEqual(len([line for line in out.splitlines() if " rocev2  " in line]), 7)
        self.assertNotIn("!!", out)
        for file in os.listdir(self.folder / "s"):
            self.assertEqual(self.rows(f"s/{file}", "SELECT count(*) FROM jobs WHERE end_ps - "
                                       "start_ps < ideal_ps OR end_ps IS NULL"), [(0,)], file)

    MIXED = """
name = "mixed"
[topology]
hosts = 16
hosts_per_rack = 4
[[workload]]
name = "job"
kind = "collective"
size = "200 KB"
ranks = 8
iterations = 2
compute_us = 5
[[workload]]
name = "noise"
size = "100 KB"
start_us = 3
"""

    def test_several_workloads(self):
        self.write("mixed.toml", self.MIXED)
        out = self.good("sim", "run", "mixed.toml", "--out", "a.db")
        self.assertIn("1 job of 8 ranks", out)
        self.assertRegex(out, r"\njob +collective, .* 1 job ")
        self.assertRegex(out, r"\nnoise +permutation, 1.6 MB +16 flows ")
        found = json.loads(self.good("sim", "summary", "--json", "a.db"))[0]["workloads"]
        self.assertEqual([w["name"] for w in found], ["job", "noise"])
        self.assertEqual([w["finished"] for w in found], [1, 16])
        self.assertEqual(found[0]["iterations"], 2)
        self.assertEqual(found[1]["start_ps"], 3000000)
        self.assertEqual(self.rows("a.db", "SELECT name, first_flow, flows, first_job, jobs "
                                           "FROM workloads"),
                         [("job", 0, 0, 0, 1), ("noise", 0, 16, 1, 0)])

    # What is recorded for a timeline changes no figure.
    def test_messages_of_jobs_are_no_flows(self):
        self.write("mixed.toml", self.MIXED)
        plain, timeline = [json.loads(self.good("sim", "run", "mixed.toml", "--out", out, "--json", *more))[0]
                           for out, more in (("a.db", ()), ("b.db", ("--perfetto", "m.json")))]
        self.assertGreater(timeline["messages"], 0)
        for key in plain:
            if "_fct_" in key or "flow" in key or key in ("utilisation", "delivered_bytes", "span_ps", "hash"):
                self.assertEqual(timeline[key], plain[key], key)

    def test_what_workloads_cost_each_other(self):
        self.write("mixed.toml", self.MIXED)
        out = self.good("sim", "cost", "mixed.toml", "--out", "cost")
        self.assertIn("3 runs, results in cost", out)
        self.assertRegex(out, r"\njob +collective, ")
        self.assertIn("\nprice: how many times as long beside the others as alone\n", out)
        self.assertNotIn("priority", out)
        out = self.good("sim", "cost", "mixed.toml", "--out", "first", "--set", "workload.1.priority=2")
        self.assertRegex(out, r"\nnoise +[a-z]+, [0-9.]+ [KMG]?B, priority 2 ")
        found = json.loads(self.good("sim", "cost", "mixed.toml", "--out", "cost", "--json"))
        self.assertEqual([one["workload"] for one in found], ["job", "noise"])
        for one in found:
            self.assertGreaterEqual(one["price_max"], 1)
            self.assertEqual(one["price_max"],
                             round(one["together"]["max_ps"] / one["alone"]["max_ps"], 3))
        table = self.good("sim", "cost", "mixed.toml", "--out", "cost", "--csv").splitlines()
        self.assertEqual(len(table), 3)
        self.assertEqual(float(next(csv.DictReader(table))["price_max"]), found[0]["price_max"])
        self.assertIn("it has one workload", self.bad("sim", "cost", "small.toml"))

    def test_figures_for_programs(self):
        run = json.loads(self.good("sim", "run", "small.toml", "--json", "--out", "a.db"))
        self.assertEqual(run, json.loads(self.good("sim", "summary", "--json", "a.db")))
        lines = self.good("sim", "summary", "--csv", "a.db").splitlines()
        self.assertEqual(len(lines), 2)
        self.assertIn("max_us", lines[0].split(","))
        counts = next(csv.DictReader(lines))
        for key in ("flows_finished", "flows_unfinished", "jobs_finished", "jobs_unfinished"):
            self.assertEqual(int(counts[key]), run[0][key], key)
        sweep = ("sim", "sweep", "small.toml", "--set", "workload.size=10KB,20KB", "--out", "s")
        listed = self.good(*sweep, "--dry-run").splitlines()
        self.assertEqual(len(listed), 2)
        self.assertFalse((self.folder / listed[0]).exists())
        found = json.loads(self.good(*sweep, "--json"))
        self.assertEqual([one["file"] for one in found], listed)
        self.assertEqual(self.good(*sweep, "--dry-run").splitlines()[0],
                         listed[0] + "  there already")
        self.assertNotIn("2 runs", self.good(*sweep, "--quiet"))
        self.assertIn("[workload]", self.good("sim", "run", "small.toml", "--dry-run"))
        shown = json.loads(self.good("sim", "show", "small.toml", "--json"))
        self.assertEqual(shown, json.loads(self.good("sim", "run", "small.toml", "--dry-run", "--json")))
        self.assertEqual((shown["flows"], shown["ideal_fct_ps"]), (run[0]["flows_finished"], run[0]["ideal_fct_ps"]))
        self.assertIn("[workload]", shown["scenario"])
        self.assertEqual(self.good("sim", "run", "small.toml", "--csv", "--out", "a.db", "--force").splitlines()[0],
                         lines[0])
        self.assertIn("--json excludes --csv", self.bad("sim", "summary", "a.db", "--json", "--csv"))
        schemes = json.loads(self.good("sim", "schemes", "--json"))
        self.assertIn({"scheme": "strack", "label": "STrack"}, schemes)
        self.assertEqual(len(self.good("sim", "schemes", "--csv").splitlines()), len(schemes) + 1)
        figures = self.strack("sim", "diff", listed[0], listed[1], "--csv")
        self.assertEqual(figures.returncode, 1, figures.stderr)
        self.assertEqual(figures.stdout.splitlines()[0].split(",")[:4], ["where", "workload", "figure", "unit"])

    def test_unfinished_jobs_are_loud(self):
        self.write("jobs.toml", self.JOBS)
        out = self.good("sim", "run", "jobs.toml", "--out", "a.db", "--set", "run.end_ms=0.005")
        self.assertIn("2 of 2 jobs are UNFINISHED", out)
        self.assertRegex(out, r"\njobs +0 of 2 finished; [1-9][\d.]* [KM]B of 3.1 MB acknowledged until 5 us\n")
        self.assertNotIn("flows are UNFINISHED", out)
        self.assertEqual(self.rows("a.db", "SELECT count(*) FROM jobs WHERE end_ps IS NULL"),
                         [(2,)])

    def test_compare_and_summary_of_jobs(self):
        self.write("jobs.toml", self.JOBS)
        out = self.good("sim", "compare", "jobs.toml", "--out", "c")
        lines = out.split("\n\n")[1].splitlines()
        self.assertRegex(lines[0], r"^scheme +jobs +max job us .* x ideal +spread % .* x strack$")
        self.assertRegex(lines[1], r"^strack +2 .* 1\.000$")
        for line in lines[2:-1]:
            self.assertRegex(line, r"^[\w-]+ +2 ")
        self.good("sim", "run", "small.toml", "--out", "a.db", "--quiet")
        both = self.good("sim", "summary", "a.db", "c/jobs-strack-s1.db")
        self.assertIn("flows  max us", both)
        self.assertIn("jobs  max job us", both)

    def test_show_of_jobs(self):
        self.write("jobs.toml", self.JOBS)
        out = self.good("sim", "show", "jobs.toml")
        self.assertRegex(out, r"\n# workload +2 jobs of 4 ranks, 192 messages, 3.1 MB in all\n")
        self.assertRegex(out, r"\n# ideal time +\d+\.\d+ us, of the slowest job\n")
        self.write("shown.toml", out)
        self.assertEqual(self.good("sim", "show", "shown.toml"), out)

    def test_mistakes_about_jobs_are_explained(self):
        self.write("jobs.toml", self.JOBS)
        jobs = ("sim", "run", "jobs.toml", "--set")
        self.assertIn("--set workload.ranks: jobs is 2 and ranks 9", self.bad(*jobs, "workload.ranks=9"))
        self.assertIn("powers of two: ranks = 4 would work",
                      self.bad(*jobs, "workload.collective=allreduce-hd", "--set",
                               "workload.ranks=6"))
        self.assertIn("it is for kind = incast", self.bad(*jobs, "workload.fan_in=3"))
        self.assertIn("a collective is", self.bad(*jobs, "workload.collective=gossip"))

    # --- RoCEv2 and PFC ---

    # Eight senders and one receiver: its queue is above DCQCN's threshold within the first RTT.
    INCAST = """
name = "incast"
[topology]
hosts = 16
hosts_per_rack = 4
[workload]
kind = "incast"
fan_in = 8
size = "2 MB"
"""

    def test_rocev2_is_slowed_by_cnps(self):
        self.write("incast.toml", self.INCAST)
        out = self.good("sim", "run", "incast.toml", "--set", "transport.scheme=rocev2", "--out",
                        "a.db")
        self.assertRegex(out, r"\nrate control +[1-9]\d* CNPs?, 0 NAKs\n")
        self.assertRegex(out, r"\npauses +\d+ frames?; ")
        self.assertIn("status         finished", out)
        self.assertEqual(self.rows("a.db", "SELECT scheme, pfc FROM run"), [("rocev2", 1)])
        self.assertGreater(self.rows("a.db", "SELECT sum(cnps) FROM flows")[0][0], 0)
        self.assertEqual(self.rows("a.db", "SELECT value FROM counters WHERE name = 'cnps'"),
                         self.rows("a.db", "SELECT sum(cnps) FROM flows"))
        # The scenario in the file repeats it.
        self.write("again.toml", self.rows("a.db", "SELECT scenario FROM run")[0][0])
        self.good("sim", "run", "again.toml", "--out", "b.db")
        hashes = [self.rows(f, "SELECT hash FROM run") for f in ("a.db", "b.db")]
        self.assertEqual(hashes[0], hashes[1])
        self.good("sim", "run", "again.toml", "--out", "c.db", "--threads", "3")
        self.assertEqual(self.rows("c.db", "SELECT hash FROM run"), hashes[0])

    def test_without_rate_control_pfc_holds_senders_back(self):
        self.write("incast.toml", self.INCAST + """
[rocev2]
dcqcn = "off"
[pfc]
buffer_per_tbps = "1 MB"
[record]
interval_us = 5
queues = true
links = true
flows = 8
""")
        out = self.good("sim", "run", "incast.toml", "--set", "transport.scheme=rocev2", "--out",
                        "a.db")
        self.assertRegex(out, r"\npauses +[1-9]\d* frames; [1-9]\d* ports? held, ")
        self.assertRegex(out, r"\ndrops +0: ")
        self.assertNotIn("!!", out)
        self.assertGreater(self.rows("a.db", "SELECT sum(paused_ps) FROM link_samples")[0][0], 0)
        # A flow that is done has no rate.
        self.assertEqual(self.rows("a.db", "SELECT DISTINCT rate_bps FROM flow_samples "
                                   "WHERE rate_bps > 0"), [(400_000_000_000,)])
        found = json.loads(self.good("sim", "summary", "--json", "a.db"))[0]
        self.assertTrue(found["pfc"])
        self.assertGreater(found["pause_frames"], 0)
        self.assertGreater(found["paused_ps"], 0)
        self.assertGreater(found["buffer_max_bytes"], 0)
        self.assertEqual(found["lossless_violations"], 0)

    def test_too_little_headroom_is_loud(self):
        self.write("incast.toml", self.INCAST + """
[rocev2]
dcqcn = "off"
[pfc]
buffer_per_tbps = "1 MB"
headroom = "4 KB"
""")
        done = self.strack("sim", "run", "incast.toml", "--set", "transport.scheme=rocev2",
                           "--out", "a.db")
        self.assertIn("LOSSLESS VIOLATED", done.stdout)
        self.assertIn("LOSSLESS VIOLATED", self.good("sim", "summary", "a.db"))

    def test_pfc_works_with_strack(self):
        out = self.good("sim", "run", "small.toml", "--set", "pfc.enabled=true", "--out", "a.db")
        self.assertRegex(out, r"\npauses +0 frames; ")
        self.assertNotIn("rate control", out)

    def test_show_has_the_figures_of_pfc(self):
        out = self.good("sim", "show", "small.toml", "--set", "transport.scheme=rocev2")
        self.assertIn("\n# PFC            ToR 16 MB, spine 8 MB; headroom at host links 108.3 KB, at "
                      "fabric links 108.3 KB\n", out)
        self.assertNotIn("# PFC", self.good("sim", "show", "small.toml"))

    def test_mistakes_about_rocev2_are_explained(self):
        roce = ("sim", "run", "small.toml", "--set", "transport.scheme=rocev2", "--set")
        self.assertIn("[rocev2]. did you mean dcqcn?", self.bad(*roce, "rocev2.dcqn=off"))
        self.assertIn('a set is "paper2015"', self.bad(*roce, "rocev2.dcqcn=fast"))
        self.assertIn("it must be 1, 2, 4, 8 or 16", self.bad(*roce, "rocev2.qps_per_conn=3"))
        self.assertIn("would work", self.bad(*roce, "pfc.buffer_per_tbps=1 KB"))

    # ---- Networks from files, servers with several NICs

    def hash_of(self, name, *words):
        self.strack("sim", "run", name, "--quiet", "--force", "--out", "x.db", *words, check=True)
        with sqlite3.connect(self.folder / "x.db") as file:
            return file.execute("SELECT hash FROM run").fetchone()[0]

    def test_a_dragonfly_is_made_and_run(self):
        self.good("topology", "make", "dragonfly", "--groups", "5", "--routers", "2", "--out", "d.net")
        self.assertIn("exists", self.bad("topology", "make", "dragonfly", "--out", "d.net"))
        self.assertIn("every group is linked to every other: 5 groups",
                      self.bad("topology", "make", "dragonfly", "--routers", "2"))
        self.write("d.toml", """
[topology]
file = "d.net"
[workload]
kind = "permutation"
size = "100 KB"
[[failure]]
link = "router0-router1"
from_us = 5
""")
        shown = self.good("sim", "show", "d.toml")
        self.assertIn("# network        20 hosts, 10 switches, 70 directed links, as its file has them",
                      shown)
        self.assertIn("# the network: 20 hosts, 10 switches, 35 links, fingerprint", shown)
        one = self.hash_of("d.toml")
        self.assertEqual(self.hash_of("d.toml", "--threads", "2"), one)

    def test_pairs_without_a_way_are_named(self):
        self.write("two.net", "rate 400Gbps\nlatency 1us\nhosts a[0-1] b[0-1]\nswitches s t\n"
                              "link a[0-1] s\nlink b[0-1] t\n")
        self.write("two.toml", "[topology]\nfile = \"two.net\"\n[workload]\nkind = \"file\"\n"
                               "file = \"flows.txt\"\n")
        self.write("flows.txt", "0 1 1MB 0\n1 2 1MB 0\n")
        self.assertEqual(
            self.bad("sim", "run", "two.toml"),
            "error: two.toml: the host a1 sends to b0, and the network has no way from one to the "
            "other. link their switches, or let them not talk")
        self.write("flows.txt", "0 1 1MB 0\n2 3 1MB 0\n")
        self.strack("sim", "run", "two.toml", check=True)

    def test_servers_have_links_of_their_own(self):
        self.write("rails.toml", """
[topology]
hosts = 32
hosts_per_rack = 4
nics_per_server = 8
[workload]
kind = "collective"
collective = "allreduce-ring"
ranks = 32
size = "1 MB"
placement = "packed"
""")
        shown = self.good("sim", "show", "rails.toml")
        self.assertIn("# servers        4 of 8 NICs; inside 3600 Gb/s, ", shown)
        one = self.hash_of("rails.toml")
        self.assertEqual(self.hash_of("rails.toml", "--threads", "2"), one)
        self.assertNotEqual(self.hash_of("rails.toml", "--set", "topology.nics_per_server=1"), one)


if __name__ == "__main__":
    unittest.main(verbosity=1)
