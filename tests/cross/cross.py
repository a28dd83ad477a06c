#!/usr/bin/env python3
"""The core on the processors of NICs: compiled by Debian's cross compilers without a host's library, run under QEMU's user mode.

usage: cross.py PROGRAM [--answer-only] [--only PROCESSOR]

For each processor: what the core needs of the outside is on the list of transports/purity_allowlist.txt; the answers to all vectors of
PROGRAM (`strack`) agree in every decision and digest; and a table of code size, bytes of state and instructions for a packet
(docs/nic.md has it). Exit status 77 where a compiler or QEMU is missing.
"""

import argparse
import contextlib
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
HERE = ROOT / "tests/cross"
STRACK = ROOT / "src/transports/strack"
# Name, Debian's prefix of its tools, QEMU's program.
PROCESSORS = (("RISC-V, rv64gc", "riscv64-linux-gnu", "qemu-riscv64"), ("Arm, armv8-a", "aarch64-linux-gnu", "qemu-aarch64"),
              ("Arm, armv7-a", "arm-linux-gnueabihf", "qemu-arm"))
# Compiled and looked at only: Debian has no library to link a program for it with.
COMPILED_ONLY = ("RISC-V, rv32imac", "riscv64-linux-gnu", ["-march=rv32imac", "-mabi=ilp32"])
COMMON = ["-std=c++20", "-DNDEBUG", f"-I{ROOT}/src", f"-fmacro-prefix-map={ROOT}/=", "-include", "base/int128.h"]
# As firmware is: no library of a host, no exceptions, no run-time types, each function alone so that what nobody calls goes.
BARE = [*COMMON, "-ffreestanding", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics", "-fno-asynchronous-unwind-tables",
        "-ffunction-sections"]
# What compilers and the freestanding C++ library call besides, on a machine that lacks an instruction for it.
ALSO = {"__clzdi2", "__ctzdi2", "__popcountsi2", "__popcountdi2", "__bswapdi2", "_GLOBAL_OFFSET_TABLE_",
        "__divdi3", "__udivdi3", "__ashldi3", "__lshrdi3", "__aeabi_ldivmod", "__aeabi_uldivmod", "__aeabi_uidiv", "__aeabi_uidivmod"}
CACHE = ["env", f"CCACHE_BASEDIR={ROOT}", "CCACHE_NOHASHDIR=1", "ccache"] if shutil.which("ccache") else []  # as cmake/quick_build.cmake
FEW, MANY, WINDOW = 1000, 3000, 100


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=600, check=False, **options)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))}: exit status {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def allowed():
    lines = (ROOT / "src/transports/purity_allowlist.txt").read_text().splitlines()
    return {line for line in lines if line and not line.startswith("#")} | ALSO


class Processor:
    def __init__(self, name, prefix, qemu, folder, flags=()):
        self.name, self.prefix, self.qemu, self.folder, self.flags = name, prefix, qemu, folder, flags
        self.compiler = f"{prefix}-g++"
        # Header-only libraries, and nothing else of this machine's. In a place that stays, for ccache's sake.
        self.headers = ROOT / "build/cross"
        for library in ("fmt", "nlohmann"):
            self.headers.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileExistsError):
                (self.headers / library).symlink_to(f"/usr/include/{library}")

    def missing(self):
        return next((tool for tool in (self.compiler, self.qemu) if not shutil.which(tool)), None)

    def bare_core(self, optimise):
        """Bytes of code and constants of both ends, as small or as quick as the compiler makes them, and what they need."""
        file = self.folder / f"core{optimise}.o"
        run(self.compiler, *self.flags, *BARE, optimise, "-c", STRACK / "core.cpp", "-o", file)
        needs = set(re.findall(r"^ +U (\S+)$", run(f"{self.prefix}-nm", "-u", file), re.M))
        foreign = needs - allowed()
        if foreign:
            raise SystemExit(f"{self.name}: the core needs {', '.join(sorted(foreign))}, which no NIC has")
        # Of the sender there are two, with and without a guard of paths; a NIC has the plain one and the receiver.
        size = 0
        for line in run(f"{self.prefix}-objdump", "-h", "-w", file).splitlines():
            section = re.match(r"\s*\d+ (\.text\S*|\.rodata\S*)\s+([0-9a-f]+) ", line)
            if section and "GuardedPaths" not in section[1]:
                size += int(section[2], 16)
        return size

    def program(self, name, *sources, optimise="-O2"):
        file, objects = self.folder / name, []
        for source in (*sources, ROOT / "src/base/check.cpp"):
            objects.append(self.folder / f"{name}-{source.stem}.o")
            run(*CACHE, self.compiler, *COMMON, optimise, "-DFMT_HEADER_ONLY", f"-I{HERE}", f"-I{ROOT}/bench", "-isystem", self.headers,
                "-c", source, "-o", objects[-1])
        run(self.compiler, "-static", *objects, "-o", file)
        return file

    def answers(self, events):
        program = self.program("answer", HERE / "answer.cpp", STRACK / "vectors_machine.cpp", STRACK / "vectors_text.cpp", optimise="-O1")
        return run(self.qemu, program, input=events)

    def instructions(self, program, count):
        """Lines of QEMU's log of blocks, where each block is one instruction."""
        log = subprocess.Popen([self.qemu, "-singlestep", "-d", "exec,nochain", program, str(count), str(WINDOW)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        lines = sum(chunk.count(b"\n") for chunk in iter(lambda: log.stderr.read(1 << 20), b""))
        if log.wait(timeout=60):
            raise SystemExit(f"{self.name}: {program.name} ended with status {log.returncode}")
        return lines

    def costs(self):
        program = self.program("packets", HERE / "packets.cpp", STRACK / "core_bench.cpp")
        sender, receiver = re.search(r"sender (\d+) bytes .* receiver (\d+) bytes", run(self.qemu, program)).groups()
        per_packet = (self.instructions(program, MANY) - self.instructions(program, FEW)) / (MANY - FEW)
        return int(sender), int(receiver), round(per_packet)


def compiled_only(folder):
    """The row of a processor for which no program can be linked here."""
    name, prefix, flags = COMPILED_ONLY
    (folder / "gnu").mkdir()
    (folder / "gnu/stubs-ilp32.h").touch()  # the C library's own, which nothing of it is used for
    processor = Processor(name, prefix, None, folder, [*flags, "-isystem", folder])
    return f"| {name} | {processor.bare_core('-Os')} | {processor.bare_core('-O2')} | | compiled only |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--answer-only", action="store_true", help="no figures")
    parser.add_argument("--only", help="a part of a processor's name")
    options = parser.parse_args()
    chosen = [one for one in PROCESSORS if not options.only or options.only in one[0]]
    if not chosen:
        print(f"error: --only {options.only}: there are {', '.join(one[0] for one in PROCESSORS)}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory(prefix="strack_cross_") as work:
        events = run(options.program, "vectors", "export", "--events")
        rows = []
        for number, (name, prefix, qemu) in enumerate(chosen):
            folder = pathlib.Path(work) / str(number)
            folder.mkdir()
            processor = Processor(name, prefix, qemu, folder)
            if tool := processor.missing():
                print(f"skipped: no {tool}. Debian: g++-{prefix.replace('_', '-')}, qemu-user")
                return 77
            small = processor.bare_core("-Os")
            (folder / "answers").write_text(processor.answers(events))
            said = run(options.program, "vectors", "check", folder / "answers").strip()
            print(f"{name}: {said.splitlines()[-1]}", flush=True)
            if not options.answer_only:
                quick = processor.bare_core("-O2")
                sender, receiver, per_packet = processor.costs()
                rows.append(f"| {name} | {small} | {quick} | {sender} + {receiver} | {per_packet} |")
        if rows and not options.only:
            rows.append(compiled_only(pathlib.Path(work)))
        if rows:
            print("\n| processor | bytes of code, `-Os` | `-O2` | bytes of state, sender + receiver | instructions for a packet |")
            print("|---|---|---|---|---|\n" + "\n".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
