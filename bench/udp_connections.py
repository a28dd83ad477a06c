#!/usr/bin/env python3
"""What many connections carry beside one, over loopback: `strack perf` by turns, with threads that move packets and without.

    bench/udp_connections.py --program build/release/src/cli/strack [--connections 1000] [--threads 0,2] [--key] [--least RATIO]

For each number of threads (of either side), one connection and many have their turns, so that whatever else the machine does
hits them alike. Prints the medians, their ratio, and what share of the connections' bytes the busiest thousandth had to wait
for: completion times. A test that fails is an error; how fast it is, is one with --least only: many have to carry so much of what
one does, and may send --most-again of their packets again.
"""

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(('127.0.0.1', 0))
        return probe.getsockname()[1]


def turn(program, connections, threads, options, seconds):
    """One test; what the client says of it."""
    address = f'127.0.0.1:{free_port()}'
    words = ['--threads', str(threads), *options]
    server = subprocess.Popen([program, 'perf', 'server', '--bind', address, *words], stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        server.stdout.readline()  # it listens
        # As much under way whatever the number of connections: 1 MiB of each at least.
        client = subprocess.run([program, 'perf', 'client', address, '--json', '--connections', str(connections), '--size', '1MB',
                                 '--depth', str(max(1, 4 // connections)), '--seconds', f'{seconds * 1000:.0f}ms', *words],
                                capture_output=True, text=True, timeout=60 + 10 * seconds)
    finally:
        server.terminate()
        server.wait()
    if client.returncode != 0:
        raise SystemExit(f'error: {connections} connections, {threads} threads: {client.stderr.strip() or client.stdout}')
    return json.loads(client.stdout)


def main():
    parser = argparse.ArgumentParser(description='what many connections carry beside one')
    parser.add_argument('--program', required=True, help='such as build/release/src/cli/strack')
    parser.add_argument('--connections', type=int, default=1000, help='up to 1000 (%(default)s)')
    parser.add_argument('--threads', default='0,2', help='that move packets of either side; 0: none of their own (%(default)s)')
    parser.add_argument('--rounds', type=int, default=3, help='turns of each (%(default)s)')
    parser.add_argument('--seconds', type=float, default=2, help='of a turn (%(default)s)')
    parser.add_argument('--burst', type=int, default=7, help='packets per system call (%(default)s)')
    parser.add_argument('--rate', default='25Gb/s', help='what strack perf is told of the link (%(default)s)')
    parser.add_argument('--least', type=float, help='what many have to carry of what one does')
    parser.add_argument('--most-again', type=float, default=0.05, help='share of packets that may be sent again, with --least (%(default)s)')
    parser.add_argument('--key', action='store_true', help='sealed')
    arguments = parser.parse_args()
    program = shutil.which(arguments.program)
    if not program:
        raise SystemExit(f"error: '{arguments.program}' is no program. give the one that was built: --program build/release/src/cli/strack")
    with tempfile.NamedTemporaryFile('w', prefix='strack-bench-key-') as key:
        subprocess.run([program, 'key'], stdout=key, check=True)
        options = ['--paths', '64', '--burst', str(arguments.burst), '--rate', arguments.rate,
                   *(['--key-file', key.name] if arguments.key else ['--insecure'])]
        print(f'{os.cpu_count()} processors, load average {os.getloadavg()[0]:.1f}; {arguments.rounds} rounds of {arguments.seconds:g} s')
        print(f'{"threads":>8}{"one: Gb/s":>12}{f"{arguments.connections}: Gb/s":>14}{"ratio":>8}{"p99.9 ms":>10}{"sent again":>12}')
        missed = []
        for threads in (int(text) for text in arguments.threads.split(',')):
            found = {1: [], arguments.connections: []}
            for _ in range(arguments.rounds):
                for connections, results in found.items():
                    results.append(turn(program, connections, threads, options, arguments.seconds))
            one, many = (statistics.median(result['gbps'] for result in results) for results in found.values())
            last = found[arguments.connections]
            slowest = statistics.median(result['completion_us']['p99_9'] for result in last) / 1000
            again = statistics.median(result['retransmissions'] / max(1, result['packets']) for result in last)
            print(f'{threads:>8}{one:>12.2f}{many:>14.2f}{many / one:>8.2f}{slowest:>10.1f}{again:>11.2%}', flush=True)
            if arguments.least and many < arguments.least * one:
                missed.append(f'{threads} threads: {arguments.connections} connections carry {many / one:.2f} of what one does, less than {arguments.least:g}')
            if arguments.least and again > arguments.most_again:
                missed.append(f'{threads} threads: {again:.1%} of the packets were sent again, more than {arguments.most_again:.1%}')
    if missed:
        print('missed: ' + '; '.join(missed))
    return 1 if missed else 0


if __name__ == '__main__':
    sys.exit(main())
