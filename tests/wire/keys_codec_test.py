#!/usr/bin/env python3
"""The keys of docs/protocol.md a second time: what vectors/keys.txt says is worked out from the packets alone by both sides of a
set-up, with ciphers.py and codec_test.py, which share nothing with src, libsodium or make_vectors.py. Sealed packets are opened, made
again, and refused when a byte of them is another; ciphers.py itself is held to published vectors.

usage: keys_codec_test.py VECTORS_FOLDER [unittest arguments]
"""

import hashlib
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import ciphers  # noqa: E402
import codec_test  # noqa: E402

FOLDER = pathlib.Path(sys.argv.pop(1)) if len(sys.argv) > 1 else pathlib.Path(__file__).resolve().parent / "vectors"
TERMS = slice(8, 80)  # of a hello, connect or accept
CIPHERS = {"chacha20-poly1305": ciphers.ChaChaPoly, "aes-256-gcm": ciphers.AesGcm}
unhex = bytes.fromhex


def keyed_hash(size, key, text):
    return hashlib.blake2b(text, digest_size=size, key=key).digest()


def key_id(secret):
    return f"0x{int.from_bytes(keyed_hash(32, secret, b'strack2 key id')[:4], 'big') or 1:08x}"


def setup_key(secret):
    return keyed_hash(32, secret, b"strack2 setup")


def session(secret, offer, answer):
    both = keyed_hash(64, secret, b"strack2 session" + offer + answer)
    return {"initiator": both[:32], "responder": both[32:]}


def keys_file():
    """{block: {key: value}}; lines of one key join."""
    blocks = {}
    for block in (FOLDER / "keys.txt").read_text().split("\n[")[1:]:
        name, _, lines = block.partition("]\n")
        values = blocks.setdefault(name, {})
        for line in lines.strip().splitlines():
            key, _, value = line.partition(": ")
            values[key] = values.get(key, "") + value
    return blocks


class Published(unittest.TestCase):
    def test_x25519(self):  # RFC 7748, 5.2
        for scalar, point, result in (
                ("a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4", "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
                 "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552"),
                ("4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d", "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
                 "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957")):
            self.assertEqual(ciphers.x25519(unhex(scalar), unhex(point)).hex(), result)
        self.assertEqual(ciphers.x25519((9).to_bytes(32, "little")).hex(), "422c8e7a6227d7bca1350b3e2bb7279f7897b87bb6854b783c60e80311ae3079")

    def test_chacha20_poly1305(self):  # RFC 8439, 2.8.2
        cipher, nonce, head = ciphers.ChaChaPoly(bytes(range(0x80, 0xA0))), unhex("070000004041424344454647"), unhex("50515253c0c1c2c3c4c5c6c7")
        text = b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would be it."
        sealed = ciphers.seal(cipher, nonce, head, text)
        self.assertEqual(sealed[:16].hex(), "d31a8d34648e60db7b86afbc53ef7ec2")
        self.assertEqual(sealed[-16:].hex(), "1ae10b594f09e26a7e902ecbd0600691")
        self.assertEqual(ciphers.unseal(cipher, nonce, head, sealed), text)

    def test_aes_256(self):  # FIPS 197, C.3
        found = ciphers.aes_block(ciphers.aes_schedule(bytes(range(32))), unhex("00112233445566778899aabbccddeeff"))
        self.assertEqual(found.hex(), "8ea2b7ca516745bfeafc49904b496089")

    def test_aes_256_gcm(self):  # McGrew and Viega, test case 16
        cipher = ciphers.AesGcm(unhex("feffe9928665731c6d6a8f9467308308") * 2)
        nonce, head = unhex("cafebabefacedbaddecaf888"), unhex("feedfacedeadbeeffeedfacedeadbeefabaddad2")
        text = unhex("d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39")
        sealed = ciphers.seal(cipher, nonce, head, text)
        self.assertEqual(sealed.hex(), "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e63"
                                       "93ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b")
        self.assertEqual(ciphers.unseal(cipher, nonce, head, sealed), text)

    def test_noise(self):  # of cacophony, as in src/udp/noise_test.cpp
        prologue = b"John Galt"
        first, second = b"Ludwig von Mises", b"Murray Rothbard"
        initiator_key, responder_key = (unhex(key) for key in ("e61ef9919cde45dd5f82166404bd08e38bceb5dfdfded0a34c8df7ed542214d1",
                                                               "4a3acbfdb163dec651dfa3194dece676d437029c62a408b4c5ea9114246e4893"))
        one = ciphers.Initiator(prologue, initiator_key, unhex("893e28b9dc6ca8d611ab664754b8ceb7bac5117349a4439a6b0569da977c464a"),
                                ciphers.x25519(responder_key))
        other = ciphers.Responder(prologue, responder_key, unhex("bbdb4cdbd309f1a1f2e1456967fe288cadd6f712d65dc7b7793d5e63da6b375b"))
        sent = one.write(first)
        self.assertEqual(sent.hex(), "ca35def5ae56cec33dc2036731ab14896bc4c75dbb07a61f879f8e3afa4c7944718da798efbcd91528520204f904b9bd6c7413dccdc214d951e15253e39987f18146e8"
                                     "cd0873654207148333479d4d16c289f0294b29960a72f48e0b7bba2e89083169825e59642148d492020664ccf7")
        self.assertEqual(other.read(sent), (ciphers.x25519(initiator_key), first))
        sent = other.write(second)
        self.assertEqual(sent.hex(), "95ebc60d2b1fa672c1f46a8aa265ef51bfe38e7ccb39ec5be34069f1448088435361e70b2ed446e6c9ec387d1d6b3b840f194e373979d241b203c4acafccf5")
        self.assertEqual(one.read(sent), second)
        self.assertEqual(one.digest.hex(), "0b0f68fb0c27e03ce9b97565995ed4838cc0581b762ef72b062f6a546419fad7")
        self.assertEqual((one.digest, one.finish()), (other.digest, other.finish()))


class Keys(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.keys = keys_file()
        cls.packets = {name: packet for name, packet, _ in codec_test.read(FOLDER / "valid.txt")}

    def mac(self, packet, before, secret, label, context=b"", tail=b""):
        """Is it the right one? It lies behind `before` bytes."""
        self.assertEqual(packet[before:before + 16], keyed_hash(16, secret, label + context + packet[:before] + tail), label)

    def test_a_shared_key(self):
        told = self.keys["keys"]
        psk = unhex(told["psk"])
        self.assertEqual((key_id(psk), setup_key(psk).hex()), (told["key_id"], told["setup_key"]))
        packet = {name: self.packets[self.keys[name]["packet"]] for name in ("hello", "connect", "accept", "reset")}
        offer, answer = packet["connect"][TERMS], packet["accept"][TERMS]
        self.assertEqual((packet["hello"][TERMS], answer), (offer, unhex(told["responder_terms"])))
        for name in ("hello", "connect", "accept"):
            self.assertEqual(codec_test.decode(packet[name])["terms.key_id"], key_id(psk))
        self.mac(packet["hello"], 80, setup_key(psk), b"hello")
        self.mac(packet["connect"], len(packet["connect"]) - 16, setup_key(psk), b"connect")
        self.mac(packet["accept"], len(packet["accept"]) - 16, setup_key(psk), b"accept", offer)
        self.mac(packet["reset"], len(packet["reset"]) - 16, setup_key(psk), b"reset", tail=unhex(self.keys["reset"]["sender_address_and_port"]))
        for name in packet:
            self.assertIn(self.keys[name]["mac"], packet[name].hex())
        made = session(psk, offer, answer)
        self.assertEqual([made[side].hex() for side in ("initiator", "responder")], [told["initiator_key"], told["responder_key"]])

    def test_sealed_packets(self):
        """Opened from the bytes as they travel: what is inside is what valid.txt has."""
        told = self.keys["keys"]
        keys = session(unhex(told["psk"]), unhex(told["initiator_terms"]), unhex(told["responder_terms"]))
        seen = set()
        for name, one in self.keys.items():
            if "sealed" not in one:
                continue
            seen.add((one["cipher"], one["sender"]))
            cipher, packet = CIPHERS[one["cipher"]](keys[one["sender"]]), unhex(one["sealed"])
            nonce = bytes(4) + packet[8:16]
            self.assertEqual(nonce.hex(), one["nonce"], name)
            clear = packet[:16] + ciphers.unseal(cipher, nonce, packet[:16], packet[16:])
            shown = self.packets[one["packet"]]
            self.assertEqual(clear + b"\xee" * 16, shown, name)
            fields = codec_test.decode(shown)
            again = codec_test.encode(fields)[:-16]
            self.assertEqual(again[:16] + ciphers.seal(cipher, nonce, again[:16], again[16:]), packet, name)
            for at in range(len(packet)):
                changed = packet[:at] + bytes([packet[at] ^ 1]) + packet[at + 1:]
                with self.assertRaises(ciphers.Forged, msg=f"{name}, byte {at}"):
                    ciphers.unseal(cipher, bytes(4) + changed[8:16], changed[:16], changed[16:])
            with self.assertRaises(ciphers.Forged):
                ciphers.unseal(CIPHERS[one["cipher"]](keys["initiator" if one["sender"] == "responder" else "responder"]), nonce, packet[:16], packet[16:])
        self.assertEqual(seen, {(cipher, side) for cipher in CIPHERS for side in ("initiator", "responder")})

    def test_hosts(self):
        """A responder that has its identity and the connect; an initiator that has its own two keys and the accept."""
        told = self.keys["hosts"]
        public = unhex(told["responder_public"])
        hello, connect, accept, reset = (self.packets[f"{name}-of-a-host"] for name in ("hello", "connect", "accept", "reset"))
        offer, answer = connect[TERMS], accept[TERMS]
        self.assertEqual((hello[TERMS], offer, answer), (offer, unhex(told["initiator_terms"]), unhex(told["responder_terms"])))
        self.assertEqual((key_id(public), codec_test.decode(connect)["terms.key_id"]), (told["key_id"],) * 2)
        self.mac(hello, 208, setup_key(public), b"hello")
        self.mac(connect, len(connect) - 16, setup_key(public), b"connect")
        first, second = unhex(codec_test.decode(connect)["connect.first"]), unhex(codec_test.decode(accept)["accept.second"])
        self.assertEqual(hello[80:208], first)

        responder = ciphers.Responder(b"strack2 noise" + offer, unhex(told["responder_identity"]), unhex(told["responder_ephemeral"]))
        self.assertEqual([read.hex() for read in responder.read(first)], [told["initiator_public"], told["initiator_reset_secret"]])
        self.assertEqual(responder.write(unhex(told["responder_reset_secret"])), second)
        initiator = ciphers.Initiator(b"strack2 noise" + offer, unhex(told["initiator_identity"]), unhex(told["initiator_ephemeral"]), public)
        self.assertEqual(initiator.write(unhex(told["initiator_reset_secret"])), first)
        reset_secret = initiator.read(second)
        self.assertEqual(reset_secret.hex(), told["responder_reset_secret"])

        for side in (initiator, responder):
            one, two = side.finish()
            outcome = keyed_hash(32, one, b"strack2 handshake" + two + side.digest)
            self.assertEqual(outcome.hex(), told["handshake_key"])
        self.mac(accept, len(accept) - 16, setup_key(outcome), b"accept", offer)
        made = session(outcome, offer, answer)
        self.assertEqual([made[side].hex() for side in ("initiator", "responder")], [told["initiator_key"], told["responder_key"]])
        self.assertEqual(keyed_hash(32, made["initiator"], b"strack2 next key").hex(), told["initiator_next_key"])
        self.mac(reset, len(reset) - 16, reset_secret, b"reset", tail=unhex(self.keys["reset"]["sender_address_and_port"]))

    def test_reset_secrets(self):
        told = self.keys["hosts"]
        for side, packet in (("initiator", "connect-of-a-host"), ("responder", "accept-of-a-host")):
            fields = codec_test.decode(self.packets[packet])
            text = bytes.fromhex(fields["terms.connection_id"][2:]) + int(fields["terms.reply_port"]).to_bytes(2, "big")
            self.assertEqual(keyed_hash(32, unhex(told[f"{side}_identity"]), b"strack2 reset secret" + text).hex(), told[f"{side}_reset_secret"])

    def test_what_was_changed_is_refused(self):
        """A handshake's messages, the offer that they are bound to, and points of low order."""
        told = self.keys["hosts"]
        connect, accept = (self.packets[f"{name}-of-a-host"] for name in ("connect", "accept"))
        offer, first, second = connect[TERMS], connect[112:240], accept[80:160]
        identity, ephemeral = unhex(told["responder_identity"]), unhex(told["responder_ephemeral"])
        for at in (0, 31, 32, 79, 80, 127):
            with self.assertRaises(ciphers.Forged, msg=at):
                ciphers.Responder(b"strack2 noise" + offer, identity, ephemeral).read(first[:at] + bytes([first[at] ^ 1]) + first[at + 1:])
        with self.assertRaises(ciphers.Forged):
            ciphers.Responder(b"strack2 noise" + offer[:-1] + bytes([offer[-1] ^ 2]), identity, ephemeral).read(first)
        with self.assertRaises(ciphers.Forged):
            ciphers.Responder(b"strack2 noise" + offer, identity, ephemeral).read(bytes(32) + first[32:])
        for at in (0, 32, 79):
            initiator = ciphers.Initiator(b"strack2 noise" + offer, unhex(told["initiator_identity"]), unhex(told["initiator_ephemeral"]),
                                          unhex(told["responder_public"]))
            initiator.write(unhex(told["initiator_reset_secret"]))
            with self.assertRaises(ciphers.Forged, msg=at):
                initiator.read(second[:at] + bytes([second[at] ^ 1]) + second[at + 1:])


if __name__ == "__main__":
    unittest.main(verbosity=2)
