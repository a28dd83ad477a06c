#!/usr/bin/env python3
"""Folders that cannot be transports are refused when the build is configured, with words that help.

  registry_test.py ROOT    of the repository; takes cmake from PATH
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path()


def configure(folders):
    """What cmake says to a project that registers these folders and nothing else, or "" where it is content."""
    with tempfile.TemporaryDirectory() as place:
        source = pathlib.Path(place, "source")
        source.mkdir()
        made = []
        for name, files in folders:
            folder = source / name
            folder.mkdir(parents=True)
            for file, text in files.items():
                (folder / file).write_text(text)
            made.append(str(folder))
        checks, before = "", []
        for folder in made:
            checks += f'strack_check_transport({folder} "{";".join(before)}")\n'
            before.append(folder)
        functions = (ROOT / "cmake/strack.cmake").read_text()
        begin = functions.index("function(strack_check_transport")
        checks = functions[begin:functions.index("endfunction()", begin)] + "endfunction()\n" + checks
        script = source / "check.cmake"
        script.write_text(f"cmake_policy(VERSION 3.25)\n{checks}")
        done = subprocess.run(["cmake", "-P", str(script)], capture_output=True, text=True, check=False, timeout=60)
        return "" if done.returncode == 0 else " ".join(done.stderr.replace(str(source), "").split())


def files(name):
    return {"descriptor.cpp": f"extern const Descriptor descriptor_of_{name}{{}};\n", "core.cpp": ""}


class RegistryTest(unittest.TestCase):
    def test_a_folder_with_what_it_needs_is_taken(self):
        self.assertEqual(configure([("mine", files("mine")), ("a/x2_b", files("x2_b"))]), "")

    def test_bad_names(self):
        for name in ("Mine", "2fast", "my-own", "my.own"):
            self.assertIn(f"{name} is no name for a transport", configure([(name, files("mine"))]))

    def test_missing_files(self):
        for missing in ("descriptor.cpp", "core.cpp"):
            some = {file: text for file, text in files("mine").items() if file != missing}
            self.assertIn(f"/mine: a transport's folder has a {missing}, and this one has not", configure([("mine", some)]))

    def test_a_descriptor_of_another_name(self):
        self.assertIn("no descriptor_of_mine. the descriptor has the folder's name", configure([("mine", files("minefield"))]))

    def test_two_of_one_name(self):
        self.assertIn("/b/mine: there is a transport mine already, /a/mine", configure([("a/mine", files("mine")), ("b/mine", files("mine"))]))


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1))
    unittest.main()
