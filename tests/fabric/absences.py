"""When processors were away: taken by the machine's host, or held back by the kernel, so that nothing at all ran there.

A watcher on each processor goes before all other programs, sleeps for a millisecond at a time and notes when it woke late. What a transport did
meanwhile cannot be told from what the machine did to it.
"""

import json
import os
import signal
import time

PRIORITY = 20  # of a watcher; above all that is measured
STEP = 0.001
SIGNALS = {signal.SIGINT, signal.SIGTERM}
LATE = 0.003  # a wake-up is that much too late


def watch(write):
    """Until SIGTERM; then writes what was noted. An empty line says that it has begun."""
    late = []
    going = [True]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: going.clear())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    before = time.monotonic()
    os.write(write, b'\n')
    while going:
        time.sleep(STEP)
        now = time.monotonic()
        if now - before > STEP + LATE:
            late.append((before, now))
        before = now
    with os.fdopen(write, 'w') as out:
        json.dump(late, out)


class Absences:
    """`with Absences() as away:` ...; away.periods afterwards are (from, to) by time.monotonic(), of all processors. None are noted where
    watchers may not go first."""

    def __init__(self):
        self.periods = []
        self._watchers = []

    def __enter__(self):
        blocked = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)  # a watcher runs no handler of this program's
        try:
            self._begin()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        return self

    def _begin(self):
        for processor in sorted(os.sched_getaffinity(0)):
            read, write = os.pipe()
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    os.close(read)
                    os.sched_setaffinity(0, {processor})
                    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY))
                    watch(write)
                    status = 0
                finally:
                    os._exit(status)
            os.close(write)
            self._watchers.append((pid, read))
        for _, read in self._watchers:
            os.read(read, 1)  # from here on nothing is missed; nothing comes where a watcher may not go first

    def __exit__(self, *_exception):
        for pid, read in self._watchers:
            os.kill(pid, signal.SIGTERM)
            with os.fdopen(read) as noted:
                self.periods += [tuple(period) for period in json.loads(noted.read() or '[]')]
            os.waitpid(pid, 0)
        self.periods.sort()
