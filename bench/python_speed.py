#!/usr/bin/python3
"""What Python costs over the command line, and how long tables take to become DataFrames.

usage: PYTHONPATH=build/release/python bench/python_speed.py PROGRAM [--rows N] [--rounds N]

CPU-seconds, so that another program on the machine does not count; the least of some rounds. A run through Python is the difference that the process itself
spends on strack.run(), a run of the command line all that its process spends, its start included. Rows in memory are those of a run without a file that samples
every link each 100 ns.
"""

import argparse
import pathlib
import resource
import sqlite3
import subprocess
import tempfile
import time

import strack

# Samples of links, 38 million rows in a millisecond.
SAMPLED = {"name": "sampled", "topology": {"hosts": 1024, "hosts_per_rack": 32}, "workload": {"kind": "permutation", "size": "16 MB"},
           "record": {"interval_us": 0.1, "links": True}, "run": {"threads": 1}}
SCENARIO = {"name": "speed", "topology": {"hosts": 1024, "hosts_per_rack": 32}, "workload": {"kind": "permutation", "size": "4 MB"}, "run": {"threads": 1}}


def spent(who):
    used = resource.getrusage(who)
    return used.ru_utime + used.ru_stime


def measured(who, work):
    began = spent(who)
    work()
    return spent(who) - began


def runs(program, rounds, folder):
    strack.Scenario(SCENARIO).save(folder / "speed.toml")
    by_command = [str(program), "sim", "run", str(folder / "speed.toml"), "--quiet", "--force", "--out", str(folder / "command.db")]
    command, python = [], []
    for number in range(rounds):
        command.append(measured(resource.RUSAGE_CHILDREN, lambda: subprocess.run(by_command, check=True, stdout=subprocess.DEVNULL)))
        python.append(measured(resource.RUSAGE_SELF, lambda: strack.run(folder / "speed.toml", out=folder / f"python{number}.db")))
    return min(command), min(python)


def rows(count, folder):
    """A result file whose table of samples has so many rows."""
    file = folder / "rows.db"
    strack.run({"topology": {"hosts": 8, "hosts_per_rack": 4}, "workload": {"size": "10 KB"}}, out=file)
    base = sqlite3.connect(file)
    base.execute("PRAGMA journal_mode=OFF")
    base.execute("WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?) "
                 "INSERT INTO link_samples SELECT i * 1000, i % 64, i, i, i % 999, i % 7777, i % 3, 0, 0, 0 FROM n", (count,))
    base.commit()
    base.close()
    return strack.load(file)


def look(result):
    """CPU-seconds and seconds that it takes to have the table, and the table."""
    began, wall = spent(resource.RUSAGE_SELF), time.monotonic()
    frame = result.link_samples
    return spent(resource.RUSAGE_SELF) - began, time.monotonic() - wall, frame


def sampled(count, folder):
    """A run whose table of samples has about so many rows: in memory, and through a file."""
    scenario = strack.Scenario(SAMPLED)
    scenario["run.end_ms"] = round(count / 38_000_000, 6)
    made = {}
    in_memory = measured(resource.RUSAGE_SELF, lambda: made.update(kept=strack.run(scenario)))
    took, wall, frame = look(made["kept"])
    total = measured(resource.RUSAGE_SELF, lambda: frame.carried_bytes.sum())
    print(f"{len(frame)} rows from memory: {took:.4f} CPU-seconds ({wall:.4f} by the clock), a sum over a column {total:.3f}; "
          f"{made['kept']._memory.size_bytes / 1e6:.0f} MB")
    del frame, made["kept"]
    to_file = measured(resource.RUSAGE_SELF, lambda: strack.run(scenario, out=folder / "sampled.db"))
    print(f"that run: {in_memory:.2f} CPU-seconds in memory, {to_file:.2f} to a file")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="strack_speed_") as work:
        folder = pathlib.Path(work)
        command, python = runs(options.program.resolve(), options.rounds, folder)
        print(f"a run: {command:.3f} CPU-seconds by the command line, {python:.3f} through Python: {100 * (python / command - 1):+.1f} %")
        result = rows(options.rows, folder)
        from_file, wall, frame = look(result)
        assert len(frame) == options.rows
        print(f"{options.rows} rows of {frame.shape[1]} columns to a DataFrame: {from_file:.2f} CPU-seconds from a file ({wall:.2f} by the clock)")
        del frame, result
        pathlib.Path(folder / "rows.db").unlink()
        sampled(options.rows, folder)


if __name__ == "__main__":
    main()
