"""What docs/protocol.md takes of cryptography, in Python alone: X25519, ChaCha20-Poly1305, AES-256-GCM, and the handshake
Noise_IK_25519_ChaChaPoly_SHA256. For tests: slow, and no secret is kept from who can measure times.
The handshake is written apart from that of make_vectors.py, over libsodium, so that one's mistake shows in the other.
"""

import hashlib
import hmac
import struct

P = 2**255 - 19


class Forged(Exception):
    pass


# --- X25519 (RFC 7748) ----------------------------------------------------------------------------

def x25519(scalar, point=(9).to_bytes(32, "little")):
    k = int.from_bytes(scalar, "little") & ~7 & (1 << 254) - 1 | 1 << 254
    u = int.from_bytes(point, "little") & (1 << 255) - 1
    x2, z2, x3, z3 = 1, 0, u, 1
    for bit in range(254, -1, -1):
        if k >> bit & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
        a, b, c, d = x2 + z2, x2 - z2, x3 + z3, x3 - z3
        aa, bb, da, cb = a * a % P, b * b % P, d * a % P, c * b % P
        x3, z3 = (da + cb) ** 2 % P, u * (da - cb) ** 2 % P
        x2, z2 = aa * bb % P, (aa - bb) * (aa + 121665 * (aa - bb)) % P
        if k >> bit & 1:
            x2, z2, x3, z3 = x3, z3, x2, z2
    return (x2 * pow(z2, P - 2, P) % P).to_bytes(32, "little")


# --- ChaCha20-Poly1305 (RFC 8439) -----------------------------------------------------------------

def rotated(value, by):
    return (value << by | value >> 32 - by) & 0xFFFFFFFF


def quarter(s, a, b, c, d):
    for to, plus, turn, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[to] = s[to] + s[plus] & 0xFFFFFFFF
        s[turn] = rotated(s[turn] ^ s[to], by)


def chacha_block(key, counter, nonce):
    start = [0x61707865, 0x3320646E, 0x79622D32, 0x6B206574, *struct.unpack("<8I", key), counter, *struct.unpack("<3I", nonce)]
    s = start[:]
    for _ in range(10):
        for i in range(4):
            quarter(s, i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *(a + b & 0xFFFFFFFF for a, b in zip(s, start)))


def crossed(text, block):
    """With a stream of keys, of which `block` gives each piece."""
    out = b""
    for number, at in enumerate(range(0, len(text), len(block(0)))):
        piece = text[at:at + len(block(0))]
        out += bytes(a ^ b for a, b in zip(piece, block(number)))
    return out


def padded(text):
    return text + bytes(-len(text) % 16)


class ChaChaPoly:
    def __init__(self, key):
        self.key = key

    def cross(self, nonce, text):
        return crossed(text, lambda i: chacha_block(self.key, 1 + i, nonce))

    def tag(self, nonce, head, sealed):
        once = chacha_block(self.key, 0, nonce)
        r = int.from_bytes(once[:16], "little") & 0x0FFFFFFC0FFFFFFC0FFFFFFC0FFFFFFF
        text, total = padded(head) + padded(sealed) + struct.pack("<QQ", len(head), len(sealed)), 0
        for at in range(0, len(text), 16):
            total = (total + int.from_bytes(text[at:at + 16], "little") + (1 << 128)) * r % (2**130 - 5)
        return (total + int.from_bytes(once[16:32], "little") & (1 << 128) - 1).to_bytes(16, "little")


# --- AES-256-GCM (FIPS 197, NIST SP 800-38D) ------------------------------------------------------

def doubled(byte):
    return byte << 1 ^ (0x11B if byte & 0x80 else 0)


def times(a, b):
    out = 0
    while b:
        out ^= a if b & 1 else 0
        a, b = doubled(a), b >> 1
    return out


def substitutions():
    inverse = [0] + [next(b for b in range(256) if times(a, b) == 1) for a in range(1, 256)]
    return [b ^ 0x63 ^ (b << 1 | b >> 7) & 255 ^ (b << 2 | b >> 6) & 255 ^ (b << 3 | b >> 5) & 255 ^ (b << 4 | b >> 4) & 255 for b in inverse]


BOX = substitutions()


def aes_schedule(key):
    words, constant = [key[i:i + 4] for i in range(0, 32, 4)], 1
    while len(words) < 60:
        last = words[-1]
        if len(words) % 8 == 0:
            last = bytes(BOX[b] for b in last[1:] + last[:1])
            last = bytes([last[0] ^ constant]) + last[1:]
            constant = doubled(constant)
        elif len(words) % 8 == 4:
            last = bytes(BOX[b] for b in last)
        words.append(bytes(a ^ b for a, b in zip(words[-8], last)))
    return [b"".join(words[i:i + 4]) for i in range(0, 60, 4)]


def aes_block(schedule, block):
    state = bytes(a ^ b for a, b in zip(block, schedule[0]))
    for number, key in enumerate(schedule[1:], 1):
        state = [BOX[state[(i + 4 * (i % 4)) % 16]] for i in range(16)]
        if number < len(schedule) - 1:
            mixed = []
            for column in (state[i:i + 4] for i in range(0, 16, 4)):
                for i in range(4):
                    a, b, c, d = (column[(i + j) % 4] for j in range(4))
                    mixed.append(doubled(a) ^ doubled(b) ^ b ^ c ^ d)
            state = mixed
        state = bytes(a ^ b for a, b in zip(state, key))
    return state


def gcm_times(x, y):
    out = 0
    for bit in range(127, -1, -1):
        out ^= y if x >> bit & 1 else 0
        y = y >> 1 ^ (0xE1 << 120 if y & 1 else 0)
    return out


class AesGcm:
    def __init__(self, key):
        self.schedule = aes_schedule(key)
        self.h = int.from_bytes(aes_block(self.schedule, bytes(16)), "big")

    def cross(self, nonce, text):
        return crossed(text, lambda i: aes_block(self.schedule, nonce + struct.pack(">I", 2 + i)))

    def tag(self, nonce, head, sealed):
        text, total = padded(head) + padded(sealed) + struct.pack(">QQ", 8 * len(head), 8 * len(sealed)), 0
        for at in range(0, len(text), 16):
            total = gcm_times(total ^ int.from_bytes(text[at:at + 16], "big"), self.h)
        return bytes(a ^ b for a, b in zip(total.to_bytes(16, "big"), aes_block(self.schedule, nonce + b"\0\0\0\1")))


def seal(cipher, nonce, head, text):
    sealed = cipher.cross(nonce, text)
    return sealed + cipher.tag(nonce, head, sealed)


def unseal(cipher, nonce, head, sealed):
    body, tag = sealed[:-16], sealed[-16:]
    if len(sealed) < 16 or cipher.tag(nonce, head, body) != tag:
        raise Forged
    return cipher.cross(nonce, body)


# --- Noise_IK_25519_ChaChaPoly_SHA256 (revision 34) -----------------------------------------------

class Handshake:
    """One side of it. All keys are used once, with nonce 0."""

    def __init__(self, prologue, responder_public):
        self.chain = self.digest = b"Noise_IK_25519_ChaChaPoly_SHA256"
        self.key = None
        self.mix(prologue)
        self.mix(responder_public)

    def mix(self, data):
        self.digest = hashlib.sha256(self.digest + data).digest()

    def derive(self, data):
        extracted = hmac.digest(self.chain, data, "sha256")
        first = hmac.digest(extracted, b"\1", "sha256")
        return first, hmac.digest(extracted, first + b"\2", "sha256")

    def agree(self, mine, theirs):
        shared = x25519(mine, theirs)
        if not any(shared):
            raise Forged
        self.chain, self.key = self.derive(shared)

    def seal(self, text):
        out = seal(ChaChaPoly(self.key), bytes(12), self.digest, text)
        self.mix(out)
        return out

    def unseal(self, sealed):
        text = unseal(ChaChaPoly(self.key), bytes(12), self.digest, sealed)
        self.mix(sealed)
        return text

    def finish(self):
        return self.derive(b"")


class Initiator(Handshake):
    def __init__(self, prologue, identity, ephemeral, responder_public):
        super().__init__(prologue, responder_public)
        self.identity, self.ephemeral, self.responder = identity, ephemeral, responder_public

    def write(self, payload):
        e = x25519(self.ephemeral)
        self.mix(e)
        self.agree(self.ephemeral, self.responder)
        s = self.seal(x25519(self.identity))
        self.agree(self.identity, self.responder)
        return e + s + self.seal(payload)

    def read(self, message):
        e = message[:32]
        self.mix(e)
        self.agree(self.ephemeral, e)
        self.agree(self.identity, e)
        return self.unseal(message[32:])


class Responder(Handshake):
    def __init__(self, prologue, identity, ephemeral):
        super().__init__(prologue, x25519(identity))
        self.identity, self.ephemeral = identity, ephemeral

    def read(self, message):
        """The initiator's public key, and its payload."""
        self.e = message[:32]
        self.mix(self.e)
        self.agree(self.identity, self.e)
        self.initiator = self.unseal(message[32:80])
        self.agree(self.identity, self.initiator)
        return self.initiator, self.unseal(message[80:])

    def write(self, payload):
        e = x25519(self.ephemeral)
        self.mix(e)
        self.agree(self.ephemeral, self.e)
        self.agree(self.ephemeral, self.initiator)
        return e + self.seal(payload)
