#!/usr/bin/env python3
"""Proves that the fabric does what its tests rely on, without any transport of ours: plain UDP sockets only.

    fabric_selftest.py [WORD...]      only the tests with one of these words in their names
"""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock

import testing
from absences import PRIORITY, Absences
from fabric import HERE, SKIP, STATE, Fabric, remove_leftovers, run_main
from testing import FabricCase, note, recovery_seconds

PORT = 9000
ECT0, CE = 2, 3
IP_MTU_DISCOVER, IP_PMTUDISC_DO, IP_MTU = 10, 2, 14  # of linux/in.h
SO_RCVBUFFORCE = 33


def sender(fabric, host, tos=0, family=4):
    """A socket in a host, bound to no port yet."""
    with fabric.inside(host):
        made = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
    if family == 4:
        made.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    return made


class Receiver:
    """A thread that keeps the number and the ECN bits of every packet that reaches a host."""

    def __init__(self, fabric, host, family=4):
        self.host = host
        self.address = (fabric.address(host, family), PORT)
        with fabric.inside(host):
            self.socket = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
        # Room for everything that a test sends: what is missing was lost on the way, not here.
        self.socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 28)
        if family == 4:
            self.socket.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
        self.socket.bind(self.address)
        self.numbers = []
        self.ecn = []
        self.thread = threading.Thread(target=self._receive, daemon=True)
        self.thread.start()

    def _receive(self):
        while True:
            data, ancillary, _, _ = self.socket.recvmsg(64, 64)
            if len(data) < 8:
                return
            self.numbers.append(int.from_bytes(data[:8], 'big'))
            self.ecn.append(ancillary[0][2][0] & 3 if ancillary else 0)

    def finish(self, fabric):
        """Everything that was under way has arrived when this returns."""
        lost_by_kernel = fabric.settle()
        with fabric.inside(self.host):  # so that the end does not cross the fabric
            end = socket.socket(self.socket.family, socket.SOCK_DGRAM)
        with end, self.socket:
            end.sendto(b'', self.address)
            self.thread.join(20)
        if self.thread.is_alive():
            raise AssertionError('the receiver does not keep up')
        return lost_by_kernel


def packet(number, size=4096):
    return number.to_bytes(8, 'big') + bytes(size - 8)


def exchange(fabric, count, size=4096, source='h1', target='h5', tos=0, family=4):
    """Sends packets from one socket, as fast as the host's link takes them; the receiver, when all is quiet."""
    receiver = Receiver(fabric, target, family)
    with sender(fabric, source, tos, family) as out:
        for number in range(count):
            out.sendto(packet(number, size), receiver.address)
    missing = receiver.finish(fabric)
    if missing:
        raise AssertionError(f'the kernel itself lost packets: {missing}')
    return receiver


def one_per_port(fabric, ports, family=4, connected=False):
    """Sends a packet from each of these ports; the packets that each spine has carried."""
    before = fabric.counts('l1-s*')
    for port in ports:
        with sender(fabric, 'h1', family=family) as out:
            out.bind((fabric.address('h1', family), port))
            if connected:
                out.connect((fabric.address('h5', family), PORT))
                out.send(bytes(100))
            else:
                out.sendto(bytes(100), (fabric.address('h5', family), PORT))
    fabric.settle()
    return [count.out_packets - before[name].out_packets for name, count in fabric.counts('l1-s*').items()]


class Paths(FabricCase):
    def setUp(self):
        super().setUp()
        # Somebody has to listen, or ICMP errors cross the counters.
        self.listeners = []
        for family in (4, 6):
            with self.fabric.inside('h5'):
                listener = socket.socket(socket.AF_INET if family == 4 else socket.AF_INET6, socket.SOCK_DGRAM)
            listener.bind((self.fabric.address('h5', family), PORT))
            self.listeners.append(listener)
            self.addCleanup(listener.close)

    def test_source_ports_spread_over_all_spines(self):
        for family in (4, 6):
            split = one_per_port(self.fabric, range(20000, 20256), family)
            note(f'256 source ports, IPv{family}: {split}')
            self.assertEqual(sum(split), 256)
            for packets in split:  # 64 each, 4.6 standard deviations
                self.assertLess(abs(packets - 64), 32, split)

    def test_a_port_keeps_its_path_until_the_seed_changes(self):
        def paths():
            return [one_per_port(self.fabric, [port]).index(1) for port in range(20000, 20032)]
        self.fabric.set_hash_seed(5)
        first = paths()
        self.assertEqual(first, paths())
        self.fabric.set_hash_seed(6)
        self.assertNotEqual(first, paths())
        self.fabric.set_hash_seed(5)
        self.assertEqual(first, paths())

    def test_a_connected_socket_takes_the_path_of_its_ports(self):
        for family in (4, 6):
            ports = range(30000, 30064)
            self.assertEqual(one_per_port(self.fabric, ports, family),
                             one_per_port(self.fabric, ports, family, connected=True))


class Links(FabricCase):
    def test_every_packet_is_counted_once_on_its_way(self):
        receiver = exchange(self.fabric, 1000, size=1000)
        self.assertEqual(receiver.numbers, list(range(1000)))
        for links in ('h1-l1', 'l1-s*', 's*-l2', 'l2-h5'):
            self.assertEqual(self.fabric.total(links, 'in_packets'), 1000, links)
            self.assertEqual(self.fabric.total(links, 'out_packets'), 1000, links)
        self.assertEqual(self.fabric.total('h1-l1', 'out_bytes'), 1000 * (1000 + 42))

    def test_a_link_carries_no_more_than_its_rate(self):
        for rate in (200, 20):
            self.fabric.set_rate('l2-h5', rate)
            receiver = Receiver(self.fabric, 'h5')
            with sender(self.fabric, 'h1') as out:
                began = time.monotonic()
                bytes_before = self.fabric.count('l2-h5').out_bytes
                number = 0
                while time.monotonic() - began < 0.5:
                    out.sendto(packet(number), receiver.address)
                    number += 1
                took = time.monotonic() - began
                mbit = (self.fabric.count('l2-h5').out_bytes - bytes_before) * 8 / took / 1e6
            receiver.finish(self.fabric)
            note(f'{rate} Mbit/s: {mbit:.1f} carried')
            # The TBF's burst may come on top. A busy machine may take away from it, so there is little to say below.
            self.assertLess(mbit, rate * 1.03)
            self.assertGreater(mbit, rate * 0.25)

    def test_a_full_queue_drops_its_tail(self):
        self.fabric.set_rate('l2-h5', 20)
        limit = 50000
        self.fabric.set('l2-h5', limit=limit)
        receiver = exchange(self.fabric, 500)
        count = self.fabric.count('l2-h5')
        self.assertGreater(count.tail_drops, 0)
        self.assertEqual(len(receiver.numbers) + count.tail_drops, 500)
        self.assertLessEqual(count.max_backlog, limit)
        self.assertGreater(count.max_backlog, limit - 2 * 4138)

    def test_marks_are_the_congestion_that_the_receiver_sees(self):
        self.fabric.set_rate('l2-h5', 100)
        self.fabric.set('l2-h5', limit=1_900_000)  # no packet is lost once it is marked
        receiver = exchange(self.fabric, 800, tos=ECT0)
        self.assertEqual(len(receiver.ecn), 800)
        marks = self.fabric.total('*', 'marks')
        note(f'{marks} marks, {receiver.ecn.count(CE)} CE of {len(receiver.ecn)} packets')
        self.assertGreater(marks, 100)
        self.assertEqual(receiver.ecn.count(CE), marks)
        self.assertEqual(receiver.ecn.count(ECT0), len(receiver.ecn) - marks)

    def test_no_mark_below_its_threshold_nor_on_packets_that_do_not_ask(self):
        self.fabric.set_rate('l2-h5', 100)
        self.assertNotIn(CE, exchange(self.fabric, 1000).ecn)
        self.fabric.set('*', mark_from=10**9, mark_to=10**9)
        self.assertNotIn(CE, exchange(self.fabric, 1000, tos=ECT0).ecn)
        self.assertEqual(self.fabric.total('*', 'marks'), 0)

    def test_marks_become_likelier_with_the_queue(self):
        # The queue stands at its limit, halfway between the thresholds: every second packet or so.
        self.fabric.set_rate('l2-h5', 100)
        self.fabric.set('*', mark_from=10**9, mark_to=10**9)
        self.fabric.set('l2-h5', limit=100000, mark_from=46000, mark_to=146000)
        receiver = exchange(self.fabric, 4000, tos=ECT0)
        share = receiver.ecn.count(CE) / len(receiver.ecn)
        note(f'{share:.2f} marked at half of the way')
        self.assertGreater(share, 0.3)
        self.assertLess(share, 0.6)

    def test_a_blackhole_swallows_everything_of_its_paths(self):
        self.fabric.set('s2', blackhole=1)
        receiver = Receiver(self.fabric, 'h5')
        for number in range(256):
            with sender(self.fabric, 'h1') as out:
                out.bind((self.fabric.address('h1'), 20000 + number))
                out.sendto(packet(number, 100), receiver.address)
        self.fabric.settle()
        swallowed = self.fabric.total('s2', 'blackholed')
        self.assertEqual(self.fabric.total('s2', 'in_packets'), 0)
        self.assertGreater(swallowed, 30)
        receiver.finish(self.fabric)
        self.assertEqual(len(receiver.numbers), 256 - swallowed)

        self.fabric.set('s2', blackhole=0)
        self.assertEqual(len(exchange(self.fabric, 100).numbers), 100)

    def test_loss_is_about_as_asked(self):
        for loss, packets in ((0.001, 20000), (0.01, 10000), (0.05, 5000)):
            self.fabric.restore()
            self.fabric.set('l2-h5', loss=loss)
            arrived = len(exchange(self.fabric, packets, size=200).numbers)
            losses = self.fabric.count('l2-h5').losses
            note(f'loss {loss}: {losses} of {packets}')
            deviation = (packets * loss * (1 - loss)) ** 0.5
            self.assertLess(abs(packets - arrived - packets * loss), 5 * deviation)
            self.assertEqual(losses, packets - arrived)

    def test_packets_held_back_are_overtaken(self):
        receiver = exchange(self.fabric, 3000)
        self.assertEqual(receiver.numbers, sorted(receiver.numbers))

        self.fabric.restore()
        self.fabric.hold_back('l2-h5', 0.2, ms=4)
        receiver = exchange(self.fabric, 3000)
        self.assertEqual(sorted(receiver.numbers), list(range(3000)))
        late, most = 0, 0
        highest = -1
        for number in receiver.numbers:
            highest = max(highest, number)
            late += number < highest
            most = max(most, highest - number)
        held = self.fabric.count('l2-h5').held_back
        note(f'{held} of 3000 held back, {late} overtaken, by {most} packets at most')
        # At full rate, 600 would be held back, and 24 packets pass in 4 ms.
        self.assertGreater(late, 100)
        self.assertLess(held, 1000)
        self.assertGreater(most, 5)
        with self.assertRaisesRegex(ValueError, 'too short'):
            self.fabric.hold_back('l2-h5', 0.01, ms=1)

    def test_a_smaller_mtu_is_told_to_the_sender(self):
        with sender(self.fabric, 'h1') as out:
            out.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
            out.connect((self.fabric.address('h5'), PORT))
            self.assertEqual(out.getsockopt(socket.IPPROTO_IP, IP_MTU), 4300)
            self.fabric.set_mtu('l1-s*', 1500)
            out.send(bytes(4096))
            until = time.monotonic() + 5
            while out.getsockopt(socket.IPPROTO_IP, IP_MTU) != 1500:
                self.assertLess(time.monotonic(), until, 'no ICMP message came back')
                time.sleep(0.01)
            with self.assertRaises(OSError):
                out.send(bytes(4096))
        self.assertEqual(self.fabric.total('l1-s*', 'in_packets'), 0)
        with self.assertRaises(ValueError):
            self.fabric.set_mtu('l1-s1', 9000)

    def test_mistakes_are_named(self):
        with self.assertRaisesRegex(ValueError, "no link is called 'l1-s9'"):
            self.fabric.set('l1-s9', loss=0)
        with self.assertRaisesRegex(ValueError, "a link has no 'speed'"):
            self.fabric.set('l1-s1', speed=1)
        with self.assertRaisesRegex(ValueError, 'between 0 and 1'):
            self.fabric.set('l1-s1', loss=5)
        with self.assertRaisesRegex(ValueError, "there is no node 'h9'"):
            self.fabric.run('h9', ['true'])
        with self.assertRaisesRegex(ValueError, 'no name for a fabric'):
            Fabric('../h1')


CHILD = f'''
import sys, time
sys.path.insert(0, {HERE!r})
from fabric import Fabric
with Fabric(hosts_per_leaf=1, spines=2) as fabric:
    sleeper = fabric.popen('h1', ['sleep', '1000'])
    print(fabric.name, sleeper.pid, flush=True)
    if {{raising}}:
        raise RuntimeError('on purpose')
    time.sleep(1000)
'''


class UpAndDown(FabricCase):
    def child(self, raising=False):
        """A process with a fabric and a program running in it: the process, the fabric's name, the program's pid."""
        process = subprocess.Popen([sys.executable, '-c', CHILD.format(raising=raising)], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.terminate)  # in case the test fails before that
        name, pid = process.stdout.readline().split()
        return process, name, int(pid)

    def left(self, name, pid):
        """What is there of a fabric."""
        found = [file for file in os.listdir('/run/netns') if file.startswith(f'strack-{name}-')]
        with open('/proc/mounts') as mounts:
            found += [line for line in mounts if f'{STATE}/{name}/' in line]
        found += [file for file in os.listdir(STATE) if file == name]
        try:
            with open(f'/proc/{pid}/stat') as file:
                found += [pid] if file.read().rpartition(')')[2].split()[0] != 'Z' else []
        except OSError:
            pass
        return found

    def test_nothing_is_left_after_a_signal_or_an_exception(self):
        for number in (signal.SIGTERM, signal.SIGINT, None):
            process, name, pid = self.child(raising=number is None)
            if number is not None:
                self.assertEqual(len(self.left(name, pid)), 6 + 1 + 1 + 1)
                process.send_signal(number)
            self.assertNotEqual(process.wait(30), 0)
            self.assertEqual(self.left(name, pid), [])

    def test_what_a_killed_run_leaves_the_next_one_removes(self):
        process, name, pid = self.child()
        process.kill()
        process.wait()
        self.assertEqual(len(self.left(name, pid)), 6 + 1 + 1 + 1)
        self.assertIn(name, remove_leftovers())
        self.assertEqual(self.left(name, pid), [])
        self.assertNotIn(name, remove_leftovers())

    def test_fabrics_do_not_disturb_each_other(self):
        # Also if one's name is the beginning of the other's.
        with Fabric(f'{self.fabric.name}-2', hosts_per_leaf=1, spines=2) as other:
            Fabric(self.fabric.name.rpartition('-')[0]).down()
            self.assertEqual(remove_leftovers(), [])
            other.set('*', blackhole=1)
            exchange(self.fabric, 10)
            self.assertEqual(other.total('*', 'in_packets'), 0)
        exchange(self.fabric, 10)

    def test_by_hand(self):
        program = [sys.executable, f'{HERE}/fabric.py', '--name', f'hand-{os.getpid()}']

        def by_hand(*words):
            return subprocess.run([*program, *words], text=True, capture_output=True)
        self.addCleanup(by_hand, 'down')
        self.assertEqual(by_hand('up', '--hosts-per-leaf', '1').returncode, 0)
        self.assertIn('already', by_hand('up').stderr)
        self.assertEqual(remove_leftovers(), [])  # this one is meant to stay
        self.assertIn('10.0.2.2', by_hand('status').stdout)
        self.assertIn('s1', by_hand('exec', 'l1', 'ip', 'route').stdout)
        self.assertEqual(by_hand('set', 's1', 'loss=0.5', 'rate=20', 'hold=0.2,4').returncode, 0)
        self.assertIn("a link has no 'los'", by_hand('set', 's1', 'los=1').stderr)
        self.assertEqual(by_hand('down').returncode, 0)
        self.assertEqual(by_hand('status').returncode, 2)
        self.assertEqual(by_hand('down').returncode, 0)

    def test_without_root_it_says_so_and_is_skipped(self):
        with unittest.mock.patch('os.geteuid', return_value=1000), self.assertRaises(SystemExit) as ended:
            run_main(testing.run)
        self.assertEqual(ended.exception.code, SKIP)


class Recovery(unittest.TestCase):
    """The measure of how long a fault was felt, at 1000 bytes per ms."""

    @staticmethod
    def samples(rates):
        """A sample for each ms."""
        made = [(0.0, 0)]
        for ms, rate in enumerate(rates):
            made.append(((ms + 1) / 1000, made[-1][1] + rate))
        return made

    def test_no_dip_is_no_time(self):
        self.assertEqual(recovery_seconds(self.samples([1000] * 500), 1e6), 0)

    def test_a_dip_lasts_until_its_last_poor_window(self):
        # The last window of 20 ms with less than 16000 bytes ends 15 ms after the gap.
        dip = [1000] * 30 + [0] * 50 + [1000] * 400
        self.assertAlmostEqual(recovery_seconds(self.samples(dip), 1e6), 0.095, delta=0.002)

    def test_dips_close_to_each_other_are_one(self):
        dips = [1000] * 30 + [0] * 30 + [1000] * 60 + [0] * 30 + [1000] * 500
        self.assertAlmostEqual(recovery_seconds(self.samples(dips), 1e6), 0.165, delta=0.002)

    def test_a_dip_long_after_is_something_else(self):
        dips = [1000] * 30 + [0] * 50 + [1000] * 200 + [0] * 50 + [1000] * 500
        self.assertAlmostEqual(recovery_seconds(self.samples(dips), 1e6), 0.095, delta=0.002)

    def test_a_dip_long_after_nothing_is_something_else(self):
        # 5 ms without a packet are a quarter of a window. They were told as 0.6 s.
        late = [1000] * 600 + [0] * 5 + [1000] * 400
        self.assertLess(recovery_seconds(self.samples(late), 1e6), 0.04)

    def test_the_longest_dip_counts_whenever_it_comes(self):
        # The first window of the second that carries too little begins 16 ms before it, the last ends 15 ms after it.
        late = [1000] * 30 + [0] * 20 + [1000] * 300 + [0] * 150 + [1000] * 400
        self.assertAlmostEqual(recovery_seconds(self.samples(late), 1e6), 0.181, delta=0.003)

    def test_never_again_is_until_the_end(self):
        self.assertGreater(recovery_seconds(self.samples([1000] * 30 + [100] * 5000), 1e6), 4.8)

    def test_times_without_a_processor_say_nothing(self):
        dips = self.samples([1000] * 30 + [0] * 30 + [1000] * 300 + [0] * 150 + [1000] * 400)
        self.assertAlmostEqual(recovery_seconds(dips, 1e6, away=[(0.35, 0.52)]), 0.075, delta=0.002)
        self.assertAlmostEqual(recovery_seconds(dips, 1e6, away=[(0.1, 0.2)]), 0.181, delta=0.003)

    def test_a_processor_that_is_taken_is_noted(self):
        with Absences() as away:
            taken = os.fork()
            if taken == 0:
                try:
                    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(PRIORITY + 1))
                    until = time.monotonic() + 0.02
                    while time.monotonic() < until:
                        pass
                finally:
                    os._exit(0)
            os.waitpid(taken, 0)
            time.sleep(0.01)
        if PRIORITY + 1 <= os.sched_get_priority_max(os.SCHED_FIFO) and os.geteuid() == 0:
            self.assertGreater(sum(end - begin for begin, end in away.periods), 0.015)

    def test_one_that_was_stopped_has_no_end_in_which_it_runs_dry(self):
        stuck = self.samples([1000] * 30 + [0] * 1000)
        self.assertLess(recovery_seconds(stuck, 1e6), 0.1)
        self.assertGreater(recovery_seconds(stuck, 1e6, ended=False), 0.95)


if __name__ == '__main__':
    run_main(lambda: testing.run(only=sys.argv[1:]))
