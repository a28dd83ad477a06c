// The words for what lies in a datagram: packet types, reasons, faults.
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string_view>

#include "wire/wire.h"

namespace strack::wire {

std::string_view name(Type type) {
  constexpr std::string_view kNames[] = {"none",   "data",  "sack",      "probe",   "ping",
                                         "pong",   "hello", "challenge", "connect", "accept",
                                         "reject", "close", "close_ack", "reset"};
  static_assert(std::size(kNames) == static_cast<std::size_t>(Type::reset) + 1);
  const auto index = static_cast<std::uint8_t>(type);
  return index < std::size(kNames) ? kNames[index] : "unknown";
}

std::string_view name(CloseReason reason) {
  constexpr std::string_view kNames[] = {"done",         "aborted",        "protocol_error",
                                         "no_resources", "keys_exhausted", "going_away"};
  static_assert(std::size(kNames) == kCloseReasons);
  const auto index = static_cast<std::uint16_t>(reason);
  return index < kCloseReasons ? kNames[index] : "unknown";
}

std::string_view name(RejectReason reason) {
  constexpr std::string_view kNames[] = {"none",   "version",   "key_required", "key_unknown",
                                         "no_key", "no_cipher", "busy",         "not_listening",
                                         "terms",  "transport", "extension"};
  static_assert(std::size(kNames) == kRejectReasons + 1);
  const auto index = static_cast<std::uint8_t>(reason);
  return index <= kRejectReasons ? kNames[index] : "unknown";
}

namespace {
struct FaultText {
  std::string_view name;
  std::string_view text;
};
constexpr FaultText kFaults[] = {
    {"too_short", "ends within its header or its fields"},
    {"too_long", "bytes after the last field, or more than UDP carries"},
    {"unknown_version", "not version 2 of the protocol"},
    {"unknown_type", "a packet type that is not defined"},
    {"reserved_flag", "a flag that this type does not have"},
    {"keyed_not_allowed", "keyed, though this type never is"},
    {"path_not_allowed", "a path id of 256 or more, or on a type that takes none"},
    {"connection_id", "a connection id of 0, or one on a type that takes none"},
    {"counter_limit", "a packet counter of 2^40 or more"},
    {"reserved_not_zero", "a reserved byte or padding is not zero"},
    {"field_not_allowed", "a field is set that these flags do not have"},
    {"no_payload", "no payload, though the message is not empty"},
    {"beyond_message", "payload that reaches past the end of its message"},
    {"beyond_region", "a write whose region offset and length pass 2^64 - 1"},
    {"bad_terms", "a set-up value outside its range"},
    {"bad_reason", "a reason that is not defined"},
};
static_assert(std::size(kFaults) == kDecodeFaults);
static_assert(static_cast<std::size_t>(DecodeFault::bad_reason) + 1 == kDecodeFaults);
}  // namespace

std::string_view name(DecodeFault fault) { return kFaults[static_cast<std::size_t>(fault)].name; }
std::string_view text(DecodeFault fault) { return kFaults[static_cast<std::size_t>(fault)].text; }

}  // namespace strack::wire
