#!/usr/bin/python3
"""Chakra's execution traces as others write them: by protobuf's own encoder.

usage: chakra_test.py PROGRAM [unittest arguments]

It needs Debian's protobuf-compiler and python3-protobuf (tools/setup installs them).
"""

import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

from google.protobuf.internal.encoder import _VarintBytes
from google.protobuf.json_format import MessageToJson

PROGRAM = os.path.abspath(sys.argv.pop(1))
HERE = pathlib.Path(__file__).resolve().parent

ALL_REDUCE, REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER, BARRIER = 0, 1, 2, 5, 6, 7, 9


def compile_schema(folder):
    subprocess.run(["protoc", f"--python_out={folder}", f"-I{HERE}", "trace.proto"], check=True)
    sys.path.insert(0, str(folder))
    return importlib.import_module("trace_pb2")


class ChakraTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.generated = tempfile.mkdtemp(prefix="strack_chakra_pb_")
        cls.pb = compile_schema(cls.generated)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.generated, ignore_errors=True)

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strack_chakra_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    # --- writing ---

    def step(self, number, kind, deps=(), micros=0, inputs=None, **attributes):
        step = self.pb.Step(id=number, name=f"step {number}", type=getattr(self.pb, kind),
                            data_deps=deps, duration_micros=micros)
        if inputs is not None:
            step.inputs.values = inputs
        for name, value in attributes.items():
            attribute = step.attr.add(name=name)
            if isinstance(value, bool):
                attribute.bool_val = value
            elif isinstance(value, str):
                attribute.string_val = value
            elif isinstance(value, list):
                attribute.bool_list.values.extend(value)
            elif name in ("comm_src", "comm_dst", "comm_tag"):
                attribute.int32_val = value
            else:
                attribute.int64_val = value
        return step

    def collective(self, number, kind, size, **more):
        return self.step(number, "COMM_COLL_NODE", is_cpu_op=False, comm_type=kind, comm_size=size, **more)

    def write(self, name, ranks, header=None):
        header = self.pb.Header(version="0.0.4") if header is None else header
        for rank, steps in enumerate(ranks):
            with open(self.folder / f"{name}.{rank}.et", "wb") as file:
                for message in [header, *steps]:
                    data = message.SerializeToString()
                    file.write(_VarintBytes(len(data)) + data)
            with open(self.folder / f"{name}.{rank}.json", "w") as file:
                for message in [header, *steps]:
                    file.write(MessageToJson(message))

    # --- running ---

    def strack(self, *words):
        return subprocess.run([PROGRAM, *words], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=60)

    def run_trace(self, file, hosts, more=""):
        (self.folder / "t.toml").write_text(
            f'[topology]\nhosts = {hosts}\nhosts_per_rack = 4\n'
            f'[workload]\nkind = "trace"\nfile = "{file}"\n{more}')
        done = self.strack("sim", "run", "t.toml", "--out", "t.db", "--force")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("1 of 1 finished", done.stdout)
        return re.search(r"^hash +(\w+)$", done.stdout, re.MULTILINE).group(1), done

    def info(self, *files):
        done = self.strack("workload", "info", *files)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def figure(self, text, name):
        return re.search(rf"^  {name} +(.*)$", text, re.MULTILINE).group(1)

    # --- the tests ---

    def test_the_schema_leaves_defaults_out(self):
        """What made the reader refuse every public trace: an id of 0 is not in the file."""
        step = self.step(0, "COMP_NODE")
        self.assertEqual(step.SerializeToString(), b"\x12\x06step 0\x18\x04")

    def test_every_collective_of_a_microbenchmark(self):
        volumes = {ALL_REDUCE: 6, ALL_GATHER: 12, ALL_TO_ALL: 3, REDUCE_SCATTER: 3, BROADCAST: 3}
        for kind, times in volumes.items():
            with self.subTest(kind=kind):
                self.write("m", [[self.collective(0, kind, 400_000)]] * 4)
                text = self.info("m.{rank}.et")
                self.assertIn(f"{times * 400_000} (", self.figure(text, "bytes"))
                proto, _ = self.run_trace("m.{rank}.et", 8)
                as_json, _ = self.run_trace("m.{rank}.json", 8)
                self.assertEqual(proto, as_json)

    def test_headers_of_all_kinds(self):
        steps = [[self.collective(0, ALL_REDUCE, 8000)]] * 2
        attributes = self.pb.Header()
        attributes.attr.add(name="schema", string_val="1.0.2-chakra.0.0.4")
        attributes.attr.add(name="pid", uint64_val=788625)
        for header in (self.pb.Header(), self.pb.Header(version="0.0.4"), attributes):
            self.write("h", steps, header)
            for file in ("h.{rank}.et", "h.{rank}.json"):
                self.assertEqual(self.figure(self.info(file), "messages"), "4")

    def test_a_ring_of_sends_and_receives(self):
        """A collective written out by hand, with node 0 and tag 0, as a custom one is."""
        ranks = []
        for rank in range(4):
            steps = []
            for turn in range(3):
                deps = [2 * turn - 1] if turn else []
                steps.append(self.step(2 * turn, "COMM_SEND_NODE", deps, comm_size=131072,
                                       comm_dst=(rank + 1) % 4, comm_tag=0))
                steps.append(self.step(2 * turn + 1, "COMM_RECV_NODE", deps, comm_size=131072,
                                       comm_src=(rank + 3) % 4, comm_tag=0))
            ranks.append(steps)
        self.write("ring", ranks)
        text = self.info("ring.{rank}.et")
        self.assertEqual(self.figure(text, "messages"), "12")
        self.assertEqual(self.figure(text, "longest chain"), "3 nodes")
        self.assertEqual(self.run_trace("ring.{rank}.et", 8)[0],
                         self.run_trace("ring.{rank}.json", 8)[0])

    def test_groups(self):
        """Tensor-parallel pairs, data-parallel rows and everybody, described in three ways."""
        pairs = {"1": [0, 1], "2": [2, 3], "3": [0, 2], "4": [1, 3]}
        listed = json.dumps([{"pg_name": name, "ranks": ranks, "backend_config": "cuda:nccl"}
                             for name, ranks in {"0": [], **pairs}.items()])
        plain, described = [], []
        for rank in range(4):
            steps = [self.step(1, "COMP_NODE", micros=5, is_cpu_op=False)]
            for name, members in pairs.items():
                if rank in members:
                    steps.append(self.collective(len(steps) + 1, ALL_REDUCE, 20_000, pg_name=name))
            steps.append(self.collective(9, ALL_GATHER, 1_000, involved_dim=[True, True]))
            plain.append(steps)
            described.append([self.step(0, "METADATA_NODE", inputs=f"['{listed}']")] + steps)
        self.write("plain", plain)
        self.write("described", described)
        (self.folder / "groups.json").write_text(json.dumps(pairs))
        wanted = f"{4 * 2 * 20_000 + 12 * 1_000} ("

        guess = self.info("plain.{rank}.et")
        self.assertIn(wanted, self.figure(guess, "bytes"))
        self.assertEqual(self.figure(guess, "note"),
                         "4 groups are described nowhere: members are the ranks that name it")
        told = self.info("plain.{rank}.et", "--comm-groups", "groups.json")
        self.assertIn(wanted, self.figure(told, "bytes"))
        self.assertNotIn("note", told)
        for file in ("described.{rank}.et", "described.{rank}.json"):
            self.assertIn(wanted, self.figure(self.info(file), "bytes"))
            self.assertNotIn("note", self.info(file))
        hashes = {self.run_trace("plain.{rank}.et", 8)[0],
                  self.run_trace("plain.{rank}.et", 8, 'comm_groups = "groups.json"\n')[0]}
        self.assertEqual(len(hashes), 1)
        (self.folder / "groups.json").write_text('{"1": [0, 9]}')
        done = self.strack("workload", "info", "plain.{rank}.et", "--comm-groups", "groups.json")
        self.assertEqual(done.returncode, 2)
        self.assertIn('group "1" is no list of ranks, each once, from 0 to 3', done.stderr)

    def test_what_moves_nothing_is_said(self):
        """As converters of PyTorch's traces leave it: a call on the CPU, and no size for its kernel."""
        rank = [self.step(5, "COMM_COLL_NODE", micros=3, is_cpu_op=True),
                self.collective(6, ALL_REDUCE, 0),
                self.collective(7, ALL_REDUCE, 5000)]
        rank[0].ctrl_deps.append(3)
        self.write("torch", [rank] * 2)
        _, done = self.run_trace("torch.{rank}.et", 8)
        self.assertIn("warning: 2 collectives have comm_size 0, or none (the first: node 6 of "
                      "torch.0.et): nothing is moved", done.stderr)
        self.assertIn("warning: 2 control dependencies are on nodes that the file does not have",
                      done.stderr)
        self.assertIn("warning: 2 collectives are calls on the CPU", done.stderr)

    def test_mistakes_name_the_node(self):
        self.write("r", [[self.collective(0, REDUCE, 100)]] * 2)
        done = self.strack("workload", "info", "r.{rank}.et")
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, r"\Aerror: r\.0\.et: byte \d+: comm_type of node 0 is 1, Reduce\. ")


if __name__ == "__main__":
    unittest.main(verbosity=1)
