#!/usr/bin/env python3
"""Hours of trouble in minutes: the program's servers, receivers and clients in a fabric that loses, reorders and now and then
has a dead spine, while clients come, go and are killed. Memory and descriptors of what lives long must not grow.

    sudo tests/soak/soak.py --program build/release/src/cli/strack [--minutes 10] [--seed 1]

It fails if a transfer fails, if a copied tree differs, if a process dies, or if from the third quarter of the time to the last
a process grows by more than --growth-kb of resident memory or --growth-files of open descriptors. Why not from the first: an
allocator keeps what was needed at the busiest moment, which comes some minutes into a run; a leak goes on growing after it. Growing
means that the median and the lowest value have both risen by so much: a receiver needs more while it receives, and that comes
and goes. Runs of less than four minutes are for trying out, and may grow four times as much. What it needs of the machine is what tests/fabric needs; without, it says so and exits with 77.
"""

import argparse
import concurrent.futures
import contextlib
import hashlib
import json
import os
import pathlib
import random
import secrets
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / 'fabric'))
from fabric import Fabric, require, run_main  # noqa: E402
from transports import TransferFailed, wait_until_open, words  # noqa: E402

PORT = 4794
SAMPLE_SECONDS = 2
TELL_SECONDS = 10
PATIENCE = 60  # seconds, for a transfer that takes a few on a quiet machine


def text_of(seconds):
    return f'{int(seconds) // 60}:{int(seconds) % 60:02}'


class Watched:
    """A process that is there from the beginning to the end, and what it holds."""

    def __init__(self, name, process):
        self.name = name
        self.process = process
        self.samples = []  # (seconds since the beginning, KB resident, open descriptors)

    def sample(self, at):
        with contextlib.suppress(OSError):  # gone: whoever waits for it says so
            status = pathlib.Path(f'/proc/{self.process.pid}/status').read_text()
            files = len(os.listdir(f'/proc/{self.process.pid}/fd'))
            resident = [line.split()[1] for line in status.splitlines() if line.startswith('VmRSS:')]
            if resident:
                self.samples.append((at, int(resident[0]), files))

    def growth(self, field):
        """(medians of the quarters, growth from the third to the last) of field 1 or 2 of the samples."""
        end = self.samples[-1][0]
        quarters = [[sample[field] for sample in self.samples if end * i / 4 <= sample[0] <= end * (i + 1) / 4]
                    for i in range(4)]
        medians = [statistics.median(quarter) for quarter in quarters]
        return medians, min(medians[3] - medians[2], min(quarters[3]) - min(quarters[2]))


class Soak:
    def __init__(self, fabric, arguments, folder):
        self.fabric = fabric
        self.program = arguments.program
        self.seconds = arguments.minutes * 60
        self.folder = pathlib.Path(folder)
        self.rng = random.Random(arguments.seed)
        self.over = threading.Event()
        self.given_up = False
        self.failures = []
        self.watched = []
        self.started = []
        self.totals = dict.fromkeys(('clients', 'killed', 'copies', 'copies_killed', 'blackouts', 'bytes'), 0)
        self.lock = threading.Lock()
        self.key = self.folder / 'key'
        self.key.touch(mode=0o600)
        self.key.write_text(secrets.token_hex(32) + '\n')

    # --- Pieces ---

    def protection(self, keyed):
        return ['--key-file', str(self.key)] if keyed else ['--insecure']

    def start(self, host, argv):
        process = self.fabric.popen(host, [self.program, *argv], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True)
        self.started.append(process)
        return process

    def count(self, **more):
        with self.lock:
            for name, value in more.items():
                self.totals[name] += value

    def fail(self, text):
        if self.given_up:  # whatever was under way has been killed
            return
        with self.lock:
            self.failures.append(f'{text_of(self.elapsed())}: {text}')
        print(f'failed: {text}', file=sys.stderr, flush=True)

    def elapsed(self):
        return time.monotonic() - self.began

    def rest(self):
        return 0 if self.given_up else self.seconds - self.elapsed()

    def pause(self, seconds):
        """True while there is more to do afterwards."""
        return not self.over.wait(seconds) and self.rest() > 0

    def watch(self, name, host, argv, listens=True):
        process = self.start(host, argv)
        if listens:
            wait_until_open(process, PORT, ('udp', 'udp6'))
        watched = Watched(name, process)
        # What it prints is read as it comes, so that a full pipe stops nothing; the end of it is kept.
        watched.said = {'stdout': '', 'stderr': ''}
        watched.readers = [threading.Thread(target=self.listen, args=(watched, pipe), daemon=True)
                           for pipe in watched.said]
        for reader in watched.readers:
            reader.start()
        self.watched.append(watched)
        return watched

    @staticmethod
    def listen(watched, pipe):
        for line in getattr(watched.process, pipe):
            watched.said[pipe] = (watched.said[pipe] + line)[-20000:]

    def client(self, source, target, keyed, options):
        return self.start(source, ['perf', 'client', f'{self.fabric.address(target)}:{PORT}', '--json',
                                   *self.protection(keyed), *options])

    def finish(self, process, what):
        """The JSON of a client that has to end well; None, and a failure, if it does not."""
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            self.fail(f'{what}: not done after {PATIENCE} s: {words(process)}')
            return None
        return self.judge(what, process, out, err)

    def judge(self, what, process, out, err):
        try:
            told = json.loads(out)
        except ValueError:
            told = {'ok': False}
        if process.returncode != 0 or not told['ok']:
            self.fail(f'{what}: exit status {process.returncode}: {words(process)}\n{out[-1000:]}{err[-1000:]}')
            return None
        return told

    # --- What goes on, each in a thread of its own ---

    def visitors(self, source, target, keyed, seed):
        """Clients of every kind, one after another; some of them leave without a word."""
        rng = random.Random(seed)
        while self.rest() > 2:
            pattern = rng.choice(('stream', 'pingpong', 'write'))
            size = rng.choice((1, 64, 5000, 65536, 1_000_000))
            connections = rng.choice((1, 1, 2, 8))
            wanted = max(1, min(2000, rng.randrange(100_000, 3_000_000) // size)) // connections or 1
            if pattern == 'pingpong':
                wanted = min(wanted, 100)
            process = self.client(source, target, keyed, [
                '--pattern', pattern, '--size', str(size), '--count', str(wanted), '--connections', str(connections),
                '--burst', str(rng.choice((1, 1, 4)))])
            if rng.random() < 0.15:
                self.over.wait(rng.uniform(0.05, 1))
                process.kill()
                process.communicate()
                self.count(killed=1)
            elif told := self.finish(process, f'{pattern} from {source} to {target}'):
                if told['bytes'] != size * wanted * connections:
                    self.fail(f'{pattern} from {source}: {told["bytes"]} bytes, not {size * wanted * connections}')
                self.count(clients=1, bytes=told['bytes'])
            if not self.pause(rng.uniform(0, 0.5)):
                return

    def copies(self, source, target, seed):
        """A tree, copied again and again; now and then the copy is killed and the same command has to finish it."""
        rng = random.Random(seed)
        tree = self.folder / 'tree'
        make_tree(tree, rng)
        wanted = digests(tree)
        number = 0
        while self.rest() > 5:
            number += 1
            argv = ['cp', str(tree), f'{self.fabric.address(target)}:{PORT}:copy{number}', '--quiet',
                    *self.protection(True)]
            process = self.start(source, argv)
            if rng.random() < 0.3:
                self.over.wait(rng.uniform(0.1, 1))
                process.kill()
                process.communicate()
                self.count(copies_killed=1)
                process = self.start(source, argv)
            try:
                out, err = process.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                self.fail(f'copy {number}: not done after {PATIENCE} s')
                continue
            if process.returncode != 0:
                self.fail(f'copy {number}: exit status {process.returncode}: {out[-1000:]}{err[-1000:]}')
                continue
            arrived = self.folder / 'in' / f'copy{number}'
            got = digests(arrived)
            if got == wanted:
                self.count(copies=1)
            else:
                names = sorted(name for name in {*got, *wanted} if got.get(name) != wanted.get(name))
                self.fail(f'copy {number}: {len(names)} files differ from what was sent, such as {names[0]!r}')
            shutil.rmtree(arrived, ignore_errors=True)
            if not self.pause(rng.uniform(0, 2)):
                return

    def trouble(self, seed):
        """Loss of 0.1 to 1 %, reordering, and a spine that is gone for some seconds."""
        rng = random.Random(seed)
        while self.rest() > 0:
            self.fabric.set('l?-s*', loss=rng.uniform(0.001, 0.01))
            self.fabric.hold_back('l2-h5', rng.choice((0, 0.1, 0.2)), ms=8)
            if not self.pause(rng.uniform(2, 6)):
                break
            spine = rng.choice(self.fabric.spines)
            self.fabric.set(spine, blackhole=1)
            self.count(blackouts=1)
            # Set-up has one path, and gives up after 5 s: a spine that is gone for longer would be its end.
            self.pause(rng.uniform(0.5, 3))
            self.fabric.set(spine, blackhole=0)
            if not self.pause(rng.uniform(2, 6)):
                break
        self.fabric.set('*', loss=0, blackhole=0)

    # --- All of it ---

    def run(self):
        self.began = time.monotonic()
        (self.folder / 'in').mkdir()
        self.watch('server', 'h5', ['perf', 'server', '--bind', f'{self.fabric.address("h5")}:{PORT}', '--insecure'])
        self.watch('server, key', 'h6', ['perf', 'server', '--bind', f'{self.fabric.address("h6")}:{PORT}',
                                         *self.protection(True)])
        self.watch('receiver, key', 'h7', ['recv', '--dir', str(self.folder / 'in'), '--quiet', '--bind',
                                           f'{self.fabric.address("h7")}:{PORT}', *self.protection(True)])
        servers = list(self.watched)
        self.began = time.monotonic()
        for name, source, target, keyed in (('client', 'h1', 'h5', False), ('client, key', 'h2', 'h6', True)):
            self.watch(name, source, ['perf', 'client', f'{self.fabric.address(target)}:{PORT}', '--json',
                                      *self.protection(keyed), '--size', '200000', '--seconds',
                                      f'{self.seconds:.0f}s'], listens=False)
        clients = self.watched[len(servers):]
        with concurrent.futures.ThreadPoolExecutor() as pool:
            jobs = [pool.submit(self.visitors, 'h3', 'h5', False, self.rng.random()),
                    pool.submit(self.visitors, 'h4', 'h6', True, self.rng.random()),
                    pool.submit(self.copies, 'h4', 'h7', self.rng.random()),
                    pool.submit(self.trouble, self.rng.random())]
            try:
                self.look_on(jobs)
            except BaseException:
                self.give_up()
                raise
            finally:
                self.over.set()
            for job in jobs:
                job.result()
        for client in clients:
            try:
                client.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                self.fail(f'{client.name}: not done {PATIENCE} s after its time')
                continue
            for reader in client.readers:
                reader.join(5)
            if told := self.judge(client.name, client.process, client.said['stdout'], client.said['stderr']):
                self.count(bytes=told['bytes'])
                client.told = told
        for server in servers:
            if server.process.poll() is not None:
                self.fail(f'{server.name} ended by itself, status {server.process.returncode}: '
                          f'{server.said["stderr"][-1000:]}')
                continue
            server.process.send_signal(signal.SIGINT)
            try:
                status = server.process.wait(15)
                if status not in (0, 130):
                    self.fail(f'{server.name}: exit status {status} after SIGINT: {server.said["stderr"][-1000:]}')
            except subprocess.TimeoutExpired:
                self.fail(f'{server.name}: still there 15 s after SIGINT')

    def give_up(self):
        """Nobody waits for anything any more."""
        self.given_up = True
        for process in self.started:
            if process.poll() is None:
                process.kill()

    def look_on(self, jobs):
        told = 0
        while self.rest() > 0:
            for job in jobs:
                if job.done() and job.exception():
                    raise job.exception()
            for watched in self.watched:
                watched.sample(self.elapsed())
            if self.elapsed() >= told + TELL_SECONDS:
                told = self.elapsed()
                self.tell()
            time.sleep(min(SAMPLE_SECONDS, max(0.01, self.rest())))

    def tell(self):
        memory = ', '.join(f'{watched.name} {watched.samples[-1][1] / 1000:.1f}' for watched in self.watched
                           if watched.samples)
        t = self.totals
        print(f'{text_of(self.elapsed())} of {text_of(self.seconds)}, {text_of(self.rest())} to go: {t["clients"]} clients '
              f'and {t["copies"]} copies ended well, {t["killed"] + t["copies_killed"]} killed, {t["blackouts"]} dead '
              f'spines, {len(self.failures)} failures; MB resident: {memory}', flush=True)

    def verdict(self, growth_kb, growth_files):
        print(f'\n{"medians of quarters":21}{"KB":>32}{"growth":>10}{"files":>24}')
        for watched in self.watched:
            if len(watched.samples) < 8:
                self.fail(f'{watched.name}: only {len(watched.samples)} samples')
                continue
            kb, more_kb = watched.growth(1)
            files, more_files = watched.growth(2)
            print(f'{watched.name:21}' + ''.join(f'{value:8.0f}' for value in kb) + f'{more_kb:+10.0f}' +
                  ''.join(f'{value:6.0f}' for value in files))
            if more_kb > growth_kb:
                self.fail(f'{watched.name} grew by {more_kb:.0f} KB, more than {growth_kb}')
            if more_files > growth_files:
                self.fail(f'{watched.name} holds {more_files:.0f} descriptors more, more than {growth_files}')
        t = self.totals
        lost = self.fabric.total('*', 'losses')
        gone = self.fabric.total('*', 'blackholed')
        held = self.fabric.total('*', 'held_back')
        print(f'\n{t["bytes"] / 1e9:.2f} GB by {t["clients"]} short clients and 2 long ones; {t["copies"]} trees copied and '
              f'compared; {t["killed"]} clients and {t["copies_killed"]} copies killed; {t["blackouts"]} dead spines; '
              f'{lost} packets lost, {gone} blackholed, {held} held back')
        for client in self.watched:
            if told := getattr(client, 'told', None):
                print(f'{client.name}: {told["bytes"] / 1e6:.0f} MB, {told["gbps"] * 1000:.0f} Mbit/s, '
                      f'{told["retransmissions"]} retransmissions, {told["timeouts"]} timeouts')
        if self.failures:
            print(f'\n{len(self.failures)} failures:', *self.failures, sep='\n  ')
            return 1
        print(f'passed: no failure, and nothing grew by more than {growth_kb} KB or {growth_files} descriptors')
        return 0


def make_tree(tree, rng):
    """Some hundred files of all sizes, some in folders."""
    for i in range(120):
        path = tree / f'{i % 7}' / f'{i % 3}' / f'file {i}'
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(rng.randbytes(rng.choice((0, 1, 700, 4096, 50_000))))
    (tree / 'large').write_bytes(rng.randbytes(5_000_000))
    (tree / 'link').symlink_to('0/0/file 0')


def digests(tree):
    """Name -> what is there, of all that is below a folder."""
    found = {}
    for path in tree.rglob('*'):
        if path.is_symlink():
            what = f'link to {os.readlink(path)}'
        elif path.is_file():
            what = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            what = 'folder'
        found[str(path.relative_to(tree))] = what
    return found


def main():
    parser = argparse.ArgumentParser(description='the program under loss, reordering and dead spines, for a long time')
    parser.add_argument('--program', required=True, help='such as build/release/src/cli/strack')
    parser.add_argument('--minutes', type=float, default=10, help='how long (%(default)s)')
    parser.add_argument('--rate', type=float, default=100, help='of a link, Mbit/s (%(default)s)')
    parser.add_argument('--seed', type=int, default=1, help='of what happens when (%(default)s)')
    parser.add_argument('--growth-kb', type=int, help='how much a process may grow (512)')
    parser.add_argument('--growth-files', type=int, default=2, help='descriptors that may be added (%(default)s)')
    arguments = parser.parse_args()
    program = shutil.which(arguments.program)
    if not program:
        raise ValueError(f"'{arguments.program}' is no program. give the one that was built: "
                         '--program build/release/src/cli/strack')
    if arguments.minutes < 0.4:
        raise ValueError(f'--minutes is {arguments.minutes:g}. a quarter has to have samples: 0.4 or more')
    arguments.program = os.path.abspath(program)
    require()
    with tempfile.TemporaryDirectory(prefix='strack-soak-') as folder, Fabric(rate=arguments.rate) as fabric:
        print(f'fabric is up; {text_of(arguments.minutes * 60)} from here; load average {os.getloadavg()[0]:.1f} on '
              f'{os.cpu_count()} cores', flush=True)
        soak = Soak(fabric, arguments, folder)
        try:
            soak.run()
        except TransferFailed as error:
            soak.fail(str(error))
        growth_kb = arguments.growth_kb or (512 if arguments.minutes >= 4 else 2048)
        return soak.verdict(growth_kb, arguments.growth_files)


if __name__ == '__main__':
    run_main(main)
