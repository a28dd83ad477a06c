#!/usr/bin/env python3
"""`strack perf`, `strack cp` and `strack recv` over loopback, as a person meets them.

usage: udp_test.py PROGRAM [unittest arguments]

What needs root (a small disk, other names for this host, another user) is skipped without.
"""

import contextlib
import errno
import hashlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

PROGRAM = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "strack"
PATIENCE = 60  # seconds; longer than anything here takes
MB = 1_000_000
NOBODY = 65534


def free_port():
    """One that is free in both families, where there are two."""
    while True:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
            try:
                with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as other:
                    other.bind(("::1", port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
            return port


class UdpTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="strack_udp_"))
        self.addCleanup(self.remove_folder)
        self.port = free_port()
        self.address = f"127.0.0.1:{self.port}"

    def remove_folder(self):
        for path in self.folder.rglob("*"):
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o700)
        shutil.rmtree(self.folder, ignore_errors=True)

    def key(self, name="key"):
        text = self.good("key")
        self.assertRegex(text, r"\A[0-9a-f]{64}\n\Z")
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o600)
        return str(path)

    def strack(self, *words, **options):
        return subprocess.run([PROGRAM, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=PATIENCE, **options)

    def good(self, *words):
        done = self.strack(*words)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")
        return done.stdout

    def bad(self, *words, status=2):
        """Fails with a line that starts with `error: `; returns it."""
        done = self.strack(*words)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        self.assertRegex(done.stderr, r"\Aerror: [^\n]*\n")
        return done.stderr.strip()

    def start(self, *words, ready=True, **options):
        """A process in the background that is ended after the test. `ready`: it says where it listens."""
        process = subprocess.Popen([PROGRAM, *map(str, words)], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
        self.addCleanup(self.end, process)
        if ready:
            line = process.stdout.readline()
            self.assertIn(" at ", line, process.stderr.read() if not line else line)
            process.said = line
        return process

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()

    def finish(self, process, status=0):
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, status, out + err)
        return out, err

    def until_it_can_be_interrupted(self, process):
        """Before that, Ctrl-C ends it as it ends any program."""
        def handles():
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
            return int(re.search(r"^SigCgt:\s*(\w+)", status, re.MULTILINE).group(1), 16) >> (signal.SIGINT - 1) & 1
        self.until(handles, "Ctrl-C is handled")

    def until(self, condition, what, patience=PATIENCE):
        limit = time.monotonic() + patience
        while time.monotonic() < limit:
            if found := condition():
                return found
            time.sleep(0.005)
        self.fail(f"not within {patience} s: {what}")

    def until_traffic(self, server):
        """A client is in the middle of its test; returns the samples that say so."""
        def samples_with_traffic():
            samples = scrape(self, metrics_of(server))
            busy = any(name.startswith("strack_connection_message_received_bytes_total") and value > 0
                       for name, value in samples.items())
            return samples if busy else None
        return self.until(samples_with_traffic, "traffic shows in the metrics")


class PerfTest(UdpTest):
    def server(self, *words):
        return self.start("perf", "server", "--bind", self.address, *words)

    def client(self, *words):
        return json.loads(self.good("perf", "client", self.address, "--json", *words))

    def check_times(self, times):
        ordered = [times[name] for name in ("min", "p50", "p90", "p99", "p99_9", "max")]
        self.assertEqual(ordered, sorted(ordered))
        self.assertGreater(times["min"], 0)
        self.assertLessEqual(times["mean"], times["max"])

    def test_stream(self):
        server = self.server("--once")
        found = self.client("--size", "100KB", "--count", "50")
        self.assertIs(found["ok"], True)
        self.assertEqual((found["messages"], found["bytes"], found["size"]), (50, 5 * MB, 100_000))
        self.assertEqual((found["pattern"], found["connections"], found["keyed"]), ("stream", 1, False))
        self.assertGreater(found["seconds"], 0)
        self.assertAlmostEqual(found["gbps"], found["bytes"] * 8e-9 / found["seconds"], delta=found["gbps"] / 100)
        self.assertEqual(found["server"]["bytes"], 5 * MB)
        self.assertEqual(found["server"]["messages"], 50)
        for name in ("retransmissions", "marks", "timeouts", "paths_used", "cwnd_bytes", "base_rtt_us"):
            self.assertGreaterEqual(found[name], 0, name)
        self.assertGreaterEqual(found["packets"], 5 * MB // found["payload_bytes"])
        self.assertGreater(found["total_seconds"], found["seconds"])
        self.check_times(found["completion_us"])
        out, err = self.finish(server)
        self.assertRegex(out, r"\A127\.0\.0\.1:\d+: stream of 100 KB, 5 MB in [0-9.]+ s, [0-9.]+ [GMk]?b/s\n\Z")
        self.assertEqual(err, "")

    def test_all_paths_are_used(self):
        self.server("--once")
        found = self.client("--size", "1MB", "--count", "20", "--paths", "7", "--policy", "oblivious", "--scheme", "strack-plus")
        self.assertEqual((found["paths"], found["paths_used"], found["policy"]), (7, 7, "oblivious"))

    def test_pingpong(self):
        self.server("--once")
        found = self.client("--size", "64", "--count", "200", "--pattern", "pingpong")
        self.assertTrue(found["ok"])
        self.assertEqual((found["messages"], found["bytes"]), (200, 12_800))
        self.check_times(found["round_trip_us"])
        self.assertAlmostEqual(found["half_round_trip_us"]["p50"], found["round_trip_us"]["p50"] / 2, delta=0.002)

    def test_pingpong_of_nothing_and_of_several_at_a_time(self):
        self.server()
        self.assertEqual(self.client("--size", "0", "--count", "20", "--pattern", "pingpong")["messages"], 20)
        found = self.client("--size", "20KB", "--count", "40", "--pattern", "pingpong", "--depth", "8")
        self.assertEqual((found["messages"], found["depth"]), (40, 8))

    def test_write(self):
        server = self.server("--once")
        found = self.client("--size", "300000", "--count", "30", "--pattern", "write")
        self.assertTrue(found["ok"])
        self.assertEqual((found["messages"], found["bytes"]), (30, 9 * MB))
        self.check_times(found["completion_us"])
        self.finish(server)

    def test_several_connections_for_some_time(self):
        server = self.server("--once")
        found = self.client("--connections", "5", "--seconds", "300ms", "--size", "50KB", "--interval", "100ms")
        self.assertTrue(found["ok"])
        self.assertEqual(found["connections"], 5)
        self.assertGreaterEqual(found["seconds"], 0.25)
        self.assertEqual(found["bytes"], found["server"]["bytes"])
        self.assertGreaterEqual(len(found["intervals"]), 2)
        out, _ = self.finish(server)
        self.assertEqual(len(out.splitlines()), 5)

    def test_text(self):
        self.server()
        out = self.good("perf", "client", self.address, "--count", "5", "--size", "10KB")
        self.assertRegex(out, r"\Astream of 10 KB on 1 connection: 5 messages, 50 KB in ")
        for word in ("throughput", "completion   p50", "RTT", "paths used", " timeouts"):
            self.assertIn(word, out)

    def test_encrypted(self):
        key = self.key()
        server = self.server("--once", "--key-file", key)
        found = self.client("--count", "20", "--size", "1MB", "--key-file", key)
        self.assertTrue(found["ok"])
        self.assertTrue(found["keyed"])
        self.assertIn(found["sealing"], ("ipsec-mb", "openssl", "libsodium"))
        self.finish(server)
        self.server("--key-file", key)
        self.assertEqual(self.client("--count", "2", "--key-file", key, "--sealing", "libsodium")["sealing"], "libsodium")
        self.assertRegex(self.bad("perf", "client", self.address, "--key-file", key, "--sealing", "rot13"),
                         'sealing is "rot13". here it takes one of: .*libsodium$')

    def test_server_json(self):
        process = self.start("perf", "server", "--bind", self.address, "--once", "--json", ready=False)
        self.wait_for_port()
        self.client("--count", "3", "--size", "1000")
        out, _ = self.finish(process)
        found = json.loads(out)
        self.assertEqual((found["ok"], found["messages"], found["bytes"], found["size"]), (True, 3, 3000, 1000))

    def wait_for_port(self):
        wanted = f":{self.port:04X} "
        self.until(lambda: wanted in pathlib.Path("/proc/net/udp").read_text(), "the server listens")

    def test_wrong_keys(self):
        one, other = self.key("one"), self.key("other")
        self.server("--key-file", one)
        said = self.bad("perf", "client", self.address, "--count", "1", "--key-file", other, status=1)
        self.assertIn("key", said)
        self.assertIn(other, said)
        said = self.bad("perf", "client", self.address, "--count", "1", status=1)
        self.assertIn("--key-file", said)

    def test_a_key_for_a_server_without_one(self):
        self.server()
        said = self.bad("perf", "client", self.address, "--count", "1", "--key-file", self.key(), status=1)
        self.assertIn("key", said)

    def test_nobody_answers(self):
        done = self.strack("perf", "client", self.address, "--count", "1", "--json")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"\Aerror: nobody answers at {self.address}\. .*strack perf server")
        found = json.loads(done.stdout)
        self.assertIs(found["ok"], False)
        self.assertIn("nobody answers", found["error"])

    @unittest.skipIf(os.geteuid() != 0, "needs root")
    def test_no_route(self):
        # In a namespace of its own, whose only device is loopback.
        if subprocess.run(["unshare", "--net", "ip", "link"], capture_output=True).returncode: self.skipTest("no namespaces here")
        command = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", PROGRAM, "perf", "client",
                   "192.0.2.1", "--insecure", "--count", "1"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"\Aerror: this host has no way to 192\.0\.2\.1:4794: no route")
        self.assertNotIn("nobody answers", done.stderr)

    def test_a_mistake_does_not_end_a_server_that_serves_once(self):
        server = self.server("--once")
        said = self.bad("cp", __file__, f"{self.address}:", status=1)
        self.assertIn("not `strack recv`", said)
        self.client("--size", "1KB", "--count", "1")
        out, _ = self.finish(server)
        self.assertRegex(out, r"ended early: it is not `strack perf client`\n.*stream of 1 KB")

    def test_sigterm(self):
        server = self.server()
        server.send_signal(signal.SIGTERM)
        self.finish(server, status=143)

    def test_the_wrong_service(self):
        self.start("recv", "--bind", self.address, "--dir", "in", "--create")
        said = self.bad("perf", "client", self.address, "--count", "1", status=1)
        self.assertIn("not `strack perf server`", said)

    def test_without_a_key_off_this_host(self):
        for words in (("perf", "client", "192.0.2.1:5"), ("perf", "server", "--bind", "0.0.0.0:0"),
                      ("recv", "--dir", "in", "--bind", "0.0.0.0:0"), ("cp", __file__, "192.0.2.1:5:x")):
            said = self.bad(*words)
            self.assertIn("--key-file", said)
            self.assertIn("--insecure", said)

    def test_mistakes(self):
        for words, wanted in (
                (("--size", "1 XB"), "--size 1 XB is not a size"),
                (("--size", "2GiB"), "up to 1GiB"),
                (("--size", "-1"), "-1"),
                (("--rate", "10"), "--rate 10 is not a rate"),
                (("--count", "0"), "--count 0"),
                (("--seconds", "soon"), "--seconds soon is not a time"),
                (("--interval", "1ms"), "--interval 1ms"),
                (("--pattern", "circle"), "circle"),
                (("--peer-timeout", "99ms"), "--peer-timeout 99ms is not a time of 100ms"),
                (("--peer-timeout", "10"), "--peer-timeout 10 is not a time"),
                (("--reconnect", "soon"), "--reconnect soon is not a time"),
                (("--paths", "257"), "257"), (("--scheme", "pigeons"), "pigeons not in {strack,strack-plus}"),
                (("--key-file", "missing"), "missing: No such file"),
                (("--key-file", __file__), "64 hexadecimal digits")):
            said = self.bad("perf", "client", self.address, *words)
            self.assertIn(wanted, said)

    def test_a_key_that_others_can_read(self):
        key = self.key()
        os.chmod(key, 0o644)
        done = self.strack("perf", "client", self.address, "--count", "0", "--key-file", key)
        self.assertEqual(done.returncode, 2)
        self.start("perf", "server", "--bind", self.address, "--key-file", key)
        done = self.strack("perf", "client", self.address, "--count", "1", "--key-file", key)
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stderr, r"\Awarning: key file .*`chmod 600 ")

    def test_ctrl_c_ends_with_the_figures_so_far(self):
        server = self.server("--once", "--metrics", "127.0.0.1:0")
        client = self.start("perf", "client", self.address, "--seconds", "1000", "--json", "--interval", "50ms",
                            ready=False)
        self.until_traffic(server)
        client.send_signal(signal.SIGINT)
        out, err = self.finish(client, status=130)
        found = json.loads(out)
        self.assertEqual((found["ok"], found["interrupted"]), (False, True))
        self.assertGreater(found["bytes"], 0)
        self.assertEqual(found["bytes"], found["server"]["bytes"])
        self.finish(server)
        server = self.server()
        server.send_signal(signal.SIGINT)
        self.finish(server, status=130)

    def busy_client(self, *words):
        """A client in the middle of a test that would go on for long."""
        client = self.start("perf", "client", self.address, "--seconds", "1000", "--interval", "100ms", *words,
                            ready=False)
        self.assertRegex(client.stdout.readline(), "[0-9] [GMk]?b/s|no answer")
        return client

    def test_a_server_that_dies(self):
        server = self.server()
        client = self.busy_client("--peer-timeout", "2s", "--reconnect", "0")
        server.kill()
        _, err = self.finish(client, status=1)
        self.assertRegex(err, rf"\Aerror: the connection to {self.address} was lost: the peer no longer answers\n\Z")

    def test_a_server_that_dies_is_told_as_json(self):
        server = self.server("--metrics", "127.0.0.1:0")
        client = self.start("perf", "client", self.address, "--seconds", "1000", "--json", "--peer-timeout", "2s",
                            "--reconnect", "1s", ready=False)
        self.until_traffic(server)
        server.kill()
        out, err = self.finish(client, status=1)
        self.assertRegex(err, r"\Athe connection to .* was lost: .*; connecting again, for up to 1 s\n"
                              r"error: nobody answers at ")
        found = json.loads(out)
        self.assertIs(found["ok"], False)
        self.assertIn("nobody answers", found["error"])

    def test_a_server_that_is_started_again(self):
        server = self.server("--metrics", "127.0.0.1:0")
        old = self.start("perf", "client", self.address, "--seconds", "1000", "--json", "--peer-timeout", "3600s",
                         ready=False)
        self.until_traffic(server)
        server.kill()
        server.wait()
        server = self.server("--metrics", "127.0.0.1:0")
        # The new server knows nothing of the old client, and serves a new one while that still tries.
        self.assertTrue(self.client("--count", "20", "--size", "100KB")["ok"])
        self.until_traffic(server)
        old.send_signal(signal.SIGINT)
        out, err = self.finish(old, status=130)
        self.assertEqual(err, f"the connection to {self.address} was lost: the peer does not know the connection any more: "
                              "it was restarted, or has given it up; connecting again, for up to 10 s\n")
        found = json.loads(out)
        self.assertGreaterEqual(found["reconnects"], 1)
        self.assertGreater(found["bytes"], found["server"]["bytes"])
        self.assertGreater(found["server"]["bytes"], 0)

    def test_a_server_that_pauses(self):
        server = self.server()
        patient = self.busy_client()
        hasty = self.busy_client("--peer-timeout", "2s", "--reconnect", "0")
        server.send_signal(signal.SIGSTOP)
        _, err = self.finish(hasty, status=1)
        self.assertIn("the peer no longer answers", err)
        server.send_signal(signal.SIGCONT)
        patient.send_signal(signal.SIGINT)
        self.finish(patient, status=130)
        self.assertTrue(self.client("--count", "5")["ok"])

    def test_a_client_that_dies_does_not_end_the_server(self):
        self.server()
        client = self.busy_client()
        client.kill()
        self.assertTrue(self.client("--count", "5")["ok"])

    def test_metrics(self):
        server = self.server("--metrics", "127.0.0.1:0")
        url = metrics_of(server)
        client = self.start("perf", "client", self.address, "--seconds", "1000", "--size", "10KB", ready=False)
        samples = self.until_traffic(server)
        client.send_signal(signal.SIGINT)
        self.finish(client, status=130)
        labels = next(name for name in samples if name.startswith("strack_connection_message_received_bytes_total{"))
        self.assertRegex(labels, r'service="perf",connection="\d+",peer="127\.0\.0\.1:\d+"')
        self.assertEqual(samples['strack_connections{service="perf"}'], 1)
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(url.replace("/metrics", "/other"), timeout=10)
        self.assertEqual(caught.exception.code, 404)
        caught.exception.close()

    def test_metrics_at_a_place_that_is_taken(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            said = self.bad("perf", "server", "--bind", self.address,
                            "--metrics", f"127.0.0.1:{taken.getsockname()[1]}")
        self.assertIn("metrics cannot be served", said)
        self.assertIn("127.0.0.1:9100", self.bad("perf", "server", "--bind", self.address, "--metrics", "here"))


def metrics_of(process):
    return re.search(r"http://\S+/metrics", process.said).group()


def scrape(test, url):
    """All samples, after a check of the format."""
    with urllib.request.urlopen(url, timeout=10) as answer:
        test.assertEqual(answer.headers["Content-Type"], "text/plain; version=0.0.4; charset=utf-8")
        text = answer.read().decode()
    test.assertTrue(text.endswith("\n"))
    described, samples = set(), {}
    for line in text.splitlines():
        if head := re.fullmatch(r"# (HELP|TYPE) ([a-z_]+) (.+)", line):
            described.add(head.group(1, 2))
            continue
        found = re.fullmatch(r'([a-z_]+)(\{(?:[a-z_]+="[^"]*",?)+\}) ([0-9.]+)', line)
        test.assertIsNotNone(found, line)
        test.assertTrue({("HELP", found.group(1)), ("TYPE", found.group(1))} <= described, line)
        test.assertNotIn(found.group(1) + found.group(2), samples)
        samples[found.group(1) + found.group(2)] = float(found.group(3))
    return samples


def tree_of(folder):
    """What is below a folder: kinds, permissions, times, contents."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        status = path.lstat()
        if path.is_symlink():
            found[name] = ("link", os.readlink(path), status.st_mtime_ns)
        elif path.is_dir():
            found[name] = ("folder", status.st_mode, status.st_mtime_ns)
        else:
            found[name] = ("file", status.st_mode, status.st_mtime_ns, status.st_size, digest_of(path))
    return found


def digest_of(path):
    digest = hashlib.blake2b()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


class FilesTest(UdpTest):
    def setUp(self):
        super().setUp()
        self.out, self.into = self.folder / "out", self.folder / "in"
        os.mkdir(self.out)
        os.mkdir(self.into)

    def write(self, name, content=b"x"):
        path = self.out / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path


class CopyTest(FilesTest):
    def receive(self, *words, **options):
        return self.start("recv", "--bind", self.address, "--dir", self.into, *words, **options)

    def to(self, destination=""):
        return f"{self.address}:{destination}"

    def large(self, name, megabytes):
        path = self.out / name
        path.write_bytes(b"".join(os.urandom(MB) for _ in range(megabytes)))
        return path

    def test_a_tree(self):
        for name in ("plain", "with space", "umläut", "-rf", "quote'\"", "back\\slash", "*", "a:b", ".hidden", "x" * 255):
            self.write("tree/names/" + name, name.encode())
        (self.out / os.fsdecode(b"tree/names/not\xffutf8")).write_bytes(b"bytes")
        self.write("tree/empty", b"")
        self.write("tree/one block", os.urandom(1 << 20))
        self.write("tree/block and one", os.urandom((1 << 20) + 1))
        self.large("tree/large", 50)
        (self.out / "tree/a/b/c").mkdir(parents=True)
        (self.out / "tree/a/up").symlink_to("../empty")
        (self.out / "tree/dangling").symlink_to("nothing here")
        (self.out / "tree/empty").chmod(0o400)
        (self.out / "tree/names/plain").chmod(0o751)
        os.utime(self.out / "tree/names/plain", ns=(0, 1_234_567_890_123_456_789))
        os.utime(self.out / "tree/a/b", ns=(0, 987_654_321))
        (self.out / "tree/a/b").chmod(0o555)
        receiver = self.receive("--once")
        said = self.good("cp", self.out / "tree", self.to())
        self.assertRegex(said, r"\Acopied 15 files, 2 links, 52\.1 MB in [0-9.]+ s, [0-9.]+ [GMk]?b/s\n\Z")
        out, err = self.finish(receiver)
        self.assertIn("15 files, 5 folders, 2 links, 52.1 MB in ", out)
        self.assertEqual(err, "")
        self.assertEqual(tree_of(self.out / "tree"), tree_of(self.into / "tree"))
        self.assertEqual(os.listdir(self.into), ["tree"])

    def test_encrypted(self):
        key = self.key()
        self.receive("--key-file", key)
        source = self.large("f", 5)
        self.good("cp", source, self.to(), "--key-file", key)
        self.assertEqual(digest_of(source), digest_of(self.into / "f"))
        self.assertIn("key", self.bad("cp", source, self.to("g"), "--key-file", self.key("other"), status=1))
        self.assertFalse((self.into / "g").exists())

    def test_exclude(self):
        tree = self.folder / "t"
        (tree / "d").mkdir(parents=True)
        for name in ("a.o", "a.c", "d/b.o", "d/b.c", "x", "y"):
            (tree / name).write_text(name)
        self.start("recv", "--bind", self.address, "--dir", "in", "--create")
        self.good("cp", "t", f"{self.address}:", "--exclude", "*.o", "--exclude", "d/b.*", "--exclude", "[xy]")
        self.assertEqual(sorted(p.name for p in (self.folder / "in/t").rglob("*")), ["a.c", "d"])

    def test_where_things_go(self):
        self.receive()
        self.write("a", b"a")
        self.write("b", b"b")
        self.good("cp", self.out / "a", self.out / "b", self.to("deep/er/"))
        self.good("cp", self.out / "a", self.to("renamed"))
        self.good("cp", self.out, self.to("all"))
        found = sorted(str(path.relative_to(self.into)) for path in self.into.rglob("*") if path.is_file())
        self.assertEqual(found, ["all/a", "all/b", "deep/er/a", "deep/er/b", "renamed"])
        said = self.bad("cp", self.out / "a", self.to("deep"), status=1)
        self.assertIn("end the destination with a slash", said)
        self.assertIn("cannot all be called", self.bad("cp", self.out / "a", self.out / "b", self.to("x")))

    def test_mistakes(self):
        self.write("a")
        for destination, wanted in (("nohost", "names no host"), (self.to("../x"), "'..'"),
                                    (self.to("/etc"), "not relative"), (self.to(".strack/x"), ".strack")):
            self.assertIn(wanted, self.bad("cp", self.out / "a", destination))
        self.assertIn("No such file", self.bad("cp", self.out / "missing", self.to()))
        self.assertIn("nobody answers", self.bad("cp", self.out / "a", self.to(), status=1))
        self.assertIn("cannot be opened", self.bad("recv", "--bind", self.address, "--dir", self.out / "a"))
        self.start("perf", "server", "--bind", self.address)
        self.assertIn("not `strack recv`", self.bad("cp", self.out / "a", self.to(), status=1))

    def test_a_link_that_is_named(self):
        self.receive()
        link = self.out / "latest"
        link.symlink_to("run7")
        done = self.strack("cp", link, self.to())
        self.assertEqual(done.returncode, 0)
        self.assertEqual(done.stderr,
                         f"warning: copied as a link, without what it leads to: {link}: a link to 'run7'\n")
        self.assertRegex(done.stdout, r"\Acopied 0 files, 1 link, 0 B in ")
        self.assertEqual(os.readlink(self.into / "latest"), "run7")

    def test_waiting_for_a_turn(self):
        source = self.write("f")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as full:
            full.bind(("127.0.0.1", self.port))
            copy = self.start("cp", source, self.to(), ready=False)
            for _ in range(2):
                hello, peer = full.recvfrom(2048)
                # A reject: version 2, type 10; the hello's connection id and nonce; busy; versions 2 to 2.
                reply_port = int.from_bytes(hello[76:78], "big")
                full.sendto(b"\x2a\0\0\0" + hello[8:12] + hello[12:20] + b"\6\2\2\0", (peer[0], reply_port))
        self.receive()
        out, err = self.finish(copy)
        self.assertRegex(out, r"\Acopied 1 file, 1 B ")
        self.assertEqual(err, f"no connection to {self.address}: the peer has no room for another connection; "
                              "waiting for a turn, for up to 60 s\n")
        self.assertEqual((self.into / "f").read_bytes(), b"x")

    def test_a_second_copy_and_a_different_file(self):
        self.receive()
        source = self.write("f", b"one")
        self.good("cp", source, self.to())
        self.assertIn("1 file there already", self.good("cp", source, self.to()))
        source.write_bytes(b"two")
        self.write("g", b"other")
        done = self.strack("cp", source, self.out / "g", self.to())
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Aerror: .*/f: is there already and differs; --force replaces it\n\Z")
        self.assertEqual((self.into / "f").read_bytes(), b"one")
        self.assertEqual((self.into / "g").read_bytes(), b"other")
        self.good("cp", source, self.to(), "--force")
        self.assertEqual((self.into / "f").read_bytes(), b"two")

    def test_a_sparse_file(self):
        self.receive()
        source = self.out / "sparse"
        with open(source, "wb") as file:
            file.truncate(1 << 30)
            for at in (0, 500 << 20, (1 << 30) - 5):
                file.seek(at)
                file.write(b"data")
        self.assertRegex(self.good("cp", source, self.to()), r"\Acopied 1 file, 3\.1 MB and 1\.1 GB of holes in ")
        self.assertEqual(digest_of(source), digest_of(self.into / "sparse"))
        self.assertLessEqual((self.into / "sparse").stat().st_blocks, source.stat().st_blocks)

    def test_what_is_not_copied_is_said(self):
        self.receive()
        self.write("t/f")
        os.mkfifo(self.out / "t/pipe")
        (self.out / "t/escape").symlink_to("/etc/passwd")
        self.write("t/line\nbreak")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.out / "t/socket"))
        self.write("t/closed/within").chmod(0)
        self.write("t/shut/within")
        options = {}
        if os.geteuid() == 0:
            for path in (self.folder, self.out, self.out / "t"):
                path.chmod(0o755)
            options["user"] = NOBODY
        (self.out / "t/shut").chmod(0)
        try:
            done = self.strack("cp", self.out / "t", self.to(), **options)
        except PermissionError:
            self.skipTest("the program cannot be run by another user from where it is")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(re.findall(r"^warning: not copied: .*/t/(.*)$", done.stderr, re.MULTILINE),
                         ["closed/within: cannot be read: Permission denied",
                          "escape: a link to '/etc/passwd', which is not relative",
                          r"line\x0abreak: its name has control characters",
                          "pipe: neither a file, a folder nor a link",
                          "shut: cannot be read: Permission denied",
                          "socket: neither a file, a folder nor a link"])
        self.assertRegex(done.stdout, r"\Acopied 1 file, 1 B in .*; 6 skipped\n\Z")
        self.assertEqual(sorted(os.listdir(self.into / "t")), ["closed", "f"])
        os.chmod(self.out / "t/line\nbreak", 0)
        done = self.strack("cp", self.out / "t/line\nbreak", self.to())
        self.assertEqual((done.returncode, done.stderr.splitlines()[-1]), (1, "error: nothing is left to copy"))

    def test_the_same_source_twice(self):
        self.receive()
        source = self.write("f")
        done = self.strack("cp", source, source, self.to())
        self.assertEqual((done.returncode, done.stderr), (0, f"warning: given twice, copied once: {source}\n"))
        self.assertRegex(done.stdout, r"\Acopied 1 file, 1 B ")

    def test_a_folder_that_is_not_there(self):
        typo = self.folder / "typo"
        self.assertEqual(self.bad("recv", "--bind", self.address, "--dir", typo),
                         f"error: there is no folder '{typo}'. give one that is there, or --create to make it")
        self.assertFalse(typo.exists())
        self.start("recv", "--bind", self.address, "--dir", typo, "--create")
        self.good("cp", self.write("f"), self.to())
        self.assertEqual((typo / "f").read_bytes(), b"x")

    def test_help_of_resume(self):
        said = self.good("cp", "--help")
        self.assertRegex(said, r"\n  --no-resume +send files anew")
        self.assertNotIn("{false}", said)

    # --- folders ---

    def test_folders_that_are_there_keep_their_permissions(self):
        self.write("tree/there/new", b"n")
        self.write("tree/made/f", b"f")
        (self.out / "tree").chmod(0o777)
        (self.out / "tree/there").chmod(0o777)
        (self.out / "tree/made").chmod(0o555)
        (self.into / "tree/there").mkdir(parents=True)
        (self.into / "tree").chmod(0o711)
        (self.into / "tree/there").chmod(0o750)
        self.receive()
        for _ in range(2):
            self.good("cp", self.out / "tree", self.to())
            modes = {name: (self.into / name).stat().st_mode & 0o7777 for name in ("tree", "tree/there", "tree/made")}
            self.assertEqual(modes, {"tree": 0o711, "tree/there": 0o750, "tree/made": 0o555})
        self.assertEqual((self.into / "tree/there/new").read_bytes(), b"n")
        self.assertEqual(os.listdir(self.into), ["tree"])

    def test_a_read_only_folder_for_somebody_who_is_not_root(self):
        options = {}
        if os.geteuid() == 0:
            self.folder.chmod(0o755)
            os.chown(self.into, NOBODY, -1)
            options["user"] = NOBODY
            try:
                self.strack("--version", **options)
            except PermissionError:
                self.skipTest("the program cannot be run by another user from where it is")
        for name in ("a/b/one", "a/b/two", "a/three"):
            self.write("tree/" + name, name.encode())
        for name in ("tree/a/b", "tree/a", "tree"):
            (self.out / name).chmod(0o555)
        self.receive(**options)
        self.good("cp", self.out / "tree", self.to())
        self.assertEqual(tree_of(self.out / "tree"), tree_of(self.into / "tree"))
        self.assertEqual((self.into / "tree").stat().st_mode & 0o777, 0o555)
        # What is added later is not taken, and it is said what is in the way.
        (self.out / "tree/a").chmod(0o755)
        self.write("tree/a/four", b"4")
        said = self.bad("cp", self.out / "tree", self.to(), status=1)
        self.assertRegex(said, r"/four: the receiver may not write into its folder 'tree/a'; `chmod u\+w` on it")
        (self.into / "tree/a").chmod(0o755)
        self.good("cp", self.out / "tree", self.to())
        self.assertEqual((self.into / "tree/a/four").read_bytes(), b"4")

    # --- descriptors ---

    @staticmethod
    def limit_of_files(count):
        return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))}

    def test_more_files_than_may_be_open(self):
        for i in range(200):
            self.write(f"tree/small/{i}", os.urandom(i))
        for i in range(12):
            self.write(f"tree/large/{i}", os.urandom((1 << 20) + i))
        # 64 paths leave a handful for files.
        self.receive("--paths", "64", **self.limit_of_files(110))
        senders = [self.start("cp", self.out / "tree", self.to(f"to{i}"), ready=False) for i in range(4)]
        for sender in senders:
            _, err = self.finish(sender)
            self.assertEqual(err, "")
        for i in range(4):
            self.assertEqual(tree_of(self.out / "tree"), tree_of(self.into / f"to{i}"))
        self.assertFalse((self.into / ".strack").exists())

    def test_too_few_may_be_open(self):
        limited = self.limit_of_files(64)
        done = self.strack("recv", "--bind", self.address, "--dir", self.into, **limited)
        self.assertEqual(done.returncode, 2)
        self.assertEqual(done.stderr, "error: 64 files may be open at a time (`ulimit -n`), and 256 paths need 290. "
                                      "raise the limit, or give --paths 30\n")
        source = self.write("f", os.urandom(3 * MB))
        self.receive("--paths", "30", **limited)
        self.assertEqual(self.strack("cp", source, self.to(), **limited).returncode, 2)
        done = self.strack("cp", source, self.to(), "--paths", "30", **limited)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(digest_of(source), digest_of(self.into / "f"))

    # --- interrupted, and resumed ---

    def begin_large(self, *words, megabytes=150):
        """A copy that is under way, with a part of it safe at the receiver."""
        source = self.large("large", megabytes)
        sender = self.start("cp", source, self.to(), *words, ready=False)
        self.until_safe(sender)
        return source, sender

    def until_safe(self, sender):
        self.until(lambda: sender.poll() is not None or self.safe_bytes() > 0, "something is safe")
        self.assertIsNone(sender.poll(), "the copy ended before it could be interrupted")

    def safe_bytes(self):
        """As the journal says: 44 bytes a block."""
        with contextlib.suppress(OSError):
            return sum(max(0, path.stat().st_size - 200) // 44 << 20 for path in self.into.glob(".strack/*.journal"))
        return 0

    def check_resumed(self, source, *words):
        self.assertFalse((self.into / "large").exists())
        self.assertGreater(self.safe_bytes(), 0)
        said = self.good("cp", source, self.to(), *words)
        found = re.search(r"copied 1 file, ([0-9.]+) MB .*; ([0-9.]+) MB did not have to be sent", said)
        self.assertIsNotNone(found, said)
        sent, kept = map(float, found.groups())
        self.assertGreaterEqual(kept, 10)
        self.assertAlmostEqual(sent + kept, source.stat().st_size / MB, delta=0.2)
        self.assertEqual(digest_of(source), digest_of(self.into / "large"))
        self.assertEqual(os.listdir(self.into), ["large"])

    def test_a_receiver_that_is_killed(self):
        key = self.key()
        receiver = self.receive("--key-file", key)
        source, sender = self.begin_large("--key-file", key, "--peer-timeout", "2s", "--reconnect", "0")
        receiver.kill()
        receiver.wait()
        self.receive("--key-file", key)
        _, err = self.finish(sender, status=1)
        self.assertRegex(err, r"\Aerror: the connection was lost: .*\n.* the same command goes on where it was\n\Z")
        self.check_resumed(source, "--key-file", key)

    def test_a_receiver_that_is_killed_and_started_again(self):
        # Silence alone would tell after an hour: it is the new receiver that does not know the connection.
        receiver = self.receive()
        source, sender = self.begin_large("--peer-timeout", "3600s")
        receiver.kill()
        receiver.wait()
        safe = self.safe_bytes()
        self.receive()
        out, err = self.finish(sender)
        self.assertEqual(err, "the connection was lost: the peer does not know the connection any more: it was "
                              "restarted, or has given it up; connecting again, for up to 60 s\n")
        found = re.search(r"\Acopied 1 file, ([0-9.]+) MB in .*; connected again 1 time\n\Z", out)
        self.assertIsNotNone(found, out)
        # What was safe is not sent again; what was under way, 16 blocks and those not yet noted, may be.
        self.assertLess(float(found.group(1)) * MB, 150 * MB + 80 * (1 << 20))
        self.assertGreater(safe, 0)
        self.assertEqual(digest_of(source), digest_of(self.into / "large"))
        self.assertEqual(os.listdir(self.into), ["large"])

    def test_a_receiver_that_does_not_come_back(self):
        receiver = self.receive()
        source, sender = self.begin_large("--peer-timeout", "1s", "--reconnect", "1s")
        receiver.kill()
        receiver.wait()
        out, err = self.finish(sender, status=1)
        self.assertRegex(err, r"\Athe connection was lost: .*; connecting again, for up to 1 s\n"
                              r"error: nobody answers at .*\n.* the same command goes on where it was\n\Z")
        self.receive()
        self.check_resumed(source)

    def test_a_receiver_that_is_killed_within_a_tree(self):
        self.write("tree/closed/small", b"s")
        self.large("tree/closed/large", 150)
        for i in range(100):
            self.write(f"tree/closed/small{i:03}", os.urandom(i))
        (self.out / "tree/closed").chmod(0o555)
        os.utime(self.out / "tree/closed", ns=(0, 987_654_321))
        receiver = self.receive()
        sender = self.start("cp", self.out / "tree", self.to(), "--peer-timeout", "2s", ready=False)
        self.until_safe(sender)
        receiver.kill()
        receiver.wait()
        self.assertFalse((self.into / "tree/closed/large").exists())
        self.receive()
        out, _ = self.finish(sender)
        self.assertRegex(out, r"\Acopied 102 files, .*; connected again 1 time\n\Z")
        self.assertEqual(tree_of(self.out / "tree"), tree_of(self.into / "tree"))
        self.assertEqual(os.listdir(self.into), ["tree"])

    def test_a_receiver_that_pauses(self):
        receiver = self.receive("--once")
        source, sender = self.begin_large()
        receiver.send_signal(signal.SIGSTOP)
        time.sleep(3)
        self.assertIsNone(sender.poll())
        receiver.send_signal(signal.SIGCONT)
        out, err = self.finish(sender)
        self.assertIn("copied 1 file, 150 MB", out)
        self.assertEqual(err, "")
        self.finish(receiver)
        self.assertEqual(digest_of(source), digest_of(self.into / "large"))

    def test_a_receiver_that_pauses_for_too_long(self):
        receiver = self.receive("--peer-timeout", "2s")
        source, sender = self.begin_large("--peer-timeout", "2s", "--reconnect", "0")
        receiver.send_signal(signal.SIGSTOP)
        _, err = self.finish(sender, status=1)
        self.assertRegex(err, r"\Aerror: the connection was lost: the peer no longer answers\n"
                              r".* the same command goes on where it was\n\Z")
        receiver.send_signal(signal.SIGCONT)
        self.check_resumed(source)

    def test_a_sender_that_is_killed(self):
        self.receive()
        source, sender = self.begin_large()
        sender.kill()
        sender.wait()
        self.check_resumed(source)

    def test_ctrl_c_at_the_sender(self):
        self.receive()
        source, sender = self.begin_large()
        sender.send_signal(signal.SIGINT)
        _, err = self.finish(sender, status=130)
        self.assertRegex(err, r"\Ainterrupted after [0-9.]+ MB of 150 MB: the same command goes on where it was\n\Z")
        self.check_resumed(source)

    def test_ctrl_c_while_nobody_answers(self):
        sender = self.start("cp", self.write("f"), self.to(), ready=False)
        self.until_it_can_be_interrupted(sender)
        sender.send_signal(signal.SIGINT)
        _, err = self.finish(sender, status=130)
        self.assertRegex(err, r"\Ainterrupted after 0 .* of 1 .*\n\Z")

    def test_ctrl_c_at_the_receiver(self):
        receiver = self.receive()
        source, sender = self.begin_large("--reconnect", "0")
        receiver.send_signal(signal.SIGINT)
        _, err = self.finish(receiver, status=130)
        self.assertIn("not finished: this receiver was stopped", err)
        self.finish(sender, status=1)
        self.receive()
        self.check_resumed(source)

    def test_no_resume(self):
        self.receive()
        source, sender = self.begin_large()
        sender.send_signal(signal.SIGINT)
        self.finish(sender, status=130)
        said = self.good("cp", source, self.to(), "--no-resume")
        self.assertNotIn("did not have to be sent", said)
        self.assertEqual(digest_of(source), digest_of(self.into / "large"))

    # --- the disk ---

    def test_a_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, for a small disk of its own")
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=20m", "tmpfs", self.into],
                                 capture_output=True, text=True)
        if mounted.returncode != 0:
            self.skipTest(f"a small disk cannot be mounted here: {mounted.stderr.strip()}")
        self.addCleanup(subprocess.run, ["umount", "--lazy", self.into], check=False)
        receiver = self.receive()
        small = self.write("a small one", b"fits")
        large = self.large("large", 30)
        done = self.strack("cp", small, large, self.to())
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"\Aerror: .*/large: no space left on the receiver's disk: 30 MB needed, [0-9.]+ MB free\n\Z")
        self.assertRegex(done.stdout, r"\Acopied 1 file, 4 B in .*; 1 refused\n\Z")
        self.assertEqual((self.into / "a small one").read_bytes(), b"fits")
        self.assertFalse((self.into / "large").exists())
        self.assertEqual(list(self.into.glob(".strack/*")), [])
        # Of a tree, what was not begun is named, and the folder is as it should be.
        (self.out / "tree").mkdir(mode=0o755)
        large.rename(self.out / "tree/a large one")
        for i in range(200):
            self.write(f"tree/f{i:03}")
        done = self.strack("cp", self.out / "tree", self.to())
        self.assertEqual(done.returncode, 1)
        named = re.findall(r"^error: .*/tree/(f\d+): not begun$", done.stderr, re.MULTILINE)
        self.assertEqual(len(named), 20)
        more = int(re.search(r"^error: and (\d+) more were not begun$", done.stderr, re.MULTILINE)[1])
        self.assertRegex(done.stdout, rf"\Acopied {180 - more} files, .*; 1 refused; {20 + more} not begun\n\Z")
        there = sorted(os.listdir(self.into / "tree"))
        self.assertEqual(there, [f"f{i:03}" for i in range(180 - more)])
        self.assertEqual(named, [f"f{i:03}" for i in range(180 - more, 200 - more)])
        self.assertEqual((self.into / "tree").stat().st_mode & 0o777, 0o755)
        receiver.send_signal(signal.SIGINT)
        _, err = self.finish(receiver, status=130)
        self.assertIn("no space left", err)

    def test_a_folder_that_cannot_be_written(self):
        if os.geteuid() == 0:
            self.skipTest("root writes everywhere")
        self.into.chmod(0o555)
        self.assertIn("nothing can be written", self.bad("recv", "--bind", self.address, "--dir", self.into))

    # --- names ---

    def test_a_name_with_two_addresses(self):
        if os.geteuid() != 0:
            self.skipTest("needs root, for names of its own")
        hosts = self.folder / "hosts"
        hosts.write_text("127.0.0.1 both.test\n::1 both.test\n")

        def named(*words):
            return subprocess.run(["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', hosts,
                                   *map(str, words)], capture_output=True, text=True, timeout=PATIENCE)

        known = named("getent", "ahosts", "both.test")
        if not ("127.0.0.1" in known.stdout and "::1" in known.stdout):
            self.skipTest(f"no such name can be made here: {known.stdout}{known.stderr}")
        source = self.write("f", b"content")
        for i, listening in enumerate((f"127.0.0.1:{self.port}", f"[::1]:{self.port}")):
            receiver = self.start("recv", "--bind", listening, "--dir", self.into)
            done = named(PROGRAM, "cp", source, f"both.test:{self.port}:to{i}")
            self.assertEqual((done.returncode, done.stderr), (0, ""), listening)
            self.assertEqual((self.into / f"to{i}").read_bytes(), b"content")
            self.end(receiver)
            server = self.start("perf", "server", "--bind", listening, "--once")
            done = named(PROGRAM, "perf", "client", f"both.test:{self.port}", "--count", "3", "--connections", "2",
                         "--json")
            self.assertEqual((done.returncode, done.stderr), (0, ""), listening)
            self.assertEqual(json.loads(done.stdout)["messages"], 6)
            self.finish(server)
        done = named(PROGRAM, "cp", source, f"both.test:{self.port}:")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, rf"\Aerror: nobody answers at (127\.0\.0\.1|\[::1\]):{self.port} or "
                                      rf"(127\.0\.0\.1|\[::1\]):{self.port}\. ")

    def test_metrics(self):
        receiver = self.receive("--metrics", "127.0.0.1:0")
        self.good("cp", self.write("f", os.urandom(MB)), self.to())
        samples = scrape(self, metrics_of(receiver))
        self.assertEqual(samples['strack_connections_made_total{service="recv"}'], 1)
        self.assertGreater(samples['strack_received_bytes_total{service="recv"}'], MB)


if __name__ == "__main__":
    unittest.main(verbosity=2)
