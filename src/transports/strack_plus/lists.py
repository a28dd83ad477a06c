#!/usr/bin/env python3
"""The two lists of docs/strack-plus.md, what was added to them later, and how soon a dead spine is felt no more.

usage: lists.py PROGRAM [--list NAME,...] [--schemes NAME,...] [--set KEY=VALUE ...] [--results FOLDER] [--jobs N] [--minutes N]

  tuning     what constants are chosen on, seeds 1 to 3
  held-out   what they are not, seeds 11 to 13
  jobs       64 jobs at once on 2048 hosts, and jobs of three sizes at once on 1024 hosts, seeds 11 to 13
  recovery   a spine dies in the midst of a permutation: until as much is acknowledged again as the others can carry

Times are the slowest flow's or job's over the bound, means over seeds. Of jobs of three sizes each kind's slowest counts for itself. What has been
run by the same program is not run again. --set changes a key for all runs, such as strack-plus.ring=0.
"""

import argparse
import json
import os
import pathlib
import random
import sqlite3
import sys

import study

TUNING_SEEDS, HELD_OUT_SEEDS = (1, 2, 3), (11, 12, 13)


def racks(hosts, per_rack, rest=""):
    return f"topology.hosts = {hosts}\ntopology.hosts_per_rack = {per_rack}\n{rest}"


def permutation(size, rest=""):
    return f'workload.size = "{size}"\n{rest}'


def jobs(collective, number, ranks, size):
    return f'workload.kind = "collective"\nworkload.collective = "{collective}"\nworkload.jobs = {number}\nworkload.ranks = {ranks}\nworkload.size = "{size}"\n'


SMALL = racks(128, 16)
FLAP = "failure = [" + ", ".join(f'{{switch = "spine 3", from_us = {t}, until_us = {t + 50}}}' for t in (20, 120, 220)) + "]\n"
TUNING = {
    "P2": racks(1024, 32) + permutation("2 MB"),
    "P16": racks(1024, 32) + permutation("16 MB"),
    "DOWN": SMALL + permutation("16 MB", "failure = [{random_links = 16, racks = 8}]\n"),
    "SLOW": SMALL + permutation("16 MB", "impairment = [{random_links = 8, racks = 8, rate = 0.25}]\n"),
    "OS4": SMALL + permutation("4 MB", "topology.oversubscription = 4\nworkload.cross_rack = true\n"),
    "I8s": SMALL + study.incast(8, "128 KB"),
    "I32s": SMALL + study.incast(32, "128 KB"),
    "I112s": SMALL + study.incast(112, "128 KB"),
    "I8": SMALL + study.incast(8, "2 MB"),
    "I32": SMALL + study.incast(32, "2 MB"),
    "DEAD": SMALL + study.DEAD,
    "AR": SMALL + jobs("allreduce-ring", 4, 32, "8 MB"),
    "A2A": SMALL + jobs("alltoall", 4, 32, "8 MB"),
}
HELD_OUT = {
    "H-ODD": racks(84, 12) + permutation("8 MB"),
    "H-ODD-DOWN": racks(84, 12) + permutation("8 MB", "failure = [{random_links = 7, racks = 7}]\n"),
    "H-3T": racks(256, 16, "topology.tiers = 3\ntopology.racks_per_pod = 8\n") + permutation("8 MB"),
    "H-100": racks(128, 16, "topology.link_gbps = 100\n") + permutation("4 MB"),
    "H-800": racks(128, 16, "topology.link_gbps = 800\n") + permutation("16 MB"),
    "H-SLOW": racks(256, 16) + permutation("8 MB", "impairment = [{random_links = 24, racks = 8, rate = 0.5}]\n"),
    "H-I48": racks(256, 16) + study.incast(48, "512 KB"),
    "H-FLAP": SMALL + permutation("16 MB", FLAP),
    "H-BER": SMALL + permutation("4 MB", "impairment = [{random_links = 128, racks = 8, bit_error_rate = 1e-8}]\n"),
    "H-MICE": SMALL + 'workload.kind = "random"\nworkload.load = 0.6\nworkload.duration_us = 300\n'
                      "workload.cdf = [[10000, 0.9], [999999, 0.9], [1000000, 1]]\n",
    "H-HD": SMALL + jobs("allreduce-hd", 4, 32, "8 MB"),
    "H-P16": racks(1024, 32) + permutation("16 MB"),
}
COLLECTIVES = ("allreduce-ring", "allreduce-dbt", "allreduce-hd", "alltoall")
JOBS = {f"64 jobs of 32, {collective}": racks(2048, 64) + jobs(collective, 64, 32, "16 MB") for collective in COLLECTIVES}
# Side by side on hosts of their own, drawn by the seed: one large job, some of middling size, many small ones.
UNEQUAL = (("allreduce-ring", 1, 512, "64 MB"), ("allreduce-dbt", 4, 64, "16 MB"), ("alltoall", 16, 16, "4 MB"))
RECOVERY, SPINES = {128: racks(128, 16), 1024: racks(1024, 32)}, {128: 16, 1024: 32}
DIES_US, BIN_US, ENOUGH = 100, 10, 0.95
PLAIN = "record.queues = false\nrecord.links = false\nrun.end_ms = 100\n"


def unequal(seed):
    hosts = list(range(1024))
    random.Random(seed).shuffle(hosts)
    text, first = racks(1024, 32), 0
    for collective, number, ranks, size in UNEQUAL:
        own = hosts[first:first + number * ranks]
        first += len(own)
        text += (f'[[workload]]\nname = "{collective}"\nkind = "collective"\ncollective = "{collective}"\njobs = {number}\nranks = {ranks}\nsize = "{size}"\n'
                 f'placement = "hosts:{",".join(map(str, own))}"\n')
    return text


def slowest_by_kind(result):
    """Of the jobs in a result file: the slowest of each kind over its bound."""
    with sqlite3.connect(result) as db:
        found = db.execute("select name, max(case when end_ps is null then 1e999 else (end_ps - start_ps) * 1.0 / ideal_ps end) from jobs group by name")
        return dict(found.fetchall())


def acknowledged(result):
    """Bytes by bins of time."""
    with sqlite3.connect(result) as db:
        return dict(db.execute("select time_ps, sum(acked_bytes) from flow_samples group by time_ps").fetchall())


def back_after(dead, alive, spines):
    """Microseconds from the spine's death to the end of the last bin in which less is acknowledged than ENOUGH of what the other spines leave of what it is
    where all live; of the 200 us in which nearly all hosts send."""
    most = max(alive.values())
    whole = [at for at in sorted(alive) if DIES_US < at / 1e6 <= DIES_US + 200 and alive[at] > 0.9 * most]
    poor = [at for at in whole if dead.get(at, 0) < ENOUGH * alive[at] * (spines - 1) / spines]
    return max(poor) / 1e6 - DIES_US if poor else 0.0


class Lists(study.Study):
    """Runs of files that are made here."""

    def file(self, name, text):
        path = self.folder / (study.named(name) + ".toml")
        if not path.is_file() or path.read_text() != text:  # a run may be reading it
            path.write_text(text)
        return path

    def table(self, cases, seeds, schemes, extra):
        """{(case, scheme): values by seed}"""
        asked = {}
        for name, text in cases.items():
            # Plain keys first: a scenario's sections end them.
            file = self.file(name, PLAIN + text)
            for scheme in schemes:
                for seed in seeds:
                    asked[name, scheme, seed] = (file, [*extra, *study.scheme_and_seed(scheme, seed)])
        return self.results(self.ask(asked))

    def kept(self, name, text, words, read):
        """What `read` finds in the run's result file."""
        file = self.file(name, text)
        return self.pool.submit(self.one, file, words, name + " " + " ".join(words), read)

    def unequal(self, schemes, extra):
        """{(kind, scheme): values by seed}"""
        runs = {(scheme, seed): self.kept(f"unequal jobs, seed {seed}", PLAIN + unequal(seed), [*extra, *study.scheme_and_seed(scheme, seed)], slowest_by_kind)
                for scheme in schemes for seed in HELD_OUT_SEEDS}
        values = {}
        for (scheme, _), run in runs.items():
            found = run.result()
            self.complete = self.complete and found is not None
            for kind, over in (found or {}).items():
                values.setdefault((kind, scheme), []).append(over)
        return values

    def recovery(self, schemes, extra):
        """{(hosts, scheme): microseconds by seed}"""
        runs = {}
        for hosts, text in RECOVERY.items():
            sampled = PLAIN + text + permutation("16 MB", f"record.flows = {hosts}\nrecord.interval_us = {BIN_US}\nswitch.convergence_us = \"1 s\"\n")
            dead = sampled + f'failure = [{{switch = "spine 3", from_us = {DIES_US}}}]\n'
            for scheme in schemes:
                for seed in HELD_OUT_SEEDS:
                    words = [*extra, *study.scheme_and_seed(scheme, seed)]
                    runs[hosts, scheme, seed] = [self.kept(f"recovery {name} {hosts}", what, words, lambda file: [[*pair] for pair in acknowledged(file).items()])
                                                 for name, what in (("dead", dead), ("alive", sampled))]
        values = {}
        for (hosts, scheme, _), pair in runs.items():
            found = [run.result() for run in pair]
            self.complete = self.complete and None not in found
            if None not in found:
                values.setdefault((hosts, scheme), []).append(back_after(*(dict(map(tuple, one)) for one in found), SPINES[hosts]))
        return values


def lines_of(values, schemes, show):
    columns = list(dict.fromkeys(column for column, _ in values))
    lines = ["| | " + " | ".join(map(str, columns)) + " |", "|---|" + "---|" * len(columns)]
    for scheme in schemes:
        lines.append(f"| {scheme} | " + " | ".join(show(values.get((column, scheme), [])) for column in columns) + " |")
    return "\n".join(lines)


def mean(values):
    return f"{sum(values) / len(values):.3f}" if values else ""


def times(values):
    return ", ".join(f"{value:.0f}" for value in values)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--list", default="tuning")
    parser.add_argument("--schemes", default="strack-plus")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("results/plus-lists"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--json", type=pathlib.Path, help="all values, in this file")
    options = parser.parse_args()
    run = Lists(options.program, options.results, options.jobs, options.minutes)
    schemes = options.schemes.split(",")
    every = {}
    for name in options.list.split(","):
        show = mean
        if name == "recovery":
            values, show = run.recovery(schemes, options.set), times
        elif name == "jobs":
            values = run.table(JOBS, HELD_OUT_SEEDS, schemes, options.set) | run.unequal(schemes, options.set)
        else:
            values = run.table(*{"tuning": (TUNING, TUNING_SEEDS), "held-out": (HELD_OUT, HELD_OUT_SEEDS)}[name], schemes, options.set)
        print(f"{name}:\n\n{lines_of(values, schemes, show)}\n", flush=True)
        every[name] = [[*where, of] for where, of in values.items()]
    if options.json:
        options.json.write_text(json.dumps(every))
    if not run.complete:
        print("not all is done yet: the same command goes on", file=sys.stderr)
    return 0 if run.complete else 1


if __name__ == "__main__":
    sys.exit(main())
