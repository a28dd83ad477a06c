#!/usr/bin/env python3
"""libfabric's own tests over the provider: all of the quick set. Tests of what a provider has not, other kinds of endpoints for one, say so and are not run.

    fabtests.py PROVIDER_FOLDER [--over NAME] [WORD...]     only tests with one of these words in their names are told of; another provider, such as "udp;ofi_rxd"

Of each test of two programs that passes, endpoints' counters must say that its bytes crossed STrack, and over another provider that none did.

Needs fabtests: FABTESTS names the folder that they are installed in, or their programs are found by PATH, or where tools/setup built them. Debian has their source in
its package mpich (modules/libfabric/fabtests: ./autogen.sh, ./configure --prefix=..., make install). Their script ends
processes by name and takes a certain port, so it runs where it sees no others: in PID and network namespaces, which need root.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from proof import NO_FABTESTS, bytes_sent, fabtests

SKIP = 77


def run_all(folder, provider, over):
    """(name, result, what it printed) of each test."""
    env = {**os.environ, "FI_PROVIDER_PATH": provider, "FI_STRACK_STATS": "1", "PATH": f"{folder}:{os.environ['PATH']}"}
    command = ["unshare", "-pfn", "--mount-proc", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
               str(folder / "runfabtests.sh"), "-vvv", "-t", "unit,functional,short", "-T", "60", over]  # both ends here
    with tempfile.TemporaryDirectory(prefix="strack_fabtests_") as work:  # the script leaves files where it runs
        done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", check=False, cwd=work)
    return re.findall(r"- name:   (.*?) *\n  result: (\w+)(.*?)(?=- name:   |\Z)", done.stdout, re.S)  # some programs' last line has no end


def judged(result, said, over):
    """A test of two programs has passed only if its bytes went the way that they should."""
    if result != "Pass" or "client_stdout" not in said:
        return result
    return result if (sum(bytes_sent(said)) > 0) == (over == "strack") else "Astray"


def summary(over, results, sent):
    """In one line, of results and bytes; tools/prove reads it."""
    counts = [sum(one == kind for one in results) for kind in ("Pass", "Notrun", "Fail", "Astray")]
    return "{}: {} pass, {} are not run, {} fail, {} with bytes astray; {} bytes over STrack".format(over, *counts, sent)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("provider")
    parser.add_argument("--over", default="strack", help="the provider's name")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    folder = fabtests()
    if folder is None:
        print(f"skipped: {NO_FABTESTS}")
        return SKIP
    if os.geteuid() != 0:
        print("skipped: namespaces need root")
        return SKIP
    tests = [(name, judged(result, said, options.over), said) for name, result, said in run_all(folder, str(pathlib.Path(options.provider).resolve()), options.over)
             if not options.words or any(word in name for word in options.words)]
    for name, result, said in tests:
        print(f"{result:<10} {name}")
        if result in ("Fail", "Astray"):
            print(said[:3000])
    results = [result for _, result, _ in tests]
    print(summary(options.over, results, sum(sum(bytes_sent(said)) for _, _, said in tests)))
    return 1 if "Pass" not in results or set(results) - {"Pass", "Notrun"} else 0


if __name__ == "__main__":
    sys.exit(main())
