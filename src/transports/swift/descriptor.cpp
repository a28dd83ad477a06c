// Swift as the rest of the program knows it: its scheme, its keys, how a scenario sets it up.
#include "transports/descriptor.h"

#include <memory>

#include "sim/scenario/resolution.h"
#include "sim/scenario/window.h"
#include "transports/swift/keys.h"
#include "transports/swift/sim.h"

namespace strack::transports {
namespace {

constexpr Scheme kSchemes[] = {
    {"swift", "Swift", "swift",
     "Swift (SIGCOMM 2020): a window that holds the delay at a target, on a single path"},
};

constexpr std::string_view kSection = "swift";

std::shared_ptr<const sim::Transport> resolve(sim::Resolution& resolution, const Scheme* scheme) {
  return sim::window_transport<sim::SwiftProtocol>(resolution, kSection, kSwiftKeys,
                                                   scheme != nullptr);
}

}  // namespace

extern const Descriptor descriptor_of_swift;
const Descriptor descriptor_of_swift{
    .name = "swift",
    .rank = 51,
    .schemes = kSchemes,
    .section = kSection,
    .help =
        "Swift, SIGCOMM 2020. Read when the scheme is swift; with another these keys may be there, "
        "without effect.",
    .keys = kSwiftKeys,
    .resolve = resolve,
};

}  // namespace strack::transports
