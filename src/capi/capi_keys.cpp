// The C interface's part about keys.
#include <cstring>

#include "capi/endpoint.h"
#include "capi/strack.h"

namespace {

namespace udp = strack::udp;

strack_status give(const udp::Key& key, unsigned char* out) {
  std::memcpy(out, key.data(), STRACK_KEY_SIZE);
  return STRACK_OK;
}

}  // namespace

strack_status strack_new_key(unsigned char key[STRACK_KEY_SIZE]) {
  if (key == nullptr) return STRACK_INVALID_ARGUMENT;
  return give(udp::new_key(), key);
}

strack_status strack_public_key(const unsigned char identity[STRACK_KEY_SIZE],
                                unsigned char public_key[STRACK_KEY_SIZE]) {
  if (identity == nullptr || public_key == nullptr) return STRACK_INVALID_ARGUMENT;
  udp::Key key;
  std::memcpy(key.data(), identity, key.size());
  const udp::Key known = udp::public_key(key);
  ::explicit_bzero(key.data(), key.size());
  return give(known, public_key);
}

strack_status strack_peer_key(const strack_endpoint* endpoint, strack_connection connection,
                              unsigned char public_key[STRACK_KEY_SIZE]) {
  if (endpoint == nullptr || public_key == nullptr) return STRACK_INVALID_ARGUMENT;
  const auto key = endpoint->endpoint.peer_key(udp::ConnectionId{connection});
  return key ? give(*key, public_key) : STRACK_UNKNOWN_CONNECTION;
}
