"""The transport between hosts, over UDP: messages and one-sided writes of numpy arrays and other buffers, for asyncio.

    async def serve():
        async with strack.udp.Endpoint(listen="127.0.0.1:4794") as endpoint:
            peer = await endpoint.accept()
            received = await peer.receive(np.empty(1000))      # into this array
            await peer.send(received.data)

    async def ask():
        async with strack.udp.Endpoint() as endpoint:
            peer = await endpoint.connect("127.0.0.1:4794")
            await peer.send(np.arange(1000.0), tag=7)

An endpoint belongs to the event loop that it was opened in. Memory that was given to send, receive, write or register is the endpoint's until the
call has returned. It is the C interface (strack/strack.h says the rest) of libstrack.so.0, which STRACK_LIBRARY may name.
"""

import asyncio
import collections
import ctypes
import functools
import os
import pathlib

from .errors import TransportError

ANY = 0
_FOREVER = 2**63 - 1
_SENT, _WRITTEN, _RECEIVED, _CONNECTED, _ACCEPTED, _PEER_CLOSED, _CLOSED, _FAILED = range(1, 9)

#: What a receive gives: the memory, as far as the message fills it, the message's tag and its whole length.
Received = collections.namedtuple("Received", "data tag length")


class _Options(ctypes.Structure):
    _fields_ = ([("size", ctypes.c_size_t), ("listen", ctypes.c_char_p), ("bind", ctypes.c_char_p), ("key", ctypes.c_char_p),
                 ("user_data", ctypes.c_uint64), ("rate_bps", ctypes.c_uint64), ("held_bytes", ctypes.c_size_t),
                 ("receive_buffer", ctypes.c_size_t), ("send_buffer", ctypes.c_size_t)]
                + [(name, ctypes.c_uint32) for name in (
                    "insecure", "paths", "burst", "max_payload", "oblivious", "message_slots", "unexpected_messages", "max_connections",
                    "max_receives", "max_regions", "complete_in_order", "peer_timeout_ms", "connect_timeout_ms", "spin_us")]
                + [("identity", ctypes.c_char_p), ("trusted", ctypes.c_char_p), ("trusted_count", ctypes.c_size_t), ("peer", ctypes.c_char_p),
                   ("threads", ctypes.c_uint32), ("reserved", ctypes.c_uint32)])


class _Completion(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint32), ("status", ctypes.c_int32), ("connection", ctypes.c_uint64), ("cookie", ctypes.c_uint64),
                ("tag", ctypes.c_uint64), ("length", ctypes.c_uint64), ("reserved", ctypes.c_uint64 * 3)]


class _Statistics(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "cwnd_bytes max_cwnd_bytes inflight_bytes rtt_ns base_rtt_ns avg_qdelay_ns target_qdelay_ns payload_bytes paths paths_marked paths_used keyed "
        "messages_sent message_bytes_sent data_packets_sent data_bytes_sent retransmissions loss_episodes timeouts probes_sent sacks_received "
        "marks_echoed credit_stalls messages_received message_bytes_received data_packets_received duplicates_received marks_received sacks_sent "
        "packets_held packets_unplaced paths_barred path_rate_bps").split()]


@functools.lru_cache(maxsize=None)
def _library():
    built = pathlib.Path(__file__).resolve().parents[2] / "src/capi/libstrack.so.0"
    name = os.environ.get("STRACK_LIBRARY") or (str(built) if built.exists() else "libstrack.so.0")
    try:
        library = ctypes.CDLL(name)
    except OSError as wrong:
        raise TransportError(f"{name} cannot be loaded: {wrong}. Debian: libstrack0; or name it by STRACK_LIBRARY") from None
    number, size, text, pointer = ctypes.c_uint64, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_void_p
    for function, result, arguments in (
            ("error_text", text, [ctypes.c_int32]), ("options_init_size", ctypes.c_int32, [pointer, size]),
            ("open", ctypes.c_int32, [pointer, pointer, text, size]), ("destroy", None, [pointer]),
            ("local_address", ctypes.c_int64, [pointer, text, size]), ("peer_address", ctypes.c_int64, [pointer, number, text, size]),
            ("resolve", ctypes.c_int32, [text, ctypes.c_uint16, text, size, text, size]),
            ("parse_key", ctypes.c_int32, [text, text, text, size]), ("new_key", ctypes.c_int32, [text]), ("public_key", ctypes.c_int32, [text, text]),
            ("peer_key", ctypes.c_int32, [pointer, number, text]),
            ("connect_to", ctypes.c_int32, [pointer, text, number, pointer, pointer, text, size]), ("close", ctypes.c_int32, [pointer, number]),
            ("abort", ctypes.c_int32, [pointer, number]), ("send", ctypes.c_int32, [pointer, number, number, pointer, size, number]),
            ("post_receive", ctypes.c_int32, [pointer, number, number, number, pointer, size, number]),
            ("cancel_receives", ctypes.c_int64, [pointer, number]),
            ("register_region", ctypes.c_int32, [pointer, number, pointer, size, pointer, text, size]),
            ("unregister_region", ctypes.c_int32, [pointer, number]),
            ("write", ctypes.c_int32, [pointer, number, number, number, pointer, size, number]), ("poll", ctypes.c_int32, [pointer]),
            ("completions", ctypes.c_int64, [pointer, pointer, size]), ("file_descriptor", ctypes.c_int, [pointer]),
            ("next_deadline", ctypes.c_int64, [pointer]),
            ("read_connection_statistics", ctypes.c_int32, [pointer, number, pointer, size])):
        one = getattr(library, "strack_" + function)
        one.restype, one.argtypes = result, arguments
    return library


def _check(status, why=None):
    if status < 0:
        said = why.value.decode() if why is not None and why.value else _library().strack_error_text(status).decode()
        raise TransportError(said, status)


def _key(text):
    """The 32 bytes of a key in 64 hexadecimal digits, or of a file of `strack key new`, where C can read them."""
    raw, why = ctypes.create_string_buffer(33), ctypes.create_string_buffer(256)
    _check(_library().strack_parse_key(text.removeprefix("strack-identity").encode(), raw, why, len(why)), why)
    return raw


def new_key():
    """A random key in 64 hexadecimal digits: one to share, or a host's own identity."""
    raw = ctypes.create_string_buffer(33)
    _check(_library().strack_new_key(raw))
    return raw.raw[:32].hex()


def public_key(identity):
    """What peers know an identity by: give it to those who are to trust this host."""
    raw = ctypes.create_string_buffer(33)
    _check(_library().strack_public_key(_key(identity), raw))
    return raw.raw[:32].hex()


def _memory(data, writable):
    """(what keeps it, address, bytes) of anything with a buffer: numpy arrays, bytearray, bytes, memoryview."""
    view = memoryview(data)
    if not view.c_contiguous:
        raise ValueError("the memory has gaps. numpy.ascontiguousarray() makes an array without")
    if writable and view.readonly:
        raise ValueError("the memory is read-only. a bytearray or a numpy array can be written to")
    if view.nbytes == 0:
        return view, None, 0
    if view.readonly:
        kept = bytes(view)
        return kept, ctypes.cast(ctypes.c_char_p(kept), ctypes.c_void_p).value, len(kept)
    flat = view.cast("B")
    return flat, ctypes.addressof(ctypes.c_char.from_buffer(flat)), flat.nbytes


class Region:
    """Memory of this side that peers may write to; `id` is what they need to know of it."""

    def __init__(self, endpoint, region, kept):
        self._endpoint, self.id, self._kept = endpoint, region, kept

    def close(self):
        """From now on nobody writes there."""
        if self._kept is not None:
            _check(_library().strack_unregister_region(self._endpoint._handle, self.id))
            self._kept = None


class Connection:
    """A peer. Made by Endpoint.connect and Endpoint.accept; `peer_data` is the user_data of its endpoint."""

    def __init__(self, endpoint, number, peer_data=0):
        self._endpoint, self._number, self.peer_data = endpoint, number, peer_data
        self._ended = asyncio.get_running_loop().create_future()

    async def send(self, data, tag=0):
        """Sends a message, and returns when the peer has acknowledged all of it."""
        kept, address, length = _memory(data, writable=False)
        await self._endpoint._operate(kept, lambda cookie: _library().strack_send(
            self._endpoint._handle, self._number, tag, address, length, cookie))

    async def receive(self, data=None, tag=None, size=1 << 20):
        """Receives a message into `data` (else into new memory of `size` bytes), of this tag where one is given: a Received."""
        return await self._endpoint.receive(data, tag, size, connection=self)

    async def write(self, region, data, offset=0):
        """Puts data into a region of the peer's (its Region.id), and returns when it is there. The peer is not told."""
        kept, address, length = _memory(data, writable=False)
        await self._endpoint._operate(kept, lambda cookie: _library().strack_write(
            self._endpoint._handle, self._number, region, offset, address, length, cookie))

    async def close(self):
        """Closes, and returns when all that was sent has arrived and the peer has closed or has learnt of it."""
        status = _library().strack_close(self._endpoint._handle, self._number)
        self._endpoint._work()
        if status >= 0:
            await asyncio.shield(self._ended)

    def abort(self):
        """Ends now, whatever is under way."""
        _library().strack_abort(self._endpoint._handle, self._number)
        self._endpoint._work()

    @property
    def address(self):
        """The peer's, such as "192.0.2.7:4794"."""
        text = ctypes.create_string_buffer(96)
        _check(_library().strack_peer_address(self._endpoint._handle, self._number, text, len(text)))
        return text.value.decode()

    @property
    def peer_key(self):
        """The peer's public key, where the endpoint has an identity."""
        raw = ctypes.create_string_buffer(33)
        _check(_library().strack_peer_key(self._endpoint._handle, self._number, raw))
        return raw.raw[:32].hex()

    @property
    def statistics(self):
        """A dict: window, RTT, paths, packets, retransmissions, ..."""
        counted = _Statistics()
        _check(_library().strack_read_connection_statistics(self._endpoint._handle, self._number, ctypes.byref(counted), ctypes.sizeof(counted)))
        return {name: getattr(counted, name) for name, _ in counted._fields_}


class Endpoint:
    """A set of UDP sockets and the connections on them.

    `listen` is where to take connections ("0.0.0.0:4794"; port 0: any), `key` 64 hexadecimal digits as `strack key` prints them, the same at both ends.
    Or each host has a key of its own: `identity` (new_key(), or what is in a file of `strack key new`), `trusted` the public keys of those whose
    connections are taken, and `peer` in connect() whom to find there. Other words are the fields of strack_options in strack/strack.h: insecure, paths,
    burst, rate_bps, user_data, ...
    """

    def __init__(self, listen=None, key=None, identity=None, trusted=(), **options):
        library = _library()
        given = _Options()
        _check(library.strack_options_init_size(ctypes.byref(given), ctypes.sizeof(given)))
        known = {name for name, _ in _Options._fields_} - {"size", "listen", "key", "identity", "trusted", "trusted_count", "peer", "reserved"}
        for name, value in options.items():
            if name not in known:
                raise TypeError(f"{name} is no option of an endpoint. they are listen, key, identity, trusted, {', '.join(sorted(known))}")
            setattr(given, name, value.encode() if isinstance(value, str) else value)
        why = ctypes.create_string_buffer(256)
        given.listen = listen.encode() if listen else None
        if key is not None:
            given.key = ctypes.cast(kept_key := _key(key), ctypes.c_char_p)
        if identity is not None:
            given.identity = ctypes.cast(kept_identity := _key(identity), ctypes.c_char_p)
        if trusted:
            kept_trusted = ctypes.create_string_buffer(b"".join(_key(one).raw[:32] for one in trusted))
            given.trusted, given.trusted_count = ctypes.cast(kept_trusted, ctypes.c_char_p), len(trusted)
        self._loop = asyncio.get_running_loop()
        self._handle = ctypes.c_void_p()
        _check(library.strack_open(ctypes.byref(given), ctypes.byref(self._handle), why, len(why)), why)
        self._cookie, self._pending, self._connections = 0, {}, {}
        self._accepted = asyncio.Queue()
        self._room = asyncio.Event()
        self._watched, self._timer = -1, None
        self._done = (_Completion * 64)()
        self._work()

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        self.close()

    def close(self):
        """Ends at once; close connections first to lose nothing."""
        if self._handle:
            if self._watched >= 0:
                self._loop.remove_reader(self._watched)
            if self._timer:
                self._timer.cancel()
            _library().strack_destroy(self._handle)
            self._handle = None
            for future, _ in self._pending.values():
                future.cancel()

    @property
    def address(self):
        """Of this side, such as "127.0.0.1:4794"."""
        text = ctypes.create_string_buffer(96)
        _check(_library().strack_local_address(self._handle, text, len(text)))
        return text.value.decode()

    async def connect(self, host, peer=None):
        """A connection to "host:port", or to port 4794 of a host; with an identity to the one whose public key is `peer`."""
        expected = None if peer is None else _key(peer)
        numeric, why = ctypes.create_string_buffer(96), ctypes.create_string_buffer(256)
        _check(await self._loop.run_in_executor(None, lambda: _library().strack_resolve(host.encode(), 4794, numeric, len(numeric), why, len(why))), why)
        number = ctypes.c_uint64()

        def begin(cookie):
            status = _library().strack_connect_to(self._handle, numeric.value, cookie, expected, ctypes.byref(number), why, len(why))
            _check(status, why)
            return status

        done = await self._operate(None, begin)
        connection = self._connections[number.value] = Connection(self, number.value, done[1])
        return connection

    async def accept(self):
        """The next connection that a peer has made to `listen`."""
        return await self._accepted.get()

    async def receive(self, data=None, tag=None, size=1 << 20, connection=None):
        """As Connection.receive, from whoever sends first."""
        data = bytearray(size) if data is None else data
        kept, address, length = _memory(data, writable=True)
        number = connection._number if connection else ANY
        _, got_tag, got_length = await self._operate(kept, lambda cookie: _library().strack_post_receive(
            self._handle, number, tag or 0, 0 if tag is None else 2**64 - 1, address, length, cookie), cancel=True)
        return Received(memoryview(data).cast("B")[:got_length] if got_length < length else data, got_tag, got_length)

    def register(self, data, connection=None):
        """Lets peers, or one of them, write into this memory: a Region."""
        kept, address, length = _memory(data, writable=True)
        number, why = ctypes.c_uint64(), ctypes.create_string_buffer(256)
        _check(_library().strack_register_region(self._handle, connection._number if connection else ANY, address, length, ctypes.byref(number), why,
                                                 len(why)), why)
        return Region(self, number.value, kept)

    # --- At work ------------------------------------------------------------------------------------

    async def _operate(self, kept, begin, cancel=False):
        """Begins something with a cookie of its own, again while there is no room, and waits for its completion: (status, tag, length)."""
        self._cookie += 1
        cookie = self._cookie
        future = self._loop.create_future()
        self._pending[cookie] = (future, kept)  # the memory stays, whatever becomes of who waits
        try:
            while (status := begin(cookie)) == -1:  # STRACK_WOULD_BLOCK
                self._room.clear()
                await self._room.wait()
            _check(status)
        except BaseException:
            del self._pending[cookie]  # nothing was begun
            raise
        self._work()
        try:
            done = await asyncio.shield(future)
        except asyncio.CancelledError:
            if cancel and self._handle:
                _library().strack_cancel_receives(self._handle, cookie)
            raise
        _check(done[0])
        return done

    def _work(self):
        """All that there is to do now; then the loop watches the sockets and the clock."""
        if not self._handle:
            return
        library = _library()
        while True:
            library.strack_poll(self._handle)
            count = library.strack_completions(self._handle, self._done, len(self._done))
            for done in self._done[:count]:
                self._complete(done)
            if count < len(self._done):
                break
        if self._handle:
            self._watch(library)

    def _complete(self, done):
        if done.kind == _ACCEPTED:
            connection = self._connections[done.connection] = Connection(self, done.connection, done.tag)
            self._accepted.put_nowait(connection)
        elif done.kind in (_CLOSED, _FAILED) and done.connection in self._connections:
            ended = self._connections.pop(done.connection)._ended
            if not ended.done():
                ended.set_result(done.status)
        elif done.cookie in self._pending and done.kind != _PEER_CLOSED:
            future, _ = self._pending.pop(done.cookie)
            if not future.done():
                future.set_result((done.status, done.tag, done.length))
            self._room.set()

    def _watch(self, library):
        descriptor = library.strack_file_descriptor(self._handle)
        if descriptor != self._watched:
            if self._watched >= 0:
                self._loop.remove_reader(self._watched)
            if descriptor >= 0:
                self._loop.add_reader(descriptor, self._work)
            self._watched = descriptor
        if self._timer:
            self._timer.cancel()
        left = library.strack_next_deadline(self._handle)
        self._timer = self._loop.call_later(max(0.0, left / 1e9), self._work) if left != _FOREVER else None
