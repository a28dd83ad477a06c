"""A command as a person meets it: what the tests of this folder's commands share. No test of its own."""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

PROGRAM = os.path.abspath(sys.argv.pop(1))

# Longer than any test wants to wait.
LONG = """
name = "long"
[topology]
hosts = 64
hosts_per_rack = 8
[workload]
kind = "random"
size = "1 MB"
load = 0.8
duration_us = 50000
"""


class CommandTest(unittest.TestCase):
    """Each test has a folder of its own, gone afterwards, in which the program runs."""

    COMMAND = ()  # words that all of a file's tests begin with
    FILES = {}  # in the folder, by name
    PATIENCE = 120  # seconds
    ERROR = r"\Aerror: "  # what a failure says on standard error

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strack_test_"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        for name, text in self.FILES.items():
            self.write(name, text)

    def write(self, name, text):
        (self.folder / name).write_text(text)

    def strack(self, *words, check=False, **options):
        return subprocess.run([PROGRAM, *self.COMMAND, *words], cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True,
                              text=True, timeout=self.PATIENCE, check=check, **options)

    def good(self, *words, stderr="", **options):
        """Ends well and says this on standard error; returns what else it said."""
        done = self.strack(*words, **options)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, stderr)
        return done.stdout

    def bad(self, *words, status=2, **options):
        """Fails as ERROR says; returns what it said."""
        done = self.strack(*words, **options)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertRegex(done.stderr, self.ERROR)
        return done.stderr

    def rows(self, file, sql):
        # Read-only: looking must not make a file that is not there yet.
        connection = sqlite3.connect(f"file:{self.folder / file}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def page(self, path):
        """What a page was given."""
        text = (self.folder / path).read_text()
        return json.loads(re.search(r'<script id="report-data" type="application/json">(.*?)</script>', text, re.DOTALL).group(1))
