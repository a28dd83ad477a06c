// The C interface, over closed_loop.h.
#include "loop/strack_sim.h"

#include <algorithm>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "loop/closed_loop.h"

using strack::loop::ClosedLoop;
using strack::loop::Host;

struct strack_sim {
  ClosedLoop loop;
};

namespace {

void say(char* why, std::size_t size, std::string_view text) {
  if (why == nullptr || size == 0) return;
  const std::size_t length = std::min(text.size(), size - 1);
  std::memcpy(why, text.data(), length);
  why[length] = '\0';
}

/// Nothing is thrown into C.
template <class Body>
strack_sim_status guard(char* why, std::size_t size, Body&& body) {
  say(why, size, "");
  try {
    return body();
  } catch (const std::invalid_argument& wrong) {
    say(why, size, wrong.what());
    return STRACK_SIM_INVALID;
  } catch (const std::exception& failed) {
    say(why, size, failed.what());
    return STRACK_SIM_FAILED;
  } catch (...) {
    say(why, size, "a callback threw something that is no std::exception");
    return STRACK_SIM_FAILED;
  }
}
template <class Body>
strack_sim_status guard(Body&& body) {
  return guard(nullptr, 0, [&] {
    body();
    return STRACK_SIM_OK;
  });
}

strack_sim_host* handle(Host& host) { return reinterpret_cast<strack_sim_host*>(&host); }
Host& host_of(strack_sim_host* at) {
  if (at == nullptr) throw std::invalid_argument("the host is NULL");
  return *reinterpret_cast<Host*>(at);
}
const Host& host_of(const strack_sim_host* at) { return host_of(const_cast<strack_sim_host*>(at)); }
ClosedLoop& loop_of(strack_sim* sim) {
  if (sim == nullptr) throw std::invalid_argument("the simulation is NULL");
  return sim->loop;
}

strack::loop::Callback callback(strack_sim_callback call, void* user) {
  if (call == nullptr) return {};
  return [call, user](Host& host) { call(handle(host), user); };
}

strack_sim_status status_of(strack::loop::Ended ended) {
  switch (ended) {
    case strack::loop::Ended::done:
      return STRACK_SIM_OK;
    case strack::loop::Ended::waiting:
      return STRACK_SIM_WAITING;
    case strack::loop::Ended::stopped:
      return STRACK_SIM_STOPPED;
    case strack::loop::Ended::time_limit:
      return STRACK_SIM_TIME_LIMIT;
    case strack::loop::Ended::stalled:
      return STRACK_SIM_STALLED;
  }
  return STRACK_SIM_FAILED;
}

}  // namespace

strack_sim_status strack_sim_open(const char* scenario, const char* const* settings, size_t count,
                                  strack_sim** sim, char* why, size_t why_size) {
  return guard(why, why_size, [&] {
    if (scenario == nullptr || sim == nullptr || (settings == nullptr && count > 0))
      throw std::invalid_argument("a pointer is NULL");
    std::vector<std::string> set;
    for (std::size_t i = 0; i < count; ++i) {
      if (settings[i] == nullptr) throw std::invalid_argument("a setting is NULL");
      set.emplace_back(settings[i]);
    }
    *sim = new strack_sim{ClosedLoop(scenario, set)};
    return STRACK_SIM_OK;
  });
}
void strack_sim_close(strack_sim* sim) { delete sim; }

uint32_t strack_sim_hosts(const strack_sim* sim) { return sim->loop.hosts(); }
int64_t strack_sim_lookahead(const strack_sim* sim) { return sim->loop.lookahead(); }
strack_sim_status strack_sim_set_threads(strack_sim* sim, uint32_t threads) {
  return guard([&] { loop_of(sim).set_threads(threads); });
}
strack_sim_status strack_sim_connect(strack_sim* sim, uint32_t from, uint32_t to) {
  return guard([&] { loop_of(sim).connect(from, to); });
}
strack_sim_status strack_sim_at_start(strack_sim* sim, uint32_t host, strack_sim_callback begin,
                                      void* user) {
  return guard([&] { loop_of(sim).at_start(host, callback(begin, user)); });
}
strack_sim_status strack_sim_run(strack_sim* sim, char* why, size_t why_size) {
  return guard(why, why_size, [&] {
    const strack_sim_status status = status_of(loop_of(sim).run());
    say(why, why_size, sim->loop.why());
    return status;
  });
}
strack_sim_status strack_sim_get_totals(const strack_sim* sim, strack_sim_totals* totals,
                                        size_t size) {
  return guard([&] {
    if (sim == nullptr || totals == nullptr) throw std::invalid_argument("a pointer is NULL");
    const strack::loop::Totals all = sim->loop.totals();
    const strack_sim_totals known{
        all.end, all.messages, all.bytes, all.packets, all.retransmissions, all.drops, all.marks};
    if (size > sizeof known) throw std::invalid_argument("of another version");
    std::memcpy(totals, &known, size);
  });
}

uint32_t strack_sim_number(const strack_sim_host* at) {
  uint32_t number = UINT32_MAX;
  guard([&] { number = host_of(at).number(); });
  return number;
}
int64_t strack_sim_now(const strack_sim_host* at) {
  int64_t now = -1;
  guard([&] { now = host_of(at).now(); });
  return now;
}
strack_sim_status strack_sim_send(strack_sim_host* at, uint32_t to, uint64_t tag, uint64_t bytes,
                                  strack_sim_callback sent, void* user) {
  return guard([&] { host_of(at).send(to, tag, bytes, callback(sent, user)); });
}
strack_sim_status strack_sim_receive(strack_sim_host* at, uint32_t from, uint64_t tag,
                                     strack_sim_received received, void* user) {
  return guard([&] {
    strack::loop::Received call;
    if (received != nullptr) {
      call = [received, user](Host& host, const strack::loop::Message& message) {
        const strack_sim_message given{message.from, message.to, message.tag, message.bytes};
        received(handle(host), &given, user);
      };
    }
    host_of(at).receive(from, tag, std::move(call));
  });
}
strack_sim_status strack_sim_compute(strack_sim_host* at, int64_t time, strack_sim_callback then,
                                     void* user) {
  return guard([&] { host_of(at).compute(time, callback(then, user)); });
}
strack_sim_status strack_sim_stop(strack_sim_host* at) {
  return guard([&] { host_of(at).stop(); });
}
