/* STrack over UDP for C: reliable messages between hosts, sprayed over many paths. Installed as
 * <strack/strack.h>; needs C11 or C++, and the standard headers only.
 *
 * A `strack_endpoint` is a set of UDP sockets and the connections on them. It belongs to one thread at a
 * time, takes no locks and starts no threads: nothing happens except inside these functions, and whatever
 * is to happen needs strack_poll() or strack_wait() to be called again and again, also by a side that only
 * receives (it acknowledges) and by one that waits for its sends to complete (it retransmits). Use one
 * endpoint per thread. Different endpoints may be used by different threads at once. An endpoint opened with
 * `threads` has threads of its own that do all this, each for some of its connections, and any thread may call
 * any function but strack_destroy() at any time. Receives and regions then belong to one connection, never to
 * STRACK_ANY_CONNECTION, and limits of the options hold for each of its threads.
 *
 *   strack_options options;
 *   strack_options_init(&options);
 *   options.listen = "127.0.0.1:4794";            // the server; a client leaves it NULL
 *   char why[256];
 *   strack_endpoint* endpoint;
 *   if (strack_open(&options, &endpoint, why, sizeof why) != STRACK_OK) die(why);
 *
 *   strack_connection peer;
 *   strack_connect(endpoint, "127.0.0.1:4794", 0, &peer, why, sizeof why);    // or wait for STRACK_ACCEPTED
 *   strack_post_receive(endpoint, STRACK_ANY_CONNECTION, 0, STRACK_ANY_TAG, buffer, sizeof buffer, 1);
 *   strack_send(endpoint, peer, 7, message, length, 2);
 *   while (running) {
 *     strack_completion done[64];
 *     strack_wait(endpoint, 100 * 1000 * 1000);
 *     int64_t count = strack_completions(endpoint, done, 64);
 *     for (int64_t i = 0; i < count; ++i) handle(&done[i]);
 *   }
 *   strack_destroy(endpoint);
 *
 * Memory. What is handed to strack_send(), strack_write(), strack_read(), strack_post_receive() or
 * strack_register_region() belongs to the endpoint until the completion with its cookie, the
 * unregistering, or strack_destroy(). Everything else (options, texts, addresses) is copied.
 *
 * Order. Messages of one connection and direction are matched with posted receives in the order in which
 * they were sent, and by default complete at the receiver in that order too: when a receive completes,
 * everything sent before it on that connection, writes included, is in place.
 *
 * Back-pressure. strack_send() and strack_write() return STRACK_WOULD_BLOCK when the connection has
 * `message_slots` messages under way: try again after a completion.
 *
 * Security. With a `key`, or an `identity`, every packet is encrypted and authenticated. Without either, only
 * loopback addresses are allowed unless `insecure` is set.
 *
 * Errors. A function that returns strack_status gives STRACK_OK, which is 0, or a negative value. One that
 * returns a number (a count, a length, a time) gives that number, or a negative strack_status. Functions
 * that can fail for many reasons take a buffer for a sentence that names the value found and what would
 * work; the buffer may be NULL. It always ends with a zero byte, and after a success it is empty.
 *
 * Compatibility. Within one SONAME (libstrack.so.0) functions and values are added, never changed. Structs
 * that may grow travel with their size, so a program built against an older header keeps working with a
 * newer library, and a newer program with an older library is told if it asks for what that
 * library does not know.
 */
#ifndef STRACK_STRACK_H
#define STRACK_STRACK_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define STRACK_EXPORT __attribute__((visibility("default")))
#else
#define STRACK_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* --- Versions ----------------------------------------------------------------------------------- */

/** The version of this header: one more with every addition to it. */
#define STRACK_API_VERSION 5u

/** The STRACK_API_VERSION that the library was built with. Never less than the header's, or the library
 * is older than the header and may lack some of its functions. */
STRACK_EXPORT uint32_t strack_api_version(void);

/** The library's release, such as "0.1.0". */
STRACK_EXPORT const char* strack_version(void);

/* --- Status ------------------------------------------------------------------------------------- */

/** One of the values below. The type is an integer of known size, for the sake of other languages. */
typedef int32_t strack_status;

enum {
  STRACK_OK = 0,
  STRACK_WOULD_BLOCK = -1,        /**< no free slot now: again after the next completion */
  STRACK_UNKNOWN_CONNECTION = -2, /**< no such connection, or it has ended */
  STRACK_CLOSING = -3,            /**< strack_close was called: nothing more can be sent */
  STRACK_TOO_LONG = -4,           /**< 2^32 bytes; an atomic beyond STRACK_MOST_ATOMIC_BYTES */
  STRACK_UNKNOWN_REGION = -5,     /**< a region that cannot be, or that is not there any more */
  STRACK_TRUNCATED = -6,          /**< receive: longer than the buffer; the rest was dropped */
  STRACK_CANCELLED = -7,          /**< by strack_cancel_receives, or by the endpoint's end */
  STRACK_CONNECTION_CLOSED = -8,  /**< the peer closed before this could complete */
  STRACK_PEER_DEAD = -9,          /**< nothing heard from the peer for `peer_timeout_ms` */
  STRACK_PEER_ABORTED = -10,      /**< the peer aborted, or its endpoint has gone */
  STRACK_REFUSED = -11,           /**< set-up: the peer does not take these terms */
  STRACK_KEY_REFUSED = -12,       /**< set-up: another key, or only one side has one */
  STRACK_BUSY = -13,              /**< set-up: the peer has no room for another connection */
  STRACK_NOT_LISTENING = -14,     /**< set-up: the peer takes no connections */
  STRACK_TIMED_OUT = -15,         /**< set-up: no answer within `connect_timeout_ms` */
  STRACK_ACCESS_REFUSED = -16,    /**< the peer wrote or read where no region allows it */
  STRACK_PROTOCOL_ERROR = -17,    /**< the peer says that this side broke a rule, or the reverse */
  STRACK_KEYS_EXHAUSTED = -18,    /**< 2^40 packets under one key: connect anew */
  STRACK_NO_RESOURCES = -19,      /**< max_connections, max_receives or max_regions is reached */
  STRACK_PEER_RESTARTED = -20,    /**< the peer does not know the connection: connect anew */
  STRACK_VERSION_REFUSED = -21,   /**< set-up: the peer speaks another version of the protocol */
  STRACK_TRANSPORT_REFUSED = -22, /**< set-up: the peer does not have this transport */
  STRACK_EXTENSION_REFUSED = -23, /**< the peer does not know an extension that is needed */
  STRACK_UNREACHABLE = -24,       /**< set-up: this host has no route to the peer */
  STRACK_WENT_SILENT = -25,       /**< set-up: one answer, then none: no room, or ways that lose */

  /* What only this interface reports. */
  STRACK_INVALID_ARGUMENT = -100, /**< a null pointer or a value outside its range */
  STRACK_FAILED_CALL = -101,      /**< see the text in the buffer given to the call */
  STRACK_BUFFER_TOO_SMALL = -102, /**< for a text and its zero byte */
  STRACK_NO_MEMORY = -103,
  STRACK_INTERNAL = -104 /**< a mistake of the library's */
};

/** A status in words, without a final period. Never NULL; the text lives as long as the library. */
STRACK_EXPORT const char* strack_error_text(strack_status status);

/* --- Opening an endpoint ------------------------------------------------------------------------ */

/** Opaque; made by strack_open, ended by strack_destroy. */
typedef struct strack_endpoint strack_endpoint;

/** Names a connection of one endpoint; never reused by that endpoint. */
typedef uint64_t strack_connection;
/** In strack_post_receive: a message from whichever connection comes first. */
#define STRACK_ANY_CONNECTION UINT64_C(0)

/** Names registered memory towards peers. Unpredictable; hand it to those who may write or read there. */
typedef uint64_t strack_region;

#define STRACK_KEY_SIZE 32
#define STRACK_DEFAULT_PORT 4794

/** Fill with strack_options_init, then change what is to differ. Fields are added at the end only. */
typedef struct strack_options {
  size_t size; /**< of this struct as the program knows it; set by strack_options_init */

  /** Where to take connections: "0.0.0.0:4794", "[::]:4794", "127.0.0.1:0" (any free port). NULL or
   * empty: none are taken; the sockets' family is then that of the first strack_connect. */
  const char* listen;
  /** For a client that must come from a certain address; with `listen` leave it NULL. */
  const char* bind;
  /** The pre-shared key of a job, STRACK_KEY_SIZE random bytes, the same at all its endpoints. Or NULL. */
  const unsigned char* key;

  uint64_t user_data;    /**< what this side tells every peer about itself: a rank, a service */
  uint64_t rate_bps;     /**< the rate of this host's link, in bits per second */
  size_t held_bytes;     /**< the most memory for packets whose buffer is not known yet */
  size_t receive_buffer; /**< the kernel's, in bytes; the system's limits apply */
  size_t send_buffer;

  uint32_t insecure; /**< not 0: allow connections without a key that leave this host */
  uint32_t paths;    /**< UDP source ports that packets are spread over, 1 to 256 */
  /** Packets per path and system call, 1 to 64. More is faster and coarser: a mark or a loss hits the
   * whole burst, so 1 is right on a network with several paths. */
  uint32_t burst;
  uint32_t max_payload;         /**< of a packet, in bytes; the path's MTU lowers it further */
  uint32_t oblivious;           /**< not 0: spread packets evenly whatever the marks say */
  uint32_t message_slots;       /**< messages under way per connection and direction, 2^n */
  uint32_t unexpected_messages; /**< granted to a peer beyond the posted receives */
  uint32_t max_connections;
  uint32_t max_receives; /**< posted and not completed */
  uint32_t max_regions;
  uint32_t complete_in_order; /**< 0: a receive completes when it is whole, whatever came before */
  uint32_t peer_timeout_ms;   /**< silence after which a peer is given up */
  uint32_t connect_timeout_ms;
  uint32_t spin_us; /**< how long strack_wait spins, at most, before it sleeps; 0: not at all */

  /** Instead of `key`: this host's own private key, STRACK_KEY_SIZE random bytes that nobody else has
   * (strack_new_key). Peers are then known by their public keys. Or NULL. */
  const unsigned char* identity;
  /** With an identity: the public keys of those whose connections are taken, one after the other. */
  const unsigned char* trusted;
  size_t trusted_count;
  /** With an identity: the public key that strack_connect must find at the other side. Or NULL. */
  const unsigned char* peer;

  /** Threads of the endpoint's own that move its packets, up to 64; any thread may then call it, and
   * strack_poll and strack_wait only look for completions. 0: none. Since version 3. */
  uint32_t threads;
  uint32_t reserved; /**< 0 */
} strack_options;

/** Sets all fields that fit into `size` bytes to their defaults, and `size` itself. Programs in C call
 * strack_options_init; other languages call this with the size of their struct. */
STRACK_EXPORT strack_status strack_options_init_size(strack_options* options, size_t size);

/** Defaults for an endpoint that takes no connections and has no key. */
static inline strack_status strack_options_init(strack_options* options) {
  return strack_options_init_size(options, sizeof(strack_options));
}

/** Opens the sockets and stores the endpoint, or says what is wrong with the options or what the system
 * refused, and stores NULL. */
STRACK_EXPORT strack_status strack_open(const strack_options* options, strack_endpoint** endpoint,
                                        char* error, size_t error_size);

/** Ends at once: peers are told that this endpoint goes away, outstanding operations are forgotten.
 * strack_close the connections first, and poll until each is reported closed, to lose nothing. NULL is
 * allowed and does nothing. */
STRACK_EXPORT void strack_destroy(strack_endpoint* endpoint);

/* --- Addresses and keys ------------------------------------------------------------------------- */

/** Enough for any address that the library gives, with its zero byte. */
#define STRACK_ADDRESS_SIZE 96

/** The address of the endpoint's primary socket, such as "127.0.0.1:4794"; empty before there is one.
 * Returns the text's length. */
STRACK_EXPORT int64_t strack_local_address(const strack_endpoint* endpoint, char* address,
                                           size_t size);
/** The port of the same, 0 before there is one. */
STRACK_EXPORT int32_t strack_local_port(const strack_endpoint* endpoint);
/** A connection's peer. Returns the text's length. */
STRACK_EXPORT int64_t strack_peer_address(const strack_endpoint* endpoint,
                                          strack_connection connection, char* address, size_t size);

/** "name:port" or "name" to a numeric address that strack_connect takes. Asks the resolver, so it may
 * block. */
STRACK_EXPORT strack_status strack_resolve(const char* host_and_port, uint16_t default_port,
                                           char* address, size_t size, char* error,
                                           size_t error_size);

/** A key from 64 hexadecimal digits, as `openssl rand -hex 32` prints them; white space around is fine. */
STRACK_EXPORT strack_status strack_parse_key(const char* hex, unsigned char key[STRACK_KEY_SIZE],
                                             char* error, size_t error_size);
/** A random key: one to share, or an identity. */
STRACK_EXPORT strack_status strack_new_key(unsigned char key[STRACK_KEY_SIZE]);
/** What peers know an identity by. */
STRACK_EXPORT strack_status strack_public_key(const unsigned char identity[STRACK_KEY_SIZE],
                                              unsigned char public_key[STRACK_KEY_SIZE]);
/** The public key of a connection's peer, where the endpoint has an identity. */
STRACK_EXPORT strack_status strack_peer_key(const strack_endpoint* endpoint,
                                            strack_connection connection,
                                            unsigned char public_key[STRACK_KEY_SIZE]);

/* --- Connections -------------------------------------------------------------------------------- */

/** Begins to connect to "192.0.2.7:4794" or "[2001:db8::7]:4794". STRACK_CONNECTED or STRACK_FAILED
 * follows as a completion with this cookie. Messages can be sent and receives posted at once; they
 * wait for the connection. */
STRACK_EXPORT strack_status strack_connect(strack_endpoint* endpoint, const char* address,
                                           uint64_t cookie, strack_connection* connection,
                                           char* error, size_t error_size);
/** The same, and whom to expect there: with an identity, a public key of STRACK_KEY_SIZE bytes; NULL: the options'. */
STRACK_EXPORT strack_status strack_connect_to(strack_endpoint* endpoint, const char* address,
                                              uint64_t cookie, const unsigned char* peer,
                                              strack_connection* connection, char* error,
                                              size_t error_size);

/** No more will be sent. The connection ends (STRACK_CLOSED) when all that was queued here is
 * acknowledged and the peer has closed too, or has learnt of it; a peer that still sends gets its messages
 * through first. On a connection not up yet: gives it up. */
STRACK_EXPORT strack_status strack_close(strack_endpoint* endpoint, strack_connection connection);

/** Ends a connection now, whatever is under way; the peer is told once. */
STRACK_EXPORT strack_status strack_abort(strack_endpoint* endpoint, strack_connection connection);

/** Stores up to `capacity` of the connections up now, in no particular order. Returns how many. */
STRACK_EXPORT int64_t strack_connections(const strack_endpoint* endpoint,
                                         strack_connection* connections, size_t capacity);

/* --- Messages ----------------------------------------------------------------------------------- */

/** Queues a message. The bytes must stay as they are until STRACK_SENT with this cookie. Zero bytes are a
 * message too, and may come from a null pointer. */
STRACK_EXPORT strack_status strack_send(strack_endpoint* endpoint, strack_connection connection,
                                        uint64_t tag, const void* message, size_t length,
                                        uint64_t cookie);

/** As `tag_mask`: a message with exactly this tag, or with any. */
#define STRACK_EXACT_TAG UINT64_MAX
#define STRACK_ANY_TAG UINT64_C(0)

/** Offers a buffer to messages from one connection, or from STRACK_ANY_CONNECTION, whose tag agrees with
 * `tag` in the bits of `tag_mask`. Of several that match a message, the one posted first takes it, those
 * of the connection itself before those for any. A longer message is cut off (STRACK_TRUNCATED). */
STRACK_EXPORT strack_status strack_post_receive(strack_endpoint* endpoint,
                                                strack_connection connection, uint64_t tag,
                                                uint64_t tag_mask, void* buffer, size_t length,
                                                uint64_t cookie);

/** Takes back receives posted with this cookie that no message has been matched with; each completes
 * as STRACK_CANCELLED. Returns how many. */
STRACK_EXPORT int64_t strack_cancel_receives(strack_endpoint* endpoint, uint64_t cookie);

/** A piece of memory. */
typedef struct strack_iovec {
  void* base; /**< only read where a message is sent from it */
  size_t length;
} strack_iovec;

/** The most pieces of a message, or of a receive. */
#define STRACK_MOST_PIECES 1024

/** As strack_send and strack_post_receive, with memory in pieces: a message is gathered from them, a buffer is filled in
 * their order. The list itself is copied. Since version 4. */
STRACK_EXPORT strack_status strack_sendv(strack_endpoint* endpoint, strack_connection connection,
                                         uint64_t tag, const strack_iovec* pieces, size_t count,
                                         uint64_t cookie);
STRACK_EXPORT strack_status strack_post_receivev(strack_endpoint* endpoint,
                                                 strack_connection connection, uint64_t tag,
                                                 uint64_t tag_mask, const strack_iovec* pieces,
                                                 size_t count, uint64_t cookie);

struct strack_completion;
/** Of the messages that have begun to come, and that no receive has been posted for: stores the first that
 * strack_post_receive with the same words would take, as its completion will be, without a cookie, and returns 1; 0: there is
 * none. It stays where it is. With `threads`, of one connection only. Since version 4. */
STRACK_EXPORT int32_t strack_peek(const strack_endpoint* endpoint, strack_connection connection,
                                  uint64_t tag, uint64_t tag_mask,
                                  struct strack_completion* message);

/* --- One-sided writes and reads ----------------------------------------------------------------- */

/** What peers may do with registered memory. */
#define STRACK_ACCESS_WRITE 1u
#define STRACK_ACCESS_READ 2u

/** Lets peers do that, one or both, with this memory: one connection, or STRACK_ANY_CONNECTION. It must stay until
 * strack_unregister_region (which takes effect at once: a write or read under way then ends its connection). Since version 4. */
STRACK_EXPORT strack_status strack_register_memory(strack_endpoint* endpoint,
                                                   strack_connection connection, void* memory,
                                                   size_t length, uint32_t access,
                                                   strack_region* region, char* error,
                                                   size_t error_size);

/** The same with STRACK_ACCESS_WRITE. */
STRACK_EXPORT strack_status strack_register_region(strack_endpoint* endpoint,
                                                   strack_connection connection, void* memory,
                                                   size_t length, strack_region* region,
                                                   char* error, size_t error_size);

STRACK_EXPORT strack_status strack_unregister_region(strack_endpoint* endpoint,
                                                     strack_region region);

/** Puts the bytes at `offset` of a region that the peer has registered; STRACK_WRITTEN with this cookie
 * follows. The peer's program is not told; send it a message afterwards, which completes there after the
 * write. A write that does not fit in its region fails and takes the connection with it. */
STRACK_EXPORT strack_status strack_write(strack_endpoint* endpoint, strack_connection connection,
                                         strack_region region, uint64_t offset, const void* bytes,
                                         size_t length, uint64_t cookie);

/** The same, and the peer's program is told: a receive there that takes messages with the tag `immediate` completes, with a
 * length of 0, when the bytes are in place. Takes two of the connection's slots. Since version 4. */
STRACK_EXPORT strack_status strack_write_with_data(strack_endpoint* endpoint,
                                                   strack_connection connection,
                                                   strack_region region, uint64_t offset,
                                                   const void* bytes, size_t length,
                                                   uint64_t immediate, uint64_t cookie);

/** Fills `memory` from `offset` of a region that the peer has registered with STRACK_ACCESS_READ; STRACK_READ with this cookie
 * follows. It sees all writes that this side has queued before it on the connection. The peer's program is not told, but its
 * endpoint must be polled, as for everything. A read of what is not in the region fails and takes the connection with it, with
 * STRACK_PROTOCOL_ERROR at this side and STRACK_ACCESS_REFUSED at the peer's.
 * STRACK_WOULD_BLOCK also before the connection is up; STRACK_EXTENSION_REFUSED if the peer's library is older than reads.
 * Answers come behind what the peer has sent before: who lets messages wait without a receive lets his reads wait, too.
 * Since version 4. */
STRACK_EXPORT strack_status strack_read(strack_endpoint* endpoint, strack_connection connection,
                                        strack_region region, uint64_t offset, void* memory,
                                        size_t length, uint64_t cookie);

/** What strack_atomic does to each value, with its operand: the new value is the result. */
enum {
  STRACK_ATOMIC_MIN = 1,
  STRACK_ATOMIC_MAX = 2,
  STRACK_ATOMIC_SUM = 3,
  STRACK_ATOMIC_PRODUCT = 4,
  STRACK_ATOMIC_LOGICAL_OR = 5,
  STRACK_ATOMIC_LOGICAL_AND = 6,
  STRACK_ATOMIC_BITWISE_OR = 7,
  STRACK_ATOMIC_BITWISE_AND = 8,
  STRACK_ATOMIC_LOGICAL_XOR = 9,
  STRACK_ATOMIC_BITWISE_XOR = 10,
  STRACK_ATOMIC_READ = 11, /**< no operand, and nothing is changed */
  STRACK_ATOMIC_WRITE = 12,
  /* With two: the operand goes there if `compared` stands so to what is there. */
  STRACK_ATOMIC_SWAP_IF_EQUAL = 13,
  STRACK_ATOMIC_SWAP_IF_NOT_EQUAL = 14,
  STRACK_ATOMIC_SWAP_IF_LESS_OR_EQUAL = 15,
  STRACK_ATOMIC_SWAP_IF_LESS = 16,
  STRACK_ATOMIC_SWAP_IF_GREATER_OR_EQUAL = 17,
  STRACK_ATOMIC_SWAP_IF_GREATER = 18,
  STRACK_ATOMIC_SWAP_MASKED = 19 /**< the bits that `compared` has */
};

/** Types of values, as they lie in memory, aligned or not. */
enum {
  STRACK_INT8 = 1,
  STRACK_UINT8 = 2,
  STRACK_INT16 = 3,
  STRACK_UINT16 = 4,
  STRACK_INT32 = 5,
  STRACK_UINT32 = 6,
  STRACK_INT64 = 7,
  STRACK_UINT64 = 8,
  STRACK_FLOAT = 9,
  STRACK_DOUBLE = 10
};

/** Of one atomic's values. */
#define STRACK_MOST_ATOMIC_BYTES 240u

/** Changes `length` bytes of values at `offset` of a region that the peer has registered with both kinds of access
 * (STRACK_ATOMIC_READ: for reading), each once and all at a time; what was there comes to `before`. STRACK_ATOMIC with this
 * cookie follows. `before`, `operands` and `compared` have `length` bytes each, a multiple of the type's and at most
 * STRACK_MOST_ATOMIC_BYTES; those that the operation does not have are NULL. Operands are copied, `before` belongs to the
 * endpoint until the completion. Atomics of all endpoints of the peer's process wait for each other; what its program does
 * with that memory meanwhile does not. Minimum and maximum leave what is there where either is a NaN. STRACK_TOO_LONG if there
 * are too many bytes, or they end beyond the last address. All else is as with strack_read. STRACK_EXTENSION_REFUSED if the peer's library is
 * older than version 5. Since version 5. */
STRACK_EXPORT strack_status strack_atomic(strack_endpoint* endpoint, strack_connection connection,
                                          strack_region region, uint64_t offset, uint32_t operation,
                                          uint32_t type, void* before, const void* operands,
                                          const void* compared, size_t length, uint64_t cookie);

/* --- Address vectors ---------------------------------------------------------------------------- */

/** Names an address that the endpoint knows; 0: none. Another one is given to each that is inserted, also where an earlier one
 * was removed. Whoever is given one that is not there, or no more, says STRACK_UNKNOWN_CONNECTION. Since version 4, as all of this
 * section. */
typedef uint64_t strack_address;

/** Thousands of peers, and connections to those that something is sent to: an address takes about 100 bytes, and nothing else
 * until then. Inserts `count` of them: "192.0.2.7:4794", "[2001:db8::7]:4794", or names, which ask the resolver and may block; without
 * a port they get `default_port`. Stores a handle for each, 0 for one that is no address, of the first of which `error` tells.
 * Returns how many were inserted. */
STRACK_EXPORT int64_t strack_av_insert(strack_endpoint* endpoint, const char* const* addresses,
                                       size_t count, uint16_t default_port, strack_address* handles,
                                       char* error, size_t error_size);
/** The address again, numeric. Returns the text's length. */
STRACK_EXPORT int64_t strack_av_lookup(const strack_endpoint* endpoint, strack_address handle,
                                       char* address, size_t size);
/** Forgets it, and closes its connection as strack_close does: what was queued still goes. */
STRACK_EXPORT strack_status strack_av_remove(strack_endpoint* endpoint, strack_address handle);

/** The connection to that address: the one that is there, or a new one, whose STRACK_CONNECTED or STRACK_FAILED has the handle
 * as its cookie. A peer that connects from an address that is here, and has no connection yet, is found by it, too: one that listens
 * comes from where it listens. After one has ended the next call makes another. */
STRACK_EXPORT strack_status strack_av_connection(strack_endpoint* endpoint, strack_address handle,
                                                 strack_connection* connection, char* error,
                                                 size_t error_size);
/** The address that a connection is to; 0: none that is here. */
STRACK_EXPORT strack_address strack_av_find(const strack_endpoint* endpoint,
                                            strack_connection connection);
/** strack_send over strack_av_connection. */
STRACK_EXPORT strack_status strack_av_send(strack_endpoint* endpoint, strack_address handle,
                                           uint64_t tag, const void* message, size_t length,
                                           uint64_t cookie);

/* --- Work and its results ----------------------------------------------------------------------- */

/** What has happened: strack_completion's `kind`. */
enum {
  STRACK_SENT = 1,        /**< a send is acknowledged, or failed */
  STRACK_WRITTEN = 2,     /**< a write is acknowledged: the bytes are in the region; or failed */
  STRACK_RECEIVED = 3,    /**< a posted receive holds a message, or failed */
  STRACK_CONNECTED = 4,   /**< the connection asked for by strack_connect is up */
  STRACK_ACCEPTED = 5,    /**< a peer has connected to `listen` */
  STRACK_PEER_CLOSED = 6, /**< the peer will send no more messages; this side may */
  STRACK_CLOSED = 7,      /**< both sides have closed: nothing was lost in either direction */
  STRACK_FAILED = 8,      /**< the connection has ended, or never came up; `status` says why */
  STRACK_READ = 9,        /**< a read has its bytes, or failed */
  STRACK_ATOMIC = 10      /**< an atomic is done, and what was there is here; or failed */
};

/** One thing that has happened. Completions of a connection's operations come before its STRACK_CLOSED
 * or STRACK_FAILED; those still outstanding then come with a status that is not STRACK_OK. This struct
 * keeps its size within one SONAME. */
typedef struct strack_completion {
  uint32_t kind;
  strack_status status;
  strack_connection connection;
  uint64_t
      cookie; /**< of the operation; connected and its failed: of strack_connect, or the strack_address */
  uint64_t tag;    /**< received, sent: the message's; accepted, connected: the peer's user_data */
  uint64_t length; /**< received: the message's (when truncated, more than the buffer) */
  uint64_t reserved[3]; /**< 0 */
} strack_completion;

/** A kind in a word, such as "received". Never NULL; the text lives as long as the library. */
STRACK_EXPORT const char* strack_kind_text(uint32_t kind);

/** Does what there is to do, without waiting: receives, acknowledges, sends, minds timers. Returns 1 if
 * there was anything, 0 if not. */
STRACK_EXPORT int32_t strack_poll(strack_endpoint* endpoint);

/** As a time: without end. */
#define STRACK_FOREVER INT64_MAX

/** Polls until there is a completion or `timeout_ns` nanoseconds are over; sleeps in between. Returns 1 if
 * there is a completion, 0 if not. 0 polls once. */
STRACK_EXPORT int32_t strack_wait(strack_endpoint* endpoint, int64_t timeout_ns);

/** Takes up to `capacity` completions, oldest first. Returns how many. */
STRACK_EXPORT int64_t strack_completions(strack_endpoint* endpoint, strack_completion* completions,
                                         size_t capacity);

/** Readable (epoll, select) when datagrams wait; -1 before there is a socket, and for a null endpoint. Then,
 * or when strack_next_deadline is over, call strack_poll: for programs with an event loop of their own. With
 * `threads`: readable when completions wait. */
STRACK_EXPORT int strack_file_descriptor(const strack_endpoint* endpoint);

/** When strack_poll must be called even if nothing arrives: nanoseconds from now, or STRACK_FOREVER. */
STRACK_EXPORT int64_t strack_next_deadline(const strack_endpoint* endpoint);

/* --- Statistics --------------------------------------------------------------------------------- */

/** Of one connection, since it came up. Fields are added at the end only. */
typedef struct strack_connection_statistics {
  /* The sender's view of the network. */
  uint64_t cwnd_bytes;
  uint64_t max_cwnd_bytes;
  uint64_t inflight_bytes;
  uint64_t rtt_ns;        /**< of the newest SACK, without the receiver's hold time */
  uint64_t base_rtt_ns;   /**< the lowest seen */
  uint64_t avg_qdelay_ns; /**< smoothed queueing delay */
  uint64_t target_qdelay_ns;
  uint64_t payload_bytes; /**< of a full packet */
  uint64_t paths;         /**< that packets may take now */
  uint64_t paths_marked;  /**< of these, passed over for their mark */
  uint64_t paths_used;    /**< different ones that packets have taken so far */
  uint64_t keyed;         /**< 1: encrypted and authenticated */
  /* Sent. */
  uint64_t messages_sent; /**< acknowledged */
  uint64_t message_bytes_sent;
  uint64_t data_packets_sent;
  uint64_t data_bytes_sent; /**< payload, retransmissions included */
  uint64_t retransmissions;
  uint64_t loss_episodes;
  uint64_t timeouts;
  uint64_t probes_sent;
  uint64_t sacks_received;
  uint64_t marks_echoed;  /**< SACKs that told of a mark */
  uint64_t credit_stalls; /**< times that sending waited for the peer's receives */
  /* Received. */
  uint64_t messages_received;
  uint64_t message_bytes_received;
  uint64_t data_packets_received; /**< new ones */
  uint64_t duplicates_received;
  uint64_t marks_received; /**< data packets that arrived marked */
  uint64_t sacks_sent;
  uint64_t packets_held;     /**< waited in the pool for their buffer */
  uint64_t packets_unplaced; /**< dropped since there was no buffer */
  /* Paths. */
  uint64_t paths_barred;  /**< left out for a while, since packets were lost there */
  uint64_t path_rate_bps; /**< as measured at set-up, at most the host's rate */
  uint64_t rekeyings;     /**< how often this side has changed its key */
} strack_connection_statistics;

/** Of a whole endpoint, since it was opened; ended connections included. Fields are added at the end
 * only. */
typedef struct strack_endpoint_statistics {
  uint64_t connections; /**< up now */
  uint64_t connections_made;
  uint64_t connections_failed;
  uint64_t datagrams_sent;
  uint64_t datagrams_received;
  uint64_t bytes_sent; /**< UDP payload */
  uint64_t bytes_received;
  uint64_t send_calls; /**< system calls */
  uint64_t receive_calls;
  uint64_t sleeps;
  uint64_t send_errors; /**< a datagram the kernel would not take: lost like any other */
  uint64_t send_full;   /**< the same because its buffer was full */
  /* Datagrams refused, by cause. */
  uint64_t refused_malformed; /**< not of this protocol, or contradicts itself */
  uint64_t refused_unknown;   /**< a connection that does not exist */
  uint64_t refused_forged;    /**< does not open with the key */
  uint64_t refused_replayed;  /**< came before */
  uint64_t refused_set_up;    /**< cookies and terms that are not right */
  uint64_t rejected;          /**< set-ups turned away: no room, no key, not listening */
  uint64_t challenges_sent;
  uint64_t held_bytes;        /**< the pool's memory now in use */
  uint64_t refused_untrusted; /**< set-ups of hosts whose key is not among the trusted */
} strack_endpoint_statistics;

/** `size` is sizeof *statistics as the program knows it; fields that the library does not know are 0. */
STRACK_EXPORT strack_status
strack_read_connection_statistics(const strack_endpoint* endpoint, strack_connection connection,
                                  strack_connection_statistics* statistics, size_t size);
STRACK_EXPORT strack_status strack_read_endpoint_statistics(const strack_endpoint* endpoint,
                                                            strack_endpoint_statistics* statistics,
                                                            size_t size);

#ifdef __cplusplus
}
#endif

#endif
