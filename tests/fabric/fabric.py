#!/usr/bin/env python3
"""A real leaf-spine network in network namespaces: the kernel's own ECMP, rate-limited links, ECN marks,
tail drop, loss, blackholes and reordering. README.md has the picture and the ideas.

    with Fabric() as fabric:                      # up within a second, gone afterwards whatever happens
        fabric.run('h1', ['ping', '-c1', fabric.address('h5')])
        fabric.set('s2', blackhole=1)             # every link from or to spine 2
        print(fabric.counts('l1-s*'))

By hand, as root:

    fabric.py up                                  the fabric stays until it is taken down
    fabric.py exec h1 ping -c3 10.0.5.2
    fabric.py set s2 loss=0.01                    also: rate=20 mtu=1500 blackhole=1 limit=... hold=0.2,4
    fabric.py status
    fabric.py down
    fabric.py clean                               what runs that were killed have left behind

Exit status 77 says that this machine cannot do it, and why.
"""

import argparse
import contextlib
import ctypes
import dataclasses
import fcntl
import fnmatch
import glob
import json
import mmap
import os
import platform
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
STATE = '/run/strack-fabric'  # a folder for each fabric: options, lock, BPF maps
SKIP = 77  # ctest's SKIP_RETURN_CODE

# --- Between here and link.bpf.c ------------------------------------------------------------------

MAX_DEVICES = 256
FIRST_INDEX = 100  # of an interface; even, and above what a new namespace has by itself
CONFIG = struct.Struct('=8I')
COUNT = struct.Struct('=q11Q')
CONFIG_FIELDS = ('mark_from', 'mark_to', 'limit', 'loss', 'blackhole', 'hold_share', 'hold_gap', 'hold_max')


@dataclasses.dataclass(frozen=True)
class Count:
    """What a link has counted since the last reset; backlog and max_backlog in bytes."""
    backlog: int = 0
    max_backlog: int = 0
    in_packets: int = 0
    in_bytes: int = 0
    out_packets: int = 0
    out_bytes: int = 0
    marks: int = 0
    tail_drops: int = 0
    losses: int = 0
    blackholed: int = 0
    held_back: int = 0
    hold_until: int = 0


# --- System calls that Python's library does not have ---------------------------------------------

libc = ctypes.CDLL(None, use_errno=True)
BPF_SYSCALL = {'x86_64': 321, 'aarch64': 280, 'riscv64': 280}
BPF_OBJ_GET = 7
CLONE_NEWNET = 0x40000000
SIOCETHTOOL = 0x8946
ETHTOOL_OFF = {'tso': 0x1F, 'gso': 0x24, 'gro': 0x2C}  # the commands that set each of them


def checked(result, what):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, f'{what}: {os.strerror(error)}')
    return result


def open_pinned(path):
    """A file descriptor of a BPF map that is pinned at path."""
    name = ctypes.create_string_buffer(path.encode())
    attributes = ctypes.create_string_buffer(struct.pack('=QII', ctypes.addressof(name), 0, 0), 128)
    return checked(libc.syscall(BPF_SYSCALL[platform.machine()], BPF_OBJ_GET, attributes, len(attributes)), path)


@contextlib.contextmanager
def inside(namespace):
    """This thread, in a network namespace for the time being."""
    with open('/proc/thread-self/ns/net') as home, open(f'/run/netns/{namespace}') as there:
        checked(libc.setns(there.fileno(), CLONE_NEWNET), namespace)
        try:
            yield
        finally:
            checked(libc.setns(home.fileno(), CLONE_NEWNET), 'the way back')


def write_sysctl(values):
    for name, value in values.items():
        with open(f'/proc/sys/net/{name}', 'w') as file:
            file.write(str(value))


def no_offloads(device):
    """Packets cross the fabric one by one, as they would cross a wire."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in ETHTOOL_OFF.values():
            value = ctypes.create_string_buffer(struct.pack('=II', command, 0), 8)
            request = struct.pack('16sQ', device.encode(), ctypes.addressof(value))
            fcntl.ioctl(any_socket, SIOCETHTOOL, request)


def tool(argv, lines=None, env=None):
    """Runs ip or tc, on a batch of commands if there are lines; what it prints, or an exception with its complaint."""
    batch = None if lines is None else '\n'.join(lines) + '\n'
    argv = argv if lines is None else [*argv, '-batch', '-']
    done = subprocess.run(argv, input=batch, text=True, capture_output=True, env=env)
    if done.returncode != 0:
        failed = re.search(r'Command failed -:(\d+)', done.stderr)
        line = f' in "{lines[int(failed[1]) - 1]}"' if lines and failed else ''
        raise FabricError(f'{" ".join(argv)}: {done.stderr.strip()}{line}')
    return done.stdout


class FabricError(Exception):
    """A command that should have worked did not."""


class Unavailable(Exception):
    """This machine cannot have a fabric; the text says what is missing."""


class Interrupted(KeyboardInterrupt):
    """A signal that ends the program, by its number. A KeyboardInterrupt, as unittest goes on after other kinds."""


# --- What the machine has to have -----------------------------------------------------------------

PACKAGES = {'ip': 'iproute2', 'tc': 'iproute2', 'clang': 'clang', 'nsenter': 'util-linux', 'mount': 'mount'}
KERNEL_FILES = {
    'ipv4/fib_multipath_hash_policy': 'ECMP by ports (CONFIG_IP_ROUTE_MULTIPATH)',
    'ipv6/fib_multipath_hash_policy': 'IPv6 (CONFIG_IPV6)',
    'ipv4/fib_multipath_hash_seed': 'a settable ECMP hash seed (Linux 6.11 or later)',
}
KERNEL_QDISCS = {
    'root handle 1: tbf rate 200mbit burst 9000 limit 100000': 'the TBF qdisc (CONFIG_NET_SCH_TBF)',
    'parent 1:1 handle 2: htb': 'the HTB qdisc (CONFIG_NET_SCH_HTB)',
    'clsact': 'the clsact qdisc (CONFIG_NET_SCH_INGRESS)',
}


def require():
    """Raises Unavailable if a fabric is impossible here, and says what would make it possible."""
    if os.geteuid() != 0:
        raise Unavailable('not root. network namespaces and BPF need it: run with sudo')
    if platform.machine() not in BPF_SYSCALL:
        raise Unavailable(f'the number of the bpf system call on {platform.machine()} is not known here')
    wanted = sorted({package for program, package in PACKAGES.items() if not shutil.which(program)})
    if wanted:
        raise Unavailable(f'programs are missing: apt-get install {" ".join(wanted)}')
    if not os.path.exists('/usr/include/linux/bpf.h'):
        raise Unavailable('linux/bpf.h is missing: apt-get install linux-libc-dev')

    # Whatever only the kernel knows is tried in a namespace of its own.
    scratch = f'strack-try-{os.getpid()}'
    try:
        tool(['ip', 'netns', 'add', scratch])
    except FabricError as error:
        raise Unavailable(f'no network namespaces here: {error}') from None
    try:
        try:
            tool(['ip', '-n', scratch, 'link', 'add', 'name', 'try0', 'type', 'veth', 'peer', 'name', 'try1'])
        except FabricError as error:
            raise Unavailable(f'no veth devices here (CONFIG_VETH): {error}') from None
        with inside(scratch):
            lacking = [what for file, what in KERNEL_FILES.items() if not os.path.exists(f'/proc/sys/net/{file}')]
        for qdisc, what in KERNEL_QDISCS.items():
            try:
                tool(['tc', '-n', scratch, 'qdisc', 'add', 'dev', 'try0', *qdisc.split()])
            except FabricError:
                lacking.append(what)
        with tempfile.TemporaryDirectory() as folder:
            if subprocess.run(['mount', '-t', 'bpf', 'bpf', folder], capture_output=True).returncode == 0:
                subprocess.run(['umount', folder], check=True)
            else:
                lacking.append('the BPF file system (CONFIG_BPF_SYSCALL)')
        if lacking:
            raise Unavailable(f'this kernel, {platform.release()}, lacks: {"; ".join(lacking)}')
    finally:
        tool(['ip', 'netns', 'del', scratch])


# --- The fabric -----------------------------------------------------------------------------------

@dataclasses.dataclass(frozen=True)
class Options:
    """Sizes in bytes, rates in Mbit/s. Thresholds of None follow from the rate: marks from 0.5 ms of queue,
    on every packet from 1.5 ms, drops beyond 10 ms."""
    hosts_per_leaf: int = 4
    spines: int = 4
    rate: float = 200
    mtu: int = 4300
    seed: int = 1  # of the hashes
    mark_from: int | None = None
    mark_to: int | None = None
    limit: int | None = None

    def thresholds(self):
        ms = int(self.rate * 125)  # bytes
        return {
            'mark_from': self.mark_from if self.mark_from is not None else ms // 2,
            'mark_to': self.mark_to if self.mark_to is not None else ms * 3 // 2,
            'limit': self.limit if self.limit is not None else ms * 10,
        }


@dataclasses.dataclass(frozen=True)
class Link:
    """One direction of a cable. A device is called after the node at its other end."""
    source: str
    target: str
    index: int  # of the device that it leaves from

    @property
    def name(self):
        return f'{self.source}-{self.target}'


class Fabric:
    """Two leaves l1 l2, spines s1..., hosts h1...; half of the hosts at each leaf. Links are named 'l1-s2': from leaf 1
    to spine 2. Where links are asked for, a node stands for all links that touch it, and * and ? stand for anything."""

    def __init__(self, name=None, options=None, **changes):
        self.options = dataclasses.replace(options or Options(), **changes)
        self.name = checked_name(name or f'{os.getpid()}-{time.monotonic_ns() // 1000 % 1000000}')
        self.folder = f'{STATE}/{self.name}'
        self.hosts = [f'h{i + 1}' for i in range(2 * self.options.hosts_per_leaf)]
        self.leaves = ['l1', 'l2']
        self.spines = [f's{i + 1}' for i in range(self.options.spines)]
        self.nodes = self.leaves + self.spines + self.hosts
        cables = [(host, self.leaf_of(host)) for host in self.hosts]
        cables += [(leaf, spine) for leaf in self.leaves for spine in self.spines]
        self.links = {}
        for i, (a, b) in enumerate(cables):
            for link in (Link(a, b, FIRST_INDEX + 2 * i), Link(b, a, FIRST_INDEX + 2 * i + 1)):
                self.links[link.name] = link
        if FIRST_INDEX + 2 * len(cables) > MAX_DEVICES:
            raise ValueError(f'{len(cables)} cables are too many. link.bpf.c has room for '
                             f'{(MAX_DEVICES - FIRST_INDEX) // 2}')
        self._maps = {}
        self._lock = None
        self._processes = []
        self._signals = {}
        self.setup_seconds = None

    # --- Names and addresses ---

    def leaf_of(self, host):
        return 'l1' if int(host[1:]) <= self.options.hosts_per_leaf else 'l2'

    def namespace(self, node):
        if node not in self.nodes:
            raise ValueError(f"there is no node '{node}'. the nodes are: {' '.join(self.nodes)}")
        return f'strack-{self.name}-{node}'

    def address(self, host, family=4, extra=0):
        """A host's address. It has some more (extra = 1, 2, 3), for what tells paths apart by address."""
        number = int(host[1:])
        return f'10.0.{number}.{2 + extra}' if family == 4 else f'fd00:{number}::{2 + extra}'

    def match(self, pattern):
        """The links that a node's name or a pattern such as 'l1-s*' means."""
        if pattern in self.nodes:
            return [link for link in self.links.values() if pattern in (link.source, link.target)]
        found = [link for name, link in self.links.items() if fnmatch.fnmatchcase(name, pattern)]
        if not found:
            raise ValueError(f"no link is called '{pattern}'. links are called {', '.join(list(self.links)[:2])}, ...")
        return found

    # --- Up and down ---

    def __enter__(self):
        """Sets it up. SIGTERM, SIGINT and SIGHUP raise Interrupted from here on, so that it is taken down as well."""
        def leave(number, _frame):
            raise Interrupted(number)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            with contextlib.suppress(ValueError):  # only the main thread may
                self._signals[number] = signal.signal(number, leave)
        try:
            remove_leftovers()
            self.up()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(self, *_exception):
        self._leave()

    def _leave(self):
        # A second signal must not stop the cleaning.
        for number in self._signals:
            signal.signal(number, signal.SIG_IGN)
        try:
            self.down()
        finally:
            for number, handler in self._signals.items():
                signal.signal(number, handler)
            self._signals.clear()

    def up(self, keep=False):
        """Sets it up; keep leaves it there when this process ends."""
        began = time.monotonic()
        require()
        with state_lock():
            try:
                os.makedirs(self.folder)
            except FileExistsError:
                raise FabricError(f"there is a fabric '{self.name}' already; fabric.py down removes it") from None
            self._lock = open(f'{self.folder}/lock', 'w')
            fcntl.flock(self._lock, fcntl.LOCK_EX)  # while this is held, it is nobody's leftover
            with open(f'{self.folder}/options.json', 'w') as file:
                json.dump({'keep': keep, **dataclasses.asdict(self.options)}, file)
        self._compile()
        self._make_links()
        self._attach()
        self._open_maps()
        self.set('*', **self.options.thresholds())
        for node in self.nodes:
            self._configure(node)
        self.setup_seconds = time.monotonic() - began

    def down(self):
        """Removes everything, also half a fabric; harmless if there is none."""
        for process in self._processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        self._processes.clear()
        self._maps.clear()
        remove(self.name)
        if self._lock:
            self._lock.close()
            self._lock = None

    @classmethod
    def open(cls, name):
        """One that another process has set up."""
        try:
            with open(f'{STATE}/{name}/options.json') as file:
                options = json.load(file)
        except FileNotFoundError:
            there = ', '.join(sorted(os.listdir(STATE))) if os.path.isdir(STATE) else ''
            raise FabricError(f"there is no fabric '{name}'" + (f'. there is: {there}' if there else '')) from None
        options.pop('keep')
        fabric = cls(name, Options(**options))
        fabric._open_maps()
        return fabric

    # --- Setting up ---

    def _compile(self):
        include = glob.glob(f'/usr/include/{platform.machine()}-*/asm') + ['/usr/include/asm']
        self._object = f'{self.folder}/link.o'
        tool(['clang', '-O2', '-g', '-Wall', '-Wextra', '-Werror', '-target', 'bpf', '-mcpu=v3',
              '-I', os.path.dirname(include[0]), '-c', f'{HERE}/link.bpf.c', '-o', self._object])
        os.mkdir(f'{self.folder}/bpf')
        tool(['mount', '-t', 'bpf', 'bpf', f'{self.folder}/bpf'])

    def _make_links(self):
        tool(['ip'], [f'netns add {self.namespace(node)}' for node in self.nodes])

        def end(link):
            # One packet at a time: TCP would hand over trains of them, and a queue or a mark would be a train's.
            return (f'name {link.target} index {link.index} address {mac(link)} netns {self.namespace(link.source)} '
                    f'mtu {self.options.mtu} gso_max_segs 1')
        tool(['ip'], [f'link add {end(link)} type veth peer {end(self.back(link))}'
                      for link in self.links.values() if link.index % 2 == 0])

    def back(self, link):
        """The other direction of the same cable."""
        return self.links[f'{link.target}-{link.source}']

    def _configure(self, node):
        devices = [link for link in self.links.values() if link.source == node]
        lines = ['link set lo up']
        for link in devices:
            device = f'dev {link.target}'
            lines += [f'link set {device} addrgenmode none', f'link set {device} up']
            for own in self._interface(link):
                lines.append(f'addr add {own} {device}' + (' nodad' if ':' in own else ''))
            # Nobody has to ask for a MAC address, so no packet waits for an answer and none expires.
            back = self.back(link)
            for theirs in self._interface(back):
                lines.append(f'neigh add {theirs.split("/")[0]} {device} lladdr {mac(back)} nud permanent')
        tool(['ip', '-n', self.namespace(node)], lines + self._routes(node))

        with inside(self.namespace(node)):
            write_sysctl({
                'ipv4/conf/all/rp_filter': 0,
                'ipv4/fib_multipath_hash_policy': 1,
                'ipv6/fib_multipath_hash_policy': 1,
                'ipv4/fib_multipath_hash_seed': self._hash_seed(node, self.options.seed),
                'ipv4/tcp_no_metrics_save': 1,  # no run learns from the one before
            })
            if node not in self.hosts:
                write_sysctl({'ipv4/ip_forward': 1, 'ipv6/conf/all/forwarding': 1})
            for link in devices:
                write_sysctl({f'ipv4/conf/{link.target}/rp_filter': 0})
                no_offloads(link.target)

    def _interface(self, link):
        """The addresses of the device that a link leaves from."""
        if link.source in self.hosts:
            return [f'{self.address(link.source, family, extra)}/{24 if family == 4 else 64}'
                    for family in (4, 6) for extra in range(4)]
        if link.target in self.hosts:
            number = int(link.target[1:])
            return [f'10.0.{number}.1/24', f'fd00:{number}::1/64']
        leaf, spine = sorted((link.source, link.target))
        net, end = 16 * int(leaf[1:]) + int(spine[1:]), 1 if link.source == leaf else 2
        return [f'10.100.{net}.{end}/30', f'fd01:{net}::{end}/64']

    def _gateway(self, link, family):
        """The address at the far end of a link."""
        addresses = [address.split('/')[0] for address in self._interface(self.back(link))]
        return next(address for address in addresses if (':' in address) == (family == 6))

    def _routes(self, node):
        lines = []
        for family in (4, 6):
            if node in self.hosts:
                lines.append(f'route add {"0.0.0.0/0" if family == 4 else "::/0"} via '
                             f'{self._gateway(self.links[f"{node}-{self.leaf_of(node)}"], family)}')
                continue
            for host in self.hosts:
                leaf = self.leaf_of(host)
                if node == leaf:
                    continue  # it is on its own wire
                ways = [f'{node}-{leaf}'] if node in self.spines else [f'{node}-{spine}' for spine in self.spines]
                target = f'10.0.{host[1:]}.0/24' if family == 4 else f'fd00:{host[1:]}::/64'
                lines.append(f'route add {target} ' + ' '.join(
                    f'nexthop via {self._gateway(self.links[way], family)} dev {self.links[way].target}'
                    for way in ways))
        return lines

    def _hash_seed(self, node, seed):
        """Switches differ, as real ones do; a fabric's seed decides them all. Never 0: that is the kernel's own."""
        return (seed * 1000003 + self.nodes.index(node) * 7919 + 1) % 0xFFFFFFFF + 1

    def _attach(self):
        """Lets tc load the programs and attach them; the maps are pinned in this fabric's own BPF file system."""
        env = {**os.environ, 'TC_BPF_MNT': f'{self.folder}/bpf'}
        for node in self.nodes:
            lines = []
            for link in self.links.values():
                if link.source == node:
                    device = f'dev {link.target}'
                    lines += [
                        f'qdisc add {device} root handle 1: {self._tbf(self.options.rate)}',
                        f'qdisc add {device} clsact',
                        f'filter add {device} egress bpf direct-action object-file {self._object} section tc/enqueue',
                        f'filter add {device} ingress bpf direct-action object-file {self._object} section tc/dequeue',
                    ]
            tool(['tc', '-n', self.namespace(node)], lines, env)

    def _tbf(self, rate):
        # Its own limit lies above that of link.bpf.c, which has to know of every drop.
        limit = 4 * self.options.thresholds()['limit'] + 1000000
        return f'tbf rate {int(rate * 1000)}kbit burst {2 * (self.options.mtu + 14)} limit {limit}'

    def _open_maps(self):
        for name, record in (('link_configs', CONFIG), ('link_counts', COUNT)):
            descriptor = open_pinned(f'{self.folder}/bpf/tc/globals/{name}')
            try:
                self._maps[name] = mmap.mmap(descriptor, MAX_DEVICES * record.size)
            finally:
                os.close(descriptor)

    # --- Changing it while it runs ---

    def set(self, pattern, **values):
        """Changes links: mark_from, mark_to, limit (bytes), loss (0...1), blackhole (0 or 1)."""
        for link in self.match(pattern):
            place = link.index * CONFIG.size
            config = dict(zip(CONFIG_FIELDS, CONFIG.unpack_from(self._maps['link_configs'], place)))
            for name, value in values.items():
                if name not in config:
                    raise ValueError(f"a link has no '{name}'. it has: {', '.join(CONFIG_FIELDS)}")
                config[name] = share(value) if name in ('loss', 'hold_share') else int(value)
            if config['mark_to'] < config['mark_from']:
                raise ValueError(f'mark_to is {config["mark_to"]}. it has to be at least mark_from, '
                                 f'{config["mark_from"]}')
            CONFIG.pack_into(self._maps['link_configs'], place, *config.values())

    def set_rate(self, pattern, rate):
        """Changes the rate of links, Mbit/s; what is queued stays queued."""
        for link in self.match(pattern):
            tool(['tc', '-n', self.namespace(link.source), 'qdisc', 'change', 'dev', link.target, 'root',
                  'handle', '1:', *self._tbf(rate).split()])

    def set_mtu(self, pattern, mtu):
        """Changes the MTU of cables, at both ends; the switch before them tells by ICMP who sends larger packets."""
        if mtu > self.options.mtu:
            raise ValueError(f'mtu is {mtu}. the queues were made for {self.options.mtu} or less')
        for link in self.match(pattern):
            for way in (link, self.back(link)):
                tool(['ip', '-n', self.namespace(way.source), 'link', 'set', 'dev', way.target, 'mtu', str(mtu)])

    def set_hash_seed(self, seed):
        """Sends every flow another way, from the next packet on."""
        for node in self.nodes:
            with inside(self.namespace(node)):
                write_sysctl({'ipv4/fib_multipath_hash_seed': self._hash_seed(node, seed)})

    def hold_back(self, pattern, of_packets, ms):
        """Reordering: on a busy link, this share of the packets waits about this long and is overtaken. 0 ends it.

        They go through a slow class inside the TBF, at a pace at which that share fills it, as long as it makes none of
        them wait longer. So a link with less to do holds back fewer, for less time; and where the queue takes longer
        than ms, those held back overtake the others."""
        if of_packets == 0:
            self.set(pattern, hold_share=0)
            return
        length = self.options.mtu + 14
        gap = length * 8 / (self.options.rate * 1e3) / of_packets  # ms
        if ms < 2 * gap:
            raise ValueError(f'{ms} ms are too short to hold back {of_packets} of the packets: one waits for those '
                             f'before it, so it takes at least {2 * gap:.1f} ms, or a larger share')
        for link in self.match(pattern):
            namespace = self.namespace(link.source)
            device = f'dev {link.target}'
            lines = []
            if 'htb 2:' not in tool(['tc', '-n', namespace, 'qdisc', 'show', *device.split()]):
                lines += [f'qdisc add {device} parent 1:1 handle 2: htb default 2',
                          f'class add {device} parent 2: classid 2:2 htb prio 1 rate 10gbit burst 100000 cburst 100000 '
                          'quantum 60000',
                          f'qdisc add {device} parent 2:2 handle 3: pfifo limit 10000']
            lines.append(f'class replace {device} parent 2: classid 2:1 htb prio 0 rate {length * 8 / gap:.0f}kbit '
                         f'burst {length} cburst {length} quantum {length}')
            tool(['tc', '-n', namespace], lines)
            # Twice as many ask to be held back as can be, so that the class is full and they do wait.
            self.set(link.name, hold_share=min(1, 2 * of_packets), hold_gap=gap * 1e6, hold_max=ms * 1e6)

    def restore(self):
        """Every link as it was at first, the counters at 0; see settle() for what it gives."""
        self.set('*', **self.options.thresholds(), loss=0, blackhole=0, hold_share=0)
        self.set_hash_seed(self.options.seed)
        for node in self.nodes:
            links = [link for link in self.links.values() if link.source == node]
            tool(['tc', '-n', self.namespace(node)], [
                f'qdisc change dev {link.target} root handle 1: {self._tbf(self.options.rate)}' for link in links])
            tool(['ip', '-n', self.namespace(node)], [
                f'link set dev {link.target} mtu {self.options.mtu}' for link in links])
            if node in self.hosts:  # what it has learned of path MTUs
                for family in ('-4', '-6'):
                    tool(['ip', family, '-n', self.namespace(node), 'route', 'flush', 'cache'])
        return self.reset_counts()

    # --- Looking at it ---

    def count(self, link):
        """One link's counters."""
        return Count(*COUNT.unpack_from(self._maps['link_counts'], self.links[link].index * COUNT.size))

    def counts(self, pattern='*'):
        """The counters of links, by name."""
        return {link.name: self.count(link.name) for link in self.match(pattern)}

    def total(self, pattern, field):
        return sum(getattr(count, field) for count in self.counts(pattern).values())

    def settle(self, seconds=2):
        """Waits until all queues are empty. Then gives the links whose books say otherwise: what left the queue and did
        not reach the other end was dropped by the kernel, for want of processor time. Their books are put right."""
        until = time.monotonic() + seconds
        while True:
            missing = {name: count.backlog for name, count in self.counts().items() if count.backlog != 0}
            if not missing or time.monotonic() > until:
                break
            time.sleep(0.005)
        for name in missing:
            place = self.links[name].index * COUNT.size
            self._maps['link_counts'][place:place + 8] = bytes(8)
        return missing

    def reset_counts(self):
        """All counters from 0, once the queues are empty; see settle() for what it gives."""
        missing = self.settle()
        size = MAX_DEVICES * COUNT.size
        self._maps['link_counts'][0:size] = bytes(size)
        return missing

    # --- Running programs in it ---

    def command(self, node, argv):
        """What runs a program in a node's namespace; it stays one process."""
        return ['nsenter', f'--net=/run/netns/{self.namespace(node)}', '--', *argv]

    def popen(self, node, argv, **how):
        """A program started in a node, killed if it is still there when the fabric is taken down."""
        process = subprocess.Popen(self.command(node, argv), **how)
        self._processes.append(process)
        return process

    def run(self, node, argv, **how):
        """A program run in a node; what subprocess.run gives."""
        return subprocess.run(self.command(node, argv), **how)

    def inside(self, node):
        """This thread in a node's namespace, for sockets of its own."""
        return inside(self.namespace(node))


def share(value):
    """A probability in 2^32ths."""
    if not 0 <= value <= 1:
        raise ValueError(f'{value} is no share of packets. it has to be between 0 and 1, such as 0.01')
    return min(int(value * 2**32), 2**32 - 1)


def mac(link):
    return f'02:00:00:00:{link.index >> 8:02x}:{link.index & 255:02x}'


# --- What is left of others -----------------------------------------------------------------------

@contextlib.contextmanager
def state_lock():
    """One process at a time makes and removes the folders of fabrics."""
    os.makedirs(STATE, exist_ok=True)
    with open(f'{STATE}.lock', 'w') as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def checked_name(name):
    """A fabric's name, which becomes part of paths and of namespaces' names."""
    if not re.fullmatch(r'[A-Za-z0-9][A-Za-z0-9-]*', name):
        raise ValueError(f"'{name}' is no name for a fabric. it takes letters, digits and hyphens, such as hand-2")
    return name


def namespaces():
    return os.listdir('/run/netns') if os.path.isdir('/run/netns') else []


def remove(name):
    """Takes down what there is of one fabric, and ends the programs that run in it."""
    folder = f'{STATE}/{checked_name(name)}'
    ours = re.compile(rf'strack-{name}-[lsh]\d+')
    for namespace in filter(ours.fullmatch, namespaces()):
        pids = subprocess.run(['ip', 'netns', 'pids', namespace], text=True, capture_output=True).stdout
        for pid in map(int, pids.split()):
            if pid != os.getpid():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
        subprocess.run(['ip', 'netns', 'del', namespace], capture_output=True)
    if os.path.ismount(f'{folder}/bpf'):
        subprocess.run(['umount', f'{folder}/bpf'], capture_output=True)
    # Never into a BPF file system that could not be unmounted.
    if not os.path.ismount(f'{folder}/bpf'):
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers():
    """Removes the fabrics of processes that are gone; those made to stay do stay. Gives their names."""
    removed = []
    with state_lock():
        for name in sorted(os.listdir(STATE)):
            try:
                with open(f'{STATE}/{name}/lock') as lock:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                with open(f'{STATE}/{name}/options.json') as file:
                    if json.load(file)['keep']:
                        continue
            except BlockingIOError:
                continue  # at work
            except (OSError, ValueError):
                pass  # died while it began
            remove(name)
            removed.append(name)
        for namespace in namespaces():  # of require()
            tried = re.fullmatch(r'strack-try-(\d+)', namespace)
            if tried and not os.path.exists(f'/proc/{tried[1]}'):
                subprocess.run(['ip', 'netns', 'del', namespace], capture_output=True)
    return removed


# --- By hand --------------------------------------------------------------------------------------

def print_status(fabric):
    links = fabric.counts()
    print(f"fabric '{fabric.name}': {len(fabric.hosts)} hosts, 2 leaves, {len(fabric.spines)} spines, "
          f'{fabric.options.rate:g} Mbit/s, MTU {fabric.options.mtu}')
    for host in fabric.hosts:
        print(f'  {host} {fabric.address(host):10} {fabric.address(host, 6):10} at {fabric.leaf_of(host)}')
    print(f'{"link":8}{"packets":>10}{"bytes":>13}{"marks":>9}{"tail drops":>11}{"losses":>8}{"blackhole":>10}'
          f'{"held back":>10}{"queue":>9}{"max queue":>10}')
    for name, count in links.items():
        print(f'{name:8}{count.out_packets:10}{count.out_bytes:13}{count.marks:9}{count.tail_drops:11}'
              f'{count.losses:8}{count.blackholed:10}{count.held_back:10}{count.backlog:9}{count.max_backlog:10}')


def set_by_hand(fabric, pattern, assignments):
    for assignment in assignments:
        name, equals, value = assignment.partition('=')
        if not equals:
            raise ValueError(f"'{assignment}' sets nothing. write it as name=value, such as loss=0.01")
        if name == 'rate':
            fabric.set_rate(pattern, float(value))
        elif name == 'mtu':
            fabric.set_mtu(pattern, int(value))
        elif name == 'hold':
            of_packets, _, ms = value.partition(',')
            fabric.hold_back(pattern, float(of_packets), float(ms or 4))
        else:
            fabric.set(pattern, **{name: float(value)})


def main():
    parser = argparse.ArgumentParser(description='a leaf-spine network in network namespaces, by hand')
    parser.add_argument('--name', default='hand', help='which fabric, if there are several (%(default)s)')
    commands = parser.add_subparsers(dest='command', required=True)
    up = commands.add_parser('up', help='sets a fabric up')
    for field in dataclasses.fields(Options):
        up.add_argument(f'--{field.name.replace("_", "-")}', type=float if field.name == 'rate' else int,
                        default=field.default)
    commands.add_parser('down', help='takes it down')
    commands.add_parser('status', help='addresses and counters')
    commands.add_parser('zero', help='sets the counters to 0')
    change = commands.add_parser('set', help='changes links')
    change.add_argument('links', help="a node or a pattern, such as s2 or 'l1-s*'")
    change.add_argument('values', nargs='+', metavar='name=value',
                        help='loss, blackhole, limit, mark_from, mark_to; rate (Mbit/s), mtu, hold=SHARE,MS')
    seed = commands.add_parser('seed', help='changes the hash seed')
    seed.add_argument('number', type=int)
    run = commands.add_parser('exec', help='runs a program in a node')
    run.add_argument('node')
    run.add_argument('argv', nargs=argparse.REMAINDER)
    commands.add_parser('clean', help='removes what runs that were killed have left behind')
    arguments = parser.parse_args()

    require()
    if arguments.command == 'up':
        options = Options(**{field.name: getattr(arguments, field.name) for field in dataclasses.fields(Options)})
        fabric = Fabric(arguments.name, options)
        exists = os.path.exists(fabric.folder)
        try:
            fabric.up(keep=True)
        except BaseException:
            if not exists:
                fabric.down()
            raise
        print(f"fabric '{fabric.name}' is up after {fabric.setup_seconds:.1f} s; fabric.py status shows it")
    elif arguments.command == 'down':
        with state_lock():
            remove(arguments.name)
    elif arguments.command == 'clean':
        print('removed:', ', '.join(remove_leftovers()) or 'nothing')
    else:
        fabric = Fabric.open(arguments.name)
        if arguments.command == 'status':
            print_status(fabric)
        elif arguments.command == 'zero':
            fabric.reset_counts()
        elif arguments.command == 'set':
            set_by_hand(fabric, arguments.links, arguments.values)
        elif arguments.command == 'seed':
            fabric.set_hash_seed(arguments.number)
        elif arguments.command == 'exec':
            argv = fabric.command(arguments.node, arguments.argv or [os.environ.get('SHELL', '/bin/sh')])
            os.execvp(argv[0], argv)


def run_main(main):
    """Runs a program on a fabric and ends with its exit status."""
    try:
        sys.exit(main())
    except Unavailable as error:
        print(f'skipped: {error}', file=sys.stderr)
        sys.exit(SKIP)
    except (FabricError, ValueError) as error:
        print(f'error: {error}', file=sys.stderr)
        sys.exit(2)
    except Interrupted as signal_number:
        sys.exit(128 + signal_number.args[0])


if __name__ == '__main__':
    run_main(main)
