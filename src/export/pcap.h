// One simulated flow as a capture that Wireshark reads with our dissector (tools/wireshark): the packets that its sender sent
// and the acknowledgements that came, in the wire format of docs/protocol.md, at the times of the simulation.
//
// Made from the flow's recorded events (record.inspect). What those do not hold is left at zero: a SACK's bitmap,
// and what packets carry.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/result.h"
#include "metrics/result_file.h"

namespace strack::exports {

inline constexpr std::size_t kMostPackets = 200'000;

struct Captured {
  std::uint32_t flow = 0;
  std::size_t packets = 0;
  bool cut = false;  ///< there were more
};

/// Said of a scheme that has other packets than the wire format.
[[nodiscard]] std::string other_format(const std::string& scheme);

/// Why no capture can be made of a run's flow, as far as that is known before it; empty where it can. `flow` as
/// below.
[[nodiscard]] std::string refuses_capture(const metrics::RunInfo& run,
                                          std::optional<std::uint32_t> flow);

/// Of the flow with this number, or else of the first that was inspected.
[[nodiscard]] Result<Captured, metrics::FileError> save_pcap(
    metrics::ResultReader& reader, const std::filesystem::path& file,
    std::optional<std::uint32_t> flow = std::nullopt, std::size_t most = kMostPackets);

}  // namespace strack::exports
