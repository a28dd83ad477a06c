// [D141] Notices that the files of an endpoint's keys have changed, and has the endpoint take the new ones. Who listens
// asks now and then; who connects, before it connects again.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "transfer/protection.h"
#include "udp/endpoint.h"

namespace strack::transfer {

class KeyWatch {
 public:
  using Clock = std::chrono::steady_clock;
  /// Between two looks. A file that was changed is read when it was left alone for that long.
  static constexpr std::chrono::milliseconds kPause{1'000};

  /// Before they are read for the first time.
  explicit KeyWatch(const Protection& protection);

  /// Whether the files are to be read again now: they have changed, or somebody asks for it.
  [[nodiscard]] bool is_due(Clock::time_point now, bool asked);

 private:
  /// What tells one state of a file from another.
  struct Stamp {
    bool there = false;
    dev_t device = 0;
    ino_t inode = 0;
    off_t size = 0;
    std::int64_t modified = 0;
    std::int64_t changed = 0;
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  [[nodiscard]] std::vector<Stamp> look() const;

  std::vector<std::string> files_;
  std::vector<Stamp> read_;  ///< as they were when they were read
  std::vector<Stamp> seen_;  ///< and at the last look
  Clock::time_point looked_at_{};
};

struct KeysTaken {
  std::string text;  ///< what there is now, in words
};
/// Reads the keys again and has the endpoint take them. Or says what is wrong, and all stays as it was.
[[nodiscard]] Result<KeysTaken, std::string> read_keys_again(const Protection& protection,
                                                             udp::Endpoint& endpoint);

/// Who connects again: its keys as their files have them now. Those in `settings` stay where these are of no use, or came
/// from standard input.
void read_keys_to_connect(const Protection& protection, udp::EndpointOptions& settings);

}  // namespace strack::transfer
