#!/usr/bin/env python3
"""strack.udp: two endpoints in one loop, over loopback. usage: udp_test.py [unittest arguments]; PYTHONPATH names the built package."""

import asyncio
import unittest

import numpy as np
import strack
from strack import udp

LIMIT = 30  # seconds for a test; nothing here takes one


def limited(test):
    async def run(self):
        await asyncio.wait_for(test(self), LIMIT)
    return run


class UdpTest(unittest.IsolatedAsyncioTestCase):
    async def pair(self, **options):
        server = udp.Endpoint(listen="127.0.0.1:0", **options)
        client = udp.Endpoint(user_data=7, **options)
        self.addCleanup(server.close)
        self.addCleanup(client.close)
        ours, theirs = await asyncio.gather(client.connect(server.address), server.accept())
        return server, client, ours, theirs

    @limited
    async def test_an_array_arrives(self):
        _, _, ours, theirs = await self.pair()
        sent = np.arange(300_000, dtype=np.float64)
        into = np.empty_like(sent)
        _, got = await asyncio.gather(ours.send(sent, tag=5), theirs.receive(into))
        self.assertEqual((got.tag, got.length), (5, sent.nbytes))
        self.assertIs(got.data, into)
        np.testing.assert_array_equal(sent, into)
        self.assertEqual(theirs.peer_data, 7)
        self.assertEqual(ours.statistics["messages_sent"], 1)

    @limited
    async def test_messages_by_tag_and_of_any_length(self):
        _, _, ours, theirs = await self.pair(key="ab" * 32)
        waiting = [asyncio.ensure_future(theirs.receive(tag=tag)) for tag in (1, 2)]
        await asyncio.gather(ours.send(b"second", tag=2), ours.send(b"", tag=1))
        first, second = await asyncio.gather(*waiting)
        self.assertEqual((bytes(first.data), bytes(second.data)), (b"", b"second"))
        self.assertEqual(ours.statistics["keyed"], 1)

    @limited
    async def test_hosts_with_keys_of_their_own(self):
        a, b, stranger = (udp.new_key() for _ in range(3))
        server = udp.Endpoint(listen="127.0.0.1:0", identity=b, trusted=[udp.public_key(a)])
        client = udp.Endpoint(identity=a)
        other = udp.Endpoint(identity=stranger, connect_timeout_ms=300)
        for endpoint in (server, client, other):
            self.addCleanup(endpoint.close)
        ours, theirs = await asyncio.gather(client.connect(server.address, peer=udp.public_key(b)), server.accept())
        _, got = await asyncio.gather(ours.send(b"hello"), theirs.receive())
        self.assertEqual(bytes(got.data), b"hello")
        self.assertEqual((ours.peer_key, theirs.peer_key), (udp.public_key(b), udp.public_key(a)))
        with self.assertRaises(strack.TransportError):
            await other.connect(server.address, peer=udp.public_key(b))

    def test_what_is_no_key_is_told(self):
        with self.assertRaisesRegex(strack.TransportError, "64"):
            udp.public_key("abc")

    @limited
    async def test_more_messages_than_there_are_slots(self):
        _, _, ours, theirs = await self.pair(message_slots=4)
        count = 50
        receives = [asyncio.ensure_future(theirs.receive(size=100)) for _ in range(count)]
        await asyncio.gather(*(ours.send(bytes([number]) * 10) for number in range(count)))
        self.assertEqual(sorted(bytes(one.data)[0] for one in await asyncio.gather(*receives)), list(range(count)))

    @limited
    async def test_a_write_is_in_place_before_the_message_after_it(self):
        server, _, ours, theirs = await self.pair()
        window = np.zeros(1000, dtype=np.int32)
        region = server.register(window)
        told = asyncio.ensure_future(theirs.receive(size=1))
        await ours.write(region.id, np.full(10, 3, dtype=np.int32), offset=40)
        await ours.send(b"!")
        await told
        self.assertEqual(window[:21].tolist(), [0] * 10 + [3] * 10 + [0])
        region.close()

    @limited
    async def test_closing_loses_nothing(self):
        _, _, ours, theirs = await self.pair()
        got = asyncio.ensure_future(theirs.receive())
        await ours.send(b"last words")
        await asyncio.gather(ours.close(), theirs.close())
        self.assertEqual(bytes((await got).data), b"last words")

    @limited
    async def test_what_is_wrong_is_said(self):
        with self.assertRaisesRegex(strack.TransportError, "'nowhere' is not numeric with a port"):
            udp.Endpoint(listen="nowhere")
        with self.assertRaisesRegex(TypeError, "colour is no option of an endpoint. they are listen, key, identity, trusted, bind"):
            udp.Endpoint(colour=1)
        with self.assertRaisesRegex(strack.TransportError, "key"):
            udp.Endpoint(key="short")
        _, _, ours, theirs = await self.pair()
        with self.assertRaisesRegex(ValueError, "gaps"):
            await ours.send(np.zeros((4, 4))[:, 0])
        with self.assertRaisesRegex(ValueError, "read-only"):
            await theirs.receive(b"1234")
        self.assertEqual(ours.statistics["messages_sent"], 0)

    @limited
    async def test_a_receive_can_be_given_up(self):
        _, _, ours, theirs = await self.pair()
        with self.assertRaises(asyncio.TimeoutError):
            await asyncio.wait_for(theirs.receive(), 0.05)
        _, got = await asyncio.gather(ours.send(b"later"), theirs.receive())
        self.assertEqual(bytes(got.data), b"later")

    @limited
    async def test_nobody_there(self):
        client = udp.Endpoint(connect_timeout_ms=300)
        self.addCleanup(client.close)
        with self.assertRaises(strack.TransportError):
            await client.connect("127.0.0.1:9")


if __name__ == "__main__":
    unittest.main()
