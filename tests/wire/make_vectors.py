#!/usr/bin/env python3
"""Writes the test vectors of docs/protocol.md: valid.txt, transport_2.txt, malformed.txt and keys.txt.

It packs bytes by itself, straight from the specification, so that a mistake in src/wire cannot hide in the
vectors. With --check it writes nothing and fails if a file differs from what it would write.

  make_vectors.py FOLDER [--check]
"""

import ctypes
import ctypes.util
import hashlib
import hmac
import pathlib
import struct
import sys

TYPES = ("none data sack probe ping pong hello challenge connect accept reject close close_ack reset").split()
CLOSE_REASONS = "done aborted protocol_error no_resources keys_exhausted going_away".split()
REJECT_REASONS = "none version key_required key_unknown no_key no_cipher busy not_listening terms transport extension".split()

TAG = bytes([0xEE] * 16)  # stands where a cipher would put its own


class Fields(dict):
    """Field name -> text, in the order of the packet."""


def header(kind, flags=0, path=0, connection=0, keyed=False, counter=None):
    fields = Fields(version="2", type=kind, keyed=str(int(keyed)), path_id=str(path),
                    connection_id=f"0x{connection:08x}")
    packed = struct.pack(">BBHI", 0x20 | TYPES.index(kind), flags | (0x80 if keyed else 0), path, connection)
    if counter is not None:
        packed += struct.pack(">Q", counter)
        fields["counter"] = str(counter)
    return packed, fields


def session(kind, body, body_fields, flags=0, path=0, connection=0x5EED0001, counter=None):
    """A packet that is sealed where a counter is given: shown here as opened, its tag a dummy."""
    packed, fields = header(kind, flags, path, connection, counter is not None, counter)
    fields.update(body_fields)
    return packed + body + (TAG if counter is not None else b""), fields


def data(psn, timestamp, message_id, length, offset, payload, tag=None, region=None, retransmission=0, piece=0,
         **rest):
    write = region is not None
    body = struct.pack(">IIIII", psn, timestamp, message_id, length, offset)
    fields = Fields({"data.retransmission": str(retransmission), "data.write": str(int(write)),
                     "data.piece": str(piece), "data.psn": str(psn),
                     "data.timestamp": str(timestamp), "data.message_id": str(message_id),
                     "data.message_length": str(length), "data.offset": str(offset)})
    if write:
        body += struct.pack(">QQ", *region)
        fields.update({"data.region": f"0x{region[0]:016x}", "data.region_offset": str(region[1])})
    else:
        body += struct.pack(">Q", tag)
        fields["data.tag"] = f"0x{tag:016x}"
    if write and region[0] == 0 and len(payload) == 32 and payload[:4] == bytes([1, 0, 0, 0]):
        asked, source, at, reply = struct.unpack(">4xIQQQ", payload)
        fields.update({"request.length": str(asked), "request.region": f"0x{source:016x}", "request.offset": str(at),
                       "request.reply_region": f"0x{reply:016x}"})
    elif write and region[0] == 0 and len(payload) >= 32 and payload[0] == 2:
        op, kind, asked, source, at, reply = struct.unpack(">xBBxIQQQ", payload[:32])
        fields.update({"atomic.op": str(op), "atomic.type": str(kind), "atomic.length": str(asked),
                       "atomic.region": f"0x{source:016x}", "atomic.offset": str(at), "atomic.reply_region": f"0x{reply:016x}"})
    fields["data.payload_length"] = str(len(payload))
    fields["data.payload"] = payload.hex()
    return session("data", body + payload, fields, flags=retransmission | write << 1 | piece << 2, **rest)


def sack(epsn, base, bitmap, recvd, psn, timestamp, hold, ooo, credit, ecn=0, probe_id=None, **rest):
    for_probe = int(probe_id is not None)
    probe_id = probe_id or 0
    body = struct.pack(">IIQIIIIHHI", epsn, base, bitmap, recvd, psn, timestamp, hold, ooo, probe_id, credit)
    fields = Fields({"sack.ecn": str(ecn), "sack.for_probe": str(for_probe), "sack.epsn": str(epsn),
                     "sack.sack_base": str(base), "sack.bitmap": f"0x{bitmap:016x}", "sack.bytes_recvd": str(recvd),
                     "sack.psn": str(psn), "sack.timestamp": str(timestamp), "sack.hold_time_ns": str(hold),
                     "sack.ooo_count": str(ooo), "sack.probe_id": str(probe_id), "sack.credit": str(credit)})
    return session("sack", body, fields, flags=ecn | for_probe << 1, **rest)


def others_sack(epsn, base, bitmap, psn, timestamp, hold, credit, others, **rest):
    """Of transport 2; an other is its PSN, path and mark."""
    packed = sum(((max(other - epsn, 0) | path << 9 | mark << 17) << 18 * i for i, (other, path, mark) in enumerate(others)))
    packed = packed << 2 | len(others)
    return sack(epsn, base, packed >> 48 << 56 | bitmap, packed & TOP, psn, timestamp, hold, packed >> 32 & 65535, credit, **rest)


def probe(psn, timestamp, probe_id, **rest):
    fields = Fields({"probe.psn": str(psn), "probe.timestamp": str(timestamp), "probe.probe_id": str(probe_id)})
    return session("probe", struct.pack(">IIH", psn, timestamp, probe_id), fields, **rest)


def ping(ident, timestamp, credit, padding, **rest):
    fields = Fields({"ping.id": str(ident), "ping.timestamp": str(timestamp), "ping.credit": str(credit),
                     "ping.padding": str(padding)})
    return session("ping", struct.pack(">III", ident, timestamp, credit) + bytes(padding), fields, **rest)


def pong(ident, timestamp, hold, credit, size, ecn=0, **rest):
    fields = Fields({"pong.ecn": str(ecn), "pong.id": str(ident), "pong.timestamp": str(timestamp),
                     "pong.hold_time_ns": str(hold), "pong.credit": str(credit), "pong.size": str(size)})
    return session("pong", struct.pack(">IIIIH", ident, timestamp, hold, credit, size), fields, flags=ecn, **rest)


def close(kind, end_psn, reason, source=0x1A2B3C4D, **rest):
    fields = Fields({"close.end_psn": str(end_psn), "close.source_id": f"0x{source:08x}", "close.reason": reason})
    return session(kind, struct.pack(">IIH", end_psn, source, CLOSE_REASONS.index(reason)), fields, **rest)


def terms(connection, nonce, key_id=0, user=0, psn=0, credit=64, idle=30000, mtu=4096, paths=256, window=1024,
          ciphers=0, transport=1, port=4794, extensions=0):
    packed = (struct.pack(">I", connection) + nonce +
              struct.pack(">IQIIIHHHBBHH", key_id, user, psn, credit, idle, mtu, paths, window, ciphers, transport,
                          port, extensions))
    assert len(packed) == 72
    fields = Fields({"terms.connection_id": f"0x{connection:08x}", "terms.nonce": nonce.hex(),
                     "terms.key_id": f"0x{key_id:08x}", "terms.user_data": str(user), "terms.initial_psn": str(psn),
                     "terms.credit": str(credit), "terms.idle_timeout_ms": str(idle), "terms.mtu": str(mtu),
                     "terms.paths": str(paths), "terms.tracking_window": str(window),
                     "terms.ciphers": f"0x{ciphers:02x}", "terms.transport": str(transport),
                     "terms.reply_port": str(port), "terms.extensions": f"0x{extensions:04x}"})
    return packed, fields


def setup(kind, body, body_fields, connection=0, keyed=False, attempt=0, host=False):
    packed, fields = header(kind, flags=int(host), path=attempt, connection=connection, keyed=keyed)
    fields.update(body_fields)
    return packed + body, fields


def hello(the_terms, size, mac=b"", attempt=0, first=b""):
    packed, fields = the_terms
    fields = Fields(fields)
    if first:
        fields["hello.first"] = first.hex()
    if mac:
        fields["hello.mac"] = mac.hex()
    fields["hello.size"] = str(size)
    body = packed + first + mac
    return setup("hello", body + bytes(size - 8 - len(body)), fields, keyed=bool(mac), attempt=attempt,
                 host=bool(first))


def challenge(echo, cookie, size, connection):
    return setup("challenge", echo + cookie + struct.pack(">H", size),
                 Fields({"challenge.echo": "0x" + echo.hex(), "challenge.cookie": cookie.hex(),
                         "challenge.hello_size": str(size)}), connection)


def connect(the_terms, cookie, mac=b"", attempt=0, first=b""):
    packed, fields = the_terms
    fields = Fields(fields, **{"connect.cookie": cookie.hex()})
    if first:
        fields["connect.first"] = first.hex()
    if mac:
        fields["connect.mac"] = mac.hex()
    return setup("connect", packed + cookie + first + mac, fields, keyed=bool(mac), attempt=attempt,
                 host=bool(first))


def accept(the_terms, connection, mac=b"", second=b""):
    packed, fields = the_terms
    fields = Fields(fields)
    if second:
        fields["accept.second"] = second.hex()
    if mac:
        fields["accept.mac"] = mac.hex()
    return setup("accept", packed + second + mac, fields, connection, keyed=bool(mac), host=bool(second))


def reject(echo, reason, low, high, connection):
    return setup("reject", echo + struct.pack(">BBBB", REJECT_REASONS.index(reason), low, high, 0),
                 Fields({"reject.echo": "0x" + echo.hex(), "reject.reason": reason,
                         "reject.lowest_version": str(low), "reject.highest_version": str(high)}), connection)


def reset(unknown, echo, mac=b""):
    fields = Fields({"reset.unknown_id": f"0x{unknown:08x}", "reset.echo": f"0x{echo:016x}"})
    if mac:
        fields["reset.mac"] = mac.hex()
    return setup("reset", struct.pack(">IQ", unknown, echo) + mac, fields, keyed=bool(mac))


# --- The key schedule, as in the table of docs/protocol.md ----------------------------------------


def blake(size, key, text):
    return hashlib.blake2b(text, digest_size=size, key=key).digest()


def mapped(ipv4, port):
    return bytes(10) + b"\xff\xff" + bytes(ipv4) + struct.pack(">H", port)


class Sodium:
    """The AEADs, from libsodium."""

    def __init__(self):
        found = ctypes.util.find_library("sodium")
        if not found:
            sys.exit("make_vectors.py: libsodium is missing; Debian's package is libsodium23")
        self.library = ctypes.CDLL(found)
        if self.library.sodium_init() < 0:
            sys.exit("make_vectors.py: libsodium cannot start")

    def seal(self, cipher, key, counter, head, body):
        call = getattr(self.library, f"crypto_aead_{cipher}_encrypt")
        out = ctypes.create_string_buffer(len(body) + 16)
        size = ctypes.c_ulonglong(0)
        nonce = bytes(4) + struct.pack(">Q", counter)
        code = call(out, ctypes.byref(size), body, ctypes.c_ulonglong(len(body)), head,
                    ctypes.c_ulonglong(len(head)), None, nonce, key)
        if code != 0:
            sys.exit(f"make_vectors.py: {cipher} is not available on this machine")
        return out.raw[:size.value]

    def public(self, secret):
        out = ctypes.create_string_buffer(32)
        self.library.crypto_scalarmult_base(out, secret)
        return out.raw

    def shared(self, secret, public):
        out = ctypes.create_string_buffer(32)
        if self.library.crypto_scalarmult(out, secret, public) != 0:
            sys.exit("make_vectors.py: a public key that is none")
        return out.raw

    def noise_seal(self, key, text, associated):
        out = ctypes.create_string_buffer(len(text) + 16)
        self.library.crypto_aead_chacha20poly1305_ietf_encrypt(
            out, None, text, ctypes.c_ulonglong(len(text)), associated, ctypes.c_ulonglong(len(associated)), None,
            bytes(12), key)
        return out.raw

    def has_aes(self):
        return bool(self.library.crypto_aead_aes256gcm_is_available())


class Noise:
    """Noise_IK_25519_ChaChaPoly_SHA256 as both sides see it; every message of its two is sealed with nonce 0."""

    def __init__(self, prologue, responder):
        self.chain = self.digest = b"Noise_IK_25519_ChaChaPoly_SHA256"
        self.mix(prologue)
        self.mix(responder)

    def mix(self, data):
        self.digest = hashlib.sha256(self.digest + data).digest()

    def derive(self, data):
        extracted = hmac.digest(self.chain, data, "sha256")
        first = hmac.digest(extracted, b"\1", "sha256")
        return first, hmac.digest(extracted, first + b"\2", "sha256")

    def mix_key(self, data):
        self.chain, self.key = self.derive(data)

    def seal(self, text):
        out = SODIUM.noise_seal(self.key, text, self.digest)
        self.mix(out)
        return out

    def first(self, ephemeral, static, responder, payload):
        e = SODIUM.public(ephemeral)
        self.mix(e)
        self.mix_key(SODIUM.shared(ephemeral, responder))
        s = self.seal(SODIUM.public(static))
        self.mix_key(SODIUM.shared(static, responder))
        return e + s + self.seal(payload)

    def second(self, ephemeral, initiator_ephemeral, initiator, payload):
        e = SODIUM.public(ephemeral)
        self.mix(e)
        self.mix_key(SODIUM.shared(ephemeral, initiator_ephemeral))
        self.mix_key(SODIUM.shared(ephemeral, initiator))
        return e + self.seal(payload)


SODIUM = Sodium()
NONCE_I = bytes(range(0x20, 0x40))
NONCE_R = bytes(range(0xC0, 0xE0))
COOKIE = bytes(range(0x80, 0xA0))
PSK = bytes(range(32))
KEY_ID = int.from_bytes(blake(32, PSK, b"strack2 key id")[:4], "big")
SETUP_KEY = blake(32, PSK, b"strack2 setup")
OFFER = terms(0x1A2B3C4D, NONCE_I, KEY_ID, 7, 0xFFFFFF00, 64, 30000, 4096, 256, 1024, 3)
ANSWER = terms(0x5EED0001, NONCE_R, KEY_ID, 9, 0x00ABCDEF, 128, 20000, 4028, 128, 512, 1)


def macced(make, label, context=b"", tail=b"", end=-16, key=None):
    """The packet with its MAC, which is computed over what lies before it."""
    blank, _ = make(bytes(16))
    return make(blake(16, key or SETUP_KEY, label + context + blank[:end] + tail))


HELLO_KEYED = macced(lambda mac: hello(OFFER, 4168, mac, attempt=255), b"hello", end=80)
CONNECT_KEYED = macced(lambda mac: connect(OFFER, COOKIE, mac, attempt=3), b"connect")
ACCEPT_KEYED = macced(lambda mac: accept(ANSWER, 0x1A2B3C4D, mac), b"accept", context=OFFER[0])
RESET_FROM = mapped((192, 0, 2, 7), 4794)
RESET = macced(lambda mac: reset(0x5EED0001, 123456789, mac), b"reset", tail=RESET_FROM)

# Between hosts with keys of their own: the responder's public key stands for the shared key until the handshake is over.
HOST_I, HOST_R, EPHEMERAL_I, EPHEMERAL_R = (bytes([n]) * 32 for n in (0x11, 0x22, 0x33, 0x44))
PUBLIC_R = SODIUM.public(HOST_R)
DOOR_KEY = blake(32, PUBLIC_R, b"strack2 setup")
HOST_KEY_ID = int.from_bytes(blake(32, PUBLIC_R, b"strack2 key id")[:4], "big")
HOST_OFFER = terms(0x1A2B3C4D, NONCE_I, HOST_KEY_ID, 7, 0xFFFFFF00, ciphers=3, port=40001, extensions=0x0101)
HOST_ANSWER = terms(0x5EED0001, NONCE_R, HOST_KEY_ID, 9, 0x00ABCDEF, ciphers=1, extensions=0x0101)


def reset_secret(identity, ident, port):
    return blake(32, identity, b"strack2 reset secret" + struct.pack(">IH", ident, port))


NOISE = Noise(b"strack2 noise" + HOST_OFFER[0], PUBLIC_R)
FIRST = NOISE.first(EPHEMERAL_I, HOST_I, PUBLIC_R, reset_secret(HOST_I, 0x1A2B3C4D, 40001))
SECOND = NOISE.second(EPHEMERAL_R, SODIUM.public(EPHEMERAL_I), SODIUM.public(HOST_I),
                      reset_secret(HOST_R, 0x5EED0001, 4794))
SPLIT = NOISE.derive(b"")
HANDSHAKE_KEY = blake(32, SPLIT[0], b"strack2 handshake" + SPLIT[1] + NOISE.digest)
HELLO_HOST = macced(lambda mac: hello(HOST_OFFER, 1200, mac, first=FIRST), b"hello", end=208, key=DOOR_KEY)
CONNECT_HOST = macced(lambda mac: connect(HOST_OFFER, COOKIE, mac, first=FIRST), b"connect", key=DOOR_KEY)
ACCEPT_HOST = macced(lambda mac: accept(HOST_ANSWER, 0x1A2B3C4D, mac, SECOND), b"accept", context=HOST_OFFER[0],
                     key=blake(32, HANDSHAKE_KEY, b"strack2 setup"))
RESET_HOST = macced(lambda mac: reset(0x5EED0001, 2**30, mac), b"reset",
                    key=reset_secret(HOST_R, 0x5EED0001, 4794), tail=RESET_FROM)

TOP = 0xFFFFFFFF
PLAIN_OFFER = terms(0x1A2B3C4D, NONCE_I, user=7, psn=12345, port=40001)
PLAIN_ANSWER = terms(0x5EED0001, NONCE_R, user=2**64 - 1, psn=TOP, credit=0, idle=1, mtu=512, paths=1, window=1,
                     transport=255, port=65535, extensions=0xFEFF)

VALID = {
    "data-send": data(1000, 123456789, 3, 8192, 4096, bytes(range(16)), tag=0x1122334455667788, path=7),
    "data-send-empty": data(0, 0, 0, 0, 0, b"", tag=0),
    "data-send-retransmitted": data(TOP, TOP, TOP, TOP, TOP - 3, b"end", tag=2**64 - 1, retransmission=1, path=255),
    "data-write": data(77, 1, 4, 5, 0, b"hello", region=(0xFEEDFACECAFEBEEF, 2**40), path=128),
    "data-write-at-the-end": data(78, 2, 5, 1, 0, b"!", region=(1, 2**64 - 2), retransmission=1),
    "data-read-request": data(81, 4, 8, 32, 0, struct.pack(">IIQQQ", 1 << 24, 20000, 0xFEEDFACECAFEBEEF, 2**40, 0x0123456789ABCDEF),
                              region=(0, 0), path=3),
    "data-read-request-of-nothing": data(82, 4, 9, 32, 0, struct.pack(">IIQQQ", 1 << 24, 0, 1, 2**64 - 1, 2), region=(0, 0)),
    "data-read-request-sealed": data(83, 4, 10, 32, 0, struct.pack(">IIQQQ", 1 << 24, TOP, 1, 0, 2**64 - 1), region=(0, 0), counter=22),
    "data-atomic-request": data(85, 4, 12, 40, 0, struct.pack(">BBBxIQQQ", 2, 3, 8, 8, 0xFEEDFACECAFEBEEF, 64, 0x0123456789ABCDEF) + struct.pack("<Q", 5),
                                region=(0, 0), path=3),
    "data-atomic-request-that-compares": data(86, 4, 13, 48, 0, struct.pack(">BBBxIQQQ", 2, 13, 7, 8, 1, 2**40, 2) + struct.pack("<qq", -1, 7), region=(0, 0)),
    "data-atomic-request-that-reads": data(87, 4, 14, 32, 0, struct.pack(">BBBxIQQQ", 2, 11, 10, 240, 1, 0, 2), region=(0, 0)),
    "data-atomic-request-sealed": data(88, 4, 15, 34, 0, struct.pack(">BBBxIQQQ", 2, 19, 1, 1, 1, 2**64 - 2, 2) + b"\x0f\xf0", region=(0, 0), counter=23),
    "data-atomic-request-of-no-type": data(89, 4, 16, 40, 0, struct.pack(">BBBxIQQQ", 3, 3, 8, 8, 1, 0, 2) + bytes(8), region=(0, 0)),
    "data-write-to-nobody": data(84, 4, 11, 5, 0, b"hello", region=(0, 0)),
    "data-piece": data(79, 3, 6, 9000, 4224, bytes(range(8)), tag=5, piece=1, path=6),
    "data-piece-of-a-write": data(80, 3, 7, 9000, 0, b"first", region=(3, 4), retransmission=1, piece=1),
    "data-send-sealed": data(1001, 5, 3, 8, 0, b"in clear", tag=42, path=9, counter=0),
    "data-write-sealed": data(1002, 6, 4, 3, 0, b"abc", region=(2, 3), path=10, counter=2**40 - 1),
    "sack": sack(1000, 1064, 0x8000000000000001, 4096000, 1127, 99, 2500, 2, 68, path=3),
    "sack-marked": sack(TOP, 0, 0, TOP, 5, TOP, TOP, 65535, TOP, ecn=1, path=255),
    "sack-for-probe": sack(10, 10, 6, 40960, 10, 77, 1, 2, 64, probe_id=65535, path=1),
    "sack-sealed": sack(1000, 1000, 0, 4096, 999, 1, 2, 0, 3, ecn=1, probe_id=4, path=2, connection=0x1A2B3C4D,
                        counter=2**32),
    "sack-of-transport-2": others_sack(1000, 1056, 0x80000000000001, 1056, 99, 2500, 68,
                                       [(1511, 255, 1), (0, 0, 0), (1001, 128, 0)], ecn=1, path=9),
    "probe": probe(1000, 555, 9, path=12),
    "probe-sealed": probe(TOP, TOP, 65535, path=255, counter=17),
    "ping": ping(1, 2, 64, 0, path=3),
    "ping-padded": ping(TOP, 2, 65, 1452),
    "ping-sealed": ping(3, 4, 66, 5, counter=18),
    "pong": pong(1, 2, 3, 64, 20, path=3),
    "pong-marked": pong(TOP, 2, 3, 65, 65507, ecn=1, path=255),
    "pong-sealed": pong(3, 4, 5, 66, 49, counter=19),
    "hello": hello(PLAIN_OFFER, 1200),
    "hello-again": hello(PLAIN_OFFER, 1200, attempt=1),
    "hello-keyed-large": HELLO_KEYED,
    "hello-of-a-host": HELLO_HOST,
    "challenge": challenge(NONCE_I[:8], COOKIE, 1200, 0x1A2B3C4D),
    "connect": connect(PLAIN_OFFER, COOKIE),
    "connect-keyed": CONNECT_KEYED,
    "connect-of-a-host": CONNECT_HOST,
    "accept": accept(PLAIN_ANSWER, 0x1A2B3C4D),
    "accept-keyed": ACCEPT_KEYED,
    "accept-of-a-host": ACCEPT_HOST,
    "reject-version": reject(NONCE_I[:8], "version", 2, 3, 0x1A2B3C4D),
    "reject-terms": reject(NONCE_I[:8], "terms", 1, 15, 0x1A2B3C4D),
    "reject-extension": reject(NONCE_I[:8], "extension", 2, 2, 0x1A2B3C4D),
    "close": close("close", 2048, "done"),
    "close-sealed": close("close", 2048, "going_away", counter=20),
    "close-ack": close("close_ack", TOP, "protocol_error"),
    "close-ack-sealed": close("close_ack", 2048, "done", counter=21),
    "reset": RESET,
    "reset-of-a-host": RESET_HOST,
    "reset-without-a-key": reset(0x5EED0001, 2**64 - 1),
}


def changed(name, *edits):
    """A valid packet with bytes set: (position, value) with position from the end if negative."""
    packed = bytearray(VALID[name][0])
    for position, value in edits:
        packed[position] = value
    return bytes(packed)


def cut(name, count):
    return VALID[name][0][:-count]


def extended(name, tail=b"\0"):
    return VALID[name][0] + tail


def told(name, others, *numbers, **rest):
    """A packet of transport_2.txt, and its meaning."""
    epsn, base, bitmap, psn, timestamp, hold, credit = numbers
    packed, fields = others_sack(*numbers, others, **rest)
    words = Fields(path_id=fields["path_id"], ecn=fields["sack.ecn"], for_probe=fields["sack.for_probe"], epsn=epsn,
                   sack_base=base, bitmap=f"0x{bitmap:014x}", psn=psn, timestamp=timestamp, hold_time_ns=hold,
                   none_beyond=fields["sack.probe_id"], credit=credit)
    words.update({f"other.{i}": f"{psn} {path} {mark}" for i, (psn, path, mark) in enumerate(others)})
    return name, (packed, words)


TRANSPORT_2 = dict([
    told("none", [], 1000, 1000, 0, 999, 99, 2500, 68, path=3),
    told("one", [(1003, 4, 1)], 1000, 1000, 0x2A, 1005, 99, 2500, 68, path=3),
    told("two", [(1003, 4, 0), (0, 255, 1)], 1000, 1000, 2**56 - 1, 1055, TOP, TOP, TOP, ecn=1, path=255),
    told("three", [(1511, 255, 1), (0, 0, 0), (1001, 128, 0)], 1000, 1056, 0x80000000000001, 1056, 99, 2500, 68, ecn=1, path=9),
    told("three-of-the-largest", [(1511, 255, 1)] * 3, 1000, 1000, 2**56 - 1, 1001, 1, 2, 3, path=1),
    told("probe-answered", [], 1000, 1000, 6, 1000, 77, 1, 64, probe_id=1, path=1),
    told("probe-answered-and-more-beyond", [(1060, 2, 0)], 1000, 1000, 6, 1000, 77, 1, 64, probe_id=0, path=1),
])

MALFORMED = {
    "empty": (b"", "too_short"),
    "seven-bytes": (VALID["close"][0][:7], "too_short"),
    "data-send-cut": (VALID["data-send-empty"][0][:-1], "too_short"),
    "data-write-as-long-as-a-send": (VALID["data-write"][0][:43], "too_short"),
    "sack-cut": (cut("sack", 1), "too_short"),
    "sealed-without-a-tag": (VALID["sack-sealed"][0][:31], "too_short"),
    "sealed-close-cut": (cut("close-sealed", 1), "too_short"),
    "hello-1199-bytes": (cut("hello", 1), "too_short"),
    "connect-keyed-without-its-mac": (cut("connect-keyed", 16), "too_short"),
    "sack-and-a-byte": (extended("sack"), "too_long"),
    "probe-and-a-byte": (extended("probe"), "too_long"),
    "connect-of-a-host-as-if-keyed": (changed("connect-of-a-host", (1, 0x80)), "too_long"),
    "accept-of-a-host-cut": (cut("accept-of-a-host", 1), "too_short"),
    "connect-with-a-mac-unasked": (extended("connect", TAG), "too_long"),
    "reset-and-a-byte": (extended("reset"), "too_long"),
    "datagram-beyond-udp": (VALID["ping"][0] + bytes(65508 - 20), "too_long"),
    "version-0": (changed("sack", (0, 0x02)), "unknown_version"),
    "version-1": (changed("hello", (0, 0x16)), "unknown_version"),
    "version-3": (changed("hello", (0, 0x36)), "unknown_version"),
    "type-0": (changed("sack", (0, 0x20)), "unknown_type"),
    "type-14": (changed("sack", (0, 0x2E)), "unknown_type"),
    "type-15": (changed("sack", (0, 0x2F)), "unknown_type"),
    "data-flag-3": (changed("data-send", (1, 0x08)), "reserved_flag"),
    "probe-flag-0": (changed("probe", (1, 0x01)), "reserved_flag"),
    "pong-flag-1": (changed("pong", (1, 0x02)), "reserved_flag"),
    "hello-flag-6": (changed("hello", (1, 0x40)), "reserved_flag"),
    "hello-of-a-host-without-a-key": (changed("hello", (1, 0x01)), "reserved_flag"),
    "challenge-keyed": (changed("challenge", (1, 0x80)), "keyed_not_allowed"),
    "reject-keyed": (changed("reject-version", (1, 0x80)), "keyed_not_allowed"),
    "reset-with-a-mac-unasked": (changed("reset", (1, 0x00)), "too_long"),
    "data-path-256": (changed("data-send", (2, 0x01), (3, 0x00)), "path_not_allowed"),
    "hello-attempt-256": (changed("hello", (2, 0x01)), "path_not_allowed"),
    "close-with-a-path": (changed("close", (3, 0x01)), "path_not_allowed"),
    "sack-without-an-id": (changed("sack", (4, 0), (5, 0), (6, 0), (7, 0)), "connection_id"),
    "hello-with-an-id": (changed("hello", (7, 1)), "connection_id"),
    "reset-of-nobody": (changed("reset", (8, 0), (9, 0), (10, 0), (11, 0)), "connection_id"),
    "close-of-nobody": (changed("close", (12, 0), (13, 0), (14, 0), (15, 0)), "connection_id"),
    "counter-2^40": (changed("data-send-sealed", (10, 1)), "counter_limit"),
    "reset-counter-2^40": (changed("reset", (14, 1)), "counter_limit"),
    "ping-padding-not-zero": (changed("ping-padded", (-1, 1)), "reserved_not_zero"),
    "ping-sealed-padding-not-zero": (changed("ping-sealed", (-17, 1)), "reserved_not_zero"),
    "hello-padding-not-zero": (changed("hello", (80, 1)), "reserved_not_zero"),
    "hello-keyed-padding-not-zero": (changed("hello-keyed-large", (96, 1)), "reserved_not_zero"),
    "hello-of-a-host-padding-not-zero": (changed("hello-of-a-host", (224, 1)), "reserved_not_zero"),
    "reject-reserved-byte": (changed("reject-version", (-1, 1)), "reserved_not_zero"),
    "sack-probe-id-without-a-probe": (changed("sack", (43, 1)), "field_not_allowed"),
    "data-without-payload": (cut("data-send", 16), "no_payload"),
    "piece-of-nothing": (changed("data-send-empty", (1, 0x04)), "no_payload"),
    "data-past-its-message": (extended("data-send-retransmitted"), "beyond_message"),
    "empty-message-with-an-offset": (changed("data-send-empty", (27, 1)), "beyond_message"),
    "empty-message-with-payload": (extended("data-send-empty"), "beyond_message"),
    "data-sealed-past-its-message": (changed("data-send-sealed", (31, 7)), "beyond_message"),
    "write-past-2^64": (changed("data-write-at-the-end", (43, 0xFF)), "beyond_region"),
    "terms-without-an-id": (changed("connect", (8, 0), (9, 0), (10, 0), (11, 0)), "bad_terms"),
    "terms-key-id-without-a-key": (changed("connect", (47, 1)), "bad_terms"),
    "terms-keyed-without-a-key-id": (changed("hello", (1, 0x80), (74, 1)), "bad_terms"),
    "terms-no-idle-timeout": (changed("accept", (67, 0)), "bad_terms"),
    "terms-mtu-511": (changed("accept", (68, 1), (69, 0xFF)), "bad_terms"),
    "terms-no-paths": (changed("accept", (71, 0)), "bad_terms"),
    "terms-257-paths": (changed("accept", (70, 1), (71, 1)), "bad_terms"),
    "terms-no-window": (changed("accept", (73, 0)), "bad_terms"),
    "terms-window-32769": (changed("accept", (72, 0x80), (73, 1)), "bad_terms"),
    "terms-cipher-without-a-key": (changed("accept", (74, 1)), "bad_terms"),
    "terms-no-cipher": (changed("connect-keyed", (74, 0)), "bad_terms"),
    "terms-cipher-unknown": (changed("connect-keyed", (74, 5)), "bad_terms"),
    "accept-two-ciphers": (changed("accept-keyed", (74, 3)), "bad_terms"),
    "terms-no-transport": (changed("connect", (75, 0)), "bad_terms"),
    "terms-no-reply-port": (changed("connect", (76, 0), (77, 0)), "bad_terms"),
    "terms-of-a-host-without-its-extension": (changed("hello-of-a-host", (78, 0)), "bad_terms"),
    "terms-with-a-hosts-extension-unasked": (changed("connect-keyed", (78, 1)), "bad_terms"),
    "reject-version-0": (changed("reject-version", (17, 0)), "bad_terms"),
    "reject-versions-crossed": (changed("reject-version", (17, 4)), "bad_terms"),
    "reject-version-16": (changed("reject-version", (18, 16)), "bad_terms"),
    "close-reason-6": (changed("close", (-1, 6)), "bad_reason"),
    "close-ack-reason-256": (changed("close-ack", (-2, 1)), "bad_reason"),
    "reject-reason-0": (changed("reject-version", (16, 0)), "bad_reason"),
    "reject-reason-11": (changed("reject-version", (16, 11)), "bad_reason"),
}


# --- The files ------------------------------------------------------------------------------------


def hex_lines(label, packed):
    """Hex in lines of 32 bytes; a run of zeros of 16 or more as 00*n."""
    words, i = [], 0
    while i < len(packed):
        run = 0
        while i + run < len(packed) and packed[i + run] == 0:
            run += 1
        if run >= 16:
            words.append(f"00*{run}")
            i += run
        else:
            words.append(f"{packed[i]:02x}")
            i += 1
    lines = [" ".join(words[j:j + 32]) for j in range(0, len(words), 32)] or [""]
    return [f"{label}: {line}".rstrip() for line in lines]


FORMAT = """\
# Made by tests/wire/make_vectors.py. A block is one datagram: its name, its bytes (00*n is n zeros; lines join)"""


def valid_text():
    lines = [FORMAT, "# and its fields. Sealed packets (those with a counter) are shown as opened: the body in clear, and",
             "# ee where the tag would be. keys.txt has some that are really sealed."]
    for name, (packed, fields) in VALID.items():
        lines += ["", f"[{name}]"] + hex_lines("hex", packed)
        lines += [f"{key}: {value}".rstrip() for key, value in fields.items()]
    return "\n".join(lines) + "\n"


def transport_2_text():
    """The packing of the 56 bits, each number of others and a probe's answers."""
    lines = [FORMAT, "# SACKs of transport 2, with what its 56 bits say: `other` is PSN (0: below epsn), path and mark."]
    for name, (packed, fields) in TRANSPORT_2.items():
        lines += ["", f"[{name}]"] + hex_lines("hex", packed) + [f"{key}: {value}" for key, value in fields.items()]
    return "\n".join(lines) + "\n"


def malformed_text():
    lines = [FORMAT, "# and the fault it must be refused with. Sealed ones are shown as opened, as in valid.txt."]
    for name, (packed, fault) in MALFORMED.items():
        lines += ["", f"[{name}]"] + hex_lines("hex", packed) + [f"fault: {fault}"]
    return "\n".join(lines) + "\n"


def keys_text():
    sodium = SODIUM
    both = blake(64, PSK, b"strack2 session" + OFFER[0] + ANSWER[0])
    lines = ["# Made by tests/wire/make_vectors.py: the table of keys in docs/protocol.md, worked through.",
             "# Packets not written out here are in valid.txt under the name given.", "",
             "[keys]", f"psk: {PSK.hex()}", f"key_id: 0x{KEY_ID:08x}", f"setup_key: {SETUP_KEY.hex()}",
             f"initiator_terms: {OFFER[0].hex()}", f"responder_terms: {ANSWER[0].hex()}",
             f"initiator_key: {both[:32].hex()}", f"responder_key: {both[32:].hex()}", "",
             "[hello]", "packet: hello-keyed-large", f"mac: {HELLO_KEYED[0][80:96].hex()}", "",
             "[connect]", "packet: connect-keyed", f"mac: {CONNECT_KEYED[0][-16:].hex()}", "",
             "[accept]", "packet: accept-keyed", f"mac: {ACCEPT_KEYED[0][-16:].hex()}", "",
             "[reset]", "packet: reset", f"sender_address_and_port: {RESET_FROM.hex()}",
             f"mac: {RESET[0][-16:].hex()}"]
    host_both = blake(64, HANDSHAKE_KEY, b"strack2 session" + HOST_OFFER[0] + HOST_ANSWER[0])
    lines += ["", "[hosts]", f"initiator_identity: {HOST_I.hex()}", f"initiator_public: {SODIUM.public(HOST_I).hex()}",
              f"initiator_ephemeral: {EPHEMERAL_I.hex()}", f"responder_identity: {HOST_R.hex()}",
              f"responder_public: {PUBLIC_R.hex()}", f"responder_ephemeral: {EPHEMERAL_R.hex()}",
              f"key_id: 0x{HOST_KEY_ID:08x}", f"initiator_terms: {HOST_OFFER[0].hex()}",
              f"responder_terms: {HOST_ANSWER[0].hex()}",
              f"initiator_reset_secret: {reset_secret(HOST_I, 0x1A2B3C4D, 40001).hex()}",
              f"responder_reset_secret: {reset_secret(HOST_R, 0x5EED0001, 4794).hex()}",
              f"handshake_key: {HANDSHAKE_KEY.hex()}", f"initiator_key: {host_both[:32].hex()}",
              f"responder_key: {host_both[32:].hex()}",
              f"initiator_next_key: {blake(32, host_both[:32], b'strack2 next key').hex()}"]
    for cipher, label in (("chacha20poly1305_ietf", "chacha20-poly1305"), ("aes256gcm", "aes-256-gcm")):
        if cipher == "aes256gcm" and not sodium.has_aes():
            sys.exit("make_vectors.py: this processor has no AES instructions, which libsodium's AES-256-GCM needs")
        for name, sender in (("data-send-sealed", "initiator"), ("sack-sealed", "responder")):
            packed, fields = VALID[name]
            key = both[:32] if sender == "initiator" else both[32:]
            counter = int(fields["counter"])
            out = packed[:16] + sodium.seal(cipher, key, counter, packed[:16], packed[16:-16])
            lines += ["", f"[{label} {name}]", f"packet: {name}", f"sender: {sender}", f"cipher: {label}",
                      f"nonce: {(bytes(4) + struct.pack('>Q', counter)).hex()}"] + hex_lines("sealed", out)
    return "\n".join(lines) + "\n"


def main():
    arguments = sys.argv[1:]
    check = "--check" in arguments
    arguments = [a for a in arguments if a != "--check"]
    if len(arguments) != 1:
        sys.exit(__doc__)
    folder = pathlib.Path(arguments[0])
    bad = []
    for name, text in (("valid.txt", valid_text()), ("transport_2.txt", transport_2_text()),
                       ("malformed.txt", malformed_text()), ("keys.txt", keys_text())):
        if not check:
            (folder / name).write_text(text)
        elif not (folder / name).is_file() or (folder / name).read_text() != text:
            bad.append(name)
    if bad:
        sys.exit(f"{folder}: {', '.join(bad)} not as make_vectors.py would write them: run it without --check, "
                 "look at the difference, and bump the protocol's version if bytes have changed meaning")


if __name__ == "__main__":
    main()
