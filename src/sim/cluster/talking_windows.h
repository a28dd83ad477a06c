// Windows between which NICs tell each other something.
//
// Of a traits type whose Nic is not empty: Protocol::talk(const Params&, Instant begin, for_each) is called
// by one thread before each window; for_each(visit) has each host's Nic visited, until visit() says no. All that
// comes before `begin` has happened; what happens in the window comes less than the lookahead later. That is so wherever a
// window was cut short, so what talk() does hangs on time alone, and not on what is recorded.
//
// Where all hosts are in one process and its memory: a transport that needs it makes no other clusters.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "base/units.h"
#include "sim/cluster/windows.h"
#include "sim/host/host.h"

namespace strack::sim {

template <class Protocol, class NetworkType, class SwitchType>
class TalkingWindows : public Windows<Protocol, NetworkType, SwitchType> {
  using Base = Windows<Protocol, NetworkType, SwitchType>;

 public:
  TalkingWindows(NetworkType& network, const PortRules& port_rules,
                 const typename Base::Rules& host_rules, std::uint32_t workers, std::size_t jobs)
      : Base(network, port_rules, host_rules, workers, jobs),
        network_(network),
        params_(*host_rules.transport),
        lookahead_(network.topology.smallest_latency()) {
    STRACK_CHECK(network.part.alone());
  }

  void begin(Instant end) {
    Protocol::talk(params_, end - lookahead_, [&](auto&& visit) {
      for (auto& host : network_.all_hosts()) {
        if (!visit((host.*&Inside::nic)())) return;
      }
    });
    Base::begin(end);
  }

 private:
  struct Inside : Host<Protocol> {
    using Host<Protocol>::nic;
  };

  NetworkType& network_;
  const typename Protocol::Params& params_;
  const Picoseconds lookahead_;
};

}  // namespace strack::sim
