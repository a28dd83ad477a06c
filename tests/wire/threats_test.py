#!/usr/bin/env python3
"""Every line of the threat model in docs/protocol.md names its tests, and there are such tests.

usage: threats_test.py SOURCE_FOLDER
"""

import pathlib
import re
import sys

CASE = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")


def cases(folder):
    """What GoogleTest has: {suite: names}."""
    found = {}
    for path in (folder / "src").rglob("*_test.cpp"):
        for suite, name in CASE.findall(path.read_text()):
            found.setdefault(suite, set()).add(name)
    return found


def faults(folder, known):
    text = (folder / "docs/protocol.md").read_text()
    table = text.partition("| who | tries | what holds | test |\n|---|---|---|---|\n")[2].partition("\n\n")[0]
    lines = table.splitlines()
    if len(lines) < 30:
        yield f"{len(lines)} lines of a threat model"
    for line in lines:
        cells = line.split(" | ")
        named = re.findall(r"`([^`]+)`", cells[-1])
        if len(cells) != 4 or not named:
            yield f"no test: {line}"
        for test in named:
            suite, _, name = test.partition(".")
            if name == "py" or "/" in test:
                there = (folder / "tests/wire" / pathlib.Path(test).name).is_file()
            else:
                there = suite in known and (name in ("", "*") or name in known[suite])
            if not there:
                yield f"no such test as {test}: {line}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    wrong = list(faults(folder, cases(folder)))
    if wrong:
        sys.exit("\n".join(wrong))


if __name__ == "__main__":
    main()
