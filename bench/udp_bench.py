#!/usr/bin/env python3
"""The transport over UDP beside the kernel's TCP and libfabric's rxd, on this machine: over loopback, and over a veth pair
of MTU 9000 between two network namespaces. docs/udp-tools.md says how to read it.

    bench/udp_bench.py --program build/release/src/cli/strack [--quick] [--where loopback|veth|both] [--near NS] [--json FILE]

Each side has a core of its own. In each round every contestant has its turn, so that whatever else the machine does hits
them alike; the table has the median and the best of the rounds. What is missing (libfabric's fi_pingpong, root for the
namespaces) is said and left out.
"""

import argparse
import contextlib
import dataclasses
import datetime
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / 'tests/fabric'))
from fabric import FabricError, Interrupted, Unavailable, inside, namespaces, run_main, tool  # noqa: E402
from near import Nearness  # noqa: E402
from transports import TransferFailed, wait_until_open  # noqa: E402
from udp_contestants import KB64, MB1, SIZE_NAMES, Case, Rxd, Sample, Strack, Tcp, UdpAlone  # noqa: E402

AIM_RXD = 5  # times its bandwidth, from 64 KiB on
AIM_TCP = 1.0  # of one stream's bandwidth, with bursts


# --- Where it runs --------------------------------------------------------------------------------

class Loopback:
    name = 'loopback'
    address = '127.0.0.1'

    def __enter__(self):
        return self

    def __exit__(self, *_exception):
        pass

    def command(self, _side, argv):
        return argv

    def mtu(self):
        return read('/sys/class/net/lo/mtu')


class Veth:
    """Two namespaces and a cable. They are gone afterwards; those of a run that was killed go with the next."""
    name = 'veth'
    address = '10.200.0.1'

    def __init__(self):
        self.names = {side: f'strack-bench-{os.getpid()}-{side}' for side in ('server', 'client')}

    def __enter__(self):
        if os.geteuid() != 0:
            raise Unavailable('not root. network namespaces need it: run with sudo')
        if not shutil.which('ip') or not shutil.which('nsenter'):
            raise Unavailable('programs are missing: apt-get install iproute2 util-linux')
        for name in namespaces():
            left = re.fullmatch(r'strack-bench-(\d+)-(server|client)', name)
            if left and not os.path.exists(f'/proc/{left[1]}'):
                subprocess.run(['ip', 'netns', 'del', name], capture_output=True)
        server, client = self.names['server'], self.names['client']
        try:
            tool(['ip'], [f'netns add {server}', f'netns add {client}',
                          f'link add name v0 mtu 9000 netns {server} type veth peer name v0 mtu 9000 netns {client}'])
            for i, name in enumerate((server, client)):
                tool(['ip', '-n', name], ['link set lo up', f'addr add 10.200.0.{i + 1}/24 dev v0', 'link set v0 up'])
        except FabricError as error:
            self.__exit__()
            raise Unavailable(f'no veth pair here: {error}') from None
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception):
        for name in self.names.values():
            subprocess.run(['ip', 'netns', 'del', name], capture_output=True)

    def command(self, side, argv):
        return ['nsenter', f'--net=/run/netns/{self.names[side]}', '--', *argv]

    def mtu(self):
        with inside(self.names['server']):
            out = subprocess.run(['ip', '-o', 'link', 'show', 'v0'], capture_output=True, text=True).stdout
        return re.search(r'mtu (\d+)', out)[1]


# --- Running --------------------------------------------------------------------------------------

class Runner:
    def __init__(self, cores, seconds):
        self.cores = cores
        self.seconds = seconds

    def turn(self, place, contestant, case):
        """One contestant's turn. Raises TransferFailed, also if it takes far longer than it should."""
        patience = 4 * self.seconds + 15
        port = free_port()
        cpu_before = children_cpu()
        pipes = {'stdin': subprocess.DEVNULL, 'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True}

        def start(side, argv, core):
            return subprocess.Popen(place.command(side, ['taskset', '-c', str(core), *argv]), **pipes)
        server = start('server', contestant.server(place, port, case, self.seconds), self.cores[0])
        client = None
        try:
            wait_until_open(server, port, contestant.proc_files)
            client = start('client', contestant.client(place, port, case, self.seconds), self.cores[1])
            out, err = client.communicate(timeout=patience)
            if client.returncode != 0:
                raise TransferFailed(f'exit status {client.returncode}: {err.strip()[-500:]}')
            end(server, 2)
            return with_cpu(contestant.sample(out, case), out, children_cpu() - cpu_before)
        except subprocess.TimeoutExpired:
            raise TransferFailed(f'no end after {patience:.0f} s') from None
        except (KeyError, ValueError) as error:
            raise TransferFailed(f'output that is not understood: {error!r}') from None
        finally:
            if client:
                end(client, 0)
            end(server, 2)


def children_cpu():
    return sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2])


def with_cpu(sample, out, both):
    """Where the client's output says what it sent and computed. `both` sides have computed that long."""
    found = json.loads(out) if out.startswith('{') else {}
    if sample.mean_us is not None or 'cpu_seconds' not in found:
        return sample
    busier = max(found['cpu_seconds'], both - found['cpu_seconds'])
    return dataclasses.replace(sample, gbit_per_cpu_second=found['bytes'] * 8e-9 / busier)


def end(process, patience):
    if process.returncode is not None:
        return
    try:
        process.communicate(timeout=patience)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def free_port():
    """One that neither TCP nor UDP uses here."""
    for _ in range(100):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tcp, \
                socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
            tcp.bind(('127.0.0.1', 0))
            with contextlib.suppress(OSError):
                udp.bind(tcp.getsockname())
                return udp.getsockname()[1]
    raise FabricError('no free port after 100 attempts')


def read(path):
    return pathlib.Path(path).read_text().strip()


def plan(arguments, key, folder):
    """(case, contestants) in the order of the table."""
    program = os.path.abspath(arguments.program)

    def strack(burst, payload, keyed=False, sealing=None):
        return Strack(program, burst, payload, key if keyed else None, arguments.rate, sealing)
    tcp = [Tcp(arguments.tcp_peer, spin) for spin in (False, True)] if arguments.tcp_peer else []
    rxd = [Rxd()] if shutil.which('fi_pingpong') else []
    if arguments.quick:
        streams = [strack(1, 8192), strack(7, 8192), strack(7, 8192, True)]
        large = streams
    else:
        shapes = [(1, 4096), (1, 8192), (8, 4096), (7, 8192)]
        streams = [strack(*shape, keyed) for keyed in (False, True) for shape in shapes]
        large = [strack(*shape, keyed) for keyed in (False, True) for shape in ((1, 8192), (7, 8192))]
    small = [strack(1, 8192), strack(1, 8192, True)]
    alone = [UdpAlone(folder, 7, 8192)]
    streams = streams + [strack(7, 8192, True, library) for library in sealing_libraries(program)]
    return ([(Case('stream', size), streams + tcp + alone) for size in (KB64, MB1)]
            + [(Case('pingpong', size), ours + tcp + rxd) for size, ours in ((64, small), (KB64, large), (MB1, large))])


def sealing_libraries(program):
    """Those that can be forced here, from what the program says to a name that is none."""
    said = subprocess.run([program, 'perf', 'client', '127.0.0.1:1', '--sealing', '?'], capture_output=True, text=True,
                          timeout=30).stderr
    found = re.search(r'takes one of: (.*)', said)
    return found[1].split(', ') if found else []


class Results:
    """Samples of one place by case and contestant, and why there are none."""

    def __init__(self):
        self.samples = {}
        self.failures = {}

    def add(self, case, contestant, sample):
        self.samples.setdefault((case, contestant.name), []).append(sample)

    def fail(self, case, contestant, why):
        self.failures.setdefault((case, contestant.name), []).append(why)

    def given_up(self, case, contestant):
        """Twice for nothing, so a third attempt would only cost time."""
        key = (case, contestant.name)
        return key not in self.samples and len(self.failures.get(key, ())) >= 2

    def values(self, case, name, field):
        return [value for sample in self.samples.get((case, name), ())
                if (value := getattr(sample, field)) is not None]

    def median(self, case, name, field):
        values = self.values(case, name, field)
        return statistics.median(values) if values else None


def measure(place, contest, runner, rounds, results, nearness):
    turns = rounds * sum(len(contestants) for _, contestants in contest)
    done, began = 0, time.monotonic()
    for number in range(1, rounds + 1):
        for case, contestants in contest:
            for contestant in contestants:
                left = (time.monotonic() - began) / done * (turns - done) if done else turns * (runner.seconds + 0.4)
                progress(f'{place.name}: round {number} of {rounds}, {case.title}, {contestant.name}; '
                         f'about {left:.0f} s to go')
                done += 1
                if results.given_up(case, contestant):
                    continue
                try:
                    results.add(case, contestant, nearness.turn(lambda: runner.turn(place, contestant, case)))
                except TransferFailed as error:
                    results.fail(case, contestant, str(error))
        if not sys.stderr.isatty():
            print(f'{place.name}: round {number} of {rounds} done after {time.monotonic() - began:.0f} s',
                  file=sys.stderr, flush=True)
    progress('')


def progress(text):
    """A line that replaces itself, where somebody looks at it."""
    if sys.stderr.isatty():
        print(f'\r\033[K{text}', end='', file=sys.stderr, flush=True)


# --- Telling --------------------------------------------------------------------------------------

def shown(value, digits=2):
    return '' if value is None else f'{value:.{digits}f}'


def print_table(contest, results):
    for case, contestants in contest:
        if case.pattern == 'stream':
            print(f'\n{case.title + ", Gbit/s":34}{"median":>10}{"best":>10}{"by CPU":>10}')
        else:
            print(f'\n{case.title + ", half a round trip":34}{"mean us":>10}{"best":>10}{"p50 us":>10}{"p99 us":>10}'
                  f'{"Gbit/s":>10}')
        for contestant in contestants:
            name = contestant.name

            def median(field):
                return results.median(case, name, field)
            gbps = results.values(case, name, 'gbps')
            failures = results.failures.get((case, name), ())
            line = f'  {name:32}'
            if case.pattern == 'stream':
                best = shown(max(gbps, default=None))
                line += f'{shown(median("gbps")):>10}{best:>10}{shown(median("gbit_per_cpu_second")):>10}'
            elif gbps:
                best = min(results.values(case, name, 'mean_us'))
                line += (f'{shown(median("mean_us")):>10}{shown(best):>10}{shown(median("p50_us")):>10}'
                         f'{shown(median("p99_us")):>10}{shown(median("gbps"), 3):>10}')
            if failures:
                line += f'  failed {len(failures)} of {len(failures) + len(gbps)}: {failures[-1].splitlines()[0]}'
            print(line.rstrip())


def best_of(results, case, contestants, field='gbps', pick=max):
    """(value, name) of the contestant whose median is the best, or None."""
    values = [(value, contestant.name) for contestant in contestants
              if (value := results.median(case, contestant.name, field)) is not None]
    return pick(values) if values else None


@dataclasses.dataclass(frozen=True)
class Ratio:
    key: str
    heading: str
    text: str
    value: float
    aim: float | None = None
    met: bool | None = None


def ratios(contest, results):
    """What this bench is for: our medians over those of the others."""
    by_case = dict(contest)
    found = []

    def ours(case, bursts):
        return [c for c in by_case[case] if isinstance(c, Strack) and not c.keyed and (c.burst > 1) == bursts]

    def of(kind, case):
        return [c for c in by_case[case] if isinstance(c, kind)]

    def add(key, heading, text, top, bottom, aim=None, lower=False):
        if top and bottom:
            value = top[0] / bottom[0]
            met = None if aim is None else (value <= aim if lower else value >= aim)
            found.append(Ratio(key, heading, f'{text}: {top[1]} / {bottom[1]}', value, aim, met))

    def add_bandwidths(key, heading, pattern, kind, their_pattern, aim, aim_single):
        for size in (KB64, MB1):
            case, theirs = Case(pattern, size), Case(their_pattern, size)
            bottom = best_of(results, theirs, of(kind, theirs))
            for bursts in (True, False):
                suffix = f'{SIZE_NAMES[size].replace(" ", "").lower()}_{"bursts" if bursts else "single"}'
                add(f'{key}_{suffix}', heading, SIZE_NAMES[size], best_of(results, case, ours(case, bursts)), bottom,
                    aim if bursts else aim_single)

    add_bandwidths('rxd_pingpong', 'ping-pong over ping-pong of libfabric: like with like', 'pingpong', Rxd, 'pingpong',
                   AIM_RXD, AIM_RXD)
    add_bandwidths('rxd_stream', 'our stream over the ping-pong of libfabric, whose program has no stream: flatters us',
                   'stream', Rxd, 'pingpong', None, None)
    add_bandwidths('tcp_stream', 'stream over the better stream of TCP', 'stream', Tcp, 'stream', AIM_TCP, None)

    for size in (KB64, MB1):
        case = Case('stream', size)
        alone = best_of(results, case, of(UdpAlone, case))
        add(f'alone_stream_{size}', 'stream over that of UDP sockets alone', SIZE_NAMES[size],
            best_of(results, case, ours(case, True)), alone)
        add(f'alone_of_tcp_{size}', 'UDP sockets alone over the better stream of TCP: what bursts could reach', SIZE_NAMES[size], alone,
            best_of(results, case, of(Tcp, case)))

    for case in (Case('stream', KB64), Case('stream', MB1)):
        mine = [c for c in by_case[case] if isinstance(c, Strack) and c.burst == 7]
        clear = best_of(results, case, [c for c in mine if not c.keyed], 'gbit_per_cpu_second')
        for contestant in (c for c in mine if c.sealing):
            add(f'sealing_{contestant.sealing}_{case.size}', 'with a key over without, by CPU', SIZE_NAMES[case.size],
                best_of(results, case, [contestant], 'gbit_per_cpu_second'), clear)

    small = Case('pingpong', 64)
    heading = 'half a round trip of 64 B: less is better'
    add('rxd_latency_64b', heading, 'mean', best_of(results, small, ours(small, False), 'mean_us', min),
        best_of(results, small, of(Rxd, small), 'mean_us', min), 1, lower=True)
    mine = best_of(results, small, ours(small, False), 'p50_us', min)
    for contestant in of(Tcp, small):
        add(f'tcp_latency_64b_{"spin" if contestant.spin else "block"}', heading, 'p50', mine,
            best_of(results, small, [contestant], 'p50_us', min))
    return found


def print_ratios(found):
    print('\nratios of medians')
    heading = None
    for ratio in found:
        if ratio.heading != heading:
            heading = ratio.heading
            print(f'  {heading}')
        verdict = '' if ratio.aim is None else f'  (aim: {ratio.aim:g}, {"met" if ratio.met else "missed"})'
        print(f'  {ratio.value:8.2f}  {ratio.text}{verdict}')


def document(place, contest, results, found):
    rows = []
    for case, contestants in contest:
        for contestant in contestants:
            key = (case, contestant.name)
            samples = results.samples.get(key, [])
            rows.append({'pattern': case.pattern, 'size': case.size, 'contestant': contestant.name,
                         'median': {field.name: results.median(case, contestant.name, field.name)
                                    for field in dataclasses.fields(Sample)},
                         'rounds': [dataclasses.asdict(sample) for sample in samples],
                         'failures': results.failures.get(key, [])})
    return {'mtu': int(place.mtu()), 'rows': rows,
            'ratios': {ratio.key: dataclasses.asdict(ratio) for ratio in found}}


# --- Command line ---------------------------------------------------------------------------------

def two_cores(text):
    allowed = sorted(os.sched_getaffinity(0))
    if text is None:
        if len(allowed) < 2:
            raise Unavailable('this process may use one core only. server and client need one each')
        return allowed[:2]
    cores = [int(word) for word in text.split(',')] if re.fullmatch(r'\d+,\d+', text) else []
    if len(set(cores)) != 2 or not set(cores) <= set(allowed):
        raise ValueError(f"--cores is '{text}'. it takes two of {','.join(map(str, allowed))}, such as "
                         f'{allowed[0]},{allowed[-1]}')
    return cores


def find_tcp_peer(arguments):
    """Beside the program in the build folder, if it is nowhere else."""
    if arguments.tcp_peer:
        if not shutil.which(arguments.tcp_peer):
            raise ValueError(f"'{arguments.tcp_peer}' is no program. cmake --build --preset release --target tcp_peer "
                             'makes it')
        return os.path.abspath(arguments.tcp_peer)
    guess = pathlib.Path(arguments.program).resolve().parent / '../../bench/tcp_peer'
    if guess.exists():
        return str(guess)
    print(f'without TCP: there is no {guess}. cmake --build --preset release --target tcp_peer makes it',
          file=sys.stderr)
    return None


def processor():
    found = re.search(r'model name\s*: (.*)', read('/proc/cpuinfo'))
    return found[1] if found else platform.machine()


def command_line():
    parser = argparse.ArgumentParser(description='STrack beside TCP and libfabric on this machine')
    parser.add_argument('--program', required=True, help='such as build/release/src/cli/strack')
    parser.add_argument('--tcp-peer', help='the helper for TCP (the one that was built with the program)')
    parser.add_argument('--where', choices=('loopback', 'veth', 'both'), default='both')
    parser.add_argument('--quick', action='store_true', help='a minute or two: fewer contestants, short turns')
    parser.add_argument('--rounds', type=int, help='turns of each contestant (5; with --quick 2)')
    parser.add_argument('--seconds', type=float, help='of a turn (1; with --quick 0.3)')
    parser.add_argument('--rate', default='25Gb/s', help="what strack perf is told of the link (%(default)s)")
    parser.add_argument('--cores', help='of server and client, such as 0,1 (the first two)')
    parser.add_argument('--near', type=float, metavar='NS', help='only turns count in which a cache line takes no longer between '
                        'the two cores: on a virtual machine that changes from second to second')
    parser.add_argument('--json', metavar='FILE', help='everything, every round, there as well; - for the output')
    return parser.parse_args()


def main():
    arguments = command_line()
    rounds = arguments.rounds or (2 if arguments.quick else 5)
    seconds = arguments.seconds or (0.3 if arguments.quick else 1.0)
    program = shutil.which(arguments.program)
    if not program:
        raise ValueError(f"'{arguments.program}' is no program. give the one that was built: "
                         '--program build/release/src/cli/strack')
    arguments.program = program
    cores = two_cores(arguments.cores)
    arguments.tcp_peer = find_tcp_peer(arguments)
    if not shutil.which('fi_pingpong'):
        print('without libfabric: there is no fi_pingpong. apt-get install libfabric-bin brings it', file=sys.stderr)

    def leave(number, _frame):
        raise Interrupted(number)
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, leave)

    out = contextlib.nullcontext()
    if arguments.json == '-':
        out = contextlib.redirect_stdout(sys.stderr)  # the table
    whole = {'date': datetime.datetime.now(datetime.timezone.utc).isoformat(timespec='seconds'),
             'processor': processor(), 'cores': cores, 'kernel': platform.release(),
             'load_before': os.getloadavg()[0], 'rounds': rounds, 'seconds': seconds, 'rate': arguments.rate,
             'places': {}}
    failed = False
    with out, tempfile.NamedTemporaryFile('w', prefix='strack-bench-key-') as key, \
            tempfile.TemporaryDirectory(prefix='strack-bench-') as built:
        nearness = Nearness(arguments.near, cores, built)
        subprocess.run([program, 'key'], stdout=key, check=True)
        contest = plan(arguments, key.name, built)
        runner = Runner(cores, seconds)
        for kind in (Loopback, Veth):
            if arguments.where not in (kind.name, 'both'):
                continue
            try:
                with kind() as place:
                    results = Results()
                    measure(place, contest, runner, rounds, results, nearness)
                    print(f'\n== {place.name}, MTU {place.mtu()}; {processor()}, cores {cores[0]} (server) and '
                          f'{cores[1]} (client); {rounds} rounds of {seconds:g} s each; load average '
                          f'{whole["load_before"]:.1f} before, on {os.cpu_count()} cores'
                          + (f'; {nearness.again} turns again, since the cores were far apart' if arguments.near else ''))
                    print_table(contest, results)
                    found = ratios(contest, results)
                    print_ratios(found)
                    whole['places'][place.name] = document(place, contest, results, found)
                    ours = {c.name for _, contestants in contest for c in contestants if isinstance(c, Strack)}
                    failed |= any(name in ours for _, name in results.failures)
            except Unavailable as error:
                if arguments.where != 'both':
                    raise
                print(f'without {kind.name}: {error}', file=sys.stderr)
    if arguments.json == '-':
        json.dump(whole, sys.stdout, indent=1)
        print()
    elif arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(whole, indent=1) + '\n')
    return 1 if failed else 0


if __name__ == '__main__':
    run_main(main)
