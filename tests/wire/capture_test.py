#!/usr/bin/env python3
"""Captures real traffic of the program, dissects it with the Wireshark dissector, and checks what that shows against what
the program says it did.

usage: capture_test.py STRACK.LUA PROGRAM

It runs in a network namespace of its own, where the loopback device carries nothing else. Where that, tshark or capturing
is not to be had, it is skipped, and says why.
"""

import collections
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_vectors  # noqa: E402  (names of types)

SKIP = 77
PATIENCE = 30  # seconds, for whatever should take less than one
MARKER_PORT = 9  # discard: what only tells that the capture is running
TEST_TAG = "0x0000000000000002"  # of the messages that a test sends; its own talk has tag 1
TALK_BYTES = 36  # of each message of that talk: the client's are a request and a finish
DATA_BODY = 28  # bytes before the payload

# What a stream of one connection has in it. No probe, reject or reset: those are for what goes wrong.
EXPECTED = ("hello", "challenge", "connect", "accept", "data", "sack", "ping", "pong", "close", "close_ack")
SESSION = ("data", "sack", "probe", "ping", "pong", "close", "close_ack")
FIELDS = ("udp.srcport", "udp.dstport", "_ws.col.Protocol", "strack.type", "strack.keyed", "strack.connection_id",
          "strack.path_id", "strack.counter", "strack.sealed", "strack.tag", "strack.fault", "strack.data.psn",
          "strack.data.retransmission", "strack.data.tag", "strack.data.payload_length", "strack.terms.user_data",
          "strack.close.reason", "_ws.malformed", "_ws.lua.error", "_ws.expert.severity")
ERROR = 0x00800000  # expert severities from here on


def skip(why):
    print(f"skipped: {why}")
    sys.exit(SKIP)


def enter_namespace():
    """Starts this program again in a namespace of its own, which is gone when it ends."""
    for program, package in (("tshark", "tshark"), ("dumpcap", "wireshark-common"), ("unshare", "util-linux"),
                             ("ip", "iproute2")):
        if not shutil.which(program):
            skip(f"{program} is not installed; Debian's package is {package}")
    unshare = ["unshare", "--net"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    tried = subprocess.run([*unshare, "ip", "link", "set", "lo", "up"], capture_output=True, text=True)
    if tried.returncode != 0:
        skip(f"no network namespace for this user: {tried.stderr.strip()}")
    os.execvp(unshare[0], [*unshare, sys.executable, os.path.abspath(__file__), "--inside", *sys.argv[1:]])


class Capture:
    """Everything on the loopback device while the context lasts, in a file."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)

    def __enter__(self):
        self.log = open(f"{self.path}.log", "w+")
        self.process = subprocess.Popen(["dumpcap", "-q", "-i", "lo", "-f", "udp", "-B", "32", "-w", str(self.path)],
                                        stdout=subprocess.DEVNULL, stderr=self.log)
        self.mark(b"the beginning of this capture")
        return self

    def mark(self, text):
        """Sends a packet until it has reached the file: so has all that was sent before the first one."""
        until = time.monotonic() + PATIENCE
        while not (self.path.exists() and text in self.path.read_bytes()):
            if self.process.poll() is not None:
                self.log.seek(0)
                skip(f"dumpcap cannot capture here: {self.log.read().strip()}")
            if time.monotonic() > until:
                self.process.kill()
                sys.exit(f"nothing was captured in {PATIENCE} s")
            self.socket.sendto(text, ("127.0.0.1", MARKER_PORT))
            time.sleep(0.05)

    def __exit__(self, kind, *_exception):
        if kind is None:
            self.mark(b"the end of this capture")
        self.process.send_signal(signal.SIGINT)
        self.process.wait(PATIENCE)
        self.socket.close()
        self.log.close()


def run_test(program, port, options, count, size):
    """A server and a client over loopback; what the client says of it."""
    server = subprocess.Popen([program, "perf", "server", "--bind", f"127.0.0.1:{port}", "--once", "--burst", "1", *options],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        wait_until_bound(server, port)
        client = subprocess.run([program, "perf", "client", f"127.0.0.1:{port}", "--count", str(count), "--size",
                                 str(size), "--json", "--burst", "1", *options], capture_output=True, text=True, timeout=PATIENCE)
        server.wait(PATIENCE)  # it has sent its last packet then
    finally:
        server.kill()
        _, told = server.communicate()
    if client.returncode != 0 or server.returncode != 0:
        sys.exit(f"the transfer failed: {client.stdout}{client.stderr}{told}")
    return json.loads(client.stdout)


def wait_until_bound(server, port):
    until = time.monotonic() + PATIENCE
    while f":{port:04X} 00000000:0000 07" not in pathlib.Path(f"/proc/{server.pid}/net/udp").read_text():
        if server.poll() is not None:
            sys.exit(f"the server ended at once: {server.stderr.read()}")
        if time.monotonic() > until:
            sys.exit(f"port {port} is not open after {PATIENCE} s")
        time.sleep(0.01)


def dissect(dissector, path):
    """The fields of each packet that is not a marker."""
    # Some of 256 random ports are those of other protocols, whose dissectors would go first.
    command = ["tshark", "-o", "udp.try_heuristic_first:TRUE", "-X", f"lua_script:{dissector}", "-r", str(path), "-n", "-Y", f"udp.port != {MARKER_PORT}",
               "-T", "fields", "-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=;"]
    for name in FIELDS:
        command += ["-e", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    complaints = [line for line in done.stderr.splitlines() if "Running as user" not in line and line.strip()]
    if done.returncode != 0 or complaints:
        sys.exit(f"tshark: status {done.returncode}\n" + "\n".join(complaints[:20]))
    rows = [dict(zip(FIELDS, line.split("|"))) for line in done.stdout.splitlines()]
    for row in rows:
        number = row["strack.type"]
        row["type"] = make_vectors.TYPES[int(number)] if number else ""
    return rows


class Checks:
    def __init__(self, title):
        self.title = title
        self.failures = []

    def that(self, good, text):
        if not good:
            self.failures.append(f"{self.title}: {text}")

    def same(self, shown, wanted, what):
        self.that(shown == wanted, f"{what}: {shown}, not {wanted}")


def yes(text):
    """tshark prints a boolean as 1 or True, depending on its version."""
    return text in ("1", "True")


def check_packets(rows, port, keyed, checks):
    """What is true of every packet, with a key and without."""
    for i, row in enumerate(rows, 1):
        what = f"packet {i}, port {row['udp.srcport']} to {row['udp.dstport']}, {row['type'] or 'not STrack'}"
        checks.that(row["_ws.col.Protocol"] == "STrack" and row["type"], f"{what}: shown as {row['_ws.col.Protocol']}")
        for field in ("strack.fault", "_ws.malformed", "_ws.lua.error"):
            checks.that(not row[field], f"{what}: {field} {row[field]}")
        severities = [int(text, 0) for text in row["_ws.expert.severity"].split(";") if text]
        checks.that(all(severity < ERROR for severity in severities), f"{what}: expert severity {severities}")
        if row["type"] in SESSION:
            checks.that(row["strack.connection_id"], f"{what}: no connection id")
            checks.same(yes(row["strack.keyed"]), keyed, f"{what}: keyed")
    # Packets go from any port, to one port of each side.
    targets = {row["udp.dstport"] for row in rows}
    checks.that(len(targets) == 2 and str(port) in targets, f"packets go to the ports {sorted(targets)}")
    types = collections.Counter(row["type"] for row in rows)
    for name in EXPECTED:
        checks.that(types[name] > 0, f"no {name} among {dict(types)}")
    for name in ("reject", "reset"):
        checks.same(types[name], 0, f"packets of type {name}")
    return types


def check_plain(rows, port, told, checks):
    """The bytes that were sent are there, once."""
    data = [row for row in rows if row["type"] == "data" and row["udp.dstport"] == str(port)]
    first = [row for row in data if not yes(row["strack.data.retransmission"])]
    psns = {row["strack.data.psn"] for row in first}
    checks.same(len(psns), len(first), "different PSNs among packets that are no retransmissions")
    # Those of the last words come after the program has counted.
    checks.that(len(data) - len(first) >= told["retransmissions"], "fewer retransmissions than the program counted")
    sent = collections.Counter()
    for row in first:
        sent[row["strack.data.tag"]] += int(row["strack.data.payload_length"])
    checks.same(sent[TEST_TAG], told["bytes"], "bytes of payload, less retransmissions")
    checks.same(sum(sent.values()), told["bytes"] + 2 * TALK_BYTES, "bytes of payload with the tests' own talk")
    for row in rows:
        checks.that(not row["strack.sealed"] and not row["strack.counter"], f"a sealed {row['type']} without a key")
        if row["type"].startswith("close"):
            checks.same(row["strack.close.reason"], "0", "reason to close")
    paths = {row["strack.path_id"] for row in data}
    ports = {row["udp.srcport"] for row in data}
    checks.that(len(ports) >= len(paths) > 1, f"{len(paths)} paths of the data, {len(ports)} source ports")


def check_keyed(rows, port, told, checks):
    """Headers are shown, bodies are not; no counter is used twice, which would break the cipher."""
    counters = collections.defaultdict(set)
    for row in rows:
        if row["type"] not in SESSION:
            continue
        checks.that(row["strack.counter"] and row["strack.tag"] and row["strack.sealed"],
                    f"a {row['type']} without counter, sealed body or tag")
        for field in ("strack.data.psn", "strack.data.payload_length", "strack.close.reason"):
            checks.that(not row[field], f"{field} is shown of a sealed {row['type']}")
        seen = counters[row["strack.connection_id"]]
        checks.that(row["strack.counter"] not in seen,
                    f"counter {row['strack.counter']} twice to {row['strack.connection_id']}")
        seen.add(row["strack.counter"])
    checks.same(len(counters), 2, "connection ids, one for each direction")
    # What is a retransmission cannot be seen; but a body is as long as its plain text.
    data = [row for row in rows if row["type"] == "data" and row["udp.dstport"] == str(port)]
    carried = sum(len(row["strack.sealed"]) // 2 - DATA_BODY for row in data)
    wanted = told["bytes"] + 2 * TALK_BYTES
    if told["retransmissions"] == 0:
        checks.same(carried, wanted, "bytes in sealed data")
    else:
        checks.that(carried > wanted, f"bytes in sealed data: {carried}, not more than {wanted} in spite of "
                                      f"{told['retransmissions']} retransmissions")


def main():
    inside = sys.argv[1:2] == ["--inside"]
    if inside:
        del sys.argv[1]
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    dissector, program = sys.argv[1], os.path.abspath(sys.argv[2])
    if not inside:
        enter_namespace()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        key = pathlib.Path(folder) / "key"
        key.touch(mode=0o600)
        key.write_text(subprocess.run([program, "key"], capture_output=True, text=True, check=True).stdout)
        # The default port, and one that the dissector has to learn from the set-up.
        for title, port, options, check in (("without a key", 4794, ["--insecure"], check_plain),
                                            ("with a key", 5555, ["--key-file", str(key)], check_keyed)):
            path = f"{folder}/{port}.pcapng"
            with Capture(path):
                told = run_test(program, port, options, count=20, size=100_000)
            rows = dissect(dissector, path)
            checks = Checks(title)
            checks.same((told["ok"], told["bytes"]), (True, 2_000_000), "the client's own account")
            types = check_packets(rows, port, check is check_keyed, checks)
            if not checks.failures:  # otherwise there are no fields to count
                check(rows, port, told, checks)
            failures += checks.failures
            print(f"{title}: {len(rows)} packets, {told['retransmissions']} retransmissions:",
                  ", ".join(f"{count} {name or 'unknown'}" for name, count in sorted(types.items())))
    if failures:
        sys.exit("\n".join(failures[:40] + [f"{len(failures)} failures"]))


if __name__ == "__main__":
    main()
