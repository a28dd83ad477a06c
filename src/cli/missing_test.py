#!/usr/bin/env python3
"""What commands with many runs need, and do not find: said once, with 2, before anything is made.

usage: missing_test.py PROGRAM [unittest arguments]
"""

import pathlib
import shutil
import unittest

from command import CommandTest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class MissingTest(CommandTest):
    def setUp(self):
        super().setUp()
        (self.folder / "bin").mkdir()
        for name in ("shared-cluster.toml", "small.toml"):
            shutil.copy(ROOT / "scenarios" / name, self.folder)
        shutil.copytree(ROOT / "scenarios/paper", self.folder / "scenarios/paper")
        self.before = self.files()

    def files(self):
        return sorted(self.folder.rglob("*"))

    def commands(self):
        return (("sim", "sweep", "small.toml", "--seeds", "1-3"), ("sim", "compare", "small.toml"), ("sim", "cost", "shared-cluster.toml"),
                ("paper", "run"), ("league", "run"))

    def refused(self, words, wanted, **environment):
        for command in self.commands():
            said = self.bad(*command, *words, env={"PATH": str(self.folder / "bin"), **environment})
            self.assertRegex(said, wanted, command)
            self.assertEqual(said.count("error:"), 1, said)
            self.assertEqual(self.files(), self.before, command)

    def program(self, name, line):
        file = self.folder / "bin" / name
        file.write_text(f"#!/bin/sh\n{line}\n")
        file.chmod(0o755)
        self.before = self.files()

    def test_slurm(self):
        self.refused(["--slurm"], "there is no sbatch here, so nothing was begun. it is in Debian's package slurm-client")
        self.program("sbatch", "exit 1")
        self.refused(["--slurm"], "there is no squeue here")

    def test_gnu_parallel(self):
        self.refused(["--ssh", "a,b"], "there is no GNU parallel here, so nothing was begun. it is in Debian's package parallel")
        self.program("parallel", "echo parallel from moreutils")
        self.refused(["--ssh", "a,b"], "there is no GNU parallel here")

    def test_the_gpus_module(self):
        self.refused(["--engine", "gpu"], "there is no GPU engine: .*nowhere.so is not there", STRACK_GPU_MODULE="/nowhere.so")

    def test_who_only_looks_needs_none(self):
        self.good("sim", "sweep", "small.toml", "--seeds", "1-3", "--dry-run", "--slurm", env={"PATH": str(self.folder / "bin")})


if __name__ == "__main__":
    unittest.main()
