#!/usr/bin/env python3
"""Runs the Wireshark dissector under tshark on captures of our own packets and compares every field it
shows with the field it should show.

usage: dissector_test.py STRACK.LUA VECTORS_FOLDER [WIRE_SAMPLES_PROGRAM]
"""

import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import make_vectors  # noqa: E402  (names of types and reasons)

SKIP = 77
PORT = 4794
SETTLED = 1_700_000_000


def read_vectors(text):
    """Name -> (datagram, {field: value})."""
    vectors, name = {}, None
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("["):
            name = line[1:-1]
            vectors[name] = (bytearray(), {})
            continue
        key, _, value = line.partition(":")
        value = value.strip()
        if key == "hex":
            for word in value.split():
                byte, _, count = word.partition("*")
                vectors[name][0].extend(bytes([int(byte, 16)]) * int(count or 1))
        else:
            vectors[name][1][key] = value
    return vectors


def udp_frame(source, destination, payload):
    """A raw IPv4 packet; (address, port) each. A UDP checksum of 0 means none."""
    udp = struct.pack(">HHHH", source[1], destination[1], 8 + len(payload), 0) + bytes(payload)
    head = struct.pack(">BBHHHBBH4s4s", 0x45, 2, 20 + len(udp), 0, 0x4000, 64, 17, 0, bytes(source[0]),
                       bytes(destination[0]))
    return head + udp


def write_pcap(path, frames):
    with open(path, "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 0x40000, 101))  # 101: raw IP
        for i, frame in enumerate(frames):
            out.write(struct.pack("<IIII", SETTLED, i, len(frame), len(frame)) + frame)


class Tshark:
    def __init__(self, dissector, folder):
        self.dissector = dissector
        self.folder = pathlib.Path(folder)
        self.names = set()

    def run(self, frames, names):
        """One {name: text} for each frame; text is "" where the field is not shown."""
        capture = self.folder / "test.pcap"
        write_pcap(capture, frames)
        command = ["tshark", "-X", f"lua_script:{self.dissector}", "-r", str(capture), "-n", "-T", "fields",
                   "-E", "separator=|", "-E", "occurrence=a", "-E", "aggregator=;"]
        for name in names:
            command += ["-e", name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        # A Lua error does not change tshark's status; it is in the output.
        complaints = [line for line in done.stderr.splitlines() if "Running as user" not in line and line.strip()]
        if done.returncode != 0 or complaints:
            sys.exit(f"{' '.join(command[:6])} ...: status {done.returncode}\n" + "\n".join(complaints))
        rows = done.stdout.split("\n")[:-1]
        if len(rows) != len(frames):
            sys.exit(f"tshark shows {len(rows)} packets of {len(frames)}")
        return [dict(zip(names, row.split("|"))) for row in rows]


def shown_form(key, value):
    """A field of the vectors as tshark prints it."""
    if not value:
        return ""
    if key == "type":
        return str(make_vectors.TYPES.index(value))
    if key == "close.reason":
        return str(make_vectors.CLOSE_REASONS.index(value))
    if key == "reject.reason":
        return str(make_vectors.REJECT_REASONS.index(value))
    return value


def same(shown, wanted):
    """tshark prints a boolean as 1 or True, depending on its version."""
    return {"True": "1", "False": "0"}.get(shown, shown) == wanted


HEADER = ("version", "type", "keyed", "path_id", "connection_id", "counter")


def check_valid(tshark, vectors, failures):
    keys = sorted({key for _, fields in vectors.values() for key in fields})
    extra = ["strack.fault", "strack.sealed", "strack.tag", "_ws.col.Protocol", "_ws.col.Info", "_ws.malformed",
             "_ws.lua.error"]
    frames = [udp_frame(((192, 0, 2, 1), 50000 + i % 256), ((192, 0, 2, 2), PORT), datagram)
              for i, (datagram, _) in enumerate(vectors.values())]
    rows = tshark.run(frames, [f"strack.{key}" for key in keys] + extra)
    compared = 0
    for (name, (datagram, fields)), row in zip(vectors.items(), rows):
        sealed = "counter" in fields
        for key in keys:
            wanted = shown_form(key, fields.get(key, "")) if not sealed or key in HEADER else ""
            shown = row[f"strack.{key}"]
            if not same(shown, wanted):
                failures.append(f"{name}: strack.{key} is {shown!r}, not {wanted!r}")
            compared += 1
        wanted = (datagram[16:-16].hex(), datagram[-16:].hex()) if sealed else ("", "")
        if (row["strack.sealed"], row["strack.tag"]) != wanted:
            failures.append(f"{name}: the sealed part is not what lies between header and tag")
        if row["_ws.col.Protocol"] != "STrack" or not row["_ws.col.Info"].startswith(fields["type"].upper()):
            failures.append(f"{name}: columns {row['_ws.col.Protocol']!r}, {row['_ws.col.Info']!r}")
        for key in ("strack.fault", "_ws.malformed", "_ws.lua.error"):
            if row[key]:
                failures.append(f"{name}: {key} {row[key]!r} on a valid packet")
    return compared


def check_malformed(tshark, vectors, failures):
    # What UDP cannot carry, and what only shows once opened, no dissector can see.
    def visible(name, datagram):
        keyed_session = len(datagram) > 1 and datagram[1] & 0x80 and datagram[0] & 0x0F in (1, 2, 3, 4, 5, 11, 12)
        hidden = keyed_session and name in ("ping-sealed-padding-not-zero", "data-sealed-past-its-message")
        return 0 < len(datagram) <= 65507 and not hidden

    shown = {name: vector for name, vector in vectors.items() if visible(name, vector[0])}
    if len(vectors) - len(shown) != 4:
        failures.append(f"{len(vectors) - len(shown)} malformed vectors left out, not 4: say here which and why")
    frames = [udp_frame(((192, 0, 2, 1), 50000), ((192, 0, 2, 2), PORT), datagram) for datagram, _ in shown.values()]
    rows = tshark.run(frames, ["strack.fault", "_ws.expert.message", "_ws.expert.severity", "_ws.col.Info",
                               "_ws.lua.error"])
    for (name, (_, fields)), row in zip(shown.items(), rows):
        if row["strack.fault"] != fields["fault"]:
            failures.append(f"{name}: fault {row['strack.fault']!r}, not {fields['fault']!r}")
        if f"refused by every receiver: {fields['fault']}" not in row["_ws.expert.message"]:
            failures.append(f"{name}: expert info is {row['_ws.expert.message']!r}")
        if not row["_ws.col.Info"].endswith(f"[refused: {fields['fault']}]"):
            failures.append(f"{name}: info is {row['_ws.col.Info']!r}")
        if row["_ws.lua.error"]:
            failures.append(f"{name}: {row['_ws.lua.error']}")
    return len(shown)


def check_learning(tshark, vectors, failures):
    """Off the default port, a hello makes both its ends known, its sender's by the port it asks answers to: packets to
    them come from other ports."""
    initiator, responder, other = (192, 0, 2, 1), (192, 0, 2, 2), (192, 0, 2, 3)
    talk = [
        ("before", (initiator, 41000), (responder, 5555), "data-send", False),
        ("hello", (initiator, 40000), (responder, 5555), "hello", True),
        ("challenge", (responder, 42000), (initiator, 40001), "challenge", True),
        ("data from an entropy", (initiator, 41007), (responder, 5555), "data-send", True),
        ("sack from an entropy", (responder, 42001), (initiator, 40001), "sack", True),
        ("sealed", (responder, 42001), (initiator, 40001), "sack-sealed", True),
        ("another host", (other, 41007), (other, 5555), "data-send", False),
        ("to an entropy", (responder, 5555), (initiator, 41007), "data-send", False),
    ]
    frames = [udp_frame(source, destination, vectors[name][0]) for _, source, destination, name, _ in talk]
    rows = tshark.run(frames, ["strack.type", "strack.fault"])
    for (what, _, _, _, ours), row in zip(talk, rows):
        if bool(row["strack.type"]) != ours:
            failures.append(f"learning: {what}: {'not ' if ours else ''}taken for STrack")
    return len(talk)


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    if not shutil.which("tshark"):
        print("skipped: tshark is not installed; Debian's package is tshark")
        sys.exit(SKIP)
    dissector, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    valid = read_vectors((folder / "valid.txt").read_text())
    malformed = read_vectors((folder / "malformed.txt").read_text())
    failures = []
    with tempfile.TemporaryDirectory() as scratch:
        tshark = Tshark(dissector, scratch)
        compared = check_valid(tshark, valid, failures)
        refused = check_malformed(tshark, malformed, failures)
        check_learning(tshark, valid, failures)
        if len(sys.argv) == 4:
            samples = subprocess.run([sys.argv[3], "1300", "0x5eed"], capture_output=True, text=True, check=True)
            compared += check_valid(tshark, read_vectors(samples.stdout), failures)
    if failures:
        sys.exit("\n".join(failures[:40] + [f"{len(failures)} differences"]))
    print(f"{compared} fields compared, {refused} malformed packets named")


if __name__ == "__main__":
    main()
