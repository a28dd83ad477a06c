#!/usr/bin/python3
"""The Python module as its users meet it, against the program and against SQL.

usage: PYTHONPATH=BUILD/python python_test.py STRACK [unittest arguments]
"""

import ast
import contextlib
import gc
import inspect
import io
import json
import os
import pathlib
import pickle
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy
import pandas

import strack

PROGRAM = os.path.abspath(sys.argv.pop(1))
SOURCE = pathlib.Path(__file__).resolve().parents[2]
SMALL = {"name": "two racks",
         "topology": {"hosts": 8, "hosts_per_rack": 4, "spines": 2},
         "workload": {"kind": "permutation", "size": "100 KB"},
         "record": {"interval_us": 5, "queues": True, "links": True, "flows": 2, "inspect": 1}}
# Takes far longer than any test waits for it to end.
ENDLESS = {**SMALL, "topology": {"hosts": 64, "hosts_per_rack": 16},
           "workload": {"kind": "permutation", "size": "2 GB"}, "record": {"interval_us": 0}}


class PythonTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strack_python_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        before = os.getcwd()
        os.chdir(self.folder)
        self.addCleanup(os.chdir, before)

    def program(self, *words, status=0):
        done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, status, done.stderr)
        return done.stdout if status == 0 else done.stderr


class ScenarioTest(PythonTest):
    def test_file_text_and_dict_are_the_same_scenario(self):
        made = strack.Scenario(SMALL)
        made.save("two.toml")
        self.assertEqual(strack.Scenario("two.toml").toml, made.toml)
        self.assertEqual(strack.Scenario.from_file(pathlib.Path("two.toml")).toml, made.toml)
        self.assertEqual(strack.Scenario.from_text(made.toml).toml, made.toml)
        self.assertEqual(strack.Scenario.from_dict(SMALL).toml, made.toml)
        self.assertEqual(strack.Scenario(made).toml, made.toml)
        self.assertEqual((made.name, made.hosts, made.scheme, made.seeds), ("two racks", 8, "strack", [1]))

    def test_lists_of_tables(self):
        made = strack.Scenario({**SMALL, "failure": [{"rack": 0, "uplink": 1}, {"rack": 1, "uplink": 0}]})
        self.assertEqual(made["failure.1.rack"], 1)

    def test_keys_are_read_and_set(self):
        made = strack.Scenario(SMALL)
        made.topology.hosts = 16
        made["workload.size"] = "2 MB"
        made.set("transport.scheme", "strack-oblivious").set({"workload.kind": "incast", "workload.fan_in": numpy.int64(4)})
        made.record.queues = numpy.bool_(False)
        self.assertEqual((made.topology.hosts, made["workload.size"], made.scheme, made.workload.fan_in, made.record.queues),
                         (16, "2 MB", "strack-oblivious", 4, False))
        self.assertEqual(made.amount("workload.size"), 2_000_000)
        self.assertIsNone(made.amount("topology.hosts"))
        self.assertIn("topology.hosts", made)
        self.assertNotIn("topology.hists", made)
        with self.assertRaisesRegex(KeyError, "there is no key topology.hists. did you mean topology.hosts?"):
            made["topology.hists"]
        self.assertFalse(hasattr(made.topology, "hists"))
        with self.assertRaisesRegex(KeyError, "failure.0.rack is not set in this scenario"):
            made["failure.0.rack"]
        with self.assertRaisesRegex(TypeError, r"not of Graph. a graph's is graph.scenario\(file\)"):
            strack.run(strack.Graph(2))

    def test_completion_knows_sections_and_keys(self):
        made = strack.Scenario(SMALL)
        self.assertIn("topology", dir(made))
        self.assertIn("hosts_per_rack", dir(made.topology))
        plus = made.copy({"transport.scheme": "strack-plus"})
        plus.strack_plus.rack_us = "2 RTT"
        self.assertIn("strack_plus", dir(made))
        self.assertEqual(plus["strack-plus.rack_us"], "2 RTT")
        self.assertIn("<th>strack-plus.rack_us</th><td>2 RTT</td>", plus._repr_html_())
        self.assertIn("\nhosts_per_rack = 4\n", repr(made.topology))
        self.assertIn("workload.size", strack.keys("workload"))
        self.assertIn("transport.scheme", strack.keys())
        self.assertIn("strack", strack.schemes())
        with self.assertRaisesRegex(strack.ScenarioError, "there is no section worklood. the sections are "):
            strack.keys("worklood")
        with self.assertRaisesRegex(AttributeError, "a scenario has no topologie"):
            made.topologie.hosts = 4
        with self.assertRaisesRegex(AttributeError, "a scenario has no hosts"):
            made.hosts = 4

    def test_messages_are_the_command_lines(self):
        strack.Scenario(SMALL).save("two.toml")
        made = strack.Scenario("two.toml")
        for key, value in (("topology.hosts", 0), ("topology.hists", 8), ("workload.size", "2 fish"), ("run.seed", -1)):
            with self.subTest(key=key), self.assertRaises(strack.ScenarioError) as raised:
                made.set(key, value)
            said = self.program("sim", "run", "two.toml", "--set", f"{key}={json.dumps(value)}", status=2)
            self.assertEqual(f"error: {raised.exception}\n", said)
        self.assertEqual(made["topology.hosts"], 8, "a change that failed has changed something")
        pathlib.Path("two.toml").write_text("[topology]\nhosts = 8\nhists = 9\n")
        with self.assertRaises(strack.ScenarioError) as raised:
            strack.Scenario("two.toml")
        self.assertEqual((raised.exception.file, raised.exception.line), ("two.toml", 3))
        self.assertEqual(f"error: {raised.exception}\n", self.program("sim", "run", "two.toml", status=2))

    def test_what_toml_cannot_hold(self):
        with self.assertRaisesRegex(TypeError, "is a set. a scenario holds"):
            strack.Scenario(SMALL).set("topology.hosts", {8})

    def test_text_with_quotes(self):
        made = strack.Scenario({"description": 'a "name"\nof two lines'})
        self.assertEqual(made["description"], 'a "name"\nof two lines')


class RunTest(PythonTest):
    def test_the_same_bits_as_the_program(self):
        strack.Scenario(SMALL).save("two.toml")
        ours = strack.run("two.toml", seed=3, out="ours.db", threads=2)
        self.program("sim", "run", "two.toml", "--seed", 3, "--threads", 2, "--out", "theirs.db", "--quiet")
        theirs = strack.load("theirs.db")
        self.assertEqual(ours.summary["hash"], theirs.summary["hash"])
        for name in ("flows", "link_samples", "flow_samples", "flow_events", "links", "settings", "counters"):
            pandas.testing.assert_frame_equal(ours.table(name), theirs.table(name))
        self.assertEqual([ours.summary], json.loads(self.program("sim", "summary", "--json", ours.file)))
        self.assertEqual(ours.scenario.toml, theirs.scenario.toml)

    def test_tables_are_what_sql_says(self):
        result = strack.run(SMALL)
        database = sqlite3.connect(result.file)
        self.assertGreater(len(result.flow_events), 0)
        for name in result.tables:
            with self.subTest(table=name):
                cursor = database.execute(f'SELECT * FROM "{name}"')
                rows = cursor.fetchall()
                table = result.table(name)
                self.assertEqual(list(table.columns), [column[0] for column in cursor.description])
                found = [tuple(None if value is pandas.NA or value is None or value != value else value for value in row)
                         for row in table.astype(object).itertuples(index=False, name=None)]
                self.assertEqual(found, rows)
                arrays = result.arrays(name)
                self.assertEqual([len(column) for column in arrays.values()], [len(rows)] * len(table.columns))
        database.close()

    def test_in_memory_as_in_a_file(self):
        for scenario in (SMALL, {**SMALL, "run": {"end_ms": 0.005}}):
            kept = strack.run(scenario)
            folder = os.path.dirname(kept._file)
            tables = ("flows", "jobs", "links", "link_samples", "flow_samples", "flow_events", "channels", "communications", "computations",
                      "workloads", "settings", "counters")
            frames = {name: kept.table(name) for name in tables}
            self.assertEqual(os.listdir(folder), [])
            filed = strack.run(scenario, out="filed.db", force=True)
            for name in tables:
                with self.subTest(table=name):
                    pandas.testing.assert_frame_equal(frames[name], filed.table(name))
                    sql = kept.sql(f"SELECT * FROM {name}")
                    pandas.testing.assert_frame_equal(frames[name].astype(object), sql.astype(object), check_index_type=False)
                    for ours, theirs in zip(kept.arrays(name).values(), filed.arrays(name).values()):
                        self.assertEqual((ours.dtype, ours.tolist()), (theirs.dtype, theirs.tolist()))
            self.assertEqual(os.listdir(folder), ["run.db"])
            times = ("file", "wall_seconds", "cpu_seconds", "started_at", "finished_at", "heartbeat_at")
            self.assertEqual({k: v for k, v in kept.summary.items() if k not in times}, {k: v for k, v in filed.summary.items() if k not in times})
            written = strack.load(kept.file).summary
            self.assertEqual({k: v for k, v in kept.summary.items() if k != "heartbeat_at"}, {k: v for k, v in written.items() if k != "heartbeat_at"})
            self.assertEqual(kept.scenario.toml, filed.scenario.toml)
            self.assertEqual(pickle.loads(pickle.dumps(kept)).summary["hash"], kept.summary["hash"])

    def test_arrays_are_the_memory_of_the_run(self):
        kept = strack.run(SMALL)
        first, again = kept.arrays("link_samples")["time_ps"], kept.arrays("link_samples")["time_ps"]
        self.assertTrue(numpy.shares_memory(first, again))
        self.assertTrue(numpy.shares_memory(first, kept.link_samples["time_ps"].to_numpy()))
        with self.assertRaises(ValueError):
            first[0] = 1
        total = int(first.sum())
        del kept, again
        gc.collect()
        self.assertEqual(int(first.sum()), total)

    def test_memory_has_its_bound(self):
        bounded = strack.run(SMALL, memory=10_000)
        self.assertEqual(os.listdir(os.path.dirname(bounded._file)), ["run.db"])
        pandas.testing.assert_frame_equal(bounded.link_samples, strack.run(SMALL).link_samples)
        pandas.testing.assert_frame_equal(strack.run(SMALL, memory=0).flows, bounded.flows)
        with self.assertRaisesRegex(ValueError, "memory is -1 bytes"):
            strack.run(SMALL, memory=-1)

    def test_types_do_not_depend_on_the_rows(self):
        whole = strack.run(SMALL)
        cut = strack.run({**SMALL, "run": {"end_ms": 0.005}})
        self.assertEqual((whole.status, cut.status), ("finished", "time limit"))
        for name in ("flows", "flow_events", "jobs"):
            self.assertEqual(list(whole.table(name).dtypes.drop(["name"], errors="ignore")),
                             list(cut.table(name).dtypes.drop(["name"], errors="ignore")))
        self.assertEqual(str(whole.flows.dtypes["end_ps"]), "Int64")
        self.assertEqual(str(whole.flows.dtypes["size_bytes"]), "int64")
        self.assertEqual(int(cut.flows.end_ps.isna().sum()), 8)
        self.assertTrue(numpy.ma.is_masked(cut.arrays("flows")["end_ps"]))

    def test_queries(self):
        result = strack.run(SMALL)
        made = result.sql("SELECT 1 AS a, 2.5 AS b, 'x' AS c, NULL AS d UNION ALL SELECT 2, 3, NULL, 7")
        self.assertEqual([str(kind) for kind in made.dtypes], ["int64", "float64", "object", "Int64"])
        self.assertEqual(made["c"].tolist(), ["x", None])
        mixed = result.sql("SELECT 1 AS a UNION ALL SELECT 0.5 UNION ALL SELECT 'x'")
        self.assertEqual(mixed["a"].tolist(), ["1", "0.5", "x"])
        self.assertEqual(len(result.sql("SELECT * FROM flows WHERE flow > 100")), 0)
        for wrong, said in (("SELECT nowhere FROM flows", "no such column: nowhere"), ("", "the query is empty"), ("DELETE FROM flows", "readonly")):
            with self.subTest(wrong), self.assertRaisesRegex(strack.RunError, said):
                result.sql(wrong)
        with self.assertRaisesRegex(strack.RunError, "has no table flaws. it has "):
            result.table("flaws")

    def test_what_cannot_be_read_or_written(self):
        with self.assertRaisesRegex(strack.RunError, "nothing.db: "):
            strack.load("nothing.db")
        strack.run(SMALL, out="once.db")
        with self.assertRaisesRegex(strack.RunError, "once.db: "):
            strack.run(SMALL, out="once.db")
        strack.run(SMALL, out="once.db", force=True)

    def test_a_temporary_result_goes_with_its_object(self):
        result = strack.run(SMALL)
        file = result.file
        self.assertTrue(os.path.exists(file))
        del result
        self.assertFalse(os.path.exists(os.path.dirname(file)))

    def test_progress_and_other_threads(self):
        seen, others = [], []
        ticking = threading.Event()

        def tick():
            while not ticking.wait(0.005):
                others.append(len(seen))

        thread = threading.Thread(target=tick)
        thread.start()
        result = strack.run(ENDLESS | {"run": {"end_ms": 0.3}}, progress=lambda state: seen.append(dict(state)))
        ticking.set()
        thread.join()
        self.assertEqual(result.status, "time limit")
        self.assertEqual(seen[-1]["flows"], 64)
        self.assertEqual(seen[-1]["now_ps"], result.summary["now_ps"])
        self.assertGreater(len(others), 0)

    def test_cancel(self):
        cancel = threading.Event()
        result = strack.run(ENDLESS, out="cut.db", cancel=cancel, progress=lambda state: cancel.set())
        self.assertEqual(result.status, "partial: interrupted")
        self.assertFalse(result.complete)

    def test_what_a_callback_raises_ends_the_run(self):
        def wrong(state):
            raise ZeroDivisionError("of the callback")

        with self.assertRaisesRegex(ZeroDivisionError, "of the callback"):
            strack.run(ENDLESS, out="cut.db", progress=wrong)
        self.assertEqual(strack.load("cut.db").status, "partial: interrupted")

    def test_ctrl_c(self):
        script = f"""
import strack
def started(state):
    global said
    if not said: print("running", flush=True)
    said = True
said = False
try:
    strack.run({ENDLESS!r}, out="cut.db", progress=started)
except KeyboardInterrupt:
    print(strack.load("cut.db").status)
"""
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
            self.assertEqual(process.stdout.readline(), "running\n")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.communicate(timeout=60)[0], "partial: interrupted\n")

    def test_reports(self):
        result = strack.run(SMALL)
        page = result.report("a title of its own")
        self.assertIn("a title of its own", page.html)
        page.save("page.html")
        self.assertEqual(pathlib.Path("page.html").read_text(encoding="utf-8"), page.html)
        self.assertTrue(page._repr_html_().startswith("<iframe srcdoc="))
        self.assertIn("<th>max FCT</th>", result._repr_html_())
        other = strack.run({**SMALL, "transport": {"scheme": "strack-oblivious"}})
        both = strack.report([result, other.file])
        self.assertIn("strack-oblivious", both.html)
        with self.assertRaisesRegex(strack.RunError, "a report needs at least one result file"):
            strack.report([])


class SweepTest(PythonTest):
    def test_every_combination_and_seed(self):
        made = strack.sweep(SMALL, {"transport.scheme": ["strack", "strack-oblivious"], "workload.size": ["50 KB", "100 KB"]}, seeds=[1, 2], jobs=2)
        self.assertIn("<th>slowdown</th>", made._repr_html_())
        self.assertEqual(len(made), 8)
        frame = made.frame
        self.assertEqual(frame[["transport.scheme", "workload.size", "seed"]].values.tolist()[:3],
                         [["strack", "50 KB", 1], ["strack", "50 KB", 2], ["strack", "100 KB", 1]])
        alone = strack.run(SMALL, seed=2)
        self.assertEqual(made[3].summary["hash"], alone.summary["hash"])
        self.assertEqual(frame["max_fct_ps"][3], alone.summary["max_fct_ps"])
        self.assertEqual([r.scheme for r in made], ["strack"] * 4 + ["strack-oblivious"] * 4)

    def test_it_goes_on_from_what_is_there(self):
        strack.sweep(SMALL, {"workload.size": ["50 KB"]}, folder="there", jobs=1)
        first, = pathlib.Path("there").iterdir()
        before = first.stat().st_mtime_ns
        again = strack.sweep(SMALL, {"workload.size": ["50 KB", "60 KB"]}, folder="there", jobs=1)
        self.assertEqual((len(again), first.stat().st_mtime_ns), (2, before))
        with self.assertRaisesRegex(strack.RunError, "holds a finished run of another scenario. choose another folder, or force"):
            strack.sweep({**SMALL, "host": {"start_jitter_us": 1}}, {"workload.size": ["50 KB"]}, folder="there", jobs=1)
        strack.sweep(SMALL, {"workload.size": ["50 KB"]}, folder="there", jobs=1, force=True)
        self.assertNotEqual(first.stat().st_mtime_ns, before)

    def test_cancelled_then_resumed(self):
        class AtOnce:
            def is_set(self):
                return True

        short = {**ENDLESS, "run": {"end_ms": 0.2}}
        cut = strack.sweep(short, seeds=[1, 2], folder="there", jobs=1, cancel=AtOnce())
        self.assertLess(len(cut), 2)
        self.assertEqual(len(strack.sweep(short, seeds=[1, 2], folder="there", jobs=2, progress=True)), 2)

    def test_what_is_wrong_is_known_first(self):
        with self.assertRaisesRegex(strack.ScenarioError, 'size is "2 fish"'):
            strack.sweep(SMALL, {"workload.size": ["50 KB", "2 fish"]}, folder="there")
        self.assertEqual(list(pathlib.Path("there").iterdir()), [])
        with self.assertRaisesRegex(ValueError, "workload.size has no values"):
            strack.sweep(SMALL, {"workload.size": []})


class WorkloadTest(PythonTest):
    def chain(self):
        graph = strack.Graph(3)
        first = graph.message(0, 1, 1000)
        work = graph.compute(1, 5_000)
        last = graph.message(1, 2, 2000)
        graph.wait(work, first)
        graph.wait(last, work)
        return graph

    def test_a_chain(self):
        result = strack.run(self.chain().scenario("chain.goal"))
        job = result.jobs.iloc[0]
        self.assertEqual((job.ranks, job.messages, job.bytes), (3, 2, 3000))
        flows = result.flows  # its messages
        self.assertGreaterEqual(flows.start_ps[1], flows.delivered_ps[0] + 5_000_000)
        info = self.program("workload", "info", "chain.goal")
        self.assertRegex(info, r"ranks +3\n")

    def test_arrays_make_what_single_calls_make(self):
        many, single = strack.Graph(4), strack.Graph(4)
        nodes = many.message([0, 1, 2], [1, 2, 3], 500)
        self.assertEqual(nodes.tolist(), [0, 1, 2])
        many.wait(nodes[1:], nodes[:-1])
        for i in range(3):
            self.assertEqual(single.message(i, i + 1, 500), i)
        for i in range(2):
            single.wait(i + 1, i, "received")
        self.assertEqual(many.goal(), single.goal())
        self.assertEqual(len(many), 3)

    def test_networkx(self):
        networkx = __import__("networkx")
        graph = networkx.DiGraph()
        graph.add_node("a", src=0, dst=1, size=1000)
        graph.add_node("w", rank=1, time_ns=5_000)
        graph.add_node("b", src=1, dst=2, size=2000)
        graph.add_edge("a", "w")
        graph.add_edge("w", "b")
        self.assertEqual(strack.Graph.from_networkx(graph).goal(), self.chain().goal())
        graph.add_node("c", src=1, dst=2)
        with self.assertRaisesRegex(ValueError, "node 'c' has no size"):
            strack.Graph.from_networkx(graph)

    def test_edges_and_flows(self):
        src, dst = numpy.arange(4), (numpy.arange(4) + 1) % 4
        result = strack.run(strack.Graph.from_edges(src, dst, 1000).scenario("ring.goal", base=SMALL))
        self.assertEqual(result.jobs.messages.tolist(), [4])
        strack.save_flows("ring.flows", src, dst, [1000, 2000, 3000, 4000], start_ns=10)
        flows = strack.run({**SMALL, "workload": {"kind": "file", "file": os.path.abspath("ring.flows")}}).flows
        self.assertEqual(flows.size_bytes.tolist(), [1000, 2000, 3000, 4000])
        self.assertEqual(flows.start_ps.tolist(), [10_000] * 4)

    def test_what_makes_no_sense(self):
        def made(build, ranks=2):
            graph = strack.Graph(ranks)
            build(graph)
            return graph.goal()

        def ring(graph):
            graph.wait(graph.compute(0, 1), graph.compute(0, 1))
            graph.wait(1, 0)

        for build, said in (
                (lambda g: g.message(0, 2, 1), "node 0: rank 2 is none of 0 to 1"),
                (lambda g: g.message(1, 1, 1), "node 0: rank 1 sends to itself"),
                (lambda g: g.message(0, 1, 0), "node 0: a message has 1 to 4294967295 bytes, not 0"),
                (lambda g: g.compute(0, -1), "node 0: a computation takes 0 to 3600000000000 ns, not -1"),
                (lambda g: g.message(0, 1, 1, -1), "node 0: it starts at 0 to 3600000000000 ns, not -1"),
                (lambda g: g.wait(g.message(0, 1, 1), 7), "wait 0: node 7 is none of 0 to 0"),
                (lambda g: g.wait(g.message(0, 1, 1), 0, "later"), "'later' is no moment. they are started, sent, received"),
                (lambda g: g.message([0, 1], [1, 0, 1], 1), "columns of 2, 3, 2, 2 rows|columns of 2, 3, 3, 3 rows"),
                (ring, "ring|wait for each other")):
            with self.subTest(said), self.assertRaisesRegex(ValueError, said):
                made(build)
        with self.assertRaisesRegex(TypeError, "whole numbers are needed, not float64"):
            made(lambda g: g.message(0, 1, 1.5))
        with self.assertRaisesRegex(ValueError, "chain.txt: a schedule's name ends in .goal"):
            self.chain().save("chain.txt")


class PlotTest(PythonTest):
    def setUp(self):
        super().setUp()
        import matplotlib
        matplotlib.use("Agg")

    def test_pictures_hold_the_tables_numbers(self):
        result = strack.run(SMALL)
        line, = result.plot("fct").get_lines()
        self.assertEqual(line.get_xdata().tolist(), sorted(result.fct.fct_us))
        self.assertEqual(line.get_color(), strack.plot.colours()[0])
        self.assertEqual(line.get_label(), "strack")
        queue, = strack.plot.queues(result).get_lines()
        self.assertEqual(max(queue.get_ydata()) * 1e3, result.link_samples.queue_max_bytes.max())
        self.assertEqual(len(strack.plot.windows(result, flows=[0, 1]).get_lines()), 2)
        self.assertEqual(len(strack.plot.links(result).patches), 8)
        with self.assertRaisesRegex(ValueError, "there is no plot 'pie'. there are fct, queues, windows, links"):
            result.plot("pie")
        without = strack.run({**SMALL, "record": {"interval_us": 0}})
        with self.assertRaisesRegex(strack.RunError, "nothing to draw, link_samples is empty. run it with record.interval_us"):
            without.plot("queues")


class DocumentationTest(PythonTest):
    def test_the_tours_examples_run(self):
        text = (SOURCE / "docs" / "python.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```python\n(.*?)^```", text, re.S | re.M)
        self.assertGreater(len(blocks), 6)
        (self.folder / "scenarios").symlink_to(SOURCE / "scenarios")
        names = {}
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            for number, block in enumerate(blocks):
                exec(compile(block, f"docs/python.md, block {number}", "exec"), names)

    def test_everything_public_is_documented(self):
        for name in strack.__all__:
            thing = getattr(strack, name)
            self.assertTrue(inspect.getdoc(thing), name)
            if inspect.isclass(thing) and not issubclass(thing, Exception):
                for part, member in vars(thing).items():
                    if not part.startswith("_") and (callable(member) or isinstance(member, (property, classmethod))):
                        self.assertTrue(inspect.getdoc(member), f"{name}.{part}")

    def test_stubs_say_what_the_code_has(self):
        for stub in sorted((SOURCE / "python" / "strack").glob("*.pyi")):
            module = __import__(f"strack.{stub.stem}", fromlist=["x"])
            for node in ast.parse(stub.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.FunctionDef):
                    self.same_arguments(getattr(module, node.name), node, module.__name__)
                elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    whole = getattr(module, node.name)
                    for part in (part for part in node.body if isinstance(part, ast.FunctionDef)):
                        self.assertTrue(hasattr(whole, part.name), f"{module.__name__}.{node.name}.{part.name}")
                        if not any(isinstance(d, ast.Name) and d.id == "property" for d in part.decorator_list):
                            self.same_arguments(getattr(whole, part.name), part, f"{module.__name__}.{node.name}")

    @unittest.skipUnless(shutil.which("stubtest"), "no stubtest: Debian's mypy has it")
    def test_stubtest_finds_no_difference(self):
        (self.folder / "mypy.ini").write_text("[mypy]\nignore_missing_imports = True\n")
        path = os.path.dirname(os.path.dirname(strack.__file__))
        done = subprocess.run(["stubtest", "strack", "--mypy-config-file", "mypy.ini", "--concise"], cwd=self.folder, capture_output=True, text=True,
                              timeout=250, env={**os.environ, "PYTHONPATH": path, "MYPYPATH": path}, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def same_arguments(self, function, node, place):
        try:
            found = list(inspect.signature(function).parameters)
        except ValueError:  # compiled
            return
        names = [argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)]
        if node.args.kwarg:
            names.append(node.args.kwarg.arg)
        names = [name for name in names if name != "cls" and name != "self" and not name.startswith("_")]
        self.assertEqual([name for name in found if name != "self" and not name.startswith("_")], names, f"{place}.{node.name}")


if __name__ == "__main__":
    unittest.main()
