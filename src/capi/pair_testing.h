// For tests of the C interface: two endpoints, and what they report.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capi/strack.h"

namespace strack::capi::testing {

inline constexpr strack_connection kNobody = 12'345;

struct Destroy {
  void operator()(strack_endpoint* endpoint) const { strack_destroy(endpoint); }
};
using Handle = std::unique_ptr<strack_endpoint, Destroy>;

inline strack_options defaults() {
  strack_options options;
  EXPECT_EQ(strack_options_init(&options), STRACK_OK);
  return options;
}

inline Handle open(const strack_options& options) {
  std::array<char, 256> error{};
  strack_endpoint* endpoint = nullptr;
  EXPECT_EQ(strack_open(&options, &endpoint, error.data(), error.size()), STRACK_OK)
      << error.data();
  EXPECT_STREQ(error.data(), "");
  return Handle(endpoint);
}

inline Handle open_server() {
  strack_options options = defaults();
  options.listen = "127.0.0.1:0";
  return open(options);
}

inline std::string address_of(const Handle& endpoint) {
  std::array<char, STRACK_ADDRESS_SIZE> address{};
  const std::int64_t length = strack_local_address(endpoint.get(), address.data(), address.size());
  EXPECT_EQ(length, static_cast<std::int64_t>(std::strlen(address.data())));
  return address.data();
}

inline strack_connection connect(const Handle& from, const std::string& address,
                                 std::uint64_t cookie) {
  std::array<char, 256> error{};
  strack_connection connection = 0;
  EXPECT_EQ(
      strack_connect(from.get(), address.c_str(), cookie, &connection, error.data(), error.size()),
      STRACK_OK)
      << error.data();
  return connection;
}

/// Two endpoints and all that they have reported.
class Pair {
 public:
  Pair() : Pair(defaults(), defaults()) {}
  Pair(strack_options server_options, strack_options client_options) {
    server_options.listen = "127.0.0.1:0";
    server = open(server_options);
    client = open(client_options);
  }
  void connect_both() {
    to_server = connect(client, address_of(server), 77);
    ASSERT_TRUE(run_until(
        [&] { return accepted().size() == 1 && count(client_done, STRACK_CONNECTED) == 1; }));
    to_client = accepted()[0].connection;
  }
  /// Works on both, for so long as it can take at the very most.
  template <class Condition>
  bool run_until(Condition&& condition) {
    for (int round = 0; round < 20'000; ++round) {
      if (condition()) return true;
      take(server, server_done, 0);
      take(client, client_done, 1'000'000);
    }
    return condition();
  }
  static std::size_t count(const std::vector<strack_completion>& done, std::uint32_t kind) {
    return static_cast<std::size_t>(
        std::count_if(done.begin(), done.end(),
                      [&](const strack_completion& each) { return each.kind == kind; }));
  }
  /// The one completion of this kind.
  static strack_completion only(const std::vector<strack_completion>& done, std::uint32_t kind) {
    EXPECT_EQ(count(done, kind), 1u) << strack_kind_text(kind);
    for (const strack_completion& each : done) {
      if (each.kind == kind) return each;
    }
    return {};
  }
  std::vector<strack_completion> accepted() const {
    std::vector<strack_completion> found;
    std::copy_if(server_done.begin(), server_done.end(), std::back_inserter(found),
                 [](const strack_completion& each) { return each.kind == STRACK_ACCEPTED; });
    return found;
  }

  Handle server;
  Handle client;
  strack_connection to_server = 0;
  strack_connection to_client = 0;
  std::vector<strack_completion> server_done;
  std::vector<strack_completion> client_done;

 private:
  static void take(const Handle& endpoint, std::vector<strack_completion>& done,
                   std::int64_t timeout_ns) {
    ASSERT_GE(strack_wait(endpoint.get(), timeout_ns), 0);
    std::array<strack_completion, 8> some;
    for (;;) {
      const std::int64_t count = strack_completions(endpoint.get(), some.data(), some.size());
      ASSERT_GE(count, 0);
      done.insert(done.end(), some.begin(), some.begin() + count);
      if (count < static_cast<std::int64_t>(some.size())) return;
    }
  }
};

}  // namespace strack::capi::testing
