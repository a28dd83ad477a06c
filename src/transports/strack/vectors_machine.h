// One end of a connection, driven by lines: events in, decisions and a digest out. For vectors.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "transports/strack/params.h"
#include "transports/vectors.h"

namespace strack::transports {

/// How many messages a sender of a vector can hold.
inline constexpr std::size_t kVectorMessages = 4;

class VectorMachine {
 public:
  virtual ~VectorMachine() = default;
  /// Decisions and the digest; or what is wrong with the event.
  [[nodiscard]] virtual Result<VectorStep, std::string> take(const VectorLine& event) = 0;
  /// When a sender wants `time` to be called, in ps; -1 for never.
  [[nodiscard]] virtual std::int64_t deadline() const = 0;
  /// Rare branches that the newest events have reached.
  [[nodiscard]] const std::vector<std::string>& reached() const { return reached_; }

 protected:
  std::vector<std::string> reached_;
};

/// The first line of a vector: which end, from which PSN on, all parameters.
[[nodiscard]] VectorLine beginning(bool sender, std::uint32_t initial_psn,
                                   const core::StrackParams& params);
[[nodiscard]] Result<std::unique_ptr<VectorMachine>, std::string> make_machine(
    const VectorLine& begin);

/// A line's value by its name; none where it has no such one.
[[nodiscard]] std::string_view value_of(const VectorLine& line, std::string_view name);
[[nodiscard]] std::int64_t number_of(const VectorLine& line, std::string_view name);
void set_value(VectorLine& line, std::string_view name, std::int64_t value);

}  // namespace strack::transports
