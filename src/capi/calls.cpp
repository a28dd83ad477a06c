#include "capi/calls.h"

namespace strack::capi {

// --- Values of both sides -------------------------------------------------------------------------

// Switches without a default, so that the compiler says when the endpoint has learnt a new value. The
// numbers of the C side are promised and do not follow the order of the other.

strack_status status_of(udp::Status status) {
  switch (status) {
    case udp::Status::ok:
      return STRACK_OK;
    case udp::Status::would_block:
      return STRACK_WOULD_BLOCK;
    case udp::Status::unknown_connection:
      return STRACK_UNKNOWN_CONNECTION;
    case udp::Status::closing:
      return STRACK_CLOSING;
    case udp::Status::too_long:
      return STRACK_TOO_LONG;
    case udp::Status::unknown_region:
      return STRACK_UNKNOWN_REGION;
    case udp::Status::truncated:
      return STRACK_TRUNCATED;
    case udp::Status::cancelled:
      return STRACK_CANCELLED;
    case udp::Status::connection_closed:
      return STRACK_CONNECTION_CLOSED;
    case udp::Status::peer_dead:
      return STRACK_PEER_DEAD;
    case udp::Status::peer_aborted:
      return STRACK_PEER_ABORTED;
    case udp::Status::refused:
      return STRACK_REFUSED;
    case udp::Status::key_refused:
      return STRACK_KEY_REFUSED;
    case udp::Status::busy:
      return STRACK_BUSY;
    case udp::Status::not_listening:
      return STRACK_NOT_LISTENING;
    case udp::Status::timed_out:
      return STRACK_TIMED_OUT;
    case udp::Status::went_silent:
      return STRACK_WENT_SILENT;
    case udp::Status::access_refused:
      return STRACK_ACCESS_REFUSED;
    case udp::Status::protocol_error:
      return STRACK_PROTOCOL_ERROR;
    case udp::Status::keys_exhausted:
      return STRACK_KEYS_EXHAUSTED;
    case udp::Status::no_resources:
      return STRACK_NO_RESOURCES;
    case udp::Status::peer_restarted:
      return STRACK_PEER_RESTARTED;
    case udp::Status::version_refused:
      return STRACK_VERSION_REFUSED;
    case udp::Status::transport_refused:
      return STRACK_TRANSPORT_REFUSED;
    case udp::Status::extension_refused:
      return STRACK_EXTENSION_REFUSED;
    case udp::Status::unreachable:
      return STRACK_UNREACHABLE;
    case udp::Status::invalid:
      return STRACK_INVALID_ARGUMENT;
  }
  return STRACK_INTERNAL;
}

std::uint32_t kind_of(udp::Kind kind) {
  switch (kind) {
    case udp::Kind::sent:
      return STRACK_SENT;
    case udp::Kind::written:
      return STRACK_WRITTEN;
    case udp::Kind::received:
      return STRACK_RECEIVED;
    case udp::Kind::connected:
      return STRACK_CONNECTED;
    case udp::Kind::accepted:
      return STRACK_ACCEPTED;
    case udp::Kind::peer_closed:
      return STRACK_PEER_CLOSED;
    case udp::Kind::closed:
      return STRACK_CLOSED;
    case udp::Kind::failed:
      return STRACK_FAILED;
    case udp::Kind::read:
      return STRACK_READ;
    case udp::Kind::atomic:
      return STRACK_ATOMIC;
  }
  return 0;
}

strack_completion completion_of(const udp::Completion& from) {
  strack_completion to{};
  to.kind = kind_of(from.kind);
  to.status = status_of(from.status);
  to.connection = static_cast<strack_connection>(from.connection);
  to.cookie = from.cookie;
  to.tag = from.tag;
  to.length = from.length;
  return to;
}

}  // namespace strack::capi
