#!/usr/bin/env python3
"""Tables of figures from a real fabric, with 2 to 5 spines: STrack, STrack+, TCP and MPTCP beside each other.

    tables.py --program build/release/src/cli/strack [--seeds 20] [--spines 2,3,4,5] [--only permutation,recovery,pair]

permutation: four pairs at once, the slowest over the ideal, median and worst over hash seeds. recovery: how long one transfer
feels it when a spine dies for good in its middle. pair: one pair over links of ten times the rate (2 Gb/s). Prints Markdown; all
has to arrive whole. Run it on a quiet machine: the first line says how quiet it was.
"""

import argparse
import os
import shutil
import statistics
import sys

from baselines import SIZE, ideal_seconds, kernel_transports, permutation
from fabric import Fabric, require, run_main
from testing import machine, recovery_ms
from transports import StrackPerf, TransferFailed

PAIR = ('h1', 'h5')
FAST = 2_000  # Mb/s


def median_and_worst(values, digits=2):
    return f'{statistics.median(values):.{digits}f} / {max(values):.{digits}f}' if values else '-'


def progress(text):
    print(text, file=sys.stderr, flush=True)


def table(title, columns, rows):
    print(f'\n{title}\n\n| spines | {" | ".join(columns)} |\n|---|{"---|" * len(columns)}')
    for spines, cells in rows:
        print(f'| {spines} | {" | ".join(cells)} |', flush=True)


def permutations(fabric, transports, seeds):
    """The slowest pair over the ideal, of each transport, for each seed. Fewer spines than pairs are shared."""
    shared = max(1, fabric.options.hosts_per_leaf / fabric.options.spines)
    slowest = {transport.name: [] for transport in transports}
    for seed in seeds:
        fabric.restore()
        fabric.set_hash_seed(seed)
        for transport in transports:
            slowest[transport.name].append(max(permutation(fabric, transport)) / shared)
        progress(f'permutation, {fabric.options.spines} spines, hash seed {seed}: ' +
                 ', '.join(f'{name} {values[-1]:.2f}' for name, values in slowest.items()))
    return slowest


def recoveries(fabric, transports, seeds):
    """Milliseconds, of each transport, for each seed; each time another spine."""
    times = {transport.name: [] for transport in transports}
    for seed in seeds:
        for transport in transports:
            fabric.restore()
            fabric.set_hash_seed(seed)
            times[transport.name].append(recovery_ms(fabric, transport, PAIR, 2 * SIZE, f's{seed % fabric.options.spines + 1}'))
        progress(f'recovery, {fabric.options.spines} spines, hash seed {seed}: ' +
                 ', '.join(f'{name} {values[-1]:.0f} ms' for name, values in times.items()))
    return times


def pairs(fabric, transports, seeds):
    """One pair's time over the ideal, of each transport, for each seed."""
    size = 10 * SIZE
    ratios = {transport.name: [] for transport in transports}
    for seed in seeds:
        fabric.restore()
        fabric.set_hash_seed(seed)
        for transport in transports:
            result, = transport.transfers(fabric, [PAIR], size)
            if not result.ok or result.bytes != size:
                raise TransferFailed(f'{transport.name}: {result.bytes} of {size} bytes were delivered')
            ratios[transport.name].append(result.seconds / ideal_seconds(fabric, size))
    return ratios


def main():
    parser = argparse.ArgumentParser(description='tables of figures from a real fabric')
    parser.add_argument('--program', default='strack', help='the program to test (%(default)s)')
    parser.add_argument('--seeds', type=int, default=20, help='hash seeds, from 1 (%(default)s)')
    parser.add_argument('--spines', default='2,3,4,5', help='numbers of them (%(default)s)')
    parser.add_argument('--only', default='permutation,recovery,pair', help='which tables (%(default)s)')
    arguments = parser.parse_args()
    program = shutil.which(arguments.program)
    if not program:
        raise ValueError(f"'{arguments.program}' is no program. give the one that was built: --program build/release/src/cli/strack")
    require()
    ours = [StrackPerf(os.path.abspath(program), scheme=name) for name in ('strack', 'strack-plus')]
    everybody = [*ours, *kernel_transports()]
    kinds = {'permutation': ('Slowest of four pairs over the ideal, median / worst', permutations, everybody, 200, 2),
             'recovery': ('Milliseconds until a dead spine is felt no more, median / worst', recoveries, ours, 200, 0),
             'pair': ('One pair over links of 2 Gb/s, time over the ideal, median / worst', pairs, everybody, FAST, 2)}
    wanted = arguments.only.split(',')
    if unknown := sorted(set(wanted) - set(kinds)):
        raise ValueError(f'there is no table {unknown[0]}. there are {", ".join(kinds)}')
    seeds = range(1, arguments.seeds + 1)
    print(f'{len(seeds)} hash seeds; {machine()}')
    for kind in wanted:
        title, measure, transports, rate, digits = kinds[kind]
        rows = []
        for spines in (int(text) for text in arguments.spines.split(',')):
            with Fabric(spines=spines, rate=rate, name=f'tables-{os.getpid()}-{spines}') as fabric:
                for transport in transports:
                    transport.prepare(fabric)
                measured = measure(fabric, transports, seeds)
                rows.append((spines, [median_and_worst(values, digits) for values in measured.values()]))
        table(title, [transport.name for transport in transports], rows)


if __name__ == '__main__':
    run_main(main)
