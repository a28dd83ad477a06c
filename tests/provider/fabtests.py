#!/usr/bin/env python3
"""libfabric's own tests over the provider: all of the quick set. Tests of what a provider has not, other kinds of endpoints for one, say so and are not run.

    fabtests.py PROVIDER_FOLDER [--over NAME] [WORD...]     only tests with one of these words in their names are told of; another provider, such as "udp;ofi_rxd"

Needs fabtests: FABTESTS names the folder that they are installed in, or their programs are found by PATH. Debian has their source in
its package mpich (`apt source mpich`, modules/libfabric/fabtests: ./autogen.sh, ./configure --prefix=..., make install). Their script ends
processes by name and takes a certain port, so it runs where it sees no others: in PID and network namespaces, which need root.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("provider")
    parser.add_argument("--over", default="strack", help="the provider's name")
    parser.add_argument("words", nargs="*", metavar="WORD")
    options = parser.parse_args()
    provider, words = pathlib.Path(options.provider).resolve(), options.words
    folder = os.environ.get("FABTESTS")
    script = shutil.which("runfabtests.sh", path=f"{folder}/bin" if folder else None)
    if script is None:
        print("skipped: no runfabtests.sh in FABTESTS/bin or PATH")
        return SKIP
    if os.geteuid() != 0:
        print("skipped: namespaces need root")
        return SKIP
    env = {**os.environ, "FI_PROVIDER_PATH": str(provider), "PATH": f"{pathlib.Path(script).parent}:{os.environ['PATH']}"}
    work = tempfile.mkdtemp(prefix="strack_fabtests_")  # the script leaves files where it runs
    command = ["unshare", "-pfn", "--mount-proc", "sh", "-c", 'ip link set lo up && exec "$@"', "sh",
               script, "-vv", "-t", "unit,functional,short", "-T", "60", options.over]  # both ends here
    done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", check=False, cwd=work)
    results = re.findall(r"name:\s+(.*?)\s*$.*?result:\s+(\w+)", done.stdout, re.M | re.S)
    if words:
        results = [one for one in results if any(word in one[0] for word in words)]
    for name, result in results:
        print(f"{result:<10} {name}")
    counts = {kind: sum(result == kind for _, result in results) for kind in ("Pass", "Notrun", "Fail")}
    print(f"{options.over}: {counts['Pass']} pass, {counts['Notrun']} are not run, {counts['Fail']} fail")
    shutil.rmtree(work, ignore_errors=True)
    if counts["Fail"] or not counts["Pass"]:
        for block in re.split(r"^- name:", done.stdout, flags=re.M):
            if "result: Fail" in block:
                print("- name:" + block[:3000])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
