"""Who takes part in bench/udp_bench.py: STrack, the kernel's TCP, libfabric's rxd, and UDP sockets without any protocol."""

import dataclasses
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tests/fabric'))
from transports import TransferFailed, place as host_port  # noqa: E402

KB64, MB1 = 1 << 16, 1 << 20
SIZE_NAMES = {64: '64 B', KB64: '64 KiB', MB1: '1 MiB'}
RXD = 'udp;ofi_rxd'


@dataclasses.dataclass(frozen=True)
class Case:
    pattern: str  # stream or pingpong
    size: int

    @property
    def title(self):
        return f'{"stream" if self.pattern == "stream" else "ping-pong"} of {SIZE_NAMES[self.size]}'


@dataclasses.dataclass(frozen=True)
class Sample:
    """One turn. gbps of a ping-pong is that of one message on its way: its size over half a round trip, in the mean."""
    gbps: float
    # A stream's Gbit for each second that the busier side computes: what a core pair of its own would give.
    gbit_per_cpu_second: float | None = None
    mean_us: float | None = None  # half a round trip, as the others
    p50_us: float | None = None
    p99_us: float | None = None


def sample_of(found, case):
    """From JSON with the names of `strack perf`."""
    if not found['ok']:
        raise TransferFailed(f'not ok: {found.get("error")}')
    if case.pattern == 'stream':
        return Sample(found['gbps'])
    half = found['half_round_trip_us']
    return Sample(case.size * 8e-3 / half['mean'], mean_us=half['mean'], p50_us=half['p50'], p99_us=half['p99'])


class Strack:
    proc_files = ('udp', 'udp6')

    def __init__(self, program, burst, payload, key, rate, sealing=None):
        self.program = program
        self.burst = burst
        self.keyed = key is not None
        self.sealing = sealing
        self.name = f'STrack, B={burst}, {payload} B' + (f', {sealing or "key"}' if key else '')
        self.options = ['--burst', str(burst), '--payload', str(payload), '--rate', rate,
                        *(['--key-file', key] if key else ['--insecure']), *(['--sealing', sealing] if sealing else [])]

    def server(self, place, port, _case, _seconds):
        return [self.program, 'perf', 'server', '--bind', host_port(place.address, port), '--once', *self.options]

    def client(self, place, port, case, seconds):
        return [self.program, 'perf', 'client', host_port(place.address, port), '--json', '--pattern', case.pattern,
                '--size', str(case.size), '--seconds', f'{seconds * 1000:.0f}ms', *self.options]

    def sample(self, out, case):
        return sample_of(json.loads(out), case)


class Tcp:
    """One stream of cubic, which is what Linux uses by default; asleep while it waits, or spinning."""
    proc_files = ('tcp',)

    def __init__(self, program, spin):
        self.program = str(program)
        self.spin = ['--spin'] if spin else []
        self.name = 'TCP, spinning' if spin else 'TCP, blocking'

    def server(self, place, port, _case, _seconds):
        return [self.program, 'server', place.address, str(port)]

    def client(self, place, port, case, seconds):
        return [self.program, 'client', place.address, str(port), '--pattern', case.pattern, '--size', str(case.size),
                '--seconds', str(seconds), *self.spin]

    def sample(self, out, case):
        return sample_of(json.loads(out), case)


class Rxd:
    """libfabric's reliable datagrams over UDP, by its own ping-pong program; that has no stream."""
    name = f'libfabric {RXD}'
    proc_files = ('tcp', 'tcp6')  # the two agree over TCP
    # As many as take about a second, by what it does on a machine of 2020 and later: it cannot be told a time.
    per_second = {64: 10000, KB64: 600, MB1: 30}

    def _argv(self, case, seconds):
        count = max(10, int(self.per_second[case.size] * seconds))
        return ['fi_pingpong', '-p', RXD, '-e', 'rdm', '-S', str(case.size), '-I', str(count)]

    def server(self, _place, port, case, seconds):
        return [*self._argv(case, seconds), '-B', str(port)]

    def client(self, place, port, case, seconds):
        return [*self._argv(case, seconds), '-P', str(port), place.address]

    def sample(self, out, case):
        # bytes  #sent  #ack  total  time  MB/sec  usec/xfer  Mxfers/sec; a transfer is half a round trip
        lines = [line.split() for line in out.splitlines()]
        rows = [line for line in lines if len(line) == 8 and line[2].startswith('=')]
        if not rows:
            raise TransferFailed(f'fi_pingpong says no figures: {out!r}')
        mean = float(rows[-1][6])
        return Sample(case.size * 8e-3 / mean, mean_us=mean)


class UdpAlone:
    """Sockets without a protocol, of a stream (udp_floor.c): what goes over UDP in such bursts is no faster."""
    proc_files = ('udp',)

    def __init__(self, folder, burst, payload):
        self.program = str(pathlib.Path(folder) / 'udp_floor')
        subprocess.run(['cc', '-O2', '-o', self.program, ROOT / 'bench/udp_floor.c'], check=True)
        self.name = f'UDP alone, B={burst}, {payload} B'
        self.burst, self.datagram = burst, payload + 36

    def server(self, place, port, _case, _seconds):
        return [self.program, 'server', place.address, str(port)]

    def client(self, place, port, case, seconds):
        return [self.program, 'client', place.address, str(port), str(self.datagram), str(self.burst), str(case.size), str(seconds)]

    def sample(self, out, case):
        return sample_of(json.loads(out), case)
