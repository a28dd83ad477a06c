// What the C interface's functions share: no exception gets out, and texts fit their buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <span>
#include <string_view>
#include <utility>

#include "capi/strack.h"
#include "udp/endpoint.h"

namespace strack::capi {

namespace udp = strack::udp;
using udp::ConnectionId;

/// Values of one side in those of the other.
[[nodiscard]] strack_status status_of(udp::Status status);
[[nodiscard]] std::uint32_t kind_of(udp::Kind kind);
[[nodiscard]] strack_completion completion_of(const udp::Completion& from);

inline std::span<const std::byte> bytes(const void* data, std::size_t length) {
  return {static_cast<const std::byte*>(data), length};
}
inline std::span<std::byte> bytes(void* data, std::size_t length) {
  return {static_cast<std::byte*>(data), length};
}

// --- Texts ----------------------------------------------------------------------------------------

/// The caller's buffer for what went wrong; may be none.
class Complaint {
 public:
  Complaint() = default;
  Complaint(char* buffer, std::size_t size) : buffer_(buffer), size_(buffer == nullptr ? 0 : size) {
    say("");
  }
  void say(std::string_view text) {
    if (size_ == 0) return;
    const std::size_t length = std::min(text.size(), size_ - 1);
    std::memcpy(buffer_, text.data(), length);
    buffer_[length] = '\0';
  }

 private:
  char* buffer_ = nullptr;
  std::size_t size_ = 0;
};

/// A whole text for the caller, or none of it.
inline std::int64_t give_text(std::string_view text, char* buffer, std::size_t size) {
  if (text.size() >= size) {
    buffer[0] = '\0';
    return STRACK_BUFFER_TOO_SMALL;
  }
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  return static_cast<std::int64_t>(text.size());
}

inline bool is_text_buffer(const char* buffer, std::size_t size) {
  return buffer != nullptr && size > 0;
}

// --- Calls ----------------------------------------------------------------------------------------

/// Runs `call`, whose result is a number or a negative status. Whatever is thrown becomes a status.
template <class Call>
auto guarded(Complaint complaint, Call&& call) noexcept -> decltype(call()) {
  using Number = decltype(call());
  try {
    return std::forward<Call>(call)();
  } catch (const std::bad_alloc&) {
    complaint.say("out of memory");
    return static_cast<Number>(STRACK_NO_MEMORY);
  } catch (const std::exception& thrown) {
    complaint.say(thrown.what());
    return static_cast<Number>(STRACK_INTERNAL);
  } catch (...) {
    return static_cast<Number>(STRACK_INTERNAL);
  }
}

template <class Call>
auto guarded(Call&& call) noexcept -> decltype(call()) {
  return guarded(Complaint{}, std::forward<Call>(call));
}

inline strack_status invalid(Complaint& complaint, std::string_view text) {
  complaint.say(text);
  return STRACK_INVALID_ARGUMENT;
}

inline constexpr std::string_view kNoEndpoint =
    "endpoint is NULL. it needs what strack_open stored";

}  // namespace strack::capi
