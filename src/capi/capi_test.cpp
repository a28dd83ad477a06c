#include <poll.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <regex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "capi/pair_testing.h"
#include "capi/strack.h"
#include "capi/testing.h"
#include "udp/endpoint.h"

namespace {

using namespace strack::capi::testing;

// --- Versions and texts ---------------------------------------------------------------------------

TEST(CApi, TellsItsVersions) {
  EXPECT_EQ(strack_api_version(), STRACK_API_VERSION);
  EXPECT_TRUE(std::regex_match(strack_version(), std::regex(R"(\d+\.\d+\.\d+)")));
}

TEST(CApi, EveryStatusAndKindHasATextOfItsOwn) {
  const char* unknown = strack_error_text(1);
  std::set<std::string> texts;
  const auto add = [&](strack_status status) {
    EXPECT_STRNE(strack_error_text(status), unknown) << status;
    EXPECT_TRUE(texts.insert(strack_error_text(status)).second) << status;
  };
  for (strack_status status = STRACK_WENT_SILENT; status <= STRACK_OK; ++status) add(status);
  for (strack_status status = STRACK_INTERNAL; status <= STRACK_INVALID_ARGUMENT; ++status) {
    add(status);
  }
  EXPECT_STREQ(strack_error_text(STRACK_WENT_SILENT - 1), unknown);
  EXPECT_STREQ(strack_error_text(INT32_MIN), unknown);

  for (std::uint32_t kind = STRACK_SENT; kind <= STRACK_ATOMIC; ++kind) {
    EXPECT_TRUE(texts.insert(strack_kind_text(kind)).second) << kind;
  }
  EXPECT_STREQ(strack_kind_text(0), strack_kind_text(STRACK_ATOMIC + 1));
}

// --- Options --------------------------------------------------------------------------------------

TEST(CApi, DefaultsAreThoseOfTheEndpoint) {
  const strack_options options = defaults();
  const strack::udp::EndpointOptions theirs;
  EXPECT_EQ(options.size, sizeof(strack_options));
  EXPECT_EQ(options.listen, nullptr);
  EXPECT_EQ(options.bind, nullptr);
  EXPECT_EQ(options.key, nullptr);
  EXPECT_EQ(options.identity, nullptr);
  EXPECT_EQ(options.trusted, nullptr);
  EXPECT_EQ(options.trusted_count, 0u);
  EXPECT_EQ(options.peer, nullptr);
  EXPECT_EQ(options.user_data, theirs.user_data);
  EXPECT_EQ(options.rate_bps, theirs.rate_bps);
  EXPECT_EQ(options.held_bytes, theirs.held_bytes);
  EXPECT_EQ(options.receive_buffer, theirs.receive_buffer);
  EXPECT_EQ(options.send_buffer, theirs.send_buffer);
  EXPECT_EQ(options.insecure, 0u);
  EXPECT_EQ(options.paths, theirs.paths);
  EXPECT_EQ(options.burst, theirs.burst);
  EXPECT_EQ(options.max_payload, theirs.max_payload);
  EXPECT_EQ(options.oblivious, 0u);
  EXPECT_EQ(options.message_slots, theirs.message_slots);
  EXPECT_EQ(options.unexpected_messages, theirs.unexpected_messages);
  EXPECT_EQ(options.max_connections, theirs.max_connections);
  EXPECT_EQ(options.max_receives, theirs.max_receives);
  EXPECT_EQ(options.max_regions, theirs.max_regions);
  EXPECT_EQ(options.complete_in_order, 1u);
  EXPECT_EQ(options.peer_timeout_ms, theirs.peer_timeout.count());
  EXPECT_EQ(options.connect_timeout_ms, theirs.connect_timeout.count());
  EXPECT_EQ(options.spin_us, theirs.spin.count());
}

TEST(CApi, OptionsInit_RefusesWhatCannotBeASize) {
  strack_options options;
  EXPECT_EQ(strack_options_init(nullptr), STRACK_INVALID_ARGUMENT);
  for (const std::size_t size : {0u, 4u, 7u, 12u, 41u}) {
    EXPECT_EQ(strack_options_init_size(&options, size), STRACK_INVALID_ARGUMENT) << size;
  }
}

// An older program has a smaller struct, and behind it lies something else.
TEST(CApi, OptionsInit_WritesNoFurtherThanTheProgramsStruct) {
  constexpr std::size_t kOld = offsetof(strack_options, user_data);
  strack_options options;
  std::memset(static_cast<void*>(&options), 0xa5, sizeof(options));
  ASSERT_EQ(strack_options_init_size(&options, kOld), STRACK_OK);
  EXPECT_EQ(options.size, kOld);
  EXPECT_EQ(options.listen, nullptr);
  EXPECT_EQ(options.user_data, 0xa5a5a5a5a5a5a5a5u);
  EXPECT_EQ(options.spin_us, 0xa5a5a5a5u);
}

TEST(CApi, Open_ReadsNoFurtherThanTheProgramsStruct) {
  constexpr std::size_t kOld = offsetof(strack_options, user_data);
  strack_options options;
  std::memset(static_cast<void*>(&options), 0xa5, sizeof(options));  // nonsense as values
  ASSERT_EQ(strack_options_init_size(&options, kOld), STRACK_OK);
  options.listen = "127.0.0.1:0";
  const Handle endpoint = open(options);
  ASSERT_NE(endpoint, nullptr);
  EXPECT_GT(strack_local_port(endpoint.get()), 0);
}

// A newer program has a larger struct, with fields that this library does not know.
TEST(CApi, Open_TakesALargerStructWhoseRestIsUnset) {
  struct Newer {
    strack_options known;
    std::uint64_t further[2];
  } newer;
  std::memset(static_cast<void*>(&newer), 0xa5, sizeof(newer));
  ASSERT_EQ(strack_options_init_size(&newer.known, sizeof(newer)), STRACK_OK);
  EXPECT_EQ(newer.known.size, sizeof(newer));
  EXPECT_EQ(newer.further[1], 0u);
  EXPECT_NE(open(newer.known), nullptr);

  newer.further[1] = 1;
  std::array<char, 256> error{};
  strack_endpoint* endpoint = nullptr;
  EXPECT_EQ(strack_open(&newer.known, &endpoint, error.data(), error.size()),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(endpoint, nullptr);
  const std::string place = "at byte " + std::to_string(sizeof(strack_options) + 8);
  EXPECT_NE(std::string(error.data()).find(place), std::string::npos) << error.data();
}

TEST(CApi, Open_SaysWhatIsWrong) {
  std::array<char, 256> error{};
  strack_options options = defaults();
  auto* not_null = reinterpret_cast<strack_endpoint*>(&options);
  strack_endpoint* endpoint = not_null;

  EXPECT_EQ(strack_open(nullptr, &endpoint, error.data(), error.size()), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(endpoint, nullptr);
  EXPECT_NE(std::string(error.data()).find("strack_options_init"), std::string::npos);
  EXPECT_EQ(strack_open(&options, nullptr, error.data(), error.size()), STRACK_INVALID_ARGUMENT);
  EXPECT_NE(error[0], '\0');

  options.size = 0;
  EXPECT_EQ(strack_open(&options, &endpoint, error.data(), error.size()), STRACK_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.data()).find("options.size is 0"), std::string::npos);

  options = defaults();
  options.listen = "nowhere";
  endpoint = not_null;
  EXPECT_EQ(strack_open(&options, &endpoint, error.data(), error.size()), STRACK_FAILED_CALL);
  EXPECT_EQ(endpoint, nullptr);
  EXPECT_NE(std::string(error.data()).find("nowhere"), std::string::npos) << error.data();

  options = defaults();
  options.paths = 0;
  EXPECT_EQ(strack_open(&options, &endpoint, error.data(), error.size()), STRACK_FAILED_CALL);
  EXPECT_NE(std::string(error.data()).find("paths"), std::string::npos) << error.data();
}

// Text is cut to what there is room for, and always ends.
TEST(CApi, Open_TextFitsItsBuffer) {
  strack_endpoint* endpoint = nullptr;
  EXPECT_EQ(strack_open(nullptr, &endpoint, nullptr, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_open(nullptr, &endpoint, nullptr, 100), STRACK_INVALID_ARGUMENT);
  std::array<char, 8> error;
  error.fill('x');
  EXPECT_EQ(strack_open(nullptr, &endpoint, error.data(), 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(error[0], 'x');
  EXPECT_EQ(strack_open(nullptr, &endpoint, error.data(), 5), STRACK_INVALID_ARGUMENT);
  EXPECT_STREQ(error.data(), "opti");
  EXPECT_EQ(error[5], 'x');
}

// Whichever allocation fails, it becomes a status.
TEST(CApi, Open_RunsOutOfMemory) {
  strack_options options = defaults();
  options.listen = "127.0.0.1:0";
  int allocations = 0;
  for (;; ++allocations) {
    ASSERT_LT(allocations, 10'000);
    std::array<char, 64> error{};
    strack_endpoint* endpoint = nullptr;
    strack::fail_allocation_after(allocations);
    const strack_status status = strack_open(&options, &endpoint, error.data(), error.size());
    strack::fail_allocation_after(-1);
    const Handle owned(endpoint);
    if (status == STRACK_OK) break;
    ASSERT_EQ(status, STRACK_NO_MEMORY) << allocations;
    EXPECT_EQ(endpoint, nullptr);
    EXPECT_STREQ(error.data(), "out of memory");
  }
  EXPECT_GT(allocations, 0);
}

// --- Arguments that make no sense -----------------------------------------------------------------

TEST(CApi, NullEndpointIsAnErrorEverywhere) {
  std::array<char, STRACK_ADDRESS_SIZE> text{};
  std::array<char, 256> error{};
  std::array<std::uint64_t, 4> numbers{};
  strack_completion completion;
  strack_connection_statistics connection_statistics;
  strack_endpoint_statistics endpoint_statistics;

  strack_destroy(nullptr);
  EXPECT_EQ(strack_local_address(nullptr, text.data(), text.size()), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_local_port(nullptr), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_peer_address(nullptr, 1, text.data(), text.size()), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_connect(nullptr, "127.0.0.1:1", 0, &numbers[0], error.data(), error.size()),
            STRACK_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.data()).find("endpoint is NULL"), std::string::npos);
  EXPECT_EQ(strack_close(nullptr, 1), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_abort(nullptr, 1), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_connections(nullptr, numbers.data(), 4), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_send(nullptr, 1, 0, text.data(), 1, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_post_receive(nullptr, 1, 0, 0, text.data(), 1, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_cancel_receives(nullptr, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(
      strack_register_region(nullptr, 0, text.data(), 1, &numbers[0], error.data(), error.size()),
      STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_unregister_region(nullptr, 1), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_write(nullptr, 1, 1, 0, text.data(), 1, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_write_with_data(nullptr, 1, 1, 0, text.data(), 1, 0, 0),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_read(nullptr, 1, 1, 0, text.data(), 1, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_register_memory(nullptr, 0, text.data(), 1, 3, &numbers[0], nullptr, 0),
            STRACK_INVALID_ARGUMENT);
  const strack_iovec piece{text.data(), 1};
  EXPECT_EQ(strack_sendv(nullptr, 1, 0, &piece, 1, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_post_receivev(nullptr, 1, 0, 0, &piece, 1, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_peek(nullptr, 1, 0, 0, &completion), STRACK_INVALID_ARGUMENT);
  const char* const address = "127.0.0.1:1";
  EXPECT_EQ(strack_av_insert(nullptr, &address, 1, 1, &numbers[0], nullptr, 0),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_av_lookup(nullptr, 1, text.data(), text.size()), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_av_remove(nullptr, 1), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_av_connection(nullptr, 1, &numbers[0], nullptr, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_av_find(nullptr, 1), 0u);
  EXPECT_EQ(strack_av_send(nullptr, 1, 0, text.data(), 1, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_poll(nullptr), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_wait(nullptr, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_completions(nullptr, &completion, 1), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_file_descriptor(nullptr), -1);
  EXPECT_EQ(strack_next_deadline(nullptr), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_read_connection_statistics(nullptr, 1, &connection_statistics,
                                              sizeof(connection_statistics)),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(
      strack_read_endpoint_statistics(nullptr, &endpoint_statistics, sizeof(endpoint_statistics)),
      STRACK_INVALID_ARGUMENT);
}

TEST(CApi, NullPointersAndBadValuesAreErrors) {
  const Handle endpoint = open_server();
  strack_endpoint* const it = endpoint.get();
  std::array<char, STRACK_ADDRESS_SIZE> text{};
  std::array<char, 256> error{};
  std::array<unsigned char, STRACK_KEY_SIZE> key{};
  strack_connection connection = 1;
  strack_region region = 1;

  EXPECT_EQ(strack_local_address(it, nullptr, 10), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_local_address(it, text.data(), 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_local_address(it, text.data(), 5), STRACK_BUFFER_TOO_SMALL);
  EXPECT_EQ(strack_peer_address(it, 1, nullptr, 10), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_resolve(nullptr, 1, text.data(), text.size(), error.data(), error.size()),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_resolve("127.0.0.1", 1, nullptr, 9, error.data(), error.size()),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_parse_key(nullptr, key.data(), error.data(), error.size()),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_parse_key("00", nullptr, error.data(), error.size()), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_connect(it, nullptr, 0, &connection, error.data(), error.size()),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(connection, STRACK_ANY_CONNECTION);
  EXPECT_EQ(strack_connect(it, "127.0.0.1:1", 0, nullptr, error.data(), error.size()),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_connect(it, "here", 0, &connection, error.data(), error.size()),
            STRACK_FAILED_CALL);
  EXPECT_NE(std::string(error.data()).find("here"), std::string::npos) << error.data();
  EXPECT_EQ(strack_connections(it, nullptr, 1), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_connections(it, nullptr, 0), 0);
  EXPECT_EQ(strack_send(it, 1, 0, nullptr, 1, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_post_receive(it, 0, 0, 0, nullptr, 1, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_register_region(it, 0, nullptr, 1, &region, error.data(), error.size()),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(region, 0u);
  EXPECT_EQ(strack_register_region(it, 0, text.data(), 1, nullptr, error.data(), error.size()),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_write(it, 1, 1, 0, nullptr, 1, 0), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_wait(it, -1), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_completions(it, nullptr, 1), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_completions(it, nullptr, 0), 0);
  EXPECT_EQ(strack_read_connection_statistics(it, 1, nullptr, 8), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_read_endpoint_statistics(it, nullptr, 8), STRACK_INVALID_ARGUMENT);
  strack_endpoint_statistics statistics;
  EXPECT_EQ(strack_read_endpoint_statistics(it, &statistics, 0), STRACK_INVALID_ARGUMENT);
}

TEST(CApi, UnknownNamesAreErrors) {
  const Handle endpoint = open_server();
  strack_endpoint* const it = endpoint.get();
  std::array<char, STRACK_ADDRESS_SIZE> text{'x'};
  strack_connection_statistics statistics;
  std::memset(&statistics, 0xa5, sizeof(statistics));

  EXPECT_EQ(strack_peer_address(it, kNobody, text.data(), text.size()), STRACK_UNKNOWN_CONNECTION);
  EXPECT_STREQ(text.data(), "");
  EXPECT_EQ(strack_send(it, kNobody, 0, text.data(), 1, 0), STRACK_UNKNOWN_CONNECTION);
  EXPECT_EQ(strack_post_receive(it, kNobody, 0, 0, text.data(), 1, 0), STRACK_UNKNOWN_CONNECTION);
  EXPECT_EQ(strack_write(it, kNobody, 1, 0, text.data(), 1, 0), STRACK_UNKNOWN_CONNECTION);
  EXPECT_EQ(strack_close(it, kNobody), STRACK_UNKNOWN_CONNECTION);
  EXPECT_EQ(strack_abort(it, kNobody), STRACK_UNKNOWN_CONNECTION);
  EXPECT_EQ(strack_unregister_region(it, 99), STRACK_UNKNOWN_REGION);
  EXPECT_EQ(strack_cancel_receives(it, 99), 0);
  EXPECT_EQ(strack_read_connection_statistics(it, kNobody, &statistics, sizeof(statistics)),
            STRACK_UNKNOWN_CONNECTION);
  EXPECT_EQ(statistics.cwnd_bytes, 0u);
}

// --- Addresses and keys ---------------------------------------------------------------------------

TEST(CApi, AddressesAndPorts) {
  const Handle server = open_server();
  EXPECT_EQ(address_of(server), "127.0.0.1:" + std::to_string(strack_local_port(server.get())));
  EXPECT_GE(strack_file_descriptor(server.get()), 0);

  const Handle client = open(defaults());
  EXPECT_EQ(address_of(client), "");
  EXPECT_EQ(strack_local_port(client.get()), 0);
  EXPECT_EQ(strack_file_descriptor(client.get()), -1);
}

TEST(CApi, Resolve) {
  std::array<char, STRACK_ADDRESS_SIZE> address{};
  std::array<char, 256> error{};
  EXPECT_EQ(
      strack_resolve("127.0.0.1", 4711, address.data(), address.size(), error.data(), error.size()),
      STRACK_OK)
      << error.data();
  EXPECT_STREQ(address.data(), "127.0.0.1:4711");
  EXPECT_EQ(strack_resolve("127.0.0.1:80", 4711, address.data(), 5, error.data(), error.size()),
            STRACK_BUFFER_TOO_SMALL);
  EXPECT_STREQ(address.data(), "");
  EXPECT_NE(std::string(error.data()).find("needs 13"), std::string::npos) << error.data();
  EXPECT_EQ(strack_resolve("127.0.0.1:http:1", 1, address.data(), address.size(), error.data(),
                           error.size()),
            STRACK_FAILED_CALL);
  EXPECT_NE(error[0], '\0');
}

TEST(CApi, ParseKey) {
  std::array<unsigned char, STRACK_KEY_SIZE> key{};
  std::array<char, 256> error{};
  std::string hex;
  for (int i = 0; i < STRACK_KEY_SIZE; ++i) hex += "a7";
  hex[1] = '0';
  EXPECT_EQ(strack_parse_key((hex + "\n").c_str(), key.data(), error.data(), error.size()),
            STRACK_OK)
      << error.data();
  EXPECT_EQ(key[0], 0xa0);
  EXPECT_EQ(key[31], 0xa7);
  EXPECT_EQ(strack_parse_key("xyz", key.data(), error.data(), error.size()), STRACK_FAILED_CALL);
  EXPECT_NE(error[0], '\0');
}

// --- At work --------------------------------------------------------------------------------------

TEST(CApi, AMessageAndItsAnswer) {
  strack_options server_options = defaults();
  server_options.user_data = 5;
  strack_options client_options = defaults();
  client_options.user_data = 6;
  Pair pair(server_options, client_options);
  ASSERT_NO_FATAL_FAILURE(pair.connect_both());
  EXPECT_EQ(pair.accepted()[0].tag, 6u);
  const strack_completion connected = Pair::only(pair.client_done, STRACK_CONNECTED);
  EXPECT_EQ(connected.connection, pair.to_server);
  EXPECT_EQ(connected.tag, 5u);
  EXPECT_EQ(connected.cookie, 77u);

  std::array<char, STRACK_ADDRESS_SIZE> peer{};
  EXPECT_GT(strack_peer_address(pair.client.get(), pair.to_server, peer.data(), peer.size()), 0);
  EXPECT_EQ(std::string(peer.data()), address_of(pair.server));
  std::array<strack_connection, 4> up{};
  EXPECT_EQ(strack_connections(pair.client.get(), up.data(), up.size()), 1);
  EXPECT_EQ(up[0], pair.to_server);
  EXPECT_GE(strack_next_deadline(pair.client.get()), 0);

  const std::string question(100'000, 'q');
  std::string heard(question.size(), ' ');
  ASSERT_EQ(strack_post_receive(pair.server.get(), STRACK_ANY_CONNECTION, 8, STRACK_EXACT_TAG,
                                heard.data(), heard.size(), 100),
            STRACK_OK);
  ASSERT_EQ(
      strack_send(pair.client.get(), pair.to_server, 8, question.data(), question.size(), 200),
      STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] {
    return Pair::count(pair.server_done, STRACK_RECEIVED) > 0 &&
           Pair::count(pair.client_done, STRACK_SENT) > 0;
  }));
  EXPECT_EQ(heard, question);
  const strack_completion received = Pair::only(pair.server_done, STRACK_RECEIVED);
  EXPECT_EQ(received.status, STRACK_OK);
  EXPECT_EQ(received.connection, pair.to_client);
  EXPECT_EQ(received.cookie, 100u);
  EXPECT_EQ(received.tag, 8u);
  EXPECT_EQ(received.length, question.size());
  const strack_completion sent = Pair::only(pair.client_done, STRACK_SENT);
  EXPECT_EQ(sent.status, STRACK_OK);
  EXPECT_EQ(sent.cookie, 200u);
  EXPECT_EQ(std::count(std::begin(sent.reserved), std::end(sent.reserved), 0u), 3);

  strack_connection_statistics statistics;
  ASSERT_EQ(strack_read_connection_statistics(pair.client.get(), pair.to_server, &statistics,
                                              sizeof(statistics)),
            STRACK_OK);
  EXPECT_EQ(statistics.messages_sent, 1u);
  EXPECT_EQ(statistics.message_bytes_sent, question.size());
  EXPECT_GE(statistics.data_bytes_sent, question.size());
  EXPECT_GT(statistics.cwnd_bytes, 0u);
  EXPECT_EQ(statistics.keyed, 0u);
  strack_endpoint_statistics whole;
  ASSERT_EQ(strack_read_endpoint_statistics(pair.server.get(), &whole, sizeof(whole)), STRACK_OK);
  EXPECT_EQ(whole.connections, 1u);
  EXPECT_GT(whole.datagrams_received, 0u);

  EXPECT_EQ(strack_close(pair.client.get(), pair.to_server), STRACK_OK);
  EXPECT_EQ(strack_send(pair.client.get(), pair.to_server, 8, question.data(), 1, 0),
            STRACK_CLOSING);
  EXPECT_EQ(strack_close(pair.server.get(), pair.to_client), STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] {
    return Pair::count(pair.server_done, STRACK_CLOSED) > 0 &&
           Pair::count(pair.client_done, STRACK_CLOSED) > 0;
  }));
}

// Statistics of an older and of a newer program.
TEST(CApi, StatisticsFillTheProgramsStruct) {
  const Handle endpoint = open_server();
  std::array<std::uint64_t, 64> memory;
  memory.fill(7);
  auto* statistics = reinterpret_cast<strack_endpoint_statistics*>(memory.data());
  ASSERT_EQ(strack_read_endpoint_statistics(endpoint.get(), statistics, 16), STRACK_OK);
  EXPECT_EQ(memory[1], 0u);
  EXPECT_EQ(memory[2], 7u);
  ASSERT_EQ(strack_read_endpoint_statistics(endpoint.get(), statistics, 63 * 8), STRACK_OK);
  EXPECT_EQ(memory[62], 0u);
  EXPECT_EQ(memory[63], 7u);
}

TEST(CApi, ManyCompletionsAtOnce) {
  constexpr std::size_t kMessages = 200;
  strack_options options = defaults();
  options.message_slots = 256;
  Pair pair(options, options);
  ASSERT_NO_FATAL_FAILURE(pair.connect_both());
  std::array<std::uint32_t, kMessages> out{};
  std::array<std::uint32_t, kMessages> in{};
  for (std::size_t i = 0; i < kMessages; ++i) {
    out[i] = static_cast<std::uint32_t>(i * i);
    ASSERT_EQ(strack_post_receive(pair.server.get(), pair.to_client, 0, STRACK_ANY_TAG, &in[i],
                                  sizeof(in[i]), i),
              STRACK_OK);
    ASSERT_EQ(strack_send(pair.client.get(), pair.to_server, i, &out[i], sizeof(out[i]), i),
              STRACK_OK);
  }
  // All sends are acknowledged, so all receives are complete; but none has been taken yet.
  std::vector<strack_completion> sent;
  std::array<strack_completion, kMessages> some;
  for (int round = 0; round < 20'000 && sent.size() < kMessages; ++round) {
    strack_poll(pair.server.get());
    strack_wait(pair.client.get(), 1'000'000);
    const std::int64_t count = strack_completions(pair.client.get(), some.data(), some.size());
    ASSERT_GE(count, 0);
    sent.insert(sent.end(), some.begin(), some.begin() + count);
  }
  ASSERT_EQ(sent.size(), kMessages);
  ASSERT_EQ(strack_completions(pair.server.get(), some.data(), 150), 150);
  ASSERT_EQ(strack_completions(pair.server.get(), some.data() + 150, 150), 50);
  for (std::size_t i = 0; i < kMessages; ++i) {
    EXPECT_EQ(some[i].kind, STRACK_RECEIVED);
    EXPECT_EQ(some[i].cookie, i);
    EXPECT_EQ(some[i].tag, i);
  }
  EXPECT_EQ(in, out);
}

TEST(CApi, BackPressureTruncationAndCancelling) {
  strack_options options = defaults();
  options.message_slots = 4;
  Pair pair(defaults(), options);
  ASSERT_NO_FATAL_FAILURE(pair.connect_both());
  const std::array<char, 6> word{"hello"};
  for (std::uint64_t i = 0; i < 4; ++i) {
    ASSERT_EQ(strack_send(pair.client.get(), pair.to_server, 1, word.data(), 5, i), STRACK_OK);
  }
  EXPECT_EQ(strack_send(pair.client.get(), pair.to_server, 1, word.data(), 5, 4),
            STRACK_WOULD_BLOCK);

  std::array<char, 2> small{};
  ASSERT_EQ(strack_post_receive(pair.server.get(), 0, 1, STRACK_EXACT_TAG, small.data(), 2, 50),
            STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.server_done, STRACK_RECEIVED) == 1; }));
  const strack_completion cut = Pair::only(pair.server_done, STRACK_RECEIVED);
  EXPECT_EQ(cut.status, STRACK_TRUNCATED);
  EXPECT_EQ(cut.length, 5u);
  EXPECT_EQ(small[1], 'e');

  pair.server_done.clear();
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(strack_post_receive(pair.server.get(), 0, 2, STRACK_EXACT_TAG, small.data(), 2, 60),
              STRACK_OK);
  }
  EXPECT_EQ(strack_cancel_receives(pair.server.get(), 60), 2);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.server_done, STRACK_RECEIVED) == 2; }));
  EXPECT_EQ(pair.server_done.back().status, STRACK_CANCELLED);
  EXPECT_EQ(pair.server_done.back().cookie, 60u);
}

// With a key, over a write into a region.
TEST(CApi, AWriteIntoARegion) {
  std::array<unsigned char, STRACK_KEY_SIZE> key;
  key.fill(9);
  strack_options options = defaults();
  options.key = key.data();
  Pair pair(options, options);
  key.fill(0);  // was copied
  ASSERT_NO_FATAL_FAILURE(pair.connect_both());

  std::string memory(50'000, '.');
  const std::string bytes(20'000, 'w');
  std::array<char, 256> error{};
  strack_region region = 0;
  ASSERT_EQ(strack_register_region(pair.server.get(), pair.to_client, memory.data(), memory.size(),
                                   &region, error.data(), error.size()),
            STRACK_OK)
      << error.data();
  ASSERT_EQ(strack_write(pair.client.get(), pair.to_server, region, 10'000, bytes.data(),
                         bytes.size(), 31),
            STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.client_done, STRACK_WRITTEN) > 0; }));
  const strack_completion written = Pair::only(pair.client_done, STRACK_WRITTEN);
  EXPECT_EQ(written.status, STRACK_OK);
  EXPECT_EQ(written.cookie, 31u);
  EXPECT_EQ(memory, std::string(10'000, '.') + bytes + std::string(20'000, '.'));
  EXPECT_EQ(strack_unregister_region(pair.server.get(), region), STRACK_OK);
  EXPECT_EQ(strack_unregister_region(pair.server.get(), region), STRACK_UNKNOWN_REGION);

  strack_connection_statistics statistics;
  ASSERT_EQ(strack_read_connection_statistics(pair.client.get(), pair.to_server, &statistics,
                                              sizeof(statistics)),
            STRACK_OK);
  EXPECT_EQ(statistics.keyed, 1u);
}

// [D95] Each with a key of its own.
TEST(CApi, HostsWithKeysOfTheirOwn) {
  using Bytes = std::array<unsigned char, STRACK_KEY_SIZE>;
  Bytes identity[2];
  Bytes known[2];
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(strack_new_key(identity[i].data()), STRACK_OK);
    ASSERT_EQ(strack_public_key(identity[i].data(), known[i].data()), STRACK_OK);
  }
  EXPECT_NE(identity[0], identity[1]);
  strack_options server = defaults();
  server.identity = identity[0].data();
  server.trusted = known[1].data();
  server.trusted_count = 1;
  strack_options client = defaults();
  client.identity = identity[1].data();
  client.peer = known[0].data();
  Pair pair(server, client);
  ASSERT_NO_FATAL_FAILURE(pair.connect_both());
  Bytes peer{};
  EXPECT_EQ(strack_peer_key(pair.server.get(), pair.to_client, peer.data()), STRACK_OK);
  EXPECT_EQ(peer, known[1]);
  EXPECT_EQ(strack_peer_key(pair.client.get(), pair.to_server, peer.data()), STRACK_OK);
  EXPECT_EQ(peer, known[0]);
  EXPECT_EQ(strack_peer_key(pair.client.get(), 99, peer.data()), STRACK_UNKNOWN_CONNECTION);
  EXPECT_EQ(strack_peer_key(nullptr, 1, peer.data()), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_new_key(nullptr), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(strack_public_key(nullptr, peer.data()), STRACK_INVALID_ARGUMENT);
}

/// Takes completions until one of this kind has come.
strack_completion next_of(const Handle& endpoint, std::uint32_t kind) {
  for (strack_completion one{};;) {
    if (strack_wait(endpoint.get(), STRACK_FOREVER) != 1) ADD_FAILURE() << "nothing came";
    if (strack_completions(endpoint.get(), &one, 1) == 1 && one.kind == kind) return one;
  }
}

// [D107] With threads of its own an endpoint needs nobody to poll it, and any thread may call.
TEST(CApi, AnEndpointWithThreads) {
  strack_options options = defaults();
  options.threads = 2;
  strack_options listening = options;
  listening.listen = "127.0.0.1:0";
  const Handle server = open(listening);
  const Handle client = open(options);
  ASSERT_NE(server, nullptr);
  ASSERT_NE(client, nullptr);
  EXPECT_GT(strack_local_port(server.get()), 0);
  EXPECT_EQ(strack_next_deadline(server.get()), STRACK_FOREVER);
  const strack_connection to_server = connect(client, address_of(server), 1);
  const strack_connection to_client = next_of(server, STRACK_ACCEPTED).connection;
  EXPECT_EQ(next_of(client, STRACK_CONNECTED).cookie, 1u);

  std::string in(5, '.');
  EXPECT_EQ(strack_post_receive(server.get(), STRACK_ANY_CONNECTION, 0, 0, in.data(), in.size(), 1),
            STRACK_UNKNOWN_CONNECTION);
  EXPECT_EQ(strack_post_receive(server.get(), to_client, 8, STRACK_EXACT_TAG, in.data(), 1, 4),
            STRACK_OK);
  EXPECT_EQ(strack_cancel_receives(server.get(), 4), 1);
  EXPECT_EQ(next_of(server, STRACK_RECEIVED).status, STRACK_CANCELLED);
  strack_region region = 0;
  ASSERT_EQ(
      strack_register_region(server.get(), to_client, in.data(), in.size(), &region, nullptr, 0),
      STRACK_OK);
  EXPECT_EQ(strack_unregister_region(server.get(), region), STRACK_OK);
  EXPECT_EQ(strack_unregister_region(server.get(), region), STRACK_UNKNOWN_REGION);
  std::array<char, 256> error{};
  EXPECT_EQ(strack_register_region(server.get(), STRACK_ANY_CONNECTION, in.data(), in.size(),
                                   &region, error.data(), error.size()),
            STRACK_FAILED_CALL);
  EXPECT_STREQ(
      error.data(),
      "of an endpoint with threads a region belongs to one connection. name one that is open");

  // Readable as long as something has not been taken.
  pollfd wait{strack_file_descriptor(server.get()), POLLIN, 0};
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
  ASSERT_EQ(strack_post_receive(server.get(), to_client, 0, 0, in.data(), in.size(), 3), STRACK_OK);
  ASSERT_EQ(strack_send(client.get(), to_server, 9, "hello", 5, 2), STRACK_OK);
  ASSERT_EQ(::poll(&wait, 1, -1), 1);
  EXPECT_EQ(strack_poll(server.get()), 1);
  EXPECT_EQ(next_of(server, STRACK_RECEIVED).cookie, 3u);
  EXPECT_EQ(in, "hello");
  EXPECT_EQ(::poll(&wait, 1, 0), 0);
  EXPECT_EQ(strack_poll(server.get()), 0);

  strack_connection up = 0;
  EXPECT_EQ(strack_connections(server.get(), &up, 1), 1);
  EXPECT_EQ(up, to_client);
  EXPECT_EQ(strack_close(client.get(), to_server), STRACK_OK);
  EXPECT_EQ(next_of(server, STRACK_PEER_CLOSED).connection, to_client);
}

TEST(CApi, WhatAnEndpointWithThreadsRefuses) {
  std::array<char, 256> error{};
  strack_endpoint* endpoint = nullptr;
  strack_options options = defaults();
  options.threads = 65;
  EXPECT_EQ(strack_open(&options, &endpoint, error.data(), error.size()), STRACK_FAILED_CALL);
  EXPECT_STREQ(error.data(), "threads is 65. it takes 1 to 64");
  options.threads = 0;
  options.reserved = 7;
  EXPECT_EQ(strack_open(&options, &endpoint, error.data(), error.size()), STRACK_INVALID_ARGUMENT);
  EXPECT_STREQ(error.data(), "options.reserved is 7. this library knows 0 only");
}

TEST(CApi, AnAbortIsReportedToThePeer) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.connect_both());
  char byte = 0;
  ASSERT_EQ(strack_post_receive(pair.server.get(), pair.to_client, 0, 0, &byte, 1, 3), STRACK_OK);
  ASSERT_EQ(strack_abort(pair.client.get(), pair.to_server), STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.server_done, STRACK_FAILED) > 0; }));
  EXPECT_EQ(Pair::only(pair.server_done, STRACK_FAILED).status, STRACK_PEER_ABORTED);
  EXPECT_EQ(Pair::only(pair.server_done, STRACK_RECEIVED).status, STRACK_PEER_ABORTED);
}

TEST(CApi, ConnectingWithAnotherKeyFails) {
  std::array<unsigned char, STRACK_KEY_SIZE> key;
  key.fill(9);
  strack_options server_options = defaults();
  server_options.key = key.data();
  Pair pair(server_options, defaults());
  connect(pair.client, address_of(pair.server), 1);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.client_done, STRACK_FAILED) > 0; }));
  EXPECT_EQ(Pair::only(pair.client_done, STRACK_FAILED).status, STRACK_KEY_REFUSED);
  EXPECT_EQ(Pair::only(pair.client_done, STRACK_FAILED).cookie, 1u);
  EXPECT_TRUE(pair.server_done.empty());
}

}  // namespace
