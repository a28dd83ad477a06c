#!/usr/bin/env python3
"""What the constants do that a transport's source leaves open, and that uet-htsim's table is not met by just any transport: two tables of
docs/transports/validation.md.

usage: open_constants.py PROGRAM [--scenarios FOLDER] [--write FILE]

A permutation of 16 MB, one with a quarter of a rack's uplink rate gone, and an incast of 32 times 2 MB with 128 hosts: the slowest over
the ideal, mean of seeds 1 to 3. --write replaces what lies between two marks in FILE by the tables; else they are printed.
"""

import argparse
import json
import math
import pathlib
import statistics
import subprocess
import sys
import tempfile

SEEDS = (1, 2, 3)
NETWORK = "topology.hosts = 128\ntopology.hosts_per_rack = 16\n"
CASES = {
    "permutation 16 MB": NETWORK + 'workload.size = "16 MB"\n',
    "one uplink of each rack at 25 %": NETWORK + 'workload.size = "16 MB"\nimpairment = [{random_links = 8, racks = 8, rate = 0.25}]\n',
    "incast 32 of 2 MB": NETWORK + 'workload.kind = "incast"\nworkload.fan_in = 32\nworkload.size = "2 MB"\n',
}
# Scheme, key, values; the first is what is used.
OPEN = (
    ("smartt", "smartt.max_cwnd", ("1.25 BDP", "1 BDP", "1.5 BDP")),
    ("swift", "swift.base_target_us", ("1 RTT", "0.5 RTT", "2 RTT")),
    ("swift", "swift.init_cwnd", ("1 BDP", "10 MTU", "0.5 BDP")),
    ("falcon-like", "falcon-like.base_target_us", ("1 RTT", "0.5 RTT", "2 RTT")),
    ("falcon-like", "falcon-like.init_cwnd", ("32 MTU", "10 MTU", "1 BDP")),
    ("falcon-like", "falcon-like.rack_window_us", ("0.25 RTT", "1 RTT")),
    ("hpcc", "hpcc.max_cwnd", ("1 BDP", "1.25 BDP", "1.5 BDP")),
    ("dctcp", "dctcp.init_cwnd", ("10 MTU", "1 BDP")),
    ("nscc", "uet.rto_us", ("", "4 RTT", "25 RTT")),
    ("rccc", "uet.speculative", ("", "32", "64")),
    ("roce-ar", "rocev2.reorder_us", ("4 RTT", "1 RTT", "16 RTT")),
    ("mrc", "mrc.backups", ("64", "0", "128")),
    ("mrc", "mrc.probe_every_us", ("1 RTT", "0.25 RTT", "4 RTT")),
)
# uet-htsim's tails in us, of two networks: docs/transports/validation.md has all of them.
HTSIM = {"": {"oblivious": 212.8, "bitmap": 200.5, "REPS, 1": 198.2, "REPS, 4": 208.2, "mixed, 1": 193.2, "mixed, 4": 200.5},
         "-failed": {"oblivious": 280.8, "bitmap": 220.3, "REPS, 1": 206.7, "REPS, 4": 245.8, "mixed, 1": 211.8, "mixed, 4": 219.6}}
# STrack with NSCC's window, target, number of entropies and marks.
AS_NSCC = {"transport.scheme": "strack", "transport.max_cwnd": "1.5 BDP", "transport.target_qdelay_us": "0.75 RTT",
           "transport.max_paths": "128", "switch.kmin": "37350", "switch.kmax": "145250"}
BEGIN, END = "<!-- open constants -->", "<!-- end of open constants -->"


def run(program, file, settings, folder):
    command = [program, "sim", "run", str(file), "--json", "--force", "--out", str(folder / "run.db")]
    for key, value in settings.items():
        command += ["--set", f"{key}={value}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):  # 1: it was not finished in time
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    return json.loads(done.stdout)[0]


def over_ideal(summary):
    return math.inf if summary["flows_unfinished"] else summary["max_fct_ps"] / summary["ideal_fct_ps"]


def open_table(program, folder):
    files = {}
    for i, (name, text) in enumerate(CASES.items()):
        files[name] = folder / f"case{i}.toml"
        files[name].write_text(text)
    yield "| scheme | key | value | " + " | ".join(CASES) + " |"
    yield "|---" * (3 + len(CASES)) + "|"
    for scheme, key, values in OPEN:
        for i, value in enumerate(values):
            cells = []
            for name in CASES:
                given = {"transport.scheme": scheme, **({key: value} if value else {})}
                ratios = [over_ideal(run(program, files[name], {**given, "run.seed": seed}, folder)) for seed in SEEDS]
                cells.append(f"{statistics.mean(ratios):.3f}")
            shown = f"**{value or 'as it is'}**" if i == 0 else value
            yield f"| {scheme} | `{key.split('.')[1]}` | {shown} | " + " | ".join(cells) + " |"


def strack_table(program, scenarios, folder):
    yield "| network | packets per SACK | STrack | nearest cell | cells within 5 % |"
    yield "|---|---|---|---|---|"
    for suffix, cells in HTSIM.items():
        for packets in (1, 4):
            own = {**AS_NSCC, "transport.sack_bytes": str(4086 * packets)}
            summary = run(program, scenarios / f"uet-validation{suffix}.toml", own, folder)
            took = summary["max_fct_ps"] / 1e6
            alike = [name for name, theirs in cells.items() if name.endswith(f", {packets}") or ("," not in name and packets == 4)]
            within = [name for name in alike if abs(took / cells[name] - 1) <= 0.05]
            nearest = min(alike, key=lambda name: abs(took / cells[name] - 1))
            yield (f"| {'failed' if suffix else 'intact'} | {packets} | {took:.1f} | {nearest} {cells[nearest]} "
                   f"({100 * (took / cells[nearest] - 1):+.1f} %) | {len(within)} of {len(alike)} |")


def main():
    parser = argparse.ArgumentParser(description="what the constants do that sources leave open")
    parser.add_argument("program")
    parser.add_argument("--scenarios", default="scenarios", type=pathlib.Path)
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = [BEGIN, ""]
        for table in (open_table(arguments.program, folder), strack_table(arguments.program, arguments.scenarios, folder)):
            for line in table:
                print(line, flush=True, file=sys.stderr if arguments.write else sys.stdout)
                lines.append(line)
            lines.append("")
        lines.append(END)
    if arguments.write:
        text = arguments.write.read_text()
        if BEGIN not in text or END not in text:
            raise SystemExit(f"{arguments.write} has no {BEGIN} and {END} to write between")
        before, rest = text.split(BEGIN, 1)
        arguments.write.write_text(before + "\n".join(lines) + rest.split(END, 1)[1])


if __name__ == "__main__":
    main()
