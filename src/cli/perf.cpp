#include "cli/perf.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

#include "base/json_text.h"
#include "base/result.h"
#include "cli/interrupt.h"
#include "cli/key_reload.h"
#include "cli/progress.h"
#include "cli/text.h"
#include "cli/udp_options.h"
#include "perf/client.h"
#include "perf/hints.h"
#include "perf/report.h"
#include "perf/server.h"
#include "transfer/digest.h"
#include "transfer/key_watch.h"
#include "transfer/leftovers.h"
#include "transfer/metrics_server.h"
#include "transfer/prometheus.h"
#include "udp/endpoint.h"
#include "workload/amount.h"

namespace strack::cli {
namespace {

/// As fail, where nothing could begin; whoever reads JSON is told there, too.
int fail_in(bool json, std::string_view message, int status = 2) {
  if (json) fmt::print("{{\"ok\": false, \"error\": {}}}\n", json_string(message));
  return fail(message, status);
}
/// No mistake on the command line: the name may be right, and the resolver not to be had.
bool is_unresolved(std::string_view problem) { return problem.starts_with("cannot resolve "); }

/// `metrics`: where they are to be had, if anywhere.
void say_where(const PerfServerOptions& options, const udp::Endpoint& endpoint,
               const std::string& metrics) {
  fmt::print("listening at {}{}{}\n", endpoint.local_address(),
             options.bind.empty() && !options.transport.protection.keyed() &&
                     !options.transport.protection.insecure
                 ? ", for this host only: --key-file or --insecure opens it to others"
                 : "",
             metrics.empty() ? "" : fmt::format(", metrics at http://{}/metrics", metrics));
  std::fflush(stdout);
}

}  // namespace

Result<udp::EndpointOptions, std::string> endpoint_options(const PerfTransport& transport) {
  udp::EndpointOptions out;
  out.paths = transport.paths;
  out.burst = transport.burst;
  out.max_payload = transport.payload;
  out.oblivious = transport.policy == "oblivious";
  out.sealing = transport.sealing;
  out.threads = transport.threads;
  out.transport = transport_of(transport.scheme);
  if (!out.oblivious && transport.policy != "adaptive")
    return fmt::format("--policy {} is unknown. there are adaptive and oblivious",
                       transport.policy);
  const auto rate = parse_link_rate(transport.rate);
  if (!rate) return rate.error();
  out.rate_bps = rate.value();
  const auto timeout = parse_peer_timeout(transport.peer_timeout);
  if (!timeout) return timeout.error();
  out.peer_timeout = timeout.value();
  const auto spin = workload::parse_time(transport.spin);
  if (!spin || *spin > seconds(1))
    return fmt::format("--spin {} is not a time up to 1s. write one such as 50us, or 0",
                       transport.spin);
  out.spin = std::chrono::microseconds(spin->count() / 1'000'000);
  const auto warning = transfer::protect(transport.protection, out);
  if (!warning) return warning.error();
  if (warning.value()) fmt::print(stderr, "warning: {}\n", *warning.value());
  out.user_data = perf::kService;
  return out;
}

int perf_server(const PerfServerOptions& options) {
  KeyReload keys(options.transport.protection, false);
  auto made = endpoint_options(options.transport);
  if (!made) return fail_in(options.json, made.error());
  udp::EndpointOptions& endpoint_settings = made.value();
  const auto address = transfer::listen_address(options.bind, options.transport.protection);
  if (!address) return fail_in(options.json, address.error());
  endpoint_settings.listen = address.value().text;
  perf::Server::prepare(endpoint_settings);
  auto opened = udp::Endpoint::open(endpoint_settings);
  if (!opened) return fail_in(options.json, opened.error().text, 1);
  udp::Endpoint endpoint = std::move(opened.value());
  std::uint64_t ended = 0;
  bool good = true;
  perf::Server server(
      endpoint,
      [&](const perf::ServerResult& result) {
        ended += result.tested ? 1u : 0u;
        good = good && (result.ok || !result.tested);
        fmt::print("{}", options.json ? perf::json(result) : perf::text(result));
        std::fflush(stdout);
      },
      perf::Server::Limits{});
  if (!server.has_memory())
    return fail_in(options.json, "there is not enough memory for messages", 1);

  std::optional<transfer::MetricsServer> metrics;
  if (!options.metrics.empty()) {
    auto listening = transfer::MetricsServer::open(
        options.metrics, [&endpoint] { return transfer::prometheus_text("perf", endpoint); });
    if (!listening) return fail_in(options.json, listening.error());
    metrics.emplace(std::move(listening.value()));
  }
  std::atomic<bool>& stop = stop_on_signals();
  keys.listen();
  if (!options.json) say_where(options, endpoint, metrics ? metrics->address() : "");
  const auto tell = [&](const udp::SocketLimits& limits) {
    for (const std::string& hint : perf::hints(limits, endpoint_settings.paths))
      fmt::print(stderr, "hint: {}\n", hint);
  };
  tell(endpoint.socket_limits());
  std::uint64_t looked = 0;  // tests that had ended when it was last looked for shared ports
  bool told = false;
  transfer::Leftovers leftovers;
  std::array<udp::Completion, 256> taken;
  while (!stop.load(std::memory_order_relaxed)) {
    endpoint.wait(std::chrono::milliseconds(metrics ? 50 : 200));
    const auto now = perf::Server::Clock::now();
    for (const udp::Completion& completion : endpoint.completions(taken))
      server.on(completion, now);
    endpoint.flush();  // answers go before it is looked for what has come
    server.look_for_silence(now);
    if (metrics) metrics->poll();
    keys.look(endpoint);
    leftovers.look(endpoint, now);
    // Ports are opened when packets take them.
    if (udp::SocketLimits shared; ended > looked && !told) {
      looked = ended;
      shared.paths_sharing = endpoint.socket_limits().paths_sharing;
      told = shared.paths_sharing > 0;
      tell(shared);
    }
    if (options.once && ended > 0 && server.idle()) return good ? 0 : 1;
  }
  return interrupted_status();
}

int perf_client(const PerfClientOptions& options) {
  auto made_plan = perf::make_plan(options.plan, options.transport.protection);
  if (!made_plan)
    return fail_in(options.json, made_plan.error(), is_unresolved(made_plan.error()) ? 1 : 2);
  const perf::Plan& plan = made_plan.value();
  const auto reconnect = parse_reconnect(options.reconnect);
  if (!reconnect) return fail_in(options.json, reconnect.error());
  made_plan.value().reconnect = reconnect.value();
  auto made = endpoint_options(options.transport);
  if (!made) return fail_in(options.json, made.error());
  udp::EndpointOptions& endpoint_settings = made.value();
  perf::Client::prepare(endpoint_settings, plan);
  endpoint_settings.connect_timeout = std::chrono::seconds(5);
  endpoint_settings.path_statistics = options.per_path || options.csv;
  if (options.json && options.csv)
    return fail_in(options.json,
                   "--json and --csv are two ways to print one thing: give one of them");
  const bool quiet = options.json || options.csv;
  const perf::SystemLimits before = perf::look_at_system();
  ProgressLine line(!quiet);
  perf::Client* running = nullptr;
  perf::Client::Events events;
  events.interval = [&](const perf::Sample& sample) {
    if (quiet) return;
    line.clear();
    fmt::print("{:7.1f} s  {}\n", sample.at, perf::live_text(sample));
    std::fflush(stdout);
  };
  events.lost = [&](const std::string& problem) {
    line.clear();
    fmt::print(stderr, "{}; connecting again, for up to {}\n", problem, text_of(plan.reconnect));
  };
  events.again = [&] {  // [D141]
    transfer::read_keys_to_connect(options.transport.protection, endpoint_settings);
  };
  events.round = [&] {
    if (!line.due()) return;
    if (const auto sample = running->sample()) line.show(perf::live_text(*sample));
  };
  perf::Client client(endpoint_settings, plan, events);
  running = &client;
  if (!client.has_memory())
    return fail_in(options.json,
                   fmt::format("there is not enough memory for messages of {}", options.plan.size),
                   1);
  perf::ClientResult result = client.run(stop_on_signals());
  result.cpu_seconds = perf::cpu_seconds();
  result.hints = perf::hints(result, plan, endpoint_settings, before, perf::look_at_system());
  line.clear();
  if (!result.problem.empty()) fail(result.problem);
  fmt::print("{}", options.json  ? perf::json(plan, options.transport.policy, result) + "\n"
                   : options.csv ? perf::path_csv(result)
                                 : perf::text(plan, result));
  if (!quiet && options.per_path && !result.paths.empty())
    fmt::print("{}", perf::path_table(result.paths));
  if (!quiet && options.per_path) fmt::print("{}", perf::server_path_table(plan, result));
  if (!result.problem.empty()) return result.mistake ? 2 : 1;
  if (result.interrupted) return interrupted_status();
  return result.ok ? 0 : 1;
}

}  // namespace strack::cli
