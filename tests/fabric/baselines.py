#!/usr/bin/env python3
"""What the kernel's own transports make of a permutation across the leaves: host 1 to 5, 2 to 6, 3 to 7, 4 to 8.

    baselines.py [--seeds N | --seed-list 1,2,3] [--size BYTES]

For each hash seed, the time of the slowest pair over the ideal: what one pair would need alone, at the full rate of a
link. One path per flow cannot be ideal: some seed puts two flows on one spine, and both take twice as long.
"""

import argparse
import json
import statistics
import sys

from fabric import Fabric, run_main
from testing import machine
from transports import KernelMptcp, KernelTcp

SIZE = 16_000_000


def ideal_seconds(fabric, size):
    """A transfer alone, in full packets of TCP (40 bytes of headers, 12 of options, 14 of Ethernet)."""
    mtu = fabric.options.mtu
    return size * (mtu + 14) / (mtu - 52) * 8 / (fabric.options.rate * 1e6)


def permutation_pairs(fabric):
    half = len(fabric.hosts) // 2
    return list(zip(fabric.hosts[:half], fabric.hosts[half:]))


def permutation(fabric, transport, size=SIZE, **options):
    """Each pair's time over the ideal. Raises if anything was not delivered."""
    fabric.reset_counts()
    results = transport.transfers(fabric, permutation_pairs(fabric), size, **options)
    for result in results:
        if not result.ok or result.bytes != size:
            raise AssertionError(f'{transport.name}: {result.bytes} of {size} bytes were delivered')
    return [result.seconds / ideal_seconds(fabric, size) for result in results]


class Table:
    """Slowest pair over ideal, by transport and seed; printed line by line as it grows."""

    def __init__(self, transports, out=sys.stdout):
        self.slowest = {transport.name: [] for transport in transports}
        self.out = out
        print('slowest pair over ideal', *(f'{name:>18}' for name in self.slowest), sep='  ', file=out)

    def add(self, seed, row):
        """row: the times of all pairs, by transport."""
        for name, ratios in row.items():
            self.slowest[name].append(max(ratios))
        print(f'hash seed {seed:<13}', *(f'{max(row[name]):18.2f}' for name in self.slowest), sep='  ',
              file=self.out, flush=True)

    def finish(self):
        for title, of in (('median', statistics.median), ('worst', max)):
            print(f'{title:23}', *(f'{of(values):18.2f}' for values in self.slowest.values()), sep='  ', file=self.out)

    def median(self, transport):
        return statistics.median(self.slowest[transport.name])

    def worst(self, transport):
        return max(self.slowest[transport.name])


def kernel_transports():
    """TCP, and MPTCP if the kernel has it; says so if not."""
    if reason := KernelMptcp.missing():
        print(f'no MPTCP beside: {reason}', file=sys.stderr)
        return [KernelTcp()]
    return [KernelTcp(), KernelMptcp()]


def main():
    parser = argparse.ArgumentParser(description='TCP and MPTCP on a permutation across the leaves')
    parser.add_argument('--seeds', type=int, default=3, help='how many hash seeds, from 1 (%(default)s)')
    parser.add_argument('--seed-list', help='these hash seeds, such as 1,5,9')
    parser.add_argument('--size', type=int, default=SIZE, help='bytes of each pair (%(default)s)')
    parser.add_argument('--rate', type=float, default=200, help='of a link, Mbit/s (%(default)s)')
    parser.add_argument('--json', action='store_true', help="every pair's time over the ideal, as JSON")
    arguments = parser.parse_args()
    seeds = range(1, arguments.seeds + 1)
    if arguments.seed_list:
        seeds = [int(seed) for seed in arguments.seed_list.split(',')]

    with Fabric(rate=arguments.rate) as fabric:
        print(machine(), file=sys.stderr)
        transports = kernel_transports()
        table = Table(transports, sys.stderr if arguments.json else sys.stdout)
        rows = {}
        for transport in transports:
            transport.prepare(fabric)
        for seed in seeds:
            fabric.set_hash_seed(seed)
            rows[seed] = {transport.name: permutation(fabric, transport, arguments.size) for transport in transports}
            table.add(seed, rows[seed])
        table.finish()
        if arguments.json:
            json.dump({'ideal_seconds': ideal_seconds(fabric, arguments.size), 'seeds': rows}, sys.stdout, indent=2)
            print()


if __name__ == '__main__':
    run_main(main)
