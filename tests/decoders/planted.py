#!/usr/bin/env python3
"""Plants mistakes in the decoders, one at a time, and shows that decoder_storm finds each.

  tests/decoders/planted.py BUILD [--seconds 60] [--only NUMBER...]

BUILD is the build tree of the preset `decoders`, with decoder_storm built. The sources stay as they are: of each mistake a changed copy
is compiled, in BUILD/planted, and linked with all else. Status 1 if one is not found in that time.
"""

import argparse
import pathlib
import re
import resource
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = "tests/decoders/decoder_storm"

WIRE, REQUESTS, MESSAGES, NAMES = "src/wire/wire.cpp", "src/wire/requests.cpp", "src/transfer/messages.cpp", "src/transfer/names.cpp"
PERF, PLUS, PLUS_USER = "src/perf/protocol.cpp", "src/transports/strack_plus/udp_ack.h", "tests/decoders/wire_target.cpp"

# What is wrong; where; what is replaced by what.
PLANTED = [
    ("a sealed packet's room for counter and tag is not looked at", WIRE,
     "if (datagram.size() < around) return DecodeFault::too_short;", ""),
    ("fixed fields may be one byte short", WIRE, "if (body < least) return", "if (body + 1 < least) return"),
    ("bytes behind the last field are taken", WIRE, "if (body > least && !shape_of(header.type).open_ended) return DecodeFault::too_long;", ""),
    ("path 256", WIRE, "header.path_id >= (shape.path ? kMaxPaths : 1)", "header.path_id > (shape.path ? kMaxPaths : 0)"),
    ("reserved flags are ignored", WIRE, "if ((header.flags & ~shape.flags) != 0)", "if ((header.flags & ~shape.flags & 0x3f) != 0)"),
    ("host flag without a key", WIRE, "if (header.host_keys() && !header.keyed)", "if (header.host_keys() && !header.keyed && header.type != Type::accept)"),
    ("counter 2^40", WIRE, "if (header.counter >= kCounterLimit)", "if (header.counter > kCounterLimit)"),
    ("offset and payload are added in 32 bits", WIRE, "if (std::uint64_t{packet.offset} + packet.payload > packet.message_length)",
     "if (packet.offset + packet.payload > packet.message_length)"),
    ("a region's end past 2^64", WIRE, "if (data.region_offset + packet.message_length < data.region_offset)", "if (false)"),
    ("a ping's last byte of padding", WIRE, "if (!all_zero(body.subspan(kPingFields)))", "if (body.size() > kPingFields && !all_zero(body.first(body.size() - 1).subspan(kPingFields)))"),
    ("probe_id without for_probe", WIRE, "if (!sack.for_probe && sack.probe_id != 0)", "if (!sack.for_probe && sack.probe_id > 0xff)"),
    ("a hello's first zero", WIRE, "(header.keyed ? kTagBytes : 0))))", "(header.keyed ? kTagBytes + 1 : 0))))"),
    ("257 paths in terms, both ways", WIRE, "terms.paths <= kMaxPaths", "terms.paths <= kMaxPaths + 1"),
    ("a close's reason 6", WIRE, "if (reason >= kCloseReasons)", "if (reason > kCloseReasons)"),
    ("a field is read from the wrong place, and written there", WIRE, "  pong.hold_time_ns = from.u32();\n  pong.credit = from.u32();", "  pong.credit = from.u32();\n  pong.hold_time_ns = from.u32();"),
    ("a request past 2^64", REQUESTS, "if (request.offset + request.length < request.offset)", "if (false)"),
    ("a text may be one byte short", MESSAGES, "if (rest_.size() < size) {", "if (rest_.size() + 1 < size) {"),
    ("ranges of blocks may touch", MESSAGES, "from = std::uint64_t{first} + blocks + 1;", "from = std::uint64_t{first} + blocks;"),
    ("a name in a list may have a slash", MESSAGES, " && name.find('/') == std::string::npos", ""),
    ("`..` in a path", NAMES, 'if (name == "." || name == "..") return', 'if (name == ".") return'),
    ("a link one folder too high", NAMES, "if (--depth < 0) return", "if (--depth < -1) return"),
    ("257 names deep", NAMES, "if (names > kMaxDepth)", "if (names > kMaxDepth + 1)"),
    ("a reserved byte of perf's", PERF, "|| in[3] != std::byte{0})", ")"),
    ("8 bits of a distance of 9", PLUS, "place & 0x1ff", "place & 0xff"),
]


def commands(build):
    """Of the build: how each object of the program is made, and the program."""
    said = subprocess.run(["ninja", "-C", build, "-t", "commands", TARGET], capture_output=True, text=True, check=True).stdout
    return [line for line in said.splitlines() if "/decoder_storm.dir/" in line]


def object_of(command):
    return re.search(r" -o (\S+)", command)[1]


def plant(build, number, fault):
    """Builds the program with this mistake; its path."""
    _, file, old, new = fault
    text = (ROOT / file).read_text()
    if text.count(old) != 1:
        raise SystemExit(f"planted.py: {file} has {text.count(old)} times, and not once: {old}")
    folder = build / "planted" / str(number)
    changed = folder / file
    changed.parent.mkdir(parents=True, exist_ok=True)
    changed.write_text(text.replace(old, new))
    all_commands = commands(build)
    compiled = PLUS_USER if file.endswith(".h") else file
    compile_it = next(line for line in all_commands if line.endswith(compiled) and " -c " in line)
    link = next(line for line in all_commands if f" -o {TARGET} " in line)
    made = object_of(compile_it)
    if compiled == file:
        compile_it = compile_it.replace(compile_it.split()[-1], str(changed))
    else:  # a header: the changed one is found first
        compile_it = re.sub(r" -I(\S+)", rf" -I{folder / 'src'} -I\1", compile_it, count=1)
    result, program = folder / "changed.o", folder / "decoder_storm"
    compile_it = compile_it.replace(" -Werror ", " ")
    run(compile_it.replace(f" -o {made}", f" -o {result}").replace(f" -MF {made}.d", f" -MF {result}.d"), build)
    run(link.replace(f" {made} ", f" {result} ").replace(f" -o {TARGET} ", f" -o {program} "), build)
    return program


def run(command, build):
    done = subprocess.run(command, shell=True, cwd=build, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"planted.py: {command}\n{done.stdout}{done.stderr}")


def find(program, seconds):
    """How long it took, by processor time; how it was noticed. Nothing if it was not."""
    before = children_seconds()
    done = subprocess.run([program, "--seconds", str(seconds), "--seed", "1"], cwd=program.parent, capture_output=True, text=True, errors="replace", check=False)
    took = children_seconds() - before
    if done.returncode == 0:
        return took, None
    said = done.stdout + done.stderr
    for pattern in (r"check failed: (.*)", r"ERROR: AddressSanitizer: (\S+)", r"runtime error: (.*)", r"Assertion '(.*)' failed"):
        if found := re.search(pattern, said):
            return took, found[1]
    return took, f"status {done.returncode}"


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--only", type=int, nargs="+", default=range(1, len(PLANTED) + 1))
    options = parser.parse_args()
    build = options.build.resolve()
    missed = 0
    longest = 0.0
    for number in options.only:
        fault = PLANTED[number - 1]
        took, how = find(plant(build, number, fault), options.seconds)
        missed += how is None
        longest = max(longest, took)
        print(f"{number:2} {fault[0]}: " + (f"found in {took:.2f} s: {how}" if how else f"NOT FOUND in {took:.1f} s"), flush=True)
    print(f"{len(options.only) - missed} of {len(options.only)} planted mistakes found, the last of them in {longest:.1f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
