#include "swarm/plan.h"

#include <algorithm>

#include <fmt/format.h>

namespace strack::swarm {

Instant Plan::last_post() const {
  Instant last{};
  for (const Load& load : loads) last = std::max(last, load.post_at.back());
  return last;
}

Link draw_link(const Rng& root) {
  Rng rng = root.stream("link");
  Link link;
  constexpr std::array kRates{10, 100, 400, 800};
  link.rate = gbps(kRates[rng.below(kRates.size())]);
  constexpr std::array<std::int64_t, 5> kMtus{64, 256, 1000, 4096, 9000};
  link.mtu = bytes(kMtus[rng.below(kMtus.size())]);
  link.base_rtt = ns(rng.between(1'000, 20'000));
  link.net_base_rtt = link.base_rtt + (link.mtu + bytes(64)) / link.rate;
  return link;
}

Faults draw_faults(const Rng& root, const Link& link, Picoseconds unit, std::uint32_t paths) {
  Rng rng = root.stream("faults");
  const auto up_to = [&](std::int64_t most) {
    return rng.chance(percent(50)) ? percent(0) : percent(rng.between(0, most));
  };
  Faults faults;
  faults.jitter = rng.chance(percent(40)) ? ps(0) : ps(rng.between(0, 2 * link.base_rtt.value));
  faults.loss = up_to(30);
  faults.ack_loss = up_to(30);
  faults.duplication = up_to(20);
  faults.spike = up_to(5);
  faults.spike_size = rng.between(1, 40) * link.base_rtt;
  faults.marking = up_to(100);
  faults.marks_by_path = rng.chance(percent(50));
  if (rng.chance(percent(30))) {
    const std::int64_t count = rng.between(1, 1 + paths / 2);
    for (std::int64_t i = 0; i < count; ++i) {
      faults.blackholes.push_back(static_cast<core::PathId>(rng.below(paths)));
    }
  }
  faults.end = at(rng.between(5, 60) * unit);
  if (rng.chance(percent(30))) {
    faults.dead_from = at(ps(rng.between(0, faults.end.ps / 2)));
    faults.dead_until =
        std::min(faults.end, faults.dead_from + ps(rng.between(1, 30 * unit.value)));
  }
  return faults;
}

std::array<Load, kFlows> draw_loads(const Rng& root, const Link& link, LoadSizes sizes) {
  Rng rng = root.stream("load");
  std::array<Load, kFlows> loads;
  for (Load& load : loads) {
    load.initial_psn =
        core::Psn{rng.chance(percent(50)) ? static_cast<std::uint32_t>(0u - rng.below(400))
                                          : static_cast<std::uint32_t>(rng.next())};
    const std::int64_t count = rng.chance(percent(10)) ? rng.between(65, 140) : rng.between(1, 12);
    const std::int64_t most_packets = count > 64               ? sizes.many
                                      : rng.chance(percent(8)) ? sizes.longest
                                                               : sizes.usual;
    const std::int64_t largest = most_packets * link.mtu.value;
    Instant when{};
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t length =
          rng.chance(percent(20)) ? rng.between(0, 100) : rng.between(0, largest);
      load.messages.push_back(
          {static_cast<core::MessageId>(i), static_cast<std::uint32_t>(length)});
      if (rng.chance(percent(30))) when = when + ps(rng.between(0, 30 * link.base_rtt.value));
      load.post_at.push_back(when);
    }
  }
  return loads;
}

std::string describe(const Plan& plan, const std::string& params) {
  const Faults& f = plan.faults;
  return fmt::format(
      "{} Gb/s, mtu {}, base rtt {} ns, {}, loss {} % and {} % of acknowledgements, duplication {} "
      "%, spikes {} % of {} ns, marks {} %, {} blackholed paths, dead for {} ns, {} + {} messages",
      plan.link.rate.value / 1'000'000'000, plan.link.mtu.value,
      plan.link.net_base_rtt.value / 1'000, params, f.loss.num, f.ack_loss.num, f.duplication.num,
      f.spike.num, f.spike_size.value / 1'000, f.marking.num, f.blackholes.size(),
      (f.dead_until - f.dead_from).value / 1'000, plan.loads[0].messages.size(),
      plan.loads[1].messages.size());
}

}  // namespace strack::swarm
