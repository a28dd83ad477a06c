#!/usr/bin/env python3
"""Runs every scenario of this folder under every scheme and compares its summary with the text beside
it, to the last character. A difference is a change of behaviour: intended, it is taken over with
--update and shows in the commit; otherwise it is a mistake.

usage: golden_test.py PROGRAM [--update] [NAME...]
"""

import argparse
import difflib
import os
import pathlib
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).resolve().parent


def strack(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):  # 1: the run stalled, which its summary says
        sys.exit(f"strack {' '.join(map(str, words))}: status {done.returncode}\n{done.stderr}")
    return done.stdout


def schemes(program):
    """Those of all transports there are."""
    return [line.split()[0] for line in strack(program, "sim", "schemes").splitlines()]


def summary(program, scenario):
    """The table of all schemes, then each in full."""
    with tempfile.TemporaryDirectory(prefix="strack_golden_") as folder:
        files = []
        for scheme in schemes(program):
            files.append(os.path.join(folder, scheme + ".db"))
            strack(program, "sim", "run", scenario, "--quiet", "--set",
                   f"transport.scheme={scheme}", "--out", files[-1])
        texts = [strack(program, "sim", "summary", *files)]
        texts += [strack(program, "sim", "summary", file) for file in files]
        return "\n".join(texts).replace(folder + os.sep, "")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("names", nargs="*", help="scenarios without .toml; all")
    parser.add_argument("--update", action="store_true", help="write the texts instead")
    options = parser.parse_intermixed_args()
    scenarios = sorted(FOLDER.glob("*.toml"))
    if options.names:
        scenarios = [FOLDER / (name + ".toml") for name in options.names]

    different = []
    for scenario in scenarios:
        golden = scenario.with_suffix(".txt")
        now = summary(os.path.abspath(options.program), scenario)
        before = golden.read_text() if golden.exists() else ""
        if now == before:
            continue
        different.append(scenario.stem)
        if options.update:
            golden.write_text(now)
            print(f"updated {golden.name}")
        else:
            sys.stdout.writelines(difflib.unified_diff(
                before.splitlines(True), now.splitlines(True), f"golden/{golden.name}", "now"))
    for golden in FOLDER.glob("*.txt"):
        if not golden.with_suffix(".toml").exists():
            sys.exit(f"{golden.name} has no scenario. remove it, or put {golden.stem}.toml back")
    if different and not options.update:
        print(f"\n{len(different)} of {len(scenarios)} scenarios give other results than before: "
              f"{', '.join(different)}\nif that is intended: "
              f"tests/golden/golden_test.py {options.program} --update")
        return 1
    print(f"{len(scenarios)} scenarios, {len(different)} {'updated' if options.update else 'differ'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
