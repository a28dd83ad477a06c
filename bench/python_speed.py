#!/usr/bin/python3
"""What Python costs over the command line, and how long tables take to become DataFrames.

usage: PYTHONPATH=build/release/python bench/python_speed.py PROGRAM [--rows N] [--rounds N]

CPU-seconds, so that another program on the machine does not count; the least of some rounds. A run through Python is the difference that the process itself
spends on strack.run(), a run of the command line all that its process spends, its start included. A run's records are in its file, not in memory: the first
look at a table reads them from there, whenever that is.
"""

import argparse
import pathlib
import resource
import sqlite3
import subprocess
import tempfile
import time

import pandas
import strack

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
        began, wall = spent(resource.RUSAGE_SELF), time.monotonic()
        frame = result.link_samples
        from_file, wall = spent(resource.RUSAGE_SELF) - began, time.monotonic() - wall
        assert len(frame) == options.rows
        arrays = {name: frame[name].to_numpy() for name in frame}
        from_memory = measured(resource.RUSAGE_SELF, lambda: pandas.DataFrame(arrays, copy=False))
        again = measured(resource.RUSAGE_SELF, lambda: result.link_samples.time_ps.sum())
        print(f"{options.rows} rows of {frame.shape[1]} columns to a DataFrame: {from_file:.2f} CPU-seconds from a file ({wall:.2f} by the clock), "
              f"{again:.3f} when asked for again, with a sum over a column; {from_memory:.3f} from arrays that are there already")


if __name__ == "__main__":
    main()
