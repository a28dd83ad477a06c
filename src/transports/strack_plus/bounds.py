#!/usr/bin/env python3
"""Bounds that no rule of a sender gets around: what docs/strack-plus.md says of aims that do not hold.

A model each, without the simulator: 400 Gb/s, a base RTT of 8 us, data packets of 4096 + 64 bytes. Deterministic.

usage: bounds.py [mice] [shared] [incast]
"""

import random
import sys

GBPS, RTT = 400, 8.0  # us
PACKET, HEADER = 4096, 64
BDP = GBPS * 125 * RTT  # bytes
QUEUE = 5 * BDP


def wire(size):
    """Bytes on the wire of so much payload."""
    return size + HEADER * -(-size // PACKET)


def us(size):
    return size / (GBPS * 125)


# ---- Mice: 10 KB among elephants of 1 MB, nine of ten flows, 60 % load for 300 us, as in the league ----

MOUSE, ELEPHANT, MICE, LOAD, SPAN = 10_000, 1_000_000, 0.9, 0.6, 300.0


def arrivals(rng):
    """Flows to one receiver: when, and whether a mouse."""
    rate = LOAD * GBPS * 125 / (MICE * MOUSE + (1 - MICE) * ELEPHANT)  # per us
    now = rng.expovariate(rate)
    while now < SPAN:
        yield now, rng.random() < MICE
        now += rng.expovariate(rate)


def waits_of_bursts(window, rng):
    """What mice find in their receiver's queue, in us, if elephants send a first window of so many bytes on their own, at line rate, and an
    oracle sends the rest so that it never queues. One FIFO; nothing is dropped."""
    ends, queue, last, found = [], 0.0, 0.0, []
    for now, mouse in arrivals(rng):
        for end in sorted(ends) + [now]:  # between two arrivals bursts end one by one; each brings as much as the link takes
            end = min(end, now)
            queue = max(0.0, queue + (sum(1 for other in ends if other > last) - 1) * (end - last))
            last = end
        ends = [end for end in ends if end > now]
        if mouse:
            found.append(queue)
        ends.append(now + us(wire(MOUSE if mouse else min(window, ELEPHANT))))
    return found


def waits_of_windows(window, rng):
    """The same, if elephants keep a window of so many bytes in the network until they are done, and share the link evenly."""
    left, last, found = [], 0.0, []
    for now, mouse in arrivals(rng):
        while left and last < now:
            step = min(now - last, us(min(left)) * len(left))
            left = [some - step / len(left) * GBPS * 125 for some in left]
            left = [some for some in left if some > 1]
            last += step
        last = now
        if mouse:
            found.append(max(0.0, us(sum(min(window, some) for some in left)) - RTT))
        else:
            left.append(wire(ELEPHANT))
    return found


def p99(model, window, receivers=4000):
    rng = random.Random(1)
    found = sorted(wait for _ in range(receivers) for wait in model(window, rng))
    return found[len(found) * 99 // 100]


def mice():
    empty = RTT + us(wire(MOUSE))
    ideal = RTT + us(wire(2_000_000))
    print(f"a mouse alone: {empty:.1f} us; within 1.5 it may wait {0.5 * empty:.1f} us")
    print("| window | mice p99 over an empty network: bound by first windows | if windows are kept | permutation of 2 MB, bound |")
    print("|---|---|---|---|")
    for part in (0.25, 0.5, 0.6, 0.75, 1.0, 1.35):
        silent = max(0.0, RTT - us(part * BDP))  # from the last packet of the first window to the first answer
        print(f"| {part} BDP | {1 + p99(waits_of_bursts, part * BDP) / empty:.2f} | {1 + p99(waits_of_windows, part * BDP) / empty:.2f} "
              f"| {1 + silent / ideal:.3f} |")


# ---- The same where a host's connections share their first windows [PLUS.first.share]: all hosts at once ----

HOSTS = 128


class Shared:
    """First windows are sent on their own, at line rate, one host's beside each other; an oracle sends the rest so that it never queues. An
    elephant is done when its fair part of both ports has carried it. One FIFO at each receiver."""

    def __init__(self, window, least, mice_count, seed):
        self.window, self.least, self.mice_count, self.rng = window, least, mice_count, random.Random(seed)
        self.elephants, self.bursts, self.mice = [], [], [[] for _ in range(HOSTS)]  # [src, dst, bytes left]; ends of a sender's mice
        self.sends, self.receives, self.bursting = [0] * HOSTS, [0] * HOSTS, [0] * HOSTS
        self.queue, self.now = {}, 0.0

    def flows(self):
        rate = HOSTS * LOAD * GBPS * 125 / (MICE * MOUSE + (1 - MICE) * ELEPHANT)
        now = self.rng.expovariate(rate)
        while now < SPAN:
            src = self.rng.randrange(HOSTS)
            yield now, src, (src + 1 + self.rng.randrange(HOSTS - 1)) % HOSTS, self.rng.random() < MICE
            now += self.rng.expovariate(rate)

    def first_window(self, src):
        """Where nobody shares, whole. As in host.h: among those with something that is not acknowledged, itself included."""
        if self.least is None:
            return self.window
        return max(min(self.least, self.window), self.window / (self.sends[src] + (len(self.mice[src]) if self.mice_count else 0)))

    def carry(self, flows, rates, step):
        for flow, rate in zip(flows, rates):
            flow[2] -= rate * step
        return [flow for flow in flows if flow[2] > 1]

    def advance(self, until):
        line = GBPS * 125
        while self.now < until:
            fair = [line / max(self.sends[src], self.receives[dst]) for src, dst, _ in self.elephants]
            burst = [line / self.bursting[src] for src, _, _ in self.bursts]
            step = min([until - self.now, *(flow[2] / rate for flow, rate in zip(self.elephants + self.bursts, fair + burst))])
            self.queue = {host: left - line * step for host, left in self.queue.items()}
            for (_, dst, _), rate in zip(self.bursts, burst):
                self.queue[dst] = self.queue.get(dst, -line * step) + rate * step
            self.queue = {host: left for host, left in self.queue.items() if left > 0}
            self.elephants, self.bursts = self.carry(self.elephants, fair, step), self.carry(self.bursts, burst, step)
            self.sends, self.receives, self.bursting = [0] * HOSTS, [0] * HOSTS, [0] * HOSTS
            for src, dst, _ in self.elephants:
                self.sends[src] += 1
                self.receives[dst] += 1
            for src, _, _ in self.bursts:
                self.bursting[src] += 1
            self.now += max(step, 1e-9)

    def waits(self):
        """What mice find in their receivers' queues, in us."""
        found = []
        for now, src, dst, mouse in self.flows():
            self.advance(now)
            self.mice[src] = [end for end in self.mice[src] if end > now]
            if mouse:
                found.append(us(self.queue.get(dst, 0.0)))
                self.mice[src].append(now + RTT + us(wire(MOUSE)))
                size = wire(MOUSE)
            else:
                self.elephants.append([src, dst, wire(ELEPHANT)])
                self.sends[src] += 1
                self.receives[dst] += 1
                size = self.first_window(src)
            self.bursts.append([src, dst, size])
            self.bursting[src] += 1
        return found


def shared_p99(window, least, mice_count=True, seeds=(1, 2)):
    """Over an empty network."""
    found = sorted(wait for seed in seeds for wait in Shared(window, least, mice_count, seed).waits())
    return 1 + found[len(found) * 99 // 100] / (RTT + us(wire(MOUSE)))


def shared():
    print("| first window | mice p99 over an empty network: bound |")
    print("|---|---|")
    for name, window, least, mice_count in (("1.35 BDP each", 1.35, None, True), ("0.75 BDP each", 0.75, None, True),
                                            ("1.35 BDP among those that have more to send, at least 0.25", 1.35, 0.25, False),
                                            ("1.35 BDP among all, at least 0.25", 1.35, 0.25, True)):
        print(f"| {name} | {shared_p99(window * BDP, least and least * BDP, mice_count):.2f} |")


# ---- Incasts of messages that are no longer than a window ----

UPLINKS = 32  # by which the receiver's rack is reached


def incast():
    print("| senders | all at once, BDP | dropped, at least | ideal, us | bound |")
    print("|---|---|---|---|---|")
    for senders in (8, 32, 128):
        burst = senders * wire(128_000)
        # While it comes the link drains; it comes no faster than the senders' links and the rack's uplinks.
        comes = max(us(wire(128_000)), us(burst) / UPLINKS)
        dropped = max(0.0, burst - QUEUE - GBPS * 125 * comes)
        ideal = RTT + us(burst)
        # What is dropped was sent last, and nothing follows it. A question about it stands in the queue behind all that was not: when it is
        # answered the queue is empty, and what is sent again is a base RTT away.
        bound = 1 + (RTT / ideal if dropped else 0)
        print(f"| {senders} | {burst / BDP:.1f} | {100 * dropped / burst:.0f} % | {ideal:.1f} | {bound:.3f} |")


if __name__ == "__main__":
    for name in sys.argv[1:] or ["mice", "shared", "incast"]:
        {"mice": mice, "shared": shared, "incast": incast}[name]()
