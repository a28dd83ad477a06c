#!/usr/bin/env python3
"""Checks the model of set-up (spec/model/set_up.pml) with spin: every order of events, in every mode.

  check.py           in small, for every run of the tests: R draws one or two ids
  check.py --full    R draws up to three ids, and copies of what is sent come from elsewhere, too (4 GB, some minutes)

Three kinds of runs. The model itself must hold. Without one of its rules it must not: a model that misses nothing proves
nothing. And what it is for must be reachable: both sides open, a restart noticed, a connection in spite of replays.
Exit status: 0 all as it should be, 1 not so, 77 there is no spin.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MODEL = pathlib.Path(__file__).with_name("set_up.pml")
MODES = ["OPEN", "SHARED", "HOSTS"]


def numbers(section):
    """The names and numbers of the #defines after a comment's words."""
    text = MODEL.read_text()
    block = text[text.index(section):]
    return {name: int(number) for name, number in re.findall(r"^#define (\w+)\s+(\d+)", block[:block.index("\nbyte ")], re.M)}


def build(folder):
    """pan, the model's verifier."""
    subprocess.run(["spin", "-a", str(MODEL)], cwd=folder, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["gcc", "-O2", "-w", "-DSAFETY", "-o", "pan", "pan.c"], cwd=folder, check=True)
    return folder / "pan"


def verify(pan, mode, ids, elsewhere, left_out=0, goal=0):
    """How many states there are, and what was violated, if anything."""
    words = {"MODE": MODES.index(mode), "IDS": ids, "ELSEWHERE": int(elsewhere), "LEFT_OUT": left_out, "GOAL": goal}
    done = subprocess.run([str(pan), "-n", "-m100000", "-w22"], cwd=pan.parent, capture_output=True, text=True, check=False,
                          env={**os.environ, **{name: str(value) for name, value in words.items()}})
    errors = re.search(r"errors: (\d+)", done.stdout)
    states = re.search(r"(\d+) states, stored", done.stdout)
    # Anything but a whole search is no proof.
    if done.returncode or errors is None or states is None or "max search depth too small" in done.stdout or "out of memory" in done.stdout:
        sys.exit(f"the verifier did not come to its end:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    violated = re.search(r"pan:1: (.*)", done.stdout)
    return int(states[1]), (violated[1] if violated else "an error") if int(errors[1]) else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--full", action="store_true")
    full = parser.parse_args().full
    if shutil.which("spin") is None:
        print("skipped: there is no spin here; tools/setup installs it")
        return 77
    wrong, total = [], 0
    with tempfile.TemporaryDirectory() as folder:
        pan = build(pathlib.Path(folder))
        for mode in MODES:
            sizes = [(3, True)] if full else [(2, mode != "HOSTS"), (1, True)]
            if full and mode == "HOSTS":
                sizes = [(2, True), (3, False)]
            for ids, elsewhere in sizes:
                states, violated = verify(pan, mode, ids, elsewhere)
                total += states
                print(f"{mode}, {ids} ids: {states} states, {violated or 'all holds'}")
                wrong += [f"{mode}: {violated}"] if violated else []
        for mode in MODES:
            for name, number in numbers("/* Rules taken out").items():
                _, violated = verify(pan, mode, 2, True, left_out=number)
                print(f"{mode} without its rule ({name}): {violated or 'nothing is missed'}")
                wrong += [] if violated else [f"{mode}: {name} is not missed"]
            for name, number in numbers("/* Instead: is it").items():
                _, reached = verify(pan, mode, 2, True, goal=number)
                wrong += [] if reached else [f"{mode}: {name} cannot be reached"]
    for line in wrong:
        print(f"error: {line}")
    print(f"set-up: {total} states in {len(MODES)} modes, {len(wrong)} things wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
