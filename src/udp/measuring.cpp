// What a connection measures after set-up, before it sends: the RTT of small packets and of full ones.
#include <algorithm>
#include <utility>
#include <vector>

#include "udp/engine.h"
#include "udp/fitting_burst.h"

namespace strack::udp {
namespace {

constexpr std::uint32_t kRttSamples = 3;
constexpr std::uint32_t kMostRttQuestions = 6;

}  // namespace

/// One more sample. Once small and full packets' are known well enough, the connection can send.
void Engine::note_rtt(Connection& c, Picoseconds rtt, bool full) {
  if (c.out.sends) return;
  rtt = std::max(rtt, us(1));
  Picoseconds& lowest = full ? c.set_up.full_rtt : c.set_up.small_rtt;
  if (lowest == ps(0) || rtt < lowest) lowest = rtt;
  // Full ones may be too large for the path: then small ones have to do, and data goes in pieces.
  if (full ? ++c.set_up.rtt_samples == kRttSamples || rtt < kSchedulingNoise / 2
           : c.set_up.rtt_asked >= kMostRttQuestions) {
    make_sender(c);
  } else if (full) {
    ask_rtt(c);
  }
}

/// A small ping, and behind it a full one on the same path: what that takes longer tells how fast
/// the path's links are. Another small one goes another way, should that path be dead [D44].
void Engine::ask_rtt(Connection& c) {
  ++c.set_up.rtt_asked;
  send_ping(c);
  send_ping(c);
  send_padded_ping(c, c.mtu.largest());
  c.life.ping_retry_at = now_ + c.life.ping_interval;
}

/// [D74] Routers tell ways apart by the ports of both sides, too.
PeerPort::Lane& Engine::lane_of(const Connection& c) {
  std::vector<PeerPort::Lane>& lanes = c.life.port->lanes;
  for (PeerPort::Lane& lane : lanes) {
    if (lane.local == c.local && lane.transport == c.transport) return lane;
  }
  return lanes.emplace_back(PeerPort::Lane{c.local, c.transport, {}});
}

/// The RTT is known: now it can send.
void Engine::make_sender(Connection& c) {
  // Without a small one's there is nothing to compare a full one's with.
  if (c.set_up.small_rtt == ps(0)) std::swap(c.set_up.small_rtt, c.set_up.full_rtt);
  Measured measured{.rate = {static_cast<std::int64_t>(options_.rate_bps)},
                    .rtt = c.set_up.small_rtt,
                    .full_rtt = c.set_up.full_rtt,
                    .payload = c.statistics.payload_bytes,
                    .paths = options_.paths,
                    .window = c.set_up.theirs.tracking_window,
                    .oblivious = options_.oblivious};
  c.out.burst = measured.burst = fitting_burst(measured, c.mtu.largest(), options_.burst);
  c.session->start_sending(measured, lane_of(c).known);
  c.out.sends = true;
  stop_asking(c);
  c.statistics.rtt_ns = static_cast<std::uint64_t>(c.set_up.small_rtt.count() / 1'000);
  post(c);
}

}  // namespace strack::udp
