#!/usr/bin/env python3
"""AllReduce and AllToAll of four ranks, each in a host of its own, across a real ECMP fabric: over the provider, over tcp;ofi_rxm and over
Open MPI's own TCP, with several hash seeds; and the same while a spine dies.

    fabric_mpi.py PROVIDER_FOLDER [--seeds N] [--first SEED] [--rounds N]

The spine is gone for LOST seconds, in the middle of the third round. Nothing may abort and every value has to be right; what it cost is told. Starting ranks and their output go over
a network of their own beside the fabric, so that only what is measured depends on it. Needs root, as tests/fabric does, and Open MPI.
"""

import argparse
import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "fabric"))
from fabric import SKIP, Fabric, run_main, tool  # noqa: E402
from proof import bytes_sent  # noqa: E402
from testing import machine  # noqa: E402

HOSTS = ("h1", "h2", "h5", "h6")  # two at each leaf
FLOATS, BYTES = 1_000_000, 1_000_000  # 4 MB to reduce; 1 MB from each rank to each
LOST = 5  # seconds that a spine is gone
LIMIT = 60
OFI = {"OMPI_MCA_pml": "cm", "OMPI_MCA_mtl": "ofi"}
TRANSPORTS = {"strack": {**OFI, "OMPI_MCA_mtl_ofi_provider_include": "strack"}, "tcp;ofi_rxm": {**OFI, "OMPI_MCA_mtl_ofi_provider_include": "tcp;ofi_rxm"},
              "Open MPI's TCP": {"OMPI_MCA_pml": "ob1", "OMPI_MCA_btl": "self,tcp"}}


class Job:
    """Four ranks, started once for each measurement."""

    def __init__(self, fabric, provider, folder, rounds):
        self.fabric, self.provider, self.folder, self.rounds = fabric, provider, folder, rounds
        self.program, self.agent, self.rank = folder / "collectives", folder / "agent", folder / "rank"
        subprocess.run(["mpicc", "-O2", "-o", self.program, HERE / "collectives.c"], check=True)
        # What mpirun takes for ssh: the host is a namespace, with a name of its own so that Open MPI sees four machines, and nobody to ask for names.
        names = folder / "hosts"
        names.write_text("127.0.0.1 localhost\n" + "".join(f"172.31.0.{number} {host}\n" for number, host in enumerate(HOSTS, 1)))
        self._script(self.agent, f'host=$1; shift\nexec nsenter --net=/run/netns/strack-{fabric.name}-$host unshare --uts --mount sh -c "mount --bind {names} /etc/hosts; hostname $host; $*"')
        cases = " ".join(f"{host}) export FI_STRACK_ADDRESS={fabric.address(host)} FI_TCP_IFACE={fabric.leaf_of(host)};;" for host in HOSTS)
        self._script(self.rank, f'case $(hostname) in {cases} esac\nexec {self.program} "$@"')
        self._management()

    @staticmethod
    def _script(path, text):
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)

    def _management(self):
        """A bridge in the first host and a cable to it from each other one."""
        first = self.fabric.namespace(HOSTS[0])
        tool(["ip", "-n", first], ["link add jobs type bridge", "link set jobs up", "addr add 172.31.0.1/24 dev jobs"])
        for number, host in enumerate(HOSTS[1:], 2):
            there = self.fabric.namespace(host)
            tool(["ip", "-n", first, "link", "add", f"to{host}", "type", "veth", "peer", "name", "jobs", "netns", there])
            tool(["ip", "-n", first], [f"link set to{host} master jobs", f"link set to{host} up"])
            tool(["ip", "-n", there], ["link set jobs up", f"addr add 172.31.0.{number}/24 dev jobs"])

    def run(self, transport, harm=None):
        """Seconds of each AllReduce, of each AllToAll, and of all. harm: what to call in the third round."""
        env = {**os.environ, **TRANSPORTS[transport], "FI_PROVIDER_PATH": self.provider, "FI_STRACK_INSECURE": "1", "FI_STRACK_RATE_GBPS": "0.2", "FI_STRACK_STATS": "1",
               "TMPDIR": str(self.folder), "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_btl_tcp_if_include": "10.0.0.0/16", "OMPI_MCA_oob_tcp_if_include": "172.31.0.0/24", "OMPI_MCA_plm_rsh_agent": str(self.agent)}
        names = sorted({name for one in TRANSPORTS.values() for name in one} - set(TRANSPORTS[transport]))
        for name in names:
            env.pop(name, None)
        forward = [word for name in ("FI_PROVIDER_PATH", "FI_STRACK_INSECURE", "FI_STRACK_RATE_GBPS", "FI_STRACK_STATS") for word in ("-x", name)]
        command = [self.agent, HOSTS[0], "exec", "timeout", LIMIT, "mpirun", "--mca", "mpi_yield_when_idle", 1, "--bind-to", "none",
                   *forward, "-n", len(HOSTS), "-H", ",".join(HOSTS), self.rank, self.rounds, FLOATS, BYTES]
        job = self.fabric.popen(HOSTS[0], list(map(str, command)), env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        errors = []
        reader = threading.Thread(target=lambda: errors.append(job.stderr.read()))
        reader.start()
        said = []
        for line in job.stdout:
            said.append(line)
            if harm is not None and line.startswith("round 2"):
                harm()
        status = job.wait()
        reader.join()
        told = "".join(said)
        assert status == 0, f"{transport}: exit status {status} ({LIMIT} s were over, if 124)\n{told[-2000:]}{errors[0][-2000:]}"
        assert f"{self.rounds} rounds, 0 values wrong" in told, told[-500:]
        sent = bytes_sent(errors[0])
        if transport == "strack":
            assert len(sent) == len(HOSTS) and min(sent) > self.rounds * BYTES, f"bytes over STrack by rank: {sent}"
        else:
            assert not sent, f"{transport}: {sent} bytes went over STrack"
        took = [tuple(map(float, pair)) for pair in re.findall(r"^took (\S+) (\S+)$", told, re.M)]
        return [one[0] for one in took], [one[1] for one in took], float(re.search(r"wrong, (\S+) s", told)[1])


@contextlib.contextmanager
def spine_dies(fabric):
    """What has s2 gone from a moment on, and there again LOST seconds later, or when the run is over, for who does not wait for it."""
    timers = [threading.Timer(delay, lambda gone=gone: fabric.set("s2", blackhole=gone)) for delay, gone in ((0.05, 1), (0.05 + LOST, 0))]

    def harm():
        for timer in timers:
            timer.start()
    try:
        yield harm
    finally:
        for timer in timers:
            timer.cancel()
            if timer.is_alive():
                timer.join()


def ms(values):
    return f"{1e3 * statistics.median(values):.0f}, {1e3 * max(values):.0f} at worst"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("provider")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--only", choices=list(TRANSPORTS), help="one of the three")
    options = parser.parse_args()
    if any(shutil.which(name) is None for name in ("mpicc", "mpirun")):
        print("skipped: no Open MPI")
        return SKIP
    folder = pathlib.Path(tempfile.mkdtemp(prefix="strack_fabric_mpi_"))
    names = [options.only] if options.only else list(TRANSPORTS)
    reduced, exchanged, costs = ({name: [] for name in names} for _ in range(3))
    try:
        with Fabric() as fabric:
            job = Job(fabric, str(pathlib.Path(options.provider).resolve()), folder, options.rounds)
            print(f"fabric '{fabric.name}'; {machine()}", flush=True)
            for seed in range(options.first, options.first + options.seeds):
                for name in names:  # in turns: what disturbs the machine disturbs all
                    fabric.restore()
                    fabric.set_hash_seed(seed)
                    reduce, exchange, whole = job.run(name)
                    reduced[name].append(statistics.median(reduce))
                    exchanged[name].append(statistics.median(exchange))
                    with spine_dies(fabric) as harm:
                        _, _, harmed = job.run(name, harm)
                    costs[name].append(harmed - whole)
                    print(f"seed {seed}, {name}: AllReduce {1e3 * reduced[name][-1]:.0f} ms, AllToAll {1e3 * exchanged[name][-1]:.0f} ms, "
                          f"a dead spine cost {harmed - whole:.2f} of {whole:.2f} s", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{machine()} at the end")
    print("| | AllReduce of 4 MB, ms | AllToAll of 1 MB, ms | a dead spine costs, s |\n|---|---|---|---|")
    for name in names:
        print(f"| {name} | {ms(reduced[name])} | {ms(exchanged[name])} | {statistics.median(costs[name]):.2f}, {max(costs[name]):.2f} at worst |")
    print("; ".join(f"{name}: AllReduce {ms(reduced[name])} ms, AllToAll {ms(exchanged[name])} ms, a dead spine costs {statistics.median(costs[name]):.2f} s, {max(costs[name]):.2f} at worst"
                    for name in names) + f"; {options.seeds} hash seeds, nothing aborts")
    return 0


if __name__ == "__main__":
    run_main(main)
