#!/usr/bin/env python3
"""STrack where a network is at its worst, with 2, 3 and 5 spines: a spine that flaps each second, half of all packets lost
each way, leaves that are not alike; and three dead ones of four.

    hard_test.py --program build/release/src/cli/strack [--seeds N] [WORD...]

All has to arrive; how fast is told and not held to limits, but for set-up past dead spines. `tools/prove fabric-hard` runs it.
"""

import argparse
import contextlib
import json
import os
import shutil
import statistics
import subprocess
import threading
import time

import fabric_test
import testing
import transports
from baselines import ideal_seconds
from fabric import Fabric, run_main
from fabric_test import Settings, TransportCase, of_ideal
from testing import note

SPINES = (2, 3, 5)


@contextlib.contextmanager
def flapping(fabric, node, period):
    """A node that is gone for the first half of each period and there for the second."""
    stop = threading.Event()

    def flap():
        gone = 0
        while not stop.is_set():
            gone = 1 - gone
            fabric.set(node, blackhole=gone)
            stop.wait(period / 2)
        fabric.set(node, blackhole=0)

    thread = threading.Thread(target=flap)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


class Hard(TransportCase):
    seeds = 3

    def fabrics(self):
        """One with each number of spines, with each hash seed."""
        for spines in SPINES:
            with Fabric(spines=spines, name=f'{self.shared.name}-{spines}') as fabric:
                self.fabric = fabric
                yield spines
        self.fabric = self.shared

    def setUp(self):
        super().setUp()
        self.shared = self.fabric

    def reseed(self):
        for seed in range(1, self.seeds + 1):
            self.fabric.restore()
            self.fabric.set_hash_seed(seed)
            yield seed

    def test_a_spine_flaps_each_second(self):
        size = 80_000_000
        for spines in self.fabrics():
            ratios, again = [], 0
            for _ in self.reseed():
                with flapping(self.fabric, 's1', 1.0):
                    result, ratio = self.transfer(size)
                ratios.append(ratio)
                again += result.retransmissions
            note(f'{spines} spines, one gone every other half second: {of_ideal(ratios)}, {again} packets sent again')

    def test_51_percent_are_lost_each_way(self):
        size = 200_000
        for spines in self.fabrics():
            times = []
            for _ in self.reseed():
                self.fabric.set('l?-s*', loss=0.51)
                for _ in range(4):
                    began = time.monotonic()
                    result, = self.strack.transfers(self.fabric, [fabric_test.PAIR], size)
                    self.check(result, size)
                    times.append(time.monotonic() - began)
            note(f'{spines} spines, 51 % lost each way: {len(times)} of {len(times)} transfers of 200 KB came to their end, set-up and all, in '
                 f'{statistics.median(times):.1f} s in the median, {max(times):.1f} s at worst')

    def test_three_of_four_spines_are_dead_from_the_beginning(self):
        """[D170] Fifty connections are up within 8 s all the same, with each hash seed."""
        sender, receiver = fabric_test.PAIR
        with Fabric(spines=4, name=f'{self.shared.name}-4') as self.fabric:
            for keys, secure in (('no key', False), ('a key', True)):
                strack = fabric_test.perf(secure=secure)
                times = []
                for _ in self.reseed():
                    for spine in ('s1', 's2', 's3'):
                        self.fabric.set(spine, blackhole=1)
                    address = self.fabric.address(receiver)
                    server = self.fabric.popen(receiver, strack.receive_argv(address, 4794), stdout=subprocess.DEVNULL)
                    try:
                        transports.wait_until_open(server, 4794, strack.proc_files)
                        done = self.fabric.run(sender, strack.send_argv(address, 4794, 1000, 0, {'connections': 50}),
                                               capture_output=True, text=True, timeout=60)
                    finally:
                        server.kill()
                        server.wait()
                    self.assertEqual(done.returncode, 0, done.stderr)
                    times.append(json.loads(done.stdout)['setup_seconds'])
                note(f'4 spines, three of them dead, {keys}: 50 connections are up after {statistics.median(times):.1f} s in the median of '
                     f'{len(times)}, {max(times):.1f} s at worst')
                self.assertLess(max(times), 8)

    def test_leaves_that_are_not_alike(self):
        # Leaf 2 has a link to one spine of a quarter of the rate, which leaf 1 does not see.
        size = 32_000_000
        for spines in self.fabrics():
            ratios = {'adaptive': [], 'oblivious': []}
            again = dict.fromkeys(ratios, 0)
            for _ in self.reseed():
                self.fabric.set_rate('s1-l2', self.fabric.options.rate / 4)
                self.fabric.set_rate('l2-s1', self.fabric.options.rate / 4)
                for policy, found in ratios.items():
                    result, = self.strack.transfers(self.fabric, [fabric_test.PAIR], size, policy=policy)
                    self.check(result, size)
                    found.append(result.seconds / ideal_seconds(self.fabric, size))
                    again[policy] += result.retransmissions
            note(f'{spines} spines, one link of leaf 2 at a quarter: ' + '; '.join(
                f'{policy} {of_ideal(found)}, {again[policy]} packets sent again' for policy, found in ratios.items()))


def main():
    parser = argparse.ArgumentParser(description='transfers of the strack program across a fabric at its worst')
    parser.add_argument('--program', default='strack', help='the program to test (%(default)s)')
    parser.add_argument('--seeds', type=int, default=Hard.seeds, metavar='N', help='hash seeds (%(default)s)')
    parser.add_argument('--scheme', metavar='NAME', help="the transport to test, such as strack-plus; else the program's own choice")
    parser.add_argument('only', nargs='*', metavar='WORD', help='only tests with one of these words in their names')
    arguments = parser.parse_args()
    Hard.seeds = arguments.seeds
    Settings.scheme = arguments.scheme
    Settings.program = shutil.which(arguments.program)
    if not Settings.program:
        raise ValueError(f"'{arguments.program}' is no program. give the one that was built: "
                         '--program build/release/src/cli/strack')
    Settings.program = os.path.abspath(Settings.program)
    return testing.run(arguments.only)


if __name__ == '__main__':
    run_main(main)
