#!/usr/bin/env python3
"""What a key costs: `strack perf` over loopback without a key, and with one by each library that can seal, on one pair of cores.

    bench/udp_sealing.py --program build/release/src/cli/strack [--rounds 5] [--seconds 2] [--least GBPS]

All take turns in each round, so that whatever else the machine does hits them alike. Prints the medians, what each is of the one
without a key, and what it would be on a pair of cores of its own: Gbit for each second that the busier side computes. Exit status 1:
the fastest library carries less than --least, in the median by the clock.
"""

import argparse
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile

PLAIN = 'no key'


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def libraries(program, key):
    """Those that this program and machine have, the fastest first, as the program says them."""
    said = subprocess.run([program, 'perf', 'client', '127.0.0.1:1', '--key-file', key, '--sealing', '?'], capture_output=True, text=True).stderr
    found = re.search(r'here it takes one of: (.*)', said)
    if not found:
        raise SystemExit(f'error: the program does not say by which libraries it seals: {said.strip()}')
    return re.findall(r'[\w-]+', found[1])


def turn(program, cores, options, seconds):
    """One test; what the client says of it."""
    address = f'127.0.0.1:{free_port()}'

    def pinned(core):
        return lambda: os.sched_setaffinity(0, {core})

    server = subprocess.Popen([program, 'perf', 'server', '--bind', address, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True, preexec_fn=pinned(cores[0]))
    try:
        server.stdout.readline()  # it listens
        client = subprocess.run([program, 'perf', 'client', address, '--json', '--size', '1MiB', '--seconds', f'{seconds * 1000:.0f}ms', *options],
                                capture_output=True, text=True, timeout=60 + 10 * seconds, preexec_fn=pinned(cores[1]))
    finally:
        server.terminate()
        server.wait()
    if client.returncode != 0:
        raise SystemExit(f'error: {" ".join(options)}: {client.stderr.strip() or client.stdout}')
    return json.loads(client.stdout)


def per_cpu_second(result):
    return result['bytes'] * 8e-9 / max(result['cpu_seconds'], result['server']['cpu_seconds'])


def main():
    parser = argparse.ArgumentParser(description='what a key costs')
    parser.add_argument('--program', required=True, help='such as build/release/src/cli/strack')
    parser.add_argument('--rounds', type=int, default=5, help='turns of each (%(default)s)')
    parser.add_argument('--seconds', type=float, default=2, help='of a turn (%(default)s)')
    parser.add_argument('--burst', default='7', help='packets per system call (%(default)s)')
    parser.add_argument('--rate', default='25Gb/s', help='what strack perf is told of the link (%(default)s)')
    parser.add_argument('--least', type=float, help='Gb/s that the fastest library has to carry')
    arguments = parser.parse_args()
    program = shutil.which(arguments.program)
    if not program:
        raise SystemExit(f"error: '{arguments.program}' is no program. give the one that was built: --program build/release/src/cli/strack")
    cores = sorted(os.sched_getaffinity(0))[:2]
    if len(cores) < 2:
        print('skipped: it takes two cores')
        return 77
    with tempfile.NamedTemporaryFile('w', prefix='strack-bench-key-') as key:
        subprocess.run([program, 'key'], stdout=key, check=True)
        common = ['--burst', arguments.burst, '--rate', arguments.rate]
        who = {PLAIN: [*common, '--insecure'],
               **{name: [*common, '--key-file', key.name, '--sealing', name] for name in libraries(program, key.name)}}
        print(f'{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}; {arguments.rounds} rounds of {arguments.seconds:g} s', flush=True)
        found = {name: [] for name in who}
        for _ in range(arguments.rounds):
            for name, options in who.items():
                found[name].append(turn(program, cores, options, arguments.seconds))
    gbps = {name: statistics.median(result['gbps'] for result in results) for name, results in found.items()}
    for name, results in found.items():
        alone = statistics.median(per_cpu_second(result) for result in results)
        share = '' if name == PLAIN else f', {gbps[name] / gbps[PLAIN]:.2f} of that'
        print(f'{name}: {gbps[name]:.1f} Gb/s{share}; {max(result["gbps"] for result in results):.1f} at best, {alone:.1f} for each second of the busier side')
    fastest = max((name for name in gbps if name != PLAIN), key=gbps.get)
    if arguments.least and gbps[fastest] < arguments.least:
        print(f'missed: {fastest}, the fastest, carries {gbps[fastest]:.1f} Gb/s, less than {arguments.least:g}')
        return 1
    return 0


if __name__ == '__main__':
    sys.exit(main())
