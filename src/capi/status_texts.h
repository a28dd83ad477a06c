// The statuses of strack.h in words. For capi.cpp alone.
#pragma once

#include <array>

#include "capi/strack.h"

namespace strack::capi {

/// C needs a zero byte at the end, which the views of `udp::text` do not promise.
struct StatusText {
  strack_status status;
  const char* text;
};

inline constexpr std::array kStatusTexts{
    StatusText{STRACK_OK, "ok"},
    StatusText{STRACK_WOULD_BLOCK, "no free message slot now: again after the next completion"},
    StatusText{STRACK_UNKNOWN_CONNECTION, "no such connection, or it has ended"},
    StatusText{STRACK_CLOSING, "the connection is being closed: nothing more can be sent"},
    StatusText{STRACK_TOO_LONG,
               "too long: a message has less than 2^32 bytes, an atomic at most 240"},
    StatusText{STRACK_UNKNOWN_REGION, "no such region"},
    StatusText{STRACK_TRUNCATED, "the message was longer than the buffer"},
    StatusText{STRACK_CANCELLED, "cancelled"},
    StatusText{STRACK_CONNECTION_CLOSED, "the peer closed before this could complete"},
    StatusText{STRACK_PEER_DEAD, "nothing was heard from the peer any more"},
    StatusText{STRACK_PEER_ABORTED, "the peer aborted the connection, or has gone"},
    StatusText{STRACK_REFUSED, "the peer does not take these terms"},
    StatusText{STRACK_KEY_REFUSED, "the peer has another key, or only one side has one"},
    StatusText{STRACK_BUSY, "the peer has no room for another connection"},
    StatusText{STRACK_NOT_LISTENING, "the peer takes no connections"},
    StatusText{STRACK_TIMED_OUT, "no answer from the peer within the connect timeout"},
    StatusText{STRACK_ACCESS_REFUSED, "the peer wrote or read where no region allows it"},
    StatusText{STRACK_PROTOCOL_ERROR, "one side says that the other broke a rule of the protocol"},
    StatusText{STRACK_KEYS_EXHAUSTED, "too many packets under one key: connect anew"},
    StatusText{STRACK_NO_RESOURCES, "max_connections, max_receives or max_regions is reached"},
    StatusText{STRACK_PEER_RESTARTED,
               "the peer does not know the connection any more: connect anew"},
    StatusText{STRACK_VERSION_REFUSED, "the peer speaks another version of the protocol"},
    StatusText{STRACK_TRANSPORT_REFUSED, "the peer does not have this transport"},
    StatusText{STRACK_EXTENSION_REFUSED, "the peer does not know an extension that is needed"},
    StatusText{STRACK_UNREACHABLE, "this host has no route to the peer"},
    StatusText{STRACK_WENT_SILENT,
               "the peer answered once and no more: it has no room, or ways to it lose packets"},
    StatusText{STRACK_INVALID_ARGUMENT, "an argument is NULL or outside its range"},
    StatusText{STRACK_FAILED_CALL, "the call failed, and its error text says why"},
    StatusText{STRACK_BUFFER_TOO_SMALL, "the buffer is too small for the text"},
    StatusText{STRACK_NO_MEMORY, "out of memory"},
    StatusText{STRACK_INTERNAL, "a mistake inside the library"},
};

}  // namespace strack::capi
