#!/usr/bin/env python3
"""Installs the .deb files of a folder on a clean Debian 12 with apt, and uses them there as anybody would.

usage: clean_root.py FOLDER [--root ROOT] [--mirror URL]

The root is made by debootstrap, and removed at the end unless it is given: then it is used as it is. Exit status 77 where that
cannot be done here: no debootstrap, not root, or no mirror to be reached.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PYTHON = """
import strack
r = strack.run("/usr/share/strack/scenarios/small.toml", out="/root/python.db")
assert r.status == "finished" and len(r.flows) == 128, r
print(len(r.flows), "rows in a DataFrame")
"""
UDP = """
import asyncio, strack
async def both():
    async with strack.udp.Endpoint(listen="127.0.0.1:0") as server, strack.udp.Endpoint() as client:
        ours, theirs = await asyncio.gather(client.connect(server.address), server.accept())
        _, got = await asyncio.gather(ours.send(b"hello"), theirs.receive())
        print(bytes(got.data).decode(), "over UDP")
asyncio.run(both())
"""
# What is done in the clean root, and what must be said.
COMMANDS = (
    ("strack --version", "strack "),
    ("strack sim run /usr/share/strack/scenarios/small.toml --out /root/small.db", "results: /root/small.db"),
    ("strack report /root/small.db", "report: /root/small.html"),
    ("strack vectors export --out /root/vectors && strack vectors check /root/vectors", "every state agrees"),
    ("(strack perf server --bind 127.0.0.1:14794 --once >/dev/null & sleep 1; strack perf client 127.0.0.1:14794 --seconds 2; wait)", "b/s"),
    ("strack key > /root/key && (strack recv --dir /root/in --create --once --insecure --bind 127.0.0.1:4794 & sleep 1; "
     "strack cp /root/vectors 127.0.0.1: --insecure; wait) && cmp /root/vectors /root/in/vectors && echo same bytes", "same bytes"),
    (f"python3 -c '{PYTHON}'", "128 rows in a DataFrame"),
    (f"python3 -c '{UDP}'", "hello over UDP"),
    ("python3 /root/tutorials/tutorials_test.py /usr/bin/strack /root/tutorials/*.md", "operator.md: ok"),
    ("apt-get install -y -qq --no-install-recommends man-db >/dev/null && man -P cat strack-sim-run", "STRACK-SIM-RUN(1)"),
    (". /usr/share/bash-completion/completions/strack; COMP_WORDS=(strack sim su); COMP_CWORD=2; _strack; echo ${COMPREPLY[@]}", "summary"),
    ("ldconfig -p", "libstrack.so.0"),
    ("! ldd /usr/lib/strack/libstrack-fi.so /usr/lib/strack/libstrack-mpi.so | grep 'not found' && echo nothing lacks", "nothing lacks"),
    ("strack doctor; echo", "libfabric"),
    ("ls /usr/lib/systemd/system/strack-recv.service /usr/lib/systemd/system/strack-perf.service", ""),
    ("apt-get install -y -qq --no-install-recommends gcc libc6-dev pkg-config >/dev/null && cd /root && "
     "echo '#include <strack/strack.h>' >p.c && echo '#include <stdio.h>' >>p.c && echo 'int main(void) { puts(strack_version()); }' >>p.c && "
     "cc p.c $(pkg-config --cflags --libs strack) -o p && ./p", "."),
    ("apt-get remove -y -qq strack python3-strack libstrack0 libstrack-dev strack-libfabric strack-mpi strack-dbgsym >/dev/null "
     "&& ! command -v strack && echo gone", "gone"),
)


def configured_mirror():
    """Where this machine's own packages come from."""
    said = subprocess.run(["apt-get", "indextargets", "--format", "$(CODENAME) $(SITE)", "Created-By: Packages"], capture_output=True, text=True,
                          check=False).stdout
    found = re.search(r"^bookworm (\S+)$", said, re.M)
    return found[1] if found else None


def run(*command, **options):
    return subprocess.run([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace", timeout=1200, **options)


def skip(why):
    print(f"skipped: {why}")
    return 77


def use(root, packages):
    """True where every command did and said what it should."""
    inside = root / "root/packages"
    inside.mkdir(exist_ok=True)
    for package in packages:
        shutil.copy(package, inside)
    tutorials = root / "root/tutorials"
    tutorials.mkdir(exist_ok=True)
    for file in (SOURCE / "tests/site/tutorials_test.py", SOURCE / "README.md", *(SOURCE / "docs/site/pages/tutorials").glob("*.md")):
        shutil.copy(file, tutorials)
    steps = [("apt-get install -y -qq --no-install-recommends /root/packages/*.deb 2>&1 && echo installed", "installed"), *COMMANDS]
    for command, wanted in steps:
        done = run("chroot", root, "/bin/bash", "-c", f"export LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive; {command}")
        good = done.returncode == 0 and wanted in done.stdout
        print(f"{'ok' if good else 'FAILED'}: {command.strip().splitlines()[0]}", flush=True)
        if not good:
            print(done.stdout[-3000:])
            return False
    return True


def use_as_a_system(root, packages):
    """With /proc, which every running Debian has: programs find themselves by it."""
    mounted = run("mount", "-t", "proc", "proc", root / "proc").returncode == 0
    try:
        return use(root, packages)
    finally:
        if mounted:
            run("umount", "-l", root / "proc")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path)
    parser.add_argument("--mirror", default=configured_mirror(), help="where packages come from; as this machine's own")
    options = parser.parse_args()
    packages = sorted(options.folder.glob("*.deb"))
    if not packages:
        print(f"error: {options.folder}: no .deb files. `make packages` makes them", file=sys.stderr)
        return 2
    if options.root:
        return 0 if use_as_a_system(options.root, packages) else 1
    if not shutil.which("debootstrap"):
        return skip("no debootstrap here")
    root = pathlib.Path(tempfile.mkdtemp(prefix="strack_root_"))
    try:
        # Without one debootstrap takes its own.
        made = run("debootstrap", "--variant=minbase", "bookworm", root, *([options.mirror] if options.mirror else []))
        if made.returncode != 0:
            return skip("debootstrap: " + (made.stdout.strip().splitlines() or ["nothing said"])[-1])
        return 0 if use_as_a_system(root, packages) else 1
    finally:
        shutil.rmtree(root, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
