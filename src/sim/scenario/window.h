// [window] and [paths] for window-based transports: their descriptors ask here.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/param_error.h"
#include "core/window/params.h"
#include "sim/scenario/fields.h"
#include "sim/scenario/keys.h"
#include "sim/scenario/resolution.h"
#include "sim/transport.h"

namespace strack::sim {

/// What the two sections say, for the transport that runs; the rest of `params` is as its source has it. `policies`:
/// as for spray_of().
void set_window(Resolution& resolution, core::WindowParams& params, bool policies);

/// What the core refuses is reported at the key it is about: the transport's own, or one of [window].
[[noreturn]] void fail_param(Resolution& resolution, std::string_view section,
                             const core::ParamError& error);

/// A window-based transport on this network, as its own section, [window] and [paths] say. Where another runs,
/// nobody reads them, and what does not go together stops no run.
template <class Protocol>
[[nodiscard]] std::shared_ptr<const Transport> window_transport(Resolution& resolution,
                                                                std::string_view section,
                                                                std::span<const Key> keys,
                                                                bool runs) {
  using Params = typename Protocol::Params;
  const auto usual = Params::for_link(resolution.out.config.topology.host_rate,
                                      resolution.out.base_rtt, resolution.mtu);
  if (!usual && !runs) return nullptr;
  if (!usual) fail_param(resolution, section, usual.error());
  Params params = usual.value();
  constexpr bool kPolicies = !requires { Params::kOwnPaths; };
  if (runs) set_window(resolution, params, kPolicies);
  Group& set = resolution.all.plain;
  take_fields(set, section, keys, params);
  params.derive([&](std::string_view key) {
    const Setting* setting = set.find(section, key);
    return setting != nullptr && setting->given;
  });
  show_fields(set, section, keys, params);
  const auto checked = params.validated();
  if (!checked && runs) fail_param(resolution, section, checked.error());
  return make_transport<Protocol>(checked ? params : usual.value());
}

}  // namespace strack::sim
