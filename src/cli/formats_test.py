#!/usr/bin/env python3
"""Every command that prints a result prints it for programs, too: the program's own tree of commands is walked.

usage: formats_test.py PROGRAM [unittest arguments]
"""

import csv
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "strack"

# Commands without --json, and why. Whatever is not here has to have it; what has it must not be here.
NO_JSON = {
    "demo": "shows the protocol to a person; the same as a simulation is `sim run`",
    "trace": "is itself the record of a transfer, a line per event",
    "help": "explains",
    "sim export": "writes files for other tools, and prints their names",
    "sim watch": "serves a page until Ctrl-C",
    "workload convert": "prints or writes a workload in another tool's format",
    "workload draw": "prints or writes a picture",
    "workload make": "prints or writes a scenario",
    "report": "writes a page, and prints its name; --csv FOLDER has every figure",
    "key rotate": "writes files, and says what to do next",
    "paper run": "makes result files; `paper status` and `sim summary` say what is in them",
    "paper calibrate": "writes points.csv, and prints its name",
    "paper report": "writes a page; --data and --csv are its tables, `paper status --json` its verdicts",
    "league run": "makes result files; `league report` says what is in them",
    "topology make dragonfly": "writes a network",
    "topology make dragonfly-plus": "writes a network",
    "topology make planes": "writes a network",
    "recv": "takes files until Ctrl-C; --prometheus has its figures",
    "cp": "copies files",
    "key new": "writes a key, and prints the public one",
    "key show": "prints one key",
    "key trust": "writes a file",
    "mpirun": "becomes another program",
}
# Commands with --json that print no table, and so have no --csv.
NO_TABLE = {
    "sim show": "a scenario",
    "version": "three words",
    "vectors export": "a text of its own, which --json is another form of",
    "vectors check": "one sentence, or what is wrong",
    "perf server": "a line for each connection",
}


def strack(*words, folder=None):
    return subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                          cwd=folder, env={**os.environ, "NO_COLOR": "1"})


def leaves(path=()):
    """All commands that have none below them, with their help."""
    text = strack(*path, "--help").stdout
    names = []
    at = re.search(r"^Subcommands:\n(.*)", text, re.M | re.S)
    if at:
        names = re.findall(r"^  ([a-z][a-z-]*)(?: |$)", at.group(1), re.M)
    if not names:
        return [(" ".join(path), text)]
    found = []
    for name in names:
        found += leaves((*path, name))
    return found


class FormatsTest(unittest.TestCase):
    def test_every_result_is_there_for_programs(self):
        commands = dict(leaves())
        self.assertGreater(len(commands), 35, sorted(commands))
        for known in (NO_JSON, NO_TABLE):
            self.assertEqual([name for name in known if name not in commands], [], "no such commands")
        for name, text in commands.items():
            has_json = re.search(r"^  --json\b", text, re.M) is not None
            has_csv = re.search(r"^  --csv\b", text, re.M) is not None
            self.assertEqual(has_json, name not in NO_JSON, f"{name}: --json")
            if has_json:
                self.assertEqual(has_csv, name not in NO_TABLE, f"{name}: --csv")

    def test_lists_are_the_same_in_both(self):
        with tempfile.TemporaryDirectory() as folder:
            for words in (["sim", "schemes"], ["league", "cases"], ["vectors", "list"], ["doctor"],
                          ["paper", "status", "--rows", str(ROOT / "scenarios/paper")]):
                objects = json.loads(strack(*words, "--json", folder=folder).stdout)
                rows = list(csv.DictReader(io.StringIO(strack(*words, "--csv", folder=folder).stdout)))
                self.assertGreater(len(rows), 3, words)
                self.assertEqual(len(objects), len(rows), words)
                for one, row in zip(objects, rows):
                    self.assertEqual(list(one), list(row), words)
                    for key, value in one.items():
                        if isinstance(value, (int, float)):
                            self.assertEqual(float(row[key]), value, (words, key))
                        else:
                            self.assertEqual(row[key], value or "", (words, key))
            self.assertEqual(strack("sim", "schemes", "--json", "--csv").returncode, 2)

    def test_a_full_disk_is_told(self):
        for words in (("version",), ("sim", "schemes"), ("sim", "schemes", "--json"), ("league", "cases"), ("help", "scenario"), ("--version",)):
            with open("/dev/full", "w", encoding="utf-8") as full:
                done = subprocess.run([PROGRAM, *words], stdin=subprocess.DEVNULL, stdout=full, stderr=subprocess.PIPE, text=True, timeout=120, check=False)
            self.assertEqual(done.returncode, 1, words)
            self.assertRegex(done.stderr, r"\Aerror: .*(is the disk full\?|No space left on device)\n\Z", words)

    def test_the_version(self):
        said = json.loads(strack("version", "--json").stdout)
        self.assertEqual(list(said), ["version", "commit", "sources"])
        self.assertIn(said["sources"], strack("version").stdout)


if __name__ == "__main__":
    unittest.main()
