#!/usr/bin/env python3
"""What each idea of STrack+ is worth, and what 20 % of each constant: the tables of docs/strack-plus.md.

Runs the league's cases at the quick scale with 256 hosts (those that are judged by their slowest flow or job and have no list of
flows of their own) under every variant below, for seeds that nothing was tuned on; and what the design aims at, mostly with 1024
hosts. What is already there is not run again, so an interrupted study goes on where it was; another program or another case is run
anew.

usage: study.py PROGRAM [--results FOLDER] [--jobs N] [--write FILE] [--minutes N]

--write replaces what lies between two marks in FILE by the tables; else they are printed. --minutes stops after so long; with 0 the tables are of what is there.
"""

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import re
import subprocess
import sys
import time

SEEDS = (11, 12, 13)
CASES = ("perm-128KB", "perm-2MB", "perm-16MB", "incast", "incast-many", "oversubscribed", "links-down", "links-slow", "flapping",
         "blackhole", "bit-errors", "allreduce-ring", "allreduce-tree", "allreduce-hd", "alltoall")

# Each idea: what switches it off, so that the rest stays, and its number on the page.
IDEAS = {
    "1, the ring": {"ring": "0"},
    "2, SACKs for four packets": {"sack_packets": "1", "sack_on_epsn": "true"},
    "3, 1.35 BDP": {"max_cwnd": "1 BDP"},
    "4, time beside order": {"rack_us": "0"},
    "5, the probe": {"relative_probe": "false", "probe_interval_us": "3 RTT"},
    "6, unanswered entropies": {"avoid": "false", "rotate_all": "false"},
    "8, room for two queues": {"target_qdelay_us": "1 RTT"},
    "10, far above is three base RTTs": {"target_qhigh_us": "6 RTT"},
    "11, a probe for the first unknown": {"probe_unknown": "false"},
    "12, a probe behind the last packet": {"probe_tail_us": "0"},
    "13, patience with a probe": {"probe_patience": "false"},
    "14, a probe when a SACK is due": {"probe_due": "false"},
    "15, late is not lost": {"late_us": "0"},
    "16, a target that falls with the window": {"target_full_us": "0"},
    "17, a packet that asks for itself": {"probe_self": "0"},
    "18, one place for few packets": {"ring_sparse": "0"},
    "19, delay where all are marked": {"ring_delay": "false"},
    "20, a cut when the last one shows": {"cut_once": "false"},
    "21, first windows share their host": {"first_cwnd": "1 TiB"},
    "22, the average begins with the first delay": {"first_delay": "0"},
    "23, marks early and gently": {"kmin": "0.25 BDP", "kmax": "0.75 BDP"},
    "24, rather marked than unanswered": {"rather_marked": "false"},
}
# Each constant, and 20 % less and more.
CONSTANTS = {
    "max_cwnd": ("1.08 BDP", "1.62 BDP"),
    "kmin": ("0.12 BDP", "0.18 BDP"),
    "kmax": ("0.8 BDP", "1.2 BDP"),
    "target_qdelay_us": ("1.6 RTT", "2.4 RTT"),
    "target_qhigh_us": ("2.4 RTT", "3.6 RTT"),
    "target_full_us": ("1.4 RTT", "2.1 RTT"),
    "first_cwnd": ("0.2 BDP", "0.3 BDP"),
    "first_delay": ("0.4", "0.6"),
    "rack_us": ("1.2 RTT", "1.8 RTT"),
    "late_us": ("3.2 RTT", "4.8 RTT"),
    "late_for_us": ("80 RTT", "120 RTT"),
    "probe_self": ("2", "3"),
    "ring": ("6", "10"),
    "ring_sparse": ("13", "19"),
    "rto_us": ("20 RTT", "30 RTT"),
    "probe_interval_us": ("0.8 RTT", "1.2 RTT"),
    "ooo_cwnd": ("0.8", "1.2"),
    "probe_margin_us": ("0.4 RTT", "0.6 RTT"),
    "probe_tail_us": ("0.6 RTT", "0.9 RTT"),
    "avoid_for_us": ("80 RTT", "120 RTT"),
}
MOST = 0.03  # what 20 % of a constant may cost

HOSTS = {1024: "topology.hosts = 1024\ntopology.hosts_per_rack = 32\n", 8192: "topology.hosts = 8192\ntopology.hosts_per_rack = 64\n"}
DEAD = 'workload.size = "16 MB"\nswitch.convergence_us = "1 s"\nfailure = [{switch = "spine 3", from_us = 20}]\n'


def incast(senders, size):
    return f'workload.kind = "incast"\nworkload.fan_in = {senders}\nworkload.size = "{size}"\n'


# What is aimed at: hosts, the rest of a scenario, the slowest over the bound at most, and with whom it is compared.
BOTH, ALONE = ("strack-plus", "strack"), ("strack-plus",)
GOALS = {
    "permutation 2 MB": (1024, 'workload.size = "2 MB"\n', 1.08, BOTH),
    "permutation 16 MB": (1024, 'workload.size = "16 MB"\n', 1.04, BOTH),
    "permutation 16 MB, 8192 hosts": (8192, 'workload.size = "16 MB"\n', 1.04, ALONE),
    "permutation 2 MB, 8192 hosts": (8192, 'workload.size = "2 MB"\n', 1.08, ALONE),
    "permutation 100 MB": (1024, 'workload.size = "100 MB"\n', 1.04, ALONE),
    "64 links down, 16 MB, 8192 hosts": (8192, 'workload.size = "16 MB"\nfailure = [{random_links = 64, racks = 64}]\n', 1.08, ALONE),
    "one uplink of each rack at 25 %, 16 MB, 8192 hosts":
        (8192, 'workload.size = "16 MB"\nimpairment = [{random_links = 128, racks = 128, rate = 0.25}]\n', 1.08, ALONE),
    "dead spine, no rerouting, 16 MB, 8192 hosts": (8192, DEAD, 1.15, ALONE),
    "64 links down, 16 MB": (1024, 'workload.size = "16 MB"\nfailure = [{random_links = 64, racks = 32}]\n', 1.08, BOTH),
    "one uplink of each rack at 25 %, 16 MB":
        (1024, 'workload.size = "16 MB"\nimpairment = [{random_links = 32, racks = 32, rate = 0.25}]\n', 1.08, BOTH),
    "dead spine, no rerouting, 16 MB": (1024, DEAD, 1.15, BOTH),
    "incast 8 of 128 KB": (1024, incast(8, "128 KB"), 1.18, BOTH),
    "incast 32 of 128 KB": (1024, incast(32, "128 KB"), 1.18, BOTH),
    "incast 128 of 128 KB": (1024, incast(128, "128 KB"), 1.06, BOTH),
    "incast 8 of 2 MB": (1024, incast(8, "2 MB"), 1.02, BOTH),
    "incast 32 of 2 MB": (1024, incast(32, "2 MB"), 1.02, BOTH),
    "incast 128 of 2 MB": (1024, incast(128, "2 MB"), 1.02, BOTH),
    "incast 8 of 16 MB": (1024, incast(8, "16 MB"), 1.02, BOTH),
    "incast 32 of 16 MB": (1024, incast(32, "16 MB"), 1.02, BOTH),
    "incast 128 of 16 MB": (1024, incast(128, "16 MB"), 1.02, BOTH),
}
BEGIN, END = "<!-- study -->", "<!-- end of study -->"


def variants():
    """Their names, and the settings of each, in the order in which they are run."""
    without_all = {key: value for off in IDEAS.values() for key, value in off.items()}
    made = {"all": {}, "none": without_all}
    for name, off in IDEAS.items():
        made["without " + name] = off
    for key, values in CONSTANTS.items():
        for value in values:
            made[f"{key} {value}"] = {key: value}
    for name, off in IDEAS.items():
        made["only " + name] = {key: value for key, value in without_all.items() if key not in off}
    return made


def settings(case_text, variant, seed):
    set_words = [f"strack-plus.{key}={value}" for key, value in variant.items()]
    if "topology.hosts = 128" in case_text:
        set_words.append("topology.hosts=256")
    return [*set_words, *scheme_and_seed("strack-plus", seed)]


def scheme_and_seed(scheme, seed):
    return [f"transport.scheme={scheme}", f"run.seed={seed}"]


def over_bound(summary):
    """The slowest job's time over its bound, or where there are none the slowest flow's; infinite if something was left undone."""
    if summary["flows_unfinished"] or summary["jobs_unfinished"]:
        return math.inf
    if summary["max_job_ps"]:
        return summary["max_job_ps"] / summary["slowest_job_ideal_ps"]
    return summary["max_fct_ps"] / summary["ideal_fct_ps"]


def named(text):
    """A file's name."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower())


def known(key, kept):
    """What was kept of the run; None if there is nothing."""
    found = json.loads(kept.read_text()) if kept.is_file() else {"key": None}
    return found["over"] if found["key"] == key else None


def measure(program, key, file, words, kept, read):
    """The run's time over its bound, or what `read` finds in its result file."""
    result = kept.with_suffix(".db")
    command = [program, "sim", "run", str(file), "--json", "--force", "--out", str(result)]
    for word in words:
        command += ["--set", word]
    done = subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1):  # 1: it was not finished in time
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}\n{done.stderr}")
    over = read(result) if read else over_bound(json.loads(done.stdout)[0])
    result.unlink()
    kept.write_text(json.dumps({"key": key, "over": over}))
    return over


def case_files(program, folder):
    """The league writes its cases' files when it runs them; once is enough."""
    command = [program, "league", "run", "--scale", "quick", "--part", ",".join(CASES), "--transports", "strack-plus", "--seeds", "1",
               "--results", str(folder / "league"), "--jobs", "1", "--quiet"]
    subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    return {case: folder / "league/cases" / f"{case}.toml" for case in CASES}


class Study:
    """Runs, or what was kept of them."""

    def __init__(self, program, folder, jobs, minutes):
        self.program, self.folder = program, folder
        self.deadline = time.monotonic() + 60 * minutes
        self.pool = concurrent.futures.ThreadPoolExecutor(jobs)
        self.binary = hashlib.sha256(pathlib.Path(program).read_bytes()).hexdigest()
        self.complete = True
        folder.mkdir(parents=True, exist_ok=True)

    def one(self, file, words, name, read=None):
        key = hashlib.sha256("\n".join([self.binary, file.read_text(), *words]).encode()).hexdigest()
        kept = self.folder / (named(name) + ".json")
        over = known(key, kept)
        if over is not None or time.monotonic() > self.deadline:
            return over
        return measure(self.program, key, file, words, kept, read)

    def ask(self, asked):
        """Runs of {(row, column, seed): (file, settings)}, for results()."""
        return {what: self.pool.submit(self.one, file, words, " ".join(map(str, what))) for what, (file, words) in asked.items()}

    def results(self, made):
        """{(row, column): values by seed} of what ask() gave; what is not done in time is left out."""
        values = {}
        for (row, column, _), run in made.items():
            values.setdefault((row, column), []).append(run.result())
        self.complete = self.complete and all(None not in of for of in values.values())
        return {where: of for where, of in values.items() if None not in of}

    def ask_variants(self):
        files = case_files(self.program, self.folder)
        return self.ask({(variant, case, seed): (files[case], settings(files[case].read_text(), off, seed))
                         for variant, off in variants().items() for case in CASES for seed in SEEDS})

    def means(self, made):
        """{variant: {case: mean over seeds}}"""
        means = {}
        for (variant, case), values in self.results(made).items():
            means.setdefault(variant, {})[case] = sum(values) / len(values)
        return means

    def ask_goals(self):
        asked = {}
        for name, (hosts, text, _, schemes) in sorted(GOALS.items(), key=lambda goal: -goal[1][0]):  # the long runs first
            file = self.folder / (named(name) + ".toml")
            file.write_text(HOSTS[hosts] + text + 'record.flows = 0\nrecord.queues = false\nrecord.links = false\nrun.end_ms = 100\n')
            for scheme in schemes:
                for seed in SEEDS:
                    asked[name, scheme, seed] = (file, scheme_and_seed(scheme, seed))
        return self.ask(asked)


# --- Tables ---------------------------------------------------------------------------------------


def mean_over_cases(row):
    return math.exp(sum(math.log(value) for value in row.values()) / len(row))


def table(names, means):
    """Rows of variants, columns of cases, and the geometric mean over all of them."""
    lines = ["| " + " | ".join(["", *CASES, "mean"]) + " |", "|" + "---|" * (len(CASES) + 2)]
    for name in names:
        row = means.get(name, {})
        if not row:
            continue  # nothing of it has been run yet
        cells = [f"{row[case]:.3f}" if case in row else "" for case in CASES]
        mean = f"{mean_over_cases(row):.3f}" if len(row) == len(CASES) else ""
        lines.append("| " + " | ".join([name, *cells, mean]) + " |")
    return "\n".join(lines)


def costs(means):
    """(constant, value, what it costs at most and where, what on average), as parts of the time with all as it is."""
    for key, values in CONSTANTS.items():
        for value in values:
            row = means.get(f"{key} {value}", {})
            if min(len(row), len(means.get("all", {}))) < len(CASES):
                continue
            case = max(CASES, key=lambda one: row[one] / means["all"][one])
            yield key, value, row[case] / means["all"][case] - 1, case, mean_over_cases(row) / mean_over_cases(means["all"]) - 1


def page(means, goals):
    text = [f"Means of seeds {', '.join(map(str, SEEDS))}; the league's cases at the quick scale with 256 hosts in racks of 16.",
            "", "Each idea alone, in the place of the paper's rule (`none` has none of them), and left out:", "",
            table(["none", *("only " + name for name in IDEAS), "all", *("without " + name for name in IDEAS)], means),
            "", "Each constant 20 % less and more:", "",
            table(["all", *(f"{key} {value}" for key, values in CONSTANTS.items() for value in values)], means), ""]
    for key, value, most, case, mean in costs(means):
        verdict = "within 3 %" if most <= MOST else "**more than 3 %**"
        text.append(f"- `{key}` {value}: {most * 100:+.1f} % at most ({case}), {verdict}; {mean * 100:+.1f} % over all.")
    text += ["", "What is aimed at (means of the same seeds):", "", goals_table(goals)]
    return "\n".join(text)


def goals_table(goals):
    lines = ["| 1024 hosts unless said otherwise | aim | STrack+ | worst seed | STrack | |", "|---|---|---|---|---|---|"]
    for name, (_, _, aim, schemes) in GOALS.items():
        ours = goals.get((name, schemes[0]))
        if ours is None:
            continue
        theirs = goals.get((name, schemes[-1])) if schemes == BOTH else None
        mean = sum(ours) / len(ours)
        lines.append(f"| {name} | {aim:.2f} | {mean:.3f} | {max(ours):.3f} | {f'{sum(theirs) / len(theirs):.3f}' if theirs else ''} "
                     f"| {'holds' if mean <= aim else '**does not hold**'} |")
    return "\n".join(lines)


def write(file, text):
    old = file.read_text()
    if BEGIN not in old or END not in old:
        sys.exit(f"{file}: it has no marks {BEGIN} and {END}, between which the tables go")
    head, rest = old.split(BEGIN, 1)
    file.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{rest.split(END, 1)[1]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--results", type=pathlib.Path, default=pathlib.Path("results/plus-study"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--write", type=pathlib.Path)
    options = parser.parse_args()
    study = Study(options.program, options.results, options.jobs, options.minutes)
    goals, means = study.ask_goals(), study.ask_variants()
    text = page(study.means(means), study.results(goals))
    if options.write:
        write(options.write, text)
    else:
        print(text)
    if not study.complete:
        print("not all is done yet: the same command goes on", file=sys.stderr)
    return 0 if study.complete else 1


if __name__ == "__main__":
    sys.exit(main())
