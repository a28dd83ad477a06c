#!/usr/bin/env python3
"""Runs what the tutorials of the site tell their readers to run.

usage: tutorials_test.py PROGRAM [PAGE...]

The blocks ```sh of README.md and docs/site/pages/tutorials/*.md, those of a page one after the other in a folder of its own, with PROGRAM on the PATH. A command that fails
stops the page, with its block and what was said.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = ROOT / "docs/site/pages/tutorials"
LIMIT = 120  # seconds for a page


def blocks(text):
    return re.findall(r"^```sh\n(.*?)^```$", text, re.M | re.S)


def walk(page, environment):
    """What went wrong; none where nothing did."""
    found = blocks(page.read_text(encoding="utf-8"))
    if not found:
        return "no block to run"
    with tempfile.TemporaryDirectory(prefix="strack_tutorial_") as folder:
        script = "set -eo pipefail\n" + "".join(f"echo '--- block {number}'\n{block}" for number, block in enumerate(found, 1))
        # Readers look at the head of what is long; whoever wrote it is not to blame for the closed pipe.
        script = script.replace("| head", "| (head")
        script = re.sub(r"\| \(head([^\n|]*)", r"| (head\1; cat >/dev/null)", script)
        done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=LIMIT, check=False)
        return "" if done.returncode == 0 else f"exit status {done.returncode}\n{done.stdout[-3000:]}"


def main():
    if len(sys.argv) < 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    program = pathlib.Path(sys.argv[1]).resolve()
    environment = {**os.environ, "PATH": f"{program.parent}:{os.environ['PATH']}", "NO_COLOR": "1"}
    pages = [pathlib.Path(name) for name in sys.argv[2:]] or [ROOT / "README.md", *sorted(PAGES.glob("*.md"))]
    failed = 0
    for page in pages:
        problem = walk(page, environment)
        failed += bool(problem)
        print(f"{page.name}: {problem or 'ok'}", flush=True)
    return 1 if failed or not pages else 0


if __name__ == "__main__":
    sys.exit(main())
