#!/usr/bin/env python3
"""libfabric's own tests over the provider: the quick set's tests of reliable datagram endpoints and of single objects.

    fabtests.py PROVIDER_FOLDER [WORD...]     only tests with one of these words in their names

Needs fabtests: FABTESTS names the folder that they are installed in, or their programs are found by PATH. Debian has their source in
its package mpich (`apt source mpich`, modules/libfabric/fabtests: ./autogen.sh, ./configure --prefix=..., make install). Their script ends
processes by name, so it runs where it sees no others: in a PID namespace, which needs root.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIP = 77
# Other kinds of endpoints; what takes hours.
EXCLUDED = "^fi_msg,-e msg,^fi_dgram,-e dgram,ubertest,cm_data"


def main():
    provider, words = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2:]
    folder = os.environ.get("FABTESTS")
    script = shutil.which("runfabtests.sh", path=f"{folder}/bin" if folder else None)
    if script is None:
        print("skipped: no runfabtests.sh in FABTESTS/bin or PATH")
        return SKIP
    if os.geteuid() != 0:
        print("skipped: a PID namespace needs root")
        return SKIP
    env = {**os.environ, "FI_PROVIDER_PATH": str(provider), "PATH": f"{pathlib.Path(script).parent}:{os.environ['PATH']}"}
    work = tempfile.mkdtemp(prefix="strack_fabtests_")  # the script leaves files where it runs
    command = ["unshare", "-pf", "--mount-proc", script, "-vv", "-t", "unit,functional,short", "-T", "60", "-e", EXCLUDED, "strack"]  # both ends here
    done = subprocess.run(command, env=env, capture_output=True, text=True, errors="replace", check=False, cwd=work)
    results = re.findall(r"name:\s+(.*?)\s*$.*?result:\s+(\w+)", done.stdout, re.M | re.S)
    if words:
        results = [one for one in results if any(word in one[0] for word in words)]
    for name, result in results:
        print(f"{result:<10} {name}")
    counts = {kind: sum(result == kind for _, result in results) for kind in ("Pass", "Notrun", "Excluded", "Fail")}
    print(", ".join(f"{count} {kind.lower()}" for kind, count in counts.items()))
    shutil.rmtree(work, ignore_errors=True)
    if counts["Fail"] or not counts["Pass"]:
        for block in re.split(r"^- name:", done.stdout, flags=re.M):
            if "result: Fail" in block:
                print("- name:" + block[:3000])
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
