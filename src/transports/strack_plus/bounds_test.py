#!/usr/bin/env python3
"""Cases of bounds.py's models that can be worked out by hand."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import bounds  # noqa: E402
from bounds import BDP, MOUSE, RTT, Shared, us, wire  # noqa: E402


class Scripted(Shared):
    """Given flows in the place of drawn ones: (when, src, dst, whether a mouse)."""

    def __init__(self, script, window=1.35 * BDP, least=0.25 * BDP, mice_count=True):
        super().__init__(window, least, mice_count, 1)
        self.script = script

    def flows(self):
        return self.script


class SharedWindows(unittest.TestCase):
    def test_one_burst_never_queues(self):
        self.assertEqual(Scripted([(0, 1, 2, False), (5, 3, 2, True)]).waits(), [0.0])

    def test_of_two_bursts_one_waits(self):
        """After 5 us both have sent 5 us' worth, and the link has carried half of it."""
        [wait] = Scripted([(0, 1, 2, False), (0, 4, 2, False), (5, 3, 2, True)]).waits()
        self.assertAlmostEqual(wait, 5.0)

    def test_a_queue_drains(self):
        """Two of 10.8 us are through after 21.6."""
        script = [(0, 1, 2, False), (0, 4, 2, False), (20, 3, 2, True), (22, 5, 2, True)]
        first, second = Scripted(script).waits()
        self.assertAlmostEqual(first, 1.6)
        self.assertEqual(second, 0.0)

    def test_an_elephant_shares_with_mice_as_long_as_they_are_not_acknowledged(self):
        script = [(0, 1, 6, True), (0.1, 1, 2, False), (0.1, 4, 2, False), (9, 3, 2, True)]
        whole, shared = Scripted(script, mice_count=False), Scripted(script)
        self.assertGreater(whole.waits()[1], shared.waits()[1])
        self.assertEqual(whole.first_window(1), 1.35 * BDP)
        late = Scripted([])
        late.sends[1] = 1
        late.mice[1] = [RTT + us(wire(MOUSE))]
        self.assertEqual(late.first_window(1), 1.35 / 2 * BDP)

    def test_least_and_whole(self):
        many = Scripted([])
        many.sends[1] = 100
        self.assertEqual(many.first_window(1), 0.25 * BDP)
        many.least = None
        self.assertEqual(many.first_window(1), 1.35 * BDP)

    def test_smaller_first_windows_wait_less(self):
        hosts, span = bounds.HOSTS, bounds.SPAN
        bounds.HOSTS, bounds.SPAN = 16, 150.0
        try:
            each, among = (bounds.shared_p99(1.35 * BDP, least, seeds=(1,)) for least in (None, 0.25 * BDP))
        finally:
            bounds.HOSTS, bounds.SPAN = hosts, span
        self.assertGreater(each, among)
        self.assertGreaterEqual(among, 1.0)


class OneReceiver(unittest.TestCase):
    def test_bursts_queue_more_the_longer_they_are(self):
        short, long = (bounds.p99(bounds.waits_of_bursts, part * BDP, receivers=50) for part in (0.5, 1.35))
        self.assertGreater(long, short)


if __name__ == "__main__":
    unittest.main()
