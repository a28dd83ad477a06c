#!/usr/bin/env python3
"""What a release promises: one version everywhere, an archive of the sources that is the same bytes every time, a list of what is in it.

usage: release_test.py BUILD_FOLDER VERSION [unittest arguments]
"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD, VERSION = os.path.abspath(sys.argv.pop(1)), sys.argv.pop(1)
SOURCE = pathlib.Path(__file__).resolve().parents[2]


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False, **options)
    if done.returncode:
        raise AssertionError(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


class ReleaseTest(unittest.TestCase):
    def test_a_static_program_opens_no_library(self):
        """It has a C library of its own: ciphers of a machine with another one ended it with SIGFPE."""
        with tempfile.TemporaryDirectory() as folder:
            asks = pathlib.Path(folder, "asks.cpp")
            asks.write_text('''#include <cstdio>
#include "base/shared_library.h"
int main() { std::puts(strack::open_library("libm.so.6") ? "opened" : strack::open_library("libm.so.6").error().c_str()); }
''')
            for flags, said in ((["-static"], "a static program cannot open libm.so.6"), ([], "opened")):
                run("g++", "-std=c++20", *flags, "-I", SOURCE / "src", asks, SOURCE / "src/base/shared_library.cpp", SOURCE / "src/base/check.cpp", "-o", f"{folder}/asks")
                self.assertEqual(run(f"{folder}/asks").strip(), said)

    def test_one_version(self):
        self.assertIn(f"Version {VERSION}, ", (SOURCE / "README.md").read_text())
        self.assertEqual(json.loads((SOURCE / "src/report/web/package.json").read_text())["version"], VERSION)
        self.assertEqual(run(f"{BUILD}/src/cli/strack", "--version"), f"strack {VERSION}\n")

    def test_the_archive_is_the_same_bytes_every_time(self):
        if not shutil.which("git") or subprocess.run(["git", "-C", SOURCE, "rev-parse", "HEAD"], capture_output=True, check=False).returncode:
            self.skipTest("no repository here")
        sums = [run("sh", "-c", f"umask {mask}; make --no-print-directory -s dist", cwd=SOURCE, env={**os.environ, "TZ": zone, "MAKEFLAGS": ""})
                for zone, mask in (("UTC", "022"), ("Asia/Tokyo", "077"))]
        self.assertRegex(sums[0], rf"^[0-9a-f]{{64}}  build/strack-{re.escape(VERSION)}\.tar\.gz$")
        self.assertEqual(sums[0], sums[1])

    def test_what_is_in_it_is_listed_with_licences(self):
        if not pathlib.Path("/usr/share/doc/libsodium23/copyright").is_file():
            self.skipTest("the machine has no copyright files")
        bill = json.loads(run(SOURCE / "packaging/sbom.py", BUILD, VERSION))
        self.assertEqual(bill["metadata"]["component"]["version"], VERSION)
        licences = {one["name"]: one["licenses"][0]["license"]["name"] for one in bill["components"]}
        for name, licence in (("libsodium23", "ISC"), ("libcli11-dev", "BSD-3-Clause"), ("echarts", "Apache-2.0")):
            self.assertEqual(licences.get(name), licence)
        for name, licence in (("libopenmpi3", "BSD-3-Clause-Open-MPI"), ("libssl3", "Apache-2.0"), ("libfabric1", "BSD-2-Clause OR GPL-2.0-only")):
            self.assertIn(licences.get(name, licence), (licence,), name)  # where the machine has it
        self.assertEqual([name for name, licence in licences.items() if licence.startswith("see ")], [])

    def test_what_is_loaded_at_run_time_is_in_the_list(self):
        sources = "".join(path.read_text(errors="replace") for path in (SOURCE / "src").rglob("*.cpp") if not path.name.endswith("_test.cpp"))
        asked = set(re.findall(r'(?:dlopen|open_library)\("([^"]+)"', sources)) - {"libcuda.so.1"}  # the driver of a GPU, which no package here has
        self.assertEqual(asked, set(re.findall(r'"([^"]+)"', re.search(r"LOADED = \((.*?)\)", (SOURCE / "packaging/sbom.py").read_text())[1])))


if __name__ == "__main__":
    unittest.main()
