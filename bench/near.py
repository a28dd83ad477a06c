"""Turns of a benchmark in which the two cores are near each other, for bench/udp_bench.py and tests/provider/bench.py. A virtual machine's
host moves its processors about: what goes from one to the other takes two to three times as long while they share no cache, and a
contestant that has its turn just then has lost, whatever it does."""

import pathlib
import subprocess
import time

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE = 20  # seconds, for one turn
PAUSE = 0.2


class Nearness:
    """limit: nanoseconds that a cache line may take; None: all turns count."""

    def __init__(self, limit, cores, folder):
        self.limit, self.cores = limit, [str(core) for core in cores]
        self.program = pathlib.Path(folder) / 'handoff'
        self.again = 0  # turns that were taken once more
        if limit is not None:
            subprocess.run(['cc', '-O2', '-pthread', '-o', self.program, HERE / 'handoff.c'], check=True)

    def is_near(self):
        if self.limit is None:
            return True
        done = subprocess.run([self.program, *self.cores], capture_output=True, text=True, check=True)
        return float(done.stdout) <= self.limit

    def turn(self, take):
        """What take() returns, of a turn before and after which they were near; of the last one if there was none such."""
        end = time.monotonic() + PATIENCE
        while True:
            while not self.is_near() and time.monotonic() < end:
                time.sleep(PAUSE)
            result = take()
            if self.is_near() or time.monotonic() >= end:
                return result
            self.again += 1
