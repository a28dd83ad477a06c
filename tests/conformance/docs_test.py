#!/usr/bin/env python3
"""The code in docs/add-a-transport.md is that of examples/transports/toy, word for word, and the
example is as short as the page says; its part over UDP comes on top.

usage: docs_test.py REPOSITORY
"""

import pathlib
import re
import sys

MOST_LINES = 200


def main():
    root = pathlib.Path(sys.argv[1])
    files = sorted((root / "examples/transports/toy").iterdir())
    code = "\n".join(file.read_text() for file in files)
    page = (root / "docs/add-a-transport.md").read_text()
    blocks = re.findall(r"^```cpp\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    wrong = [block for block in blocks if block not in code]
    for block in wrong:
        print(f"not in examples/transports/toy as docs/add-a-transport.md has it:\n{block}")
    promised = "\n".join(file.read_text() for file in files if file.name != "udp.cpp")
    lines = sum(1 for line in promised.splitlines() if line.strip() and not line.strip().startswith("//"))
    if lines > MOST_LINES:
        print(f"the example has {lines} lines of code. at most {MOST_LINES} were promised")
    if not blocks:
        print("docs/add-a-transport.md shows no code")
    return 1 if wrong or lines > MOST_LINES or not blocks else 0


if __name__ == "__main__":
    sys.exit(main())
