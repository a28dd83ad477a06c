#!/usr/bin/env python3
"""A decoder and an encoder of docs/protocol.md that share nothing with src/wire nor with make_vectors.py, held to the
vectors both ways: bytes to fields, fields to bytes, and each malformed packet to its fault.

  codec_test.py VECTORS_FOLDER [DECODER_STORM]

With the program of tests/decoders also to what src/wire says of thousands of packets that are right, or nearly.
"""

import pathlib
import subprocess
import sys

TYPES = ["", "data", "sack", "probe", "ping", "pong", "hello", "challenge", "connect", "accept", "reject", "close",
         "close_ack", "reset"]
SEALED = {"data", "sack", "probe", "ping", "pong", "close", "close_ack"}
FLAGS = {"data": 7, "sack": 3, "pong": 1, "hello": 1, "connect": 1, "accept": 1}
WITH_PATH = {"data", "sack", "probe", "ping", "pong", "hello", "connect"}
WITHOUT_ID = {"hello", "connect", "reset"}
CLOSE_REASONS = ["done", "aborted", "protocol_error", "no_resources", "keys_exhausted", "going_away"]
REJECT_REASONS = ["", "version", "key_required", "key_unknown", "no_key", "no_cipher", "busy", "not_listening", "terms",
                  "transport", "extension"]

# Fields as (name, bytes, how it is written): d decimal, x hexadecimal number, b bytes.
TERMS = [("connection_id", 4, "x"), ("nonce", 32, "b"), ("key_id", 4, "x"), ("user_data", 8, "d"),
         ("initial_psn", 4, "d"), ("credit", 4, "d"), ("idle_timeout_ms", 4, "d"), ("mtu", 2, "d"), ("paths", 2, "d"),
         ("tracking_window", 2, "d"), ("ciphers", 1, "x"), ("transport", 1, "d"), ("reply_port", 2, "d"),
         ("extensions", 2, "x")]
TERMS = [("terms." + name, size, form) for name, size, form in TERMS]


def layout(kind, keyed, flags):
    """The fields after the header, but for payload, padding and zeros."""
    host, mac = flags & 1, [("mac", 16, "b")] if keyed else []
    named = lambda fields: [(f"{kind}.{name}", size, form) for name, size, form in fields]
    first = [("first", 128, "b")] if host else []
    if kind == "data":
        where = [("region", 8, "x"), ("region_offset", 8, "d")] if flags & 2 else [("tag", 8, "x")]
        return named([(n, 4, "d") for n in ("psn", "timestamp", "message_id", "message_length", "offset")] + where)
    if kind == "sack":
        return named([("epsn", 4, "d"), ("sack_base", 4, "d"), ("bitmap", 8, "x"), ("bytes_recvd", 4, "d"), ("psn", 4, "d"),
                      ("timestamp", 4, "d"), ("hold_time_ns", 4, "d"), ("ooo_count", 2, "d"), ("probe_id", 2, "d"),
                      ("credit", 4, "d")])
    if kind == "probe":
        return named([("psn", 4, "d"), ("timestamp", 4, "d"), ("probe_id", 2, "d")])
    if kind == "ping":
        return named([("id", 4, "d"), ("timestamp", 4, "d"), ("credit", 4, "d")])
    if kind == "pong":
        return named([("id", 4, "d"), ("timestamp", 4, "d"), ("hold_time_ns", 4, "d"), ("credit", 4, "d"), ("size", 2, "d")])
    if kind in ("close", "close_ack"):
        return [("close.end_psn", 4, "d"), ("close.source_id", 4, "x"), ("close.reason", 2, "close")]
    if kind == "hello":
        return TERMS + named(first + mac)
    if kind == "challenge":
        return named([("echo", 8, "x"), ("cookie", 32, "b"), ("hello_size", 2, "d")])
    if kind == "connect":
        return TERMS + named([("cookie", 32, "b")] + first + mac)
    if kind == "accept":
        return TERMS + named(([("second", 80, "b")] if host else []) + mac)
    if kind == "reject":
        return named([("echo", 8, "x"), ("reason", 1, "reject"), ("lowest_version", 1, "d"), ("highest_version", 1, "d"),
                      ("reserved", 1, "d")])
    return named([("unknown_id", 4, "x"), ("echo", 8, "x")] + mac)


class Fault(Exception):
    pass


def insist(good, fault):
    if not good:
        raise Fault(fault)


def decode(packet):
    """Fields by name, as text; a sealed packet is taken as opened, with its tag."""
    insist(len(packet) >= 8, "too_short")
    insist(len(packet) <= 65507, "too_long")
    insist(packet[0] >> 4 == 2, "unknown_version")
    insist(0 < packet[0] & 15 < 14, "unknown_type")
    kind, keyed, flags = TYPES[packet[0] & 15], packet[1] >> 7, packet[1] & 127
    path, ident = int.from_bytes(packet[2:4], "big"), int.from_bytes(packet[4:8], "big")
    insist(flags & ~FLAGS.get(kind, 0) == 0, "reserved_flag")
    insist(not keyed or kind not in ("challenge", "reject"), "keyed_not_allowed")
    host = kind in ("hello", "connect", "accept") and flags & 1
    insist(keyed or not host, "reserved_flag")
    insist(path < (256 if kind in WITH_PATH else 1), "path_not_allowed")
    insist((ident == 0) == (kind in WITHOUT_ID), "connection_id")
    sealed = keyed and kind in SEALED
    fields = {"version": "2", "type": kind, "keyed": str(keyed), "path_id": str(path), "connection_id": f"0x{ident:08x}"}
    wanted = layout(kind, keyed, flags)
    least = max(sum(size for _, size, _ in wanted), 1192 if kind == "hello" else 0)
    insist(len(packet) >= (32 if sealed else 8), "too_short")
    body = packet[16:-16] if sealed else packet[8:]
    insist(len(body) >= least, "too_short")
    insist(len(body) == least or kind in ("data", "ping", "hello"), "too_long")
    if sealed:
        counter = int.from_bytes(packet[8:16], "big")
        insist(counter < 2**40, "counter_limit")
        fields["counter"] = str(counter)
    for bit, name in enumerate({"data": ["retransmission", "write", "piece"], "sack": ["ecn", "for_probe"],
                                "pong": ["ecn"]}.get(kind, [])):
        fields[f"{kind}.{name}"] = str(flags >> bit & 1)
    at, number = 0, {}
    for name, size, form in wanted:
        raw = body[at:at + size]
        number[name] = value = int.from_bytes(raw, "big")
        reasons = {"close": CLOSE_REASONS, "reject": REJECT_REASONS}.get(form)
        if reasons:
            fields[name] = reasons[value] if value < len(reasons) else ""
        else:
            fields[name] = {"d": str(value), "x": f"0x{value:0{2 * size}x}", "b": raw.hex()}[form]
        at += size
    check(kind, keyed, flags, number, fields, body[at:])
    if kind == "data" and flags & 2 and number["data.region"] == 0:
        fields.update(request(body[at:]))
    if kind == "data":
        fields.update({"data.payload_length": str(len(body) - at), "data.payload": body[at:].hex()})
    elif kind == "ping":
        fields["ping.padding"] = str(len(body) - at)
    elif kind == "hello":
        fields["hello.size"] = str(len(packet))
    fields.pop("reject.reserved", None)
    return fields


def request(payload):
    """What a write to region 0 asks for; nothing where it is no request."""
    asked, source, at, reply = (int.from_bytes(payload[a:b], "big") for a, b in ((4, 8), (8, 16), (16, 24), (24, 32)))
    if len(payload) >= 32 and payload[0] == 2 and payload[3] == 0:
        op, kind = payload[1], payload[2]
        size = (0, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8)[kind] if kind <= 10 else 0
        operands = 0 if op == 11 else asked if op < 13 else 2 * asked
        if 0 in (source, reply, size, asked) or at + asked >= 2**64 or not 1 <= op <= 19 or asked > 240 or asked % size or len(payload) != 32 + operands:
            return {}
        return {"atomic.op": str(op), "atomic.type": str(kind), "atomic.length": str(asked), "atomic.region": f"0x{source:016x}",
                "atomic.offset": str(at), "atomic.reply_region": f"0x{reply:016x}"}
    if len(payload) != 32 or payload[:4] != bytes([1, 0, 0, 0]) or 0 in (source, reply) or at + asked >= 2**64:
        return {}
    return {"request.length": str(asked), "request.region": f"0x{source:016x}", "request.offset": str(at), "request.reply_region": f"0x{reply:016x}"}


def check(kind, keyed, flags, number, fields, rest):
    """What the fields must be for each other."""
    if "terms.mtu" in number:
        n = {name[6:]: value for name, value in number.items() if name.startswith("terms.")}
        ciphers = (1, 2) if kind == "accept" else (1, 2, 3)
        insist(n["connection_id"] and n["idle_timeout_ms"] and n["transport"] and n["reply_port"] and
               bool(n["key_id"]) == bool(keyed) and n["ciphers"] in (ciphers if keyed else (0,)) and n["mtu"] >= 512 and
               1 <= n["paths"] <= 256 and 1 <= n["tracking_window"] <= 32768 and
               n["extensions"] >> 8 & 1 == flags & 1, "bad_terms")
    if kind in ("hello", "ping"):
        insist(not any(rest), "reserved_not_zero")
    elif kind == "data":
        length, offset = number["data.message_length"], number["data.offset"]
        insist(not flags & 2 or number["data.region_offset"] + length < 2**64, "beyond_region")
        insist(rest or (length == 0 and not flags & 4), "no_payload")
        insist(offset + len(rest) <= length, "beyond_message")
    elif kind == "sack":
        insist(flags & 2 or number["sack.probe_id"] == 0, "field_not_allowed")
    elif kind in ("close", "close_ack"):
        insist(fields["close.reason"], "bad_reason")
        insist(number["close.source_id"], "connection_id")
    elif kind == "reject":
        insist(number["reject.reserved"] == 0, "reserved_not_zero")
        insist(fields["reject.reason"], "bad_reason")
        insist(1 <= number["reject.lowest_version"] <= number["reject.highest_version"] <= 15, "bad_terms")
    elif kind == "reset":
        insist(number["reset.unknown_id"], "connection_id")
        insist(not keyed or number["reset.echo"] < 2**40, "counter_limit")


def encode(fields):
    """The packet again; where a sealed one's tag would be, ee."""
    kind, keyed = fields["type"], int(fields["keyed"])
    flags = sum(int(fields.get(f"{kind}.{name}", 0)) << bit for name, bit in (
        ("retransmission", 0), ("write", 1), ("piece", 2), ("ecn", 0), ("for_probe", 1)))
    flags |= "hello.first" in fields or "connect.first" in fields or "accept.second" in fields
    packet = bytes([2 << 4 | TYPES.index(kind), keyed << 7 | flags]) + int(fields["path_id"]).to_bytes(2, "big")
    packet += int(fields["connection_id"], 16).to_bytes(4, "big")
    sealed = keyed and kind in SEALED
    if sealed:
        packet += int(fields["counter"]).to_bytes(8, "big")
    for name, size, form in layout(kind, keyed, flags):
        text = fields.get(name, "0")
        if form == "b":
            packet += bytes.fromhex(text)
        else:
            reasons = {"close": CLOSE_REASONS, "reject": REJECT_REASONS}.get(form)
            packet += (reasons.index(text) if reasons else int(text, 0)).to_bytes(size, "big")
    packet += bytes.fromhex(fields.get("data.payload", "")) + bytes(int(fields.get("ping.padding", 0)))
    if kind == "hello":
        packet += bytes(int(fields["hello.size"]) - len(packet))
    return packet + (b"\xee" * 16 if sealed else b"")


# Transport 2's SACK: where 56 bits of it say which other packets it answers.
def decode_others(number):
    """The bitmap that is left, and (PSN or 0, path, mark) of each."""
    epsn, high = number["sack.epsn"], number["sack.bitmap"] >> 56
    bits = f"{high:08b}{number['sack.ooo_count']:016b}{number['sack.bytes_recvd']:032b}"[::-1]  # bit i at i
    take = lambda first, count: int(bits[first:first + count][::-1], 2)
    others = []
    for i in range(take(0, 2)):
        ahead = take(2 + 18 * i, 9)
        others.append((epsn + ahead if ahead else 0, take(11 + 18 * i, 8), take(19 + 18 * i, 1)))
    return number["sack.bitmap"] & (1 << 56) - 1, others


def encode_others(epsn, bitmap, others):
    """bitmap, bytes_recvd and ooo_count as they travel."""
    bits = ["0"] * 56
    def put(first, count, value):
        bits[first:first + count] = f"{value:0{count}b}"[::-1]
    put(0, 2, len(others))
    for i, (psn, path, mark) in enumerate(others):
        put(2 + 18 * i, 9, psn - epsn if psn else 0)
        put(11 + 18 * i, 8, path)
        put(19 + 18 * i, 1, mark)
    number = lambda first, end: int("".join(bits[first:end])[::-1], 2)
    return f"0x{number(48, 56) << 56 | bitmap:016x}", str(number(0, 32)), str(number(32, 48))


def check_transport_2(name, packet, fields):
    """What is wrong, both ways."""
    found = decode(packet)
    number = {key: int(value, 0) for key, value in found.items() if key.startswith("sack.")}
    bitmap, others = decode_others(number)
    told = {"path_id": found["path_id"], "bitmap": f"0x{bitmap:014x}", "none_beyond": found["sack.probe_id"]}
    told |= {key: found[f"sack.{key}"] for key in ("ecn", "for_probe", "epsn", "sack_base", "psn", "timestamp",
                                                   "hold_time_ns", "credit")}
    told |= {f"other.{i}": " ".join(map(str, other)) for i, other in enumerate(others)}
    if told != fields:
        return [f"{name}: {key} is {told.get(key)}, not {fields.get(key)}"
                for key in sorted(told.keys() | fields.keys()) if told.get(key) != fields.get(key)]
    others = [tuple(map(int, fields[key].split())) for key in sorted(fields) if key.startswith("other.")]
    packed = encode_others(int(fields["epsn"]), int(fields["bitmap"], 16), others)
    again = found | dict(zip(("sack.bitmap", "sack.bytes_recvd", "sack.ooo_count"), packed))
    return [] if encode(again) == packet else [f"{name}: its fields make other bytes"]


def read(path):
    """Name, packet and lines of each block."""
    for block in path.read_text().split("\n[")[1:]:
        name, _, lines = block.partition("]\n")
        packet, fields = b"", {}
        for line in lines.strip().splitlines():
            key, _, value = line.partition(":")
            if key == "hex":
                for word in value.split():
                    byte, _, count = word.partition("*")
                    packet += bytes.fromhex(byte) * int(count or 1)
            else:
                fields[key] = value.strip()
        yield name, packet, fields


def check_storm(program):
    """What is wrong; how many packets were refused, and how many taken."""
    said = subprocess.run([program, "--only", "wire", "--runs", "8000", "--print"], capture_output=True, text=True, check=True).stdout
    wrong, counts = [], [0, 0]
    for line in said.splitlines():
        digits, _, taken = line.rpartition(" ")
        if taken not in ("0", "1"):
            break  # the figures at the end
        packet = bytes.fromhex(digits)
        counts[int(taken)] += 1
        try:
            again = encode(decode(packet))
            sealed = packet[1] >> 7 and TYPES[packet[0] & 15] in SEALED
            same = again[:-16] == packet[:-16] if sealed else again == packet
            fault = "" if same else "other bytes again"
        except Fault as refused:
            fault = str(refused)
        if (fault == "") != (taken == "1"):
            wrong.append(f"{digits}: {fault or 'taken'}, which src/wire {'takes' if taken == '1' else 'refuses'}")
    return wrong, counts


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder, wrong, count = pathlib.Path(sys.argv[1]), [], 0
    for name, packet, fields in read(folder / "valid.txt"):
        count += 1
        try:
            found = decode(packet)
        except Fault as fault:
            wrong.append(f"{name}: refused for {fault}")
            continue
        wrong += [f"{name}: {key} is {found.get(key)}, not {fields.get(key)}"
                  for key in sorted(found.keys() | fields.keys()) if found.get(key) != fields.get(key)]
        if encode(fields) != packet:
            wrong.append(f"{name}: its fields make other bytes")
    kinds = set()
    for name, packet, fields in read(folder / "transport_2.txt"):
        count += 1
        kinds.add((fields["for_probe"], sum(key.startswith("other.") for key in fields)))
        wrong += check_transport_2(name, packet, fields)
    if not {("0", 0), ("0", 1), ("0", 2), ("0", 3), ("1", 0)} <= kinds:
        wrong.append("transport 2: not every number of others has a vector, or no probe's answer has")
    for name, packet, fields in read(folder / "malformed.txt"):
        count += 1
        try:
            decode(packet)
            wrong.append(f"{name}: taken, not refused for {fields['fault']}")
        except Fault as fault:
            if str(fault) != fields["fault"]:
                wrong.append(f"{name}: refused for {fault}, not {fields['fault']}")
    counts = [0, 0]
    if len(sys.argv) == 3:
        found, counts = check_storm(sys.argv[2])
        wrong += found[:20]
        if min(counts) < 1000:
            wrong.append(f"decoder_storm: only {counts[1]} packets that are taken, {counts[0]} that are refused")
    if wrong or count < 100:
        sys.exit("\n".join(wrong) or f"only {count} vectors in {folder}")
    print(f"{count} vectors, both ways; {counts[1]} packets taken and {counts[0]} refused, as src/wire does")


if __name__ == "__main__":
    main()
