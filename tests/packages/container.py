#!/usr/bin/env python3
"""Builds the image of packaging/Containerfile from a debootstrapped root with buildah, and runs the program in it as its user.

usage: container.py FOLDER [--root ROOT] [--mirror URL]

FOLDER has the .deb files. Without a daemon, and where need be without namespaces: isolation is chroot's, storage plain folders. Exit status 77
where that cannot be done here: no buildah or debootstrap, not root, or no mirror to be reached.
"""

import argparse
import os
import pathlib
import shutil
import sys
import tempfile

from clean_root import configured_mirror, run, skip

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# What is run in the image, and what must be said.
COMMANDS = (
    (["/usr/bin/strack", "--version"], "strack "),
    (["/usr/bin/strack", "sim", "run", "/usr/share/strack/scenarios/small.toml", "--out", "/tmp/small.db"], "results: /tmp/small.db"),
    (["/usr/bin/python3", "-c", "import strack; print(len(strack.load('/tmp/small.db').flows), 'rows')"], "128 rows"),
    (["/usr/bin/id", "-u"], "65534"),
)


def build(work, folder, root, mirror):
    """The image, or why there is none."""
    context = work / "context"
    context.mkdir()
    shutil.copytree(folder, context / "packages")
    if root is None:
        root = work / "root"
        made = run("debootstrap", "--variant=minbase", "bookworm", root, mirror)
        if made.returncode:
            return None, "debootstrap: " + (made.stdout.strip().splitlines() or ["nothing said"])[-1]
    packed = run("tar", "-C", root, "--one-file-system", "-cf", context / "root.tar", ".")
    if packed.returncode:
        raise SystemExit(packed.stdout)
    done = buildah(work, "build", "-t", "strack", "-f", SOURCE / "packaging/Containerfile", context)
    if done.returncode:
        raise SystemExit(f"buildah build: exit status {done.returncode}\n{done.stdout[-3000:]}")
    return "strack", None


def buildah(work, *words):
    return run("buildah", "--root", work / "storage", "--runroot", work / "run", "--storage-driver", "vfs", *words,
               env={**os.environ, "BUILDAH_ISOLATION": "chroot"})


def use(work, image):
    """True where every command did and said what it should."""
    container = buildah(work, "from", "--pull-never", image).stdout.strip().splitlines()[-1]
    for command, wanted in COMMANDS:
        done = buildah(work, "run", container, "--", *command)
        good = done.returncode == 0 and wanted in done.stdout
        print(f"{'ok' if good else 'FAILED'}: {' '.join(command)}", flush=True)
        if not good:
            print(done.stdout[-3000:])
            return False
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--root", type=pathlib.Path, help="a debootstrapped root; else one is made")
    parser.add_argument("--mirror", default=configured_mirror(), help="where packages come from; as this machine's own")
    options = parser.parse_args()
    if not sorted(options.folder.glob("*.deb")):
        print(f"error: {options.folder}: no .deb files. `make packages` makes them", file=sys.stderr)
        return 2
    if os.geteuid() != 0:
        return skip("not root")
    for tool in ("buildah", "debootstrap"):
        if not shutil.which(tool):
            return skip(f"no {tool} here")
    work = pathlib.Path(tempfile.mkdtemp(prefix="strack_image_"))
    try:
        image, why = build(work, options.folder, options.root, options.mirror)
        return skip(why) if image is None else 0 if use(work, image) else 1
    finally:
        shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
