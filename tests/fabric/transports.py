"""What carries a transfer across the fabric: the kernel's TCP and MPTCP, or this project's program.

A transport starts receivers and senders in the nodes of a fabric and gives a Result for each pair. All of them are
asked in the same way:

    results = KernelTcp().transfers(fabric, [('h1', 'h5'), ('h2', 'h6')], size=16_000_000)
"""

import contextlib
import dataclasses
import json
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time

from fabric import HERE, tool

FIRST_PORT = 7000
PATIENCE = 60  # seconds: longer than any transfer of the tests


class TransferFailed(Exception):
    """A program that did not do its part; the text has its command and what it said."""


@dataclasses.dataclass(frozen=True)
class Result:
    """One transfer, as its sender saw it. None is what a transport does not tell."""
    seconds: float  # from the first byte ready to the last byte acknowledged
    bytes: int
    ok: bool
    retransmissions: int | None = None
    marks: int | None = None
    paths_used: int | None = None

    @classmethod
    def parse(cls, text):
        """From the JSON of a client. More fields than these are welcome, fewer are not."""
        try:
            found = json.loads(text)
            return cls(float(found['seconds']), int(found['bytes']), bool(found['ok']),
                       *(found.get(name) for name in ('retransmissions', 'marks', 'paths_used')))
        except (ValueError, KeyError, TypeError) as error:
            raise TransferFailed(f'not the JSON of a transfer ({error!r}): {text!r}') from None


class Transfer:
    """A transfer on its way: a receiver that listens, a sender that was started."""

    def __init__(self, receiver, sender):
        self.receiver = receiver
        self.sender = sender

    def running(self):
        return self.sender.poll() is None

    def result(self, patience=PATIENCE):
        try:
            out, err = self.sender.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.stop()
            out, err = self.sender.communicate()
            raise TransferFailed(f'not done after {patience} s: {words(self.sender)}\n{err[-2000:]}') from None
        self.stop_receiver(patience=2)
        if self.sender.returncode != 0:
            _, told = self.receiver.communicate()
            raise TransferFailed(f'exit status {self.sender.returncode}: {words(self.sender)}\n{err[-2000:]}'
                                 f'\nreceiver: {words(self.receiver)}\n{told[-2000:]}')
        return Result.parse(out)

    def stop_receiver(self, patience=0.0):
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.receiver.wait(patience)
            return
        self.receiver.kill()
        self.receiver.wait()

    def stop(self):
        if self.running():
            self.sender.kill()
        self.stop_receiver()


def place(address, port):
    return f'[{address}]:{port}' if ':' in address else f'{address}:{port}'


def words(process):
    return ' '.join(process.args)


def wait_until_open(process, port, proc_files, patience=10):
    """Until a program has opened its port; proc_files: of /proc/PID/net. The kernel knows, whatever the program prints."""
    # 0A is a TCP socket that listens, 07 a UDP socket that is bound. Other states are of transfers before.
    wanted = re.compile(rf'^ *\d+: [0-9A-F]+:{port:04X} [0-9A-F]+:[0-9A-F]+ (0A|07) ', re.MULTILINE)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if process.poll() is not None:
            raise TransferFailed(f'ended at once: {words(process)}\n{process.stderr.read()[-2000:]}')
        for name in proc_files:
            with contextlib.suppress(OSError), open(f'/proc/{process.pid}/net/{name}') as file:
                if wanted.search(file.read()):
                    return
        time.sleep(0.01)
    raise TransferFailed(f'port {port} is not open after {patience} s: {words(process)}')


class Transport:
    """Subclasses say with which programs, and on what kind of socket the receiver listens."""
    name = ''
    proc_files = ()  # of /proc/PID/net, where the receiver's port appears once it listens
    family = 4  # of addresses

    def prepare(self, fabric):
        """What the nodes have to have before the first transfer."""

    def receive_argv(self, address, port):
        raise NotImplementedError

    def send_argv(self, address, port, size, at, options):
        raise NotImplementedError

    def start(self, fabric, pairs, size, **options):
        """Starts a transfer for each pair, all at one time."""
        pipes = {'stdout': subprocess.PIPE, 'stderr': subprocess.PIPE, 'text': True}
        receivers = []
        for i, (_, target) in enumerate(pairs):
            argv = self.receive_argv(fabric.address(target, self.family), FIRST_PORT + i)
            receivers.append(fabric.popen(target, argv, **{**pipes, 'stdout': subprocess.DEVNULL}))
        for i, receiver in enumerate(receivers):
            wait_until_open(receiver, FIRST_PORT + i, self.proc_files)
        at = time.monotonic() + 0.3 + 0.05 * len(pairs)  # as long as Python takes to start
        return [
            Transfer(receivers[i], fabric.popen(source, self.send_argv(
                fabric.address(target, self.family), FIRST_PORT + i, size, at, options), **pipes))
            for i, (source, target) in enumerate(pairs)]

    def transfers(self, fabric, pairs, size, **options):
        """Transfers for each pair at one time, and their results."""
        started = self.start(fabric, pairs, size, **options)
        try:
            return [transfer.result() for transfer in started]
        finally:
            for transfer in started:
                transfer.stop()


class KernelTcp(Transport):
    """One stream of cubic, which is what Linux uses by default."""
    name = 'TCP cubic'
    proc_files = ('tcp',)
    extra = ()

    def receive_argv(self, address, port):
        return [sys.executable, f'{HERE}/kernel_flow.py', 'receive', address, str(port), *self.extra]

    def send_argv(self, address, port, size, at, options):
        return [sys.executable, f'{HERE}/kernel_flow.py', 'send', address, str(port), str(size), '--at', str(at),
                *self.extra]


class KernelMptcp(KernelTcp):
    """Four subflows, one from each of the sender's addresses. Senders are at leaf 1."""
    name = 'MPTCP, 4 subflows'
    extra = ('--mptcp',)

    @staticmethod
    def missing():
        """Why not, or None."""
        if not os.path.exists('/proc/sys/net/mptcp/enabled'):
            return 'this kernel has no MPTCP (CONFIG_MPTCP)'
        return None

    def prepare(self, fabric):
        for host in fabric.hosts:
            lines = ['mptcp endpoint flush', 'mptcp limits set subflows 3 add_addr_accepted 0']
            if fabric.leaf_of(host) == 'l1':  # a receiver would try to add subflows as well
                lines += [f'mptcp endpoint add {fabric.address(host, extra=extra)} subflow' for extra in (1, 2, 3)]
            tool(['ip', '-n', fabric.namespace(host)], lines)


class StrackPerf(Transport):
    """This project's program."""
    name = 'STrack'
    proc_files = ('udp', 'udp6')

    def __init__(self, program='strack', secure=False, family=4, scheme=None):
        self.program = program
        self.scheme = scheme  # else the program's own choice
        if scheme:
            self.name = f'STrack ({scheme})'
        self.family = family
        self.key = None
        if secure:
            self.key = tempfile.NamedTemporaryFile('w', prefix='strack-key-')
            self.key.write(secrets.token_hex(32) + '\n')
            self.key.flush()

    def missing(self):
        """Why the program cannot be used, or None."""
        asked = subprocess.run([self.program, 'perf', 'server', '--help'], capture_output=True, text=True, timeout=10)
        if asked.returncode != 0 or '--bind' not in asked.stdout:
            return f"{self.program} has no command 'perf server' yet"
        return None

    def start(self, fabric, pairs, size, **options):
        # The rate of this host's link is what a user would tell it.
        return super().start(fabric, pairs, size, **{'rate': f'{fabric.options.rate:g}Mb/s', **options})

    def _protection(self):
        return ['--key-file', self.key.name] if self.key else ['--insecure']

    def receive_argv(self, address, port):
        return [self.program, 'perf', 'server', '--bind', place(address, port), *self._protection(), '--once']

    def send_argv(self, address, port, size, at, options):
        argv = [self.program, 'perf', 'client', place(address, port), *self._protection(),
                '--size', f'{size // 10**6}MB' if size % 10**6 == 0 else str(size), '--count', '1', '--json']
        if self.scheme:
            argv += ['--scheme', self.scheme]
        for name, value in options.items():
            argv += [f'--{name}', str(value)]
        return argv
