#!/usr/bin/env python3
"""Tables of figures from a real fabric, with 2 to 5 spines: STrack, STrack+, TCP and MPTCP beside each other.

    tables.py --program build/release/src/cli/strack [--seeds 20] [--first 1] [--spines 2,3,4,5] [--only permutation,recovery,pair] [--real-time]

permutation: four pairs at once, the slowest over the ideal, median and worst over hash seeds. recovery: how long one transfer
feels it when a spine dies for good in its middle (the kernel's transports are given up after 3 s: "> 2900"), and what is measured where nothing dies: that is the machine's part. pair: one pair over links of ten times the rate (2 Gb/s). Prints Markdown. Run it
on a quiet machine: the first line says how quiet it was. Where others compute, --real-time has senders and receivers go before them. Exit status 1, with the seeds and a line to repeat the first of them: a
transfer has not come to its end, or a dead spine was felt for more than 100 ms.
"""

import argparse
import math
import os
import shutil
import statistics
import sys

from baselines import SIZE, ideal_seconds, kernel_transports, permutation
from fabric import Fabric, require, run_main
from testing import MOST_FELT_MS, machine, recovery_ms
from transports import StrackPerf, TransferFailed

PAIR = ('h1', 'h5')
FAST = 2_000  # Mb/s
REAL_TIME = 10  # priority
PATIENCE_MS = 3_000  # with the kernel's transports after a death: whoever is hashed onto a dead spine stays there
STUCK_MS = 2_900  # who felt it for so long was given up


def figure(value, digits):
    return f'> {STUCK_MS}' if digits == 0 and STUCK_MS <= value < math.inf else f'{value:.{digits}f}'


def median_and_worst(values, digits=2):
    if not values:
        return '-'
    # Halfway to one that was given up is no time that anybody felt.
    median = statistics.median_high if digits == 0 and max(values) >= STUCK_MS else statistics.median
    return f'{figure(median(values), digits)} / {figure(max(values), digits)}'


def progress(text):
    print(text, file=sys.stderr, flush=True)


def table(title, columns, rows):
    print(f'\n{title}\n\n| spines | {" | ".join(columns)} |\n|---|{"---|" * len(columns)}')
    for spines, cells in rows:
        print(f'| {spines} | {" | ".join(cells)} |', flush=True)


class Verdict:
    """What was not as it has to be, of all tables."""

    def __init__(self, program):
        self.program = program
        self.slow = []  # (transport, spines, seed, ms)
        self.count = 0  # of dead spines
        self.away = []  # ms that processors were away, of each transfer past a spine's death
        self.unended = []  # (kind, transport, spines, seed, why)

    def ended(self, kind, transport, fabric, seed, measure):
        """What `measure` gives, or infinity."""
        try:
            return measure()
        except (AssertionError, TransferFailed) as error:
            self.unended.append((kind, transport.name, fabric.options.spines, seed, str(error)))
            progress(f'{kind}, {transport.name}, {fabric.options.spines} spines, hash seed {seed}: {error}')
            return math.inf

    def felt(self, transport, fabric, seed, ms):
        self.count += 1
        if MOST_FELT_MS < ms < math.inf:
            self.slow.append((transport.name, fabric.options.spines, seed, ms))
        return ms

    def lines(self):
        """Nothing, if all was well."""
        out = [f'{kind}, {name}, {spines} spines, hash seed {seed}: has not come to its end: {why.splitlines()[0]}'
               for kind, name, spines, seed, why in self.unended]
        if self.slow:
            worst = max(self.slow, key=lambda one: one[3])
            out.append(f'{len(self.slow)} of {self.count} dead spines were felt for more than {MOST_FELT_MS} ms, the longest for {worst[3]:.0f}: ' +
                       '; '.join(f'{name}, {spines} spines, hash seed {seed}: {ms:.0f} ms' for name, spines, seed, ms in self.slow))
        repeat = [one[:4] for one in self.unended] + [('recovery', *one[:3]) for one in self.slow]
        if repeat:
            kind, _, spines, seed = repeat[0]
            out.append(f'replay: tests/fabric/tables.py --program {self.program} --only {kind} --spines {spines} --first {seed} --seeds 1')
        return out


def permutations(fabric, transports, seeds, verdict):
    """The slowest pair over the ideal, of each transport, for each seed. Fewer spines than pairs are shared."""
    shared = max(1, fabric.options.hosts_per_leaf / fabric.options.spines)
    slowest = {transport.name: [] for transport in transports}
    for seed in seeds:
        fabric.restore()
        fabric.set_hash_seed(seed)
        for transport in transports:
            slowest[transport.name].append(verdict.ended('permutation', transport, fabric, seed,
                                                         lambda transport=transport: max(permutation(fabric, transport)) / shared))
        progress(f'permutation, {fabric.options.spines} spines, hash seed {seed}: ' +
                 ', '.join(f'{name} {values[-1]:.2f}' for name, values in slowest.items()))
    return slowest


NOTHING_DIES = 'nothing dies'


def recoveries(fabric, transports, seeds, verdict):
    """Milliseconds, of each transport, for each seed, each time another spine; last of the first one where none dies."""
    times = {name: [] for name in [*(transport.name for transport in transports), NOTHING_DIES]}

    def measure(transport, seed, spine):
        fabric.restore()
        fabric.set_hash_seed(seed)
        patience = None if isinstance(transport, StrackPerf) else PATIENCE_MS
        return verdict.ended('recovery', transport, fabric, seed,
                             lambda: recovery_ms(fabric, transport, PAIR, 2 * SIZE, spine, told=verdict.away, patience_ms=patience))

    for seed in seeds:
        for transport in transports:
            ms = measure(transport, seed, f's{seed % fabric.options.spines + 1}')
            times[transport.name].append(verdict.felt(transport, fabric, seed, ms) if isinstance(transport, StrackPerf) else ms)
        times[NOTHING_DIES].append(measure(transports[0], seed, None))
        progress(f'recovery, {fabric.options.spines} spines, hash seed {seed}: ' +
                 ', '.join(f'{name} {values[-1]:.0f} ms' for name, values in times.items()))
    return times


def pairs(fabric, transports, seeds, verdict):
    """One pair's time over the ideal, of each transport, for each seed."""
    size = 10 * SIZE
    ratios = {transport.name: [] for transport in transports}

    def ratio(transport):
        result, = transport.transfers(fabric, [PAIR], size)
        if not result.ok or result.bytes != size:
            raise TransferFailed(f'{result.bytes} of {size} bytes were delivered')
        return result.seconds / ideal_seconds(fabric, size)

    for seed in seeds:
        fabric.restore()
        fabric.set_hash_seed(seed)
        for transport in transports:
            ratios[transport.name].append(verdict.ended('pair', transport, fabric, seed, lambda transport=transport: ratio(transport)))
    return ratios


def go_first():
    """This program and all that it starts go before whatever has no real-time priority; in words, whether they do."""
    try:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(REAL_TIME))
        return f'at real-time priority {REAL_TIME}'
    except OSError as error:
        return f'not at real-time priority ({error.strerror})'


def main():
    parser = argparse.ArgumentParser(description='tables of figures from a real fabric')
    parser.add_argument('--program', default='strack', help='the program to test (%(default)s)')
    parser.add_argument('--seeds', type=int, default=20, help='hash seeds (%(default)s)')
    parser.add_argument('--first', type=int, default=1, help='the first of them (%(default)s)')
    parser.add_argument('--spines', default='2,3,4,5', help='numbers of them (%(default)s)')
    parser.add_argument('--only', default='permutation,recovery,pair', help='which tables (%(default)s)')
    parser.add_argument('--ours', action='store_true', help='STrack and STrack+ alone')
    parser.add_argument('--real-time', action='store_true', help='go before other programs of this machine')
    arguments = parser.parse_args()
    program = shutil.which(arguments.program)
    if not program:
        raise ValueError(f"'{arguments.program}' is no program. give the one that was built: --program build/release/src/cli/strack")
    require()
    ours = [StrackPerf(os.path.abspath(program), scheme=name) for name in ('strack', 'strack-plus')]
    everybody = ours if arguments.ours else [*ours, *kernel_transports()]
    kinds = {'permutation': ('Slowest of four pairs over the ideal, median / worst', permutations, everybody, 200, 2),
             'recovery': ('Milliseconds until a dead spine is felt no more, median / worst', recoveries, everybody, 200, 0),
             'pair': ('One pair over links of 2 Gb/s, time over the ideal, median / worst', pairs, everybody, FAST, 2)}
    wanted = arguments.only.split(',')
    if unknown := sorted(set(wanted) - set(kinds)):
        raise ValueError(f'there is no table {unknown[0]}. there are {", ".join(kinds)}')
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    verdict = Verdict(arguments.program)
    print(f'{len(seeds)} hash seeds; {machine()}' + (f'; {go_first()}' if arguments.real_time else ''))
    for kind in wanted:
        title, measure, transports, rate, digits = kinds[kind]
        rows = []
        for spines in (int(text) for text in arguments.spines.split(',')):
            with Fabric(spines=spines, rate=rate, name=f'tables-{os.getpid()}-{spines}') as fabric:
                for transport in transports:
                    transport.prepare(fabric)
                measured = measure(fabric, transports, seeds, verdict)
                rows.append((spines, [median_and_worst(values, digits) for values in measured.values()]))
        table(title, list(measured), rows)
    if any(verdict.away):
        print(f'processors were away for {max(verdict.away):.0f} ms of a transfer at most, {sum(verdict.away):.0f} ms of {len(verdict.away)}: these times do not count')
    for line in verdict.lines():
        print(line, flush=True)
    return 1 if verdict.lines() else 0


if __name__ == '__main__':
    run_main(main)
