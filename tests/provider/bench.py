#!/usr/bin/env python3
"""Latency and throughput of libfabric's providers side by side, in turns, over loopback: fabtests' tagged ping-pong and bandwidth.

    bench.py PROVIDER_FOLDER [--rounds N] [--quiet]

--quiet runs both ends at real-time priority, for moments: on a machine that others use it shows what the providers themselves take. It needs root.
Needs fabtests, as fabtests.py does. Prints a table of medians: microseconds one way, and MB/s.
"""

import argparse
import os
import pathlib
import socket
import statistics
import subprocess

PROVIDERS = ("strack", "udp;ofi_rxd", "tcp;ofi_rxm")
CASES = (("fi_rdm_tagged_pingpong", 64, 2000), ("fi_rdm_tagged_pingpong", 65536, 300), ("fi_rdm_tagged_pingpong", 1 << 20, 40),
         ("fi_rdm_tagged_bw", 65536, 1000), ("fi_rdm_tagged_bw", 1 << 20, 100))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return str(one.getsockname()[1])


def measure(folder, provider, program, size, count, env, before):
    """Microseconds per message and MB/s; None where it failed or took too long."""
    port = free_port()
    words = [*before, f"{folder}/{program}", "-p", provider, "-S", str(size), "-I", str(count), "-w", "20"]
    server = subprocess.Popen(words + ["-B", port, "-s", "127.0.0.1"], env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        client = subprocess.run(words + ["-P", port, "127.0.0.1"], env=env, capture_output=True, text=True, timeout=30, check=False)
        fields = client.stdout.strip().splitlines()[-1].split()
        return (float(fields[-2]), float(fields[-3])) if client.returncode == 0 else None
    except (subprocess.TimeoutExpired, IndexError, ValueError):
        return None
    finally:
        server.kill()
        server.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("provider")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quiet", action="store_true")
    options = parser.parse_args()
    folder = os.environ.get("FABTESTS", "/usr") + "/bin"
    env = {**os.environ, "FI_PROVIDER_PATH": str(pathlib.Path(options.provider).resolve())}
    found = {}
    for _ in range(options.rounds):
        for program, size, count in CASES:
            for provider in PROVIDERS:
                one = measure(folder, provider, program, size, count, env, ["chrt", "-r", "1"] if options.quiet else [])
                if one is not None:
                    found.setdefault((program, size, provider), []).append(one)
    print("| | " + " | ".join(PROVIDERS) + " |\n|---|" + "---|" * len(PROVIDERS))
    for program, size, _ in CASES:
        cells = []
        for provider in PROVIDERS:
            runs = found.get((program, size, provider), [])
            latency = program.endswith("pingpong")
            cells.append("-" if not runs else f"{statistics.median(one[0 if latency else 1] for one in runs):.1f}")
        print(f"| {'ping-pong, us' if latency else 'one way, MB/s'}, {size} B | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
