// [D118] The key for one alpha of all flows: what it sets, and where it is refused.
#include <string>

#include <gtest/gtest.h>

#include "base/units.h"
#include "sim/scenario/scenario.h"
#include "sim/transport.h"
#include "transports/rocev2/shared_sim.h"

namespace strack::sim {
namespace {

constexpr const char* kRoce = "transport.scheme = \"rocev2\"\n";

std::string error_of(const std::string& text) {
  const auto loaded = load_text(text, "x.toml", {}, {});
  return loaded ? "loaded" : loaded.error().text();
}

TEST(SharedAlphaKey, IsATimeOfABaseRttOrMore) {
  const auto loaded =
      load_text(std::string(kRoce) + "[rocev2]\nshared_alpha_us = \"2 RTT\"", "x.toml", {}, {});
  ASSERT_TRUE(loaded) << loaded.error().text();
  EXPECT_EQ(params_of<SharedRoceProtocol>(loaded.value().config).dcqcn.shared_alpha, us(16));
  EXPECT_EQ(error_of(std::string(kRoce) + "[rocev2]\nshared_alpha_us = 7"),
            "x.toml:3: shared_alpha_us is 7. it is 0, or from a base RTT to 1 s, such as "
            "shared_alpha_us = \"1 RTT\"");
}

TEST(SharedAlphaKey, IsForRoceOverLosslessSwitches) {
  EXPECT_EQ(error_of("transport.scheme = \"roce-ar\"\n[rocev2]\nshared_alpha_us = 8"),
            "x.toml:3: roce-ar has an alpha for each flow. leave shared_alpha_us out, or set "
            "scheme = \"rocev2\"");
  EXPECT_EQ(error_of(std::string(kRoce) + "[pfc]\nenabled = false\n[rocev2]\nshared_alpha_us = 8"),
            "x.toml:5: one alpha of all flows is for lossless switches, which run in one process. "
            "leave shared_alpha_us out, or set pfc.enabled = true");
  // Whoever does not read it may have it in the file.
  EXPECT_EQ(error_of("[pfc]\nenabled = false\n[rocev2]\nshared_alpha_us = 8"), "loaded");
}

}  // namespace
}  // namespace strack::sim
