"""What the fabric's tests share: one fabric for all cases of a file, as new for each of them, and an exit status that
never calls skipping everything a success."""

import math
import os
import pathlib
import platform
import re
import sys
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from absences import Absences  # noqa: E402
from fabric import SKIP, Fabric, require  # noqa: E402
from transports import PATIENCE, TransferFailed  # noqa: E402

MOST_FELT_MS = 100  # of a spine that dies, at worst


class FabricCase(unittest.TestCase):
    """A test with self.fabric to itself."""
    fabric = None

    def setUp(self):
        self.fabric.restore()


notes = []  # (test, figure): told once more at the end, in one place to quote from


def note(text):
    """A figure worth keeping, in the log of a test."""
    notes.append((Progress.test, text))
    print(f'    {text}', file=sys.stderr, flush=True)


class Progress(unittest.TextTestResult):
    """Says before each test how far it is."""
    total = 0
    test = ''

    def startTest(self, test):  # noqa: N802  (unittest's name)
        if self.testsRun == 0:
            self.began = time.monotonic()
        spent = time.monotonic() - self.began
        Progress.test = test.id().split('.')[-1]
        self.stream.write(f'[{self.testsRun + 1} of {self.total}, {int(spent) // 60}:{int(spent) % 60:02}] ')
        super().startTest(test)


def machine():
    """What figures depend on, in a line."""
    found = re.search(r'model name\s*: (.*)', pathlib.Path('/proc/cpuinfo').read_text())
    return (f'{found[1] if found else platform.machine()}, {os.cpu_count()} processors, Linux {platform.release()}, '
            f'load average {os.getloadavg()[0]:.1f}')


def recovery_seconds(samples, before, window=0.02, steady=0.1, ended=True, away=()):
    """How long a fault was felt. samples: (time, bytes carried so far) from the fault on, in short steps; before:
    bytes per second until then. It is over with the last window that carried less than 80 % of that before a steady
    stretch of windows that all carried more. A dip that comes after such a stretch has a length of its own, from the
    beginning of its first poor window, and the longest counts: a machine that has no time for 5 ms, half a second after
    the fault, is no fault that was felt for half a second. The last 2 % of the bytes, in which a transfer runs dry, do
    not count, if it has ended. A window in which a processor was `away`, or that begins within another one after that,
    says nothing."""
    fault, first = samples[0]
    dry = first + 0.98 * (samples[-1][1] - first) if ended else math.inf
    start = poor = fault
    longest = 0.0
    oldest = 0
    for now, carried in samples:
        while oldest + 1 < len(samples) and samples[oldest + 1][0] <= now - window:
            oldest += 1
        then, carried_then = samples[oldest]
        if now - then < window:
            continue
        if carried > dry:
            break
        if any(begin < now and then < end + window for begin, end in away):
            continue
        if carried - carried_then < 0.8 * before * (now - then):
            if now - poor > steady:
                start = then
            poor = now
            longest = max(longest, poor - start)
    return longest


def recovery_ms(fabric, transport, pair, size, spine, told=None, **options):
    """How long a transfer feels the death of a spine, as dying() has it, in ms. Where this program may go before others,
    times in which processors were away do not count, and `told` takes how long they were, in ms."""
    with Absences() as away:
        samples, before, ended = dying(fabric, transport, pair, size, spine, **options)
    if told is not None:
        told.append(1000 * sum(min(end, samples[-1][0]) - max(begin, samples[0][0]) for begin, end in away.periods
                               if begin < samples[-1][0] and end > samples[0][0]))
    return 1000 * recovery_seconds(samples, before, ended=ended, away=away.periods)


def dying(fabric, transport, pair, size, spine, patience_ms=None, begin=0.25, middle=0.5, **options):
    """A transfer that feels the death of a spine in its middle; of None, one that feels nothing at all, which is
    what the machine makes of it. It has to arrive whole; else TransferFailed or AssertionError say what happened. Of
    several `connections` each sends its part of the size. One that is on its way for longer than `patience_ms` is stopped,
    and what it felt until then is told. The rate before is that between `begin` and `middle` of the size. Gives the samples
    since then, that rate, and whether the transfer has ended."""
    transfer, = transport.start(fabric, [pair], size // options.get('connections', 1), **options)
    try:
        link = f'l2-{pair[1]}'

        def carried_from(bytes_):
            until = time.monotonic() + 30
            while (carried := fabric.count(link).out_bytes) < bytes_:
                if not transfer.running():
                    transfer.result()  # says why, if it has failed
                    raise AssertionError('the transfer ended before anything could happen to it')
                if time.monotonic() > until:
                    raise AssertionError(f'{carried} of {bytes_} bytes after 30 s')
                time.sleep(0.001)
            return time.monotonic(), carried

        began, first = carried_from(begin * size)
        samples = [carried_from(middle * size)]
        before = (samples[0][1] - first) / (samples[0][0] - began)
        if spine:
            fabric.set(spine, blackhole=1)
        died = time.monotonic()
        until = died + PATIENCE
        while transfer.running():
            if patience_ms and time.monotonic() > died + patience_ms / 1000:
                return samples, before, False
            if time.monotonic() > until:
                raise TransferFailed(f'{samples[-1][1]} of {size} bytes {PATIENCE} s after {spine or "nothing"} died, and no end')
            time.sleep(0.001)
            samples.append((time.monotonic(), fabric.count(link).out_bytes))
        result = transfer.result()
        if not result.ok or result.bytes != size:
            raise AssertionError(f'{result.bytes} of {size} bytes were delivered')
        return samples, before, True
    finally:
        transfer.stop()


def run(only=(), **options):
    """Runs the cases of the main module on one fabric and gives the exit status: 0 passed, 1 failed, 77 nothing could
    run. For run_main()."""
    require()
    suite = unittest.TestLoader().loadTestsFromModule(sys.modules['__main__'])
    cases = [case for group in suite for case in group if not only or any(word in case.id() for word in only)]
    if not cases:
        print(f'error: no test has {" or ".join(only)} in its name', file=sys.stderr)
        return 2
    with Fabric(**options) as fabric:
        # Whoever reads of a limit that was missed should know whether the machine had the time.
        print(f"fabric '{fabric.name}' is up after {fabric.setup_seconds:.2f} s; {machine()}", file=sys.stderr)
        FabricCase.fabric = fabric
        Progress.total = len(cases)
        result = unittest.TextTestRunner(verbosity=2, resultclass=Progress).run(unittest.TestSuite(cases))
    if notes:
        print(f'\nfigures ({machine()} at the end; the test itself is part of that)', file=sys.stderr)
        last = None
        for test, text in notes:
            if test != last:
                print(f'  {test}', file=sys.stderr)
                last = test
            print(f'    {text}', file=sys.stderr)
    if not result.wasSuccessful():
        return 1
    if len(result.skipped) == result.testsRun:
        reasons = sorted({reason for _, reason in result.skipped})
        print(f'skipped: {"; ".join(reasons)}', file=sys.stderr)
        return SKIP
    return 0
