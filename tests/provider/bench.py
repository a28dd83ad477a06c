#!/usr/bin/env python3
"""Latency, throughput and message rate of libfabric's providers side by side, in turns: fabtests' tagged ping-pong and bandwidth; and Open MPI's own TCP, by pingpong.c; and what
UDP sockets take for the same datagrams without any protocol, by floor.c: nothing that goes over UDP is faster.

    bench.py PROVIDER_FOLDER [--rounds N] [--quiet] [--over loopback|veth|fabric] [--loss SHARE] [--size BYTES] [--near NS] [--limits]
    bench.py --self-test

--over veth: between two network namespaces with a cable of MTU 9000; fabric: across that of tests/fabric, where --loss is what each of its middle links loses. Both need root.
--quiet runs both ends at real-time priority, for moments: on a machine that others use it shows what the providers themselves take. It needs root.
--limits: fails where the first provider is not as much better than others as it is to be (LIMITS), and says where.
The first provider's figures count only where its counters say that what was measured crossed the network by it; others' must not. Needs fabtests, as fabtests.py does; without Open MPI, and across the fabric, its column is empty. Prints a table of medians: microseconds one way, MB/s, and thousands of messages a second, one way; and how the first provider's compare, the median of the ratios in one round.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "fabric"), str(HERE.parent.parent / "bench")]
from near import Nearness  # noqa: E402
from fabric import Fabric, run_main, tool  # noqa: E402
from proof import NO_FABTESTS, bytes_sent, fabtests  # noqa: E402

SKIP = 77
OPEN_MPI = "Open MPI TCP"
FLOOR = "UDP alone"
PROVIDERS = ("strack", "udp;ofi_rxd", "tcp;ofi_rxm", OPEN_MPI, FLOOR)
# Enough that what a connection's first milliseconds take is not seen.
CASES = (("fi_rdm_tagged_pingpong", 64, 10000), ("fi_rdm_tagged_pingpong", 65536, 3000), ("fi_rdm_tagged_pingpong", 1 << 20, 400),
         ("fi_rdm_tagged_bw", 8, 50000), ("fi_rdm_tagged_bw", 64, 50000), ("fi_rdm_tagged_bw", 65536, 5000), ("fi_rdm_tagged_bw", 1 << 20, 500))
SMALL = 64  # bytes; of streams of no more than these it is messages that count
RXD, RXM = "udp;ofi_rxd", "tcp;ofi_rxm"
# What is aimed at, as the share of another's: latency at most, throughput at least. Message rates have no limit.
LIMITS = {("latency", 64): {RXD: 1}, ("latency", 65536): {RXD: 1 / 5, RXM: 1}, ("latency", 1 << 20): {RXD: 1 / 5, RXM: 1},
          ("throughput", 65536): {RXD: 5, RXM: 1}, ("throughput", 1 << 20): {RXD: 5, RXM: 1}}
LIMITS_AT_LOSS = {("latency", 4096): {RXM: 1 / 10}}
LOSS_OF_LIMITS = 0.01


def kind_of(program, size):
    """What counts in a case."""
    return "latency" if program.endswith("pingpong") else "rate" if size <= SMALL else "throughput"


HEADS = {"latency": "ping-pong, us", "throughput": "one way, MB/s", "rate": "one way, 1000 messages/s"}


def figure(kind, size, us, mbps):
    """Of microseconds and MB/s, which is the more exact one of small messages."""
    return {"latency": us, "throughput": mbps, "rate": mbps / size * 1e3}[kind]


def not_met(ratios, limits):
    """Of ratios by (kind, size) and provider: those that are missing or beyond their limit, in words."""
    found = []
    for (kind, size), by_provider in limits.items():
        for provider, limit in by_provider.items():
            ratio = ratios.get((kind, size), {}).get(provider)
            good = ratio is not None and (ratio < limit if kind == "latency" and limit == 1 else ratio <= limit if kind == "latency" else ratio >= limit)
            if not good:
                least = "at least" if kind != "latency" else "below" if limit == 1 else "at most"
                found.append(f"{kind} at {size} B: {'none' if ratio is None else f'{ratio:.2f}'} of {provider}'s, {least} {limit:.2g} is aimed at")
    return found


def self_test():
    ratios = {key: dict(value) for key, value in LIMITS.items()}
    ratios["latency", 64][RXD] = 0.99
    for size in (65536, 1 << 20):
        ratios["latency", size][RXM] = 0.99
    assert not not_met(ratios, LIMITS), not_met(ratios, LIMITS)
    for (kind, size), by_provider in LIMITS.items():
        for provider in by_provider:
            for worse in (None, 1.01 if kind == "latency" else 0.99):
                changed = {key: dict(value) for key, value in ratios.items()}
                changed[kind, size][provider] = worse
                assert len(not_met(changed, LIMITS)) == 1, (kind, size, provider, worse)
    assert not_met({}, LIMITS_AT_LOSS) == ["latency at 4096 B: none of tcp;ofi_rxm's, at most 0.1 is aimed at"]
    assert [kind_of(program, size) for program, size, _ in CASES] == ["latency"] * 3 + ["rate"] * 2 + ["throughput"] * 2
    assert figure("rate", 8, 0.5, 16.0) == 2000.0
    check_bytes(PROVIDERS[0], 8, 8)
    check_bytes(RXM, 8, 0)
    for provider, sent in ((PROVIDERS[0], 7), (RXM, 1)):
        with contextlib.suppress(AssertionError):
            check_bytes(provider, 8, sent)
            raise SystemExit("not noticed")
    print("bench: self-test passed")
    return 0


class Side:
    """Where one of the two programs runs: what stands before its name, and its address."""

    def __init__(self, address, before=(), device=None):
        self.address, self.before, self.device = address, list(before), device
        self.env = {} if device is None else {"FI_STRACK_ADDRESS": address, "FI_STRACK_INSECURE": "1", "FI_TCP_IFACE": device, "FI_UDP_IFACE": device}

    def free_port(self):
        """Others of this moment have other ports."""
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            return str(one.getsockname()[1])


@contextlib.contextmanager
def loopback():
    yield Side("127.0.0.1"), Side("127.0.0.1")


@contextlib.contextmanager
def veth():
    """Two namespaces and a cable."""
    names = [f"strack-bench-{os.getpid()}-{end}" for end in "ab"]
    try:
        for name in names:
            tool(["ip", "netns", "add", name])
        tool(["ip", "-n", names[0], "link", "add", "cable", "mtu", "9000", "type", "veth", "peer", "name", "cable", "mtu", "9000", "netns", names[1]])
        for number, name in enumerate(names, 1):
            tool(["ip", "-n", name], ["link set lo up", "link set cable up", f"addr add 10.99.0.{number}/24 dev cable"])
        yield tuple(Side(f"10.99.0.{number}", ["nsenter", f"--net=/run/netns/{name}", "--"], "cable") for number, name in enumerate(names, 1))
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], check=False)


@contextlib.contextmanager
def across_fabric(loss):
    with Fabric() as fabric:
        if loss:
            fabric.set("l*-s*", loss=loss)
        sides = tuple(Side(fabric.address(host), fabric.command(host, []), fabric.leaf_of(host)) for host in ("h1", "h5"))
        for side in sides:
            side.env["FI_STRACK_RATE_GBPS"] = str(fabric.options.rate / 1e3)
        yield sides


def check_bytes(provider, wanted, sent):
    """Figures are the provider's own only if its counters have the bytes, which the client sends all of."""
    wrong = sent < wanted if provider == PROVIDERS[0] else sent > 0
    assert not wrong, f"{provider}: {sent} bytes over {PROVIDERS[0]}, of messages of {wanted}"


def measure(sides, folder, provider, program, size, count, env, before):
    """Microseconds per message and MB/s; None where it failed or took too long."""
    port = sides[0].free_port()
    words = [*before, f"{folder}/{program}", "-p", provider, "-S", str(size), "-I", str(count), "-w", "20"]
    server = subprocess.Popen([*sides[0].before, *words, "-B", port, "-s", sides[0].address], env={**env, **sides[0].env}, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True)
    try:
        client = subprocess.run([*sides[1].before, *words, "-P", port, sides[0].address], env={**env, **sides[1].env}, capture_output=True, text=True,
                                timeout=30, check=False)
        fields = client.stdout.strip().splitlines()[-1].split()
        figures = (float(fields[-2]), float(fields[-3])) if client.returncode == 0 else None
        if figures:
            check_bytes(provider, size * count, sum(bytes_sent(client.stderr)))
        return figures
    except (subprocess.TimeoutExpired, IndexError, ValueError):
        return None
    finally:
        server.kill()
        server.wait()


class OpenMpi:
    """pingpong.c over Open MPI's own TCP. Where the sides are namespaces, mpirun takes them for two machines."""

    def __init__(self, sides, folder, over):
        self.sides, self.folder = sides, folder
        self.there = over != "fabric" and all(shutil.which(name) for name in ("mpicc", "mpirun"))
        if not self.there:
            return
        subprocess.run(["mpicc", "-O2", "-o", folder / "pingpong", HERE / "pingpong.c"], check=True)
        names = "".join(f"{side.address} side{number}\n" for number, side in enumerate(sides))
        (folder / "hosts").write_text(f"127.0.0.1 localhost\n{names}")
        cases = " ".join(f"side{number}) shift; {' '.join(side.before)} unshare --uts --mount sh -c \"mount --bind {folder}/hosts /etc/hosts; hostname side{number}; $*\";;"
                         for number, side in enumerate(sides))
        (folder / "agent").write_text(f"#!/bin/sh\ncase $1 in {cases} esac\n")
        (folder / "agent").chmod(0o755)

    def measure(self, program, size, count, env, before):
        """As `measure` does."""
        if not self.there:
            return None
        apart = self.sides[0].device is not None
        device = ",".join(dict.fromkeys(side.device or "lo" for side in self.sides))
        env = {**env, "OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp", "OMPI_MCA_btl_tcp_if_include": device, "OMPI_MCA_plm_rsh_agent": str(self.folder / "agent"),
               "TMPDIR": str(self.folder), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        words = ["timeout", "30", "mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", *(["-H", "side0,side1"] if apart else []), *before,
                 str(self.folder / "pingpong"), "latency" if program.endswith("pingpong") else "bandwidth", str(size), str(count)]
        done = subprocess.run([str(self.folder / "agent"), "side0", "exec", *words] if apart else words, env=env, capture_output=True, text=True, check=False)
        took = re.search(r"^took (\S+) (\S+)$", done.stdout, re.M)
        return (float(took[1]), float(took[2])) if took and done.returncode == 0 else None


class Floor:
    """floor.c with a full packet's datagrams, in bursts as the provider sends them where nothing is set."""

    def __init__(self, sides, folder):
        self.sides, self.program = sides, folder / "floor"
        self.datagram, self.burst = (16436, 3) if sides[0].device is None else (8236, 7)
        subprocess.run(["cc", "-O2", "-o", self.program, HERE / "floor.c"], check=True)

    def measure(self, program, size, count, env, before):
        """As `measure` does, of ping-pongs."""
        if not program.endswith("pingpong"):
            return None
        ports = [side.free_port() for side in self.sides]
        words = [[*side.before, *before, str(self.program), side.address, ports[own], other.address, ports[1 - own], str(size), str(count), str(self.datagram), str(self.burst)]
                 for own, (side, other) in enumerate((self.sides, self.sides[::-1]))]
        first = subprocess.Popen([*words[0], "first"], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            time.sleep(0.2)  # until it listens
            subprocess.run([*words[1], "second"], env=env, stderr=subprocess.DEVNULL, timeout=30, check=False)
            took = re.search(r"took (\S+)", first.communicate(timeout=30)[0])
            return (float(took[1]), size / float(took[1])) if took else None
        except subprocess.TimeoutExpired:
            return None
        finally:
            first.kill()
            first.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("provider", nargs="?")
    parser.add_argument("--limits", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--over", choices=("loopback", "veth", "fabric"), default="loopback")
    parser.add_argument("--loss", type=float, default=0)
    parser.add_argument("--near", type=float, metavar="NS", help="only turns count in which a cache line takes no longer between the first two cores")
    parser.add_argument("--size", type=int, help="a ping-pong of this size alone")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    if options.provider is None:
        parser.error("the provider's folder is missing")
    folder = fabtests()
    if folder is None:
        print(f"skipped: {NO_FABTESTS}")
        return SKIP
    env = {**os.environ, "FI_PROVIDER_PATH": str(pathlib.Path(options.provider).resolve()), "FI_STRACK_STATS": "1"}
    cases = CASES if options.size is None else (("fi_rdm_tagged_pingpong", options.size, 1000),)
    place = {"loopback": loopback, "veth": veth, "fabric": lambda: across_fabric(options.loss)}[options.over]
    found = {}
    before = ["chrt", "-r", "1"] if options.quiet else []
    with place() as sides, tempfile.TemporaryDirectory(prefix="strack_bench_") as own:
        others = {OPEN_MPI: OpenMpi(sides, pathlib.Path(own), options.over), FLOOR: Floor(sides, pathlib.Path(own))}
        nearness = Nearness(options.near, sorted(os.sched_getaffinity(0))[:2], own)
        for _ in range(options.rounds):
            for program, size, count in cases:
                for provider in PROVIDERS:
                    one = nearness.turn(lambda: others[provider].measure(program, size, count, env, before) if provider in others else  # noqa: B023
                                        measure(sides, folder, provider, program, size, count, env, before))  # noqa: B023
                    found.setdefault((program, size, provider), []).append(one)
    print("| | " + " | ".join(PROVIDERS) + " | " + " | ".join(f"of {name}'s" for name in PROVIDERS[1:]) + " |\n|---|" + "---|" * (2 * len(PROVIDERS) - 1))
    all_ratios = {}
    for program, size, _ in cases:
        kind = kind_of(program, size)
        runs = {provider: [one and figure(kind, size, *one) for one in found[program, size, provider]] for provider in PROVIDERS}
        cells = [f"{statistics.median(good):.1f}" if (good := [one for one in runs[provider] if one]) else "-" for provider in PROVIDERS]
        for other in PROVIDERS[1:]:
            ratios = [mine / theirs for mine, theirs in zip(runs[PROVIDERS[0]], runs[other]) if mine and theirs]
            cells.append(f"{statistics.median(ratios):.2f}" if ratios else "-")
            if ratios:
                all_ratios.setdefault((kind, size), {})[other] = statistics.median(ratios)
        print(f"| {HEADS[kind]}, {size} B | " + " | ".join(cells) + " |")
    limits = {key: value for key, value in (LIMITS_AT_LOSS if options.loss == LOSS_OF_LIMITS else LIMITS).items() if key in {(kind_of(program, size), size) for program, size, _ in cases}}
    if not options.limits:
        return 0
    missed = not_met(all_ratios, limits)
    for one in missed:
        print(f"not met: {one}")
    print(f"{sum(map(len, limits.values())) - len(missed)} of {sum(map(len, limits.values()))} limits met")
    return 1 if missed else 0


if __name__ == "__main__":
    run_main(main)
