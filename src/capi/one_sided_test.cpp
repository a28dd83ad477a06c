// The C interface's reads, writes that tell, pieces, looks and address vectors.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "capi/pair_testing.h"
#include "capi/strack.h"

namespace {

using namespace strack::capi::testing;

strack_region expose(const Handle& endpoint, std::string& memory, std::uint32_t access) {
  std::array<char, 256> error{};
  strack_region region = 0;
  EXPECT_EQ(strack_register_memory(endpoint.get(), STRACK_ANY_CONNECTION, memory.data(),
                                   memory.size(), access, &region, error.data(), error.size()),
            STRACK_OK)
      << error.data();
  return region;
}

// [D148] What the peer has registered for reading is read; what it has for writing only takes the connection.
TEST(OneSided, AReadOfARegion) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.connect_both());
  std::string memory(50'000, '.');
  memory.replace(10'000, 20'000, 20'000, 'r');
  const strack_region region = expose(pair.server, memory, STRACK_ACCESS_READ);
  std::string into(20'002, '-');
  strack_status status = STRACK_WOULD_BLOCK;
  ASSERT_TRUE(pair.run_until([&] {
    if (status == STRACK_WOULD_BLOCK)
      status = strack_read(pair.client.get(), pair.to_server, region, 10'000, into.data() + 1,
                           20'000, 31);
    return Pair::count(pair.client_done, STRACK_READ) > 0;
  }));
  const strack_completion done = Pair::only(pair.client_done, STRACK_READ);
  EXPECT_EQ(done.status, STRACK_OK);
  EXPECT_EQ(done.cookie, 31u);
  EXPECT_EQ(done.length, 20'000u);
  EXPECT_STREQ(strack_kind_text(done.kind), "read");
  EXPECT_EQ(into, "-" + std::string(20'000, 'r') + "-");

  const strack_region closed = expose(pair.server, memory, STRACK_ACCESS_WRITE);
  ASSERT_EQ(strack_read(pair.client.get(), pair.to_server, closed, 0, into.data(), 10, 32),
            STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.client_done, STRACK_READ) > 1; }));
  EXPECT_EQ(pair.client_done.back().kind, static_cast<std::uint32_t>(STRACK_FAILED));
  EXPECT_EQ(Pair::only(pair.server_done, STRACK_FAILED).status, STRACK_ACCESS_REFUSED);
  EXPECT_STREQ(strack_error_text(STRACK_ACCESS_REFUSED),
               "the peer wrote or read where no region allows it");
}

// [D154] Two values are changed and come back as they were; what makes no sense is refused at once.
TEST(OneSided, AnAtomic) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.connect_both());
  std::string memory("abcdefgh");
  const strack_region region =
      expose(pair.server, memory, STRACK_ACCESS_WRITE | STRACK_ACCESS_READ);
  std::string before(2, '-');
  const auto ask = [&](std::uint32_t operation, std::uint32_t type, const char* operands,
                       const char* compared, std::size_t length) {
    return strack_atomic(pair.client.get(), pair.to_server, region, 2, operation, type,
                         before.data(), operands, compared, length, 33);
  };
  strack_status status = STRACK_WOULD_BLOCK;
  ASSERT_TRUE(pair.run_until([&] {
    if (status == STRACK_WOULD_BLOCK)
      status = ask(STRACK_ATOMIC_SWAP_IF_EQUAL, STRACK_UINT8, "XY", "cx", 2);
    return Pair::count(pair.client_done, STRACK_ATOMIC) > 0;
  }));
  const strack_completion done = Pair::only(pair.client_done, STRACK_ATOMIC);
  EXPECT_EQ(done.status, STRACK_OK);
  EXPECT_EQ(done.cookie, 33u);
  EXPECT_EQ(done.length, 2u);
  EXPECT_STREQ(strack_kind_text(done.kind), "atomic");
  EXPECT_EQ(before, "cd");
  EXPECT_EQ(memory, "abXdefgh");
  EXPECT_EQ(ask(STRACK_ATOMIC_SUM, STRACK_UINT8, nullptr, nullptr, 2), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(ask(STRACK_ATOMIC_SUM, STRACK_UINT16, "ab", nullptr, 1), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(ask(0, STRACK_UINT8, "ab", nullptr, 2), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(ask(256 + STRACK_ATOMIC_SUM, STRACK_UINT8, "ab", nullptr, 2), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(ask(STRACK_ATOMIC_SUM, 256 + STRACK_UINT8, "ab", nullptr, 2), STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(ask(STRACK_ATOMIC_SUM, STRACK_UINT8, "ab", nullptr, 241), STRACK_TOO_LONG);
  EXPECT_NE(std::string(strack_error_text(STRACK_TOO_LONG)).find("an atomic at most 240"),
            std::string::npos);
  EXPECT_EQ(strack_atomic(pair.client.get(), pair.to_server, region, 2, STRACK_ATOMIC_READ,
                          STRACK_UINT8, nullptr, nullptr, nullptr, 2, 33),
            STRACK_INVALID_ARGUMENT);
}

TEST(OneSided, AccessIsReadWriteOrBoth) {
  const Handle endpoint = open_server();
  std::array<char, 256> error{};
  std::string memory(10, '.');
  strack_region region = 0;
  for (const std::uint32_t access : {0u, 4u, 5u}) {
    EXPECT_EQ(strack_register_memory(endpoint.get(), 0, memory.data(), 10, access, &region,
                                     error.data(), error.size()),
              STRACK_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.data()).find("access is"), std::string::npos);
  }
}

// Such as a length that a subtraction has made.
TEST(OneSided, ARegionEndsWithinTheAddressSpace) {
  const Handle endpoint = open_server();
  std::array<char, 256> error{};
  std::string memory(10, '.');
  strack_region region = 1;
  for (const std::size_t beyond : {SIZE_MAX, SIZE_MAX - 9}) {
    EXPECT_EQ(strack_register_memory(endpoint.get(), 0, memory.data(), beyond, STRACK_ACCESS_READ,
                                     &region, error.data(), error.size()),
              STRACK_INVALID_ARGUMENT);
    EXPECT_NE(std::string(error.data()).find("is so long"), std::string::npos) << error.data();
    EXPECT_EQ(region, 0u);
  }
}

// [D150] The receive that is told of a write completes when the bytes are in place.
TEST(OneSided, AWriteThatTells) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.connect_both());
  std::string memory(3'000, '.');
  const strack_region region =
      expose(pair.server, memory, STRACK_ACCESS_WRITE | STRACK_ACCESS_READ);
  const std::string bytes(2'000, 'w');
  char nothing = 0;
  ASSERT_EQ(strack_post_receive(pair.server.get(), pair.to_client, 0xabc, STRACK_EXACT_TAG,
                                &nothing, 1, 5),
            STRACK_OK);
  ASSERT_EQ(strack_write_with_data(pair.client.get(), pair.to_server, region, 500, bytes.data(),
                                   bytes.size(), 0xabc, 6),
            STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.server_done, STRACK_RECEIVED) > 0; }));
  EXPECT_EQ(memory, std::string(500, '.') + bytes + std::string(500, '.'));
  const strack_completion told = Pair::only(pair.server_done, STRACK_RECEIVED);
  EXPECT_EQ(told.tag, 0xabcu);
  EXPECT_EQ(told.length, 0u);
  EXPECT_EQ(told.cookie, 5u);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.client_done, STRACK_WRITTEN) > 0; }));
  EXPECT_EQ(Pair::only(pair.client_done, STRACK_WRITTEN).cookie, 6u);
  EXPECT_EQ(Pair::count(pair.client_done, STRACK_SENT), 0u);
}

TEST(OneSided, PiecesAndALook) {
  Pair pair;
  ASSERT_NO_FATAL_FAILURE(pair.connect_both());
  std::string first = "abc";
  std::string second(5'000, 'd');
  std::string third = "e";
  const std::array<strack_iovec, 4> out{
      {{first.data(), 3}, {nullptr, 0}, {second.data(), 5'000}, {third.data(), 1}}};
  ASSERT_EQ(strack_sendv(pair.client.get(), pair.to_server, 7, out.data(), out.size(), 1),
            STRACK_OK);
  strack_completion seen;
  ASSERT_TRUE(pair.run_until([&] {
    return strack_peek(pair.server.get(), STRACK_ANY_CONNECTION, 0, STRACK_ANY_TAG, &seen) == 1;
  }));
  EXPECT_EQ(seen.tag, 7u);
  EXPECT_EQ(seen.length, 5'004u);
  EXPECT_EQ(seen.connection, pair.to_client);
  EXPECT_EQ(strack_peek(pair.server.get(), pair.to_client, 8, STRACK_EXACT_TAG, &seen), 0);
  EXPECT_EQ(seen.length, 0u);
  std::string head(2, '-');
  std::string rest(5'002, '-');
  const std::array<strack_iovec, 2> in{{{head.data(), 2}, {rest.data(), 5'002}}};
  ASSERT_EQ(strack_post_receivev(pair.server.get(), pair.to_client, 7, STRACK_EXACT_TAG, in.data(),
                                 in.size(), 2),
            STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.server_done, STRACK_RECEIVED) > 0; }));
  EXPECT_EQ(head + rest, first + second + third);
  const strack_iovec bad{nullptr, 1};
  EXPECT_EQ(strack_sendv(pair.client.get(), pair.to_server, 7, &bad, 1, 1),
            STRACK_INVALID_ARGUMENT);
  EXPECT_EQ(
      strack_sendv(pair.client.get(), pair.to_server, 7, out.data(), STRACK_MOST_PIECES + 1, 1),
      STRACK_INVALID_ARGUMENT);
}

std::vector<strack_address> insert(const Handle& endpoint, const std::vector<std::string>& texts) {
  std::vector<const char*> pointers;
  for (const std::string& one : texts) pointers.push_back(one.c_str());
  std::vector<strack_address> handles(texts.size(), 99);
  EXPECT_GE(strack_av_insert(endpoint.get(), pointers.data(), pointers.size(), 4794, handles.data(),
                             nullptr, 0),
            0);
  return handles;
}

std::string text_of(const Handle& endpoint, strack_address handle) {
  std::array<char, STRACK_ADDRESS_SIZE> text{};
  return strack_av_lookup(endpoint.get(), handle, text.data(), text.size()) < 0 ? "none"
                                                                                : text.data();
}

// Addresses have handles of their own, which end with them; what is no address has none, and is named.
TEST(AddressVector, HandlesAreUsedOnce) {
  const Handle endpoint = open_server();
  const auto handles = insert(endpoint, {"192.0.2.1:10", "[2001:db8::7]:20", "no address at all",
                                         "192.0.2.1:10", "0.0.0.0:5", "127.0.0.1"});
  EXPECT_EQ(handles[2], 0u);
  EXPECT_EQ(handles[4], 0u) << "nobody's";
  EXPECT_NE(handles[0], handles[3]);
  EXPECT_EQ(text_of(endpoint, handles[0]), "192.0.2.1:10");
  EXPECT_EQ(text_of(endpoint, handles[1]), "[2001:db8::7]:20");
  EXPECT_EQ(text_of(endpoint, handles[3]), "192.0.2.1:10");
  EXPECT_EQ(text_of(endpoint, handles[5]), "127.0.0.1:4794") << "the default port";
  EXPECT_EQ(strack_av_remove(endpoint.get(), handles[0]), STRACK_OK);
  EXPECT_EQ(strack_av_remove(endpoint.get(), handles[0]), STRACK_UNKNOWN_CONNECTION);
  EXPECT_EQ(text_of(endpoint, handles[0]), "none");
  const auto again = insert(endpoint, {"192.0.2.9:1"});
  EXPECT_NE(again[0], handles[0]) << "a handle that was removed stays so";
  EXPECT_EQ(text_of(endpoint, handles[0]), "none");
  EXPECT_EQ(text_of(endpoint, again[0]), "192.0.2.9:1");
  std::array<char, 256> error{};
  const char* const wrong[2] = {"192.0.2.1:70000", nullptr};
  strack_address out[2] = {1, 1};
  EXPECT_EQ(strack_av_insert(endpoint.get(), wrong, 2, 4794, out, error.data(), error.size()), 0);
  EXPECT_NE(std::string(error.data()), "");
  EXPECT_EQ(out[0] + out[1], 0u);
  EXPECT_EQ(strack_av_send(endpoint.get(), handles[0], 0, "a", 1, 0), STRACK_UNKNOWN_CONNECTION);
}

// Thousands of addresses are bytes: nothing is sent, no connection is made.
TEST(AddressVector, ThousandsCostBytes) {
  const Handle endpoint = open_server();
  std::vector<std::string> texts;
  for (int i = 0; i < 5'000; ++i)
    texts.push_back("10." + std::to_string(i / 250) + "." + std::to_string(i % 250) + ".1:4794");
  const auto handles = insert(endpoint, texts);
  for (std::size_t i = 0; i < texts.size(); i += 777)
    EXPECT_EQ(text_of(endpoint, handles[i]), texts[i]);
  strack_endpoint_statistics statistics;
  ASSERT_EQ(strack_read_endpoint_statistics(endpoint.get(), &statistics, sizeof statistics),
            STRACK_OK);
  EXPECT_EQ(statistics.datagrams_sent, 0u);
  EXPECT_EQ(statistics.connections, 0u);
}

// [D149] The first message opens the connection, later ones use it; the peer answers by its own vector over the same one; after
// its end the next message opens another; with the address the connection goes.
TEST(AddressVector, ConnectsWhenItIsUsed) {
  strack_options options = defaults();
  options.listen = "127.0.0.1:0";
  Pair pair(options, options);
  const strack_address there = insert(pair.client, {address_of(pair.server)})[0];
  const strack_address back = insert(pair.server, {address_of(pair.client)})[0];
  std::array<std::string, 3> got{std::string(3, '-'), std::string(3, '-'), std::string(3, '-')};
  for (std::size_t i = 0; i < 2; ++i)
    ASSERT_EQ(strack_post_receive(pair.server.get(), STRACK_ANY_CONNECTION, 0, STRACK_ANY_TAG,
                                  got[i].data(), 3, i),
              STRACK_OK);
  ASSERT_EQ(strack_av_send(pair.client.get(), there, 1, "one", 3, 1), STRACK_OK);
  ASSERT_EQ(strack_av_send(pair.client.get(), there, 1, "two", 3, 2), STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.client_done, STRACK_SENT) == 2; }));
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.server_done, STRACK_RECEIVED) == 2; }));
  EXPECT_EQ(got[0] + got[1], "onetwo");
  EXPECT_EQ(Pair::only(pair.client_done, STRACK_CONNECTED).cookie, there);
  const strack_connection first = Pair::only(pair.client_done, STRACK_CONNECTED).connection;
  EXPECT_EQ(strack_av_find(pair.client.get(), first), there);
  const strack_connection accepted = Pair::only(pair.server_done, STRACK_ACCEPTED).connection;
  EXPECT_EQ(strack_av_find(pair.server.get(), accepted), back) << "known by its address";

  ASSERT_EQ(strack_post_receive(pair.client.get(), first, 0, STRACK_ANY_TAG, got[2].data(), 3, 9),
            STRACK_OK);
  ASSERT_EQ(strack_av_send(pair.server.get(), back, 1, "yes", 3, 3), STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] { return Pair::count(pair.client_done, STRACK_RECEIVED) == 1; }));
  EXPECT_EQ(got[2], "yes");
  EXPECT_EQ(Pair::count(pair.server_done, STRACK_CONNECTED), 0u) << "over the same connection";

  ASSERT_EQ(strack_abort(pair.client.get(), first), STRACK_OK);
  ASSERT_EQ(strack_post_receive(pair.server.get(), STRACK_ANY_CONNECTION, 0, STRACK_ANY_TAG,
                                got[0].data(), 3, 4),
            STRACK_OK);
  ASSERT_EQ(strack_av_send(pair.client.get(), there, 1, "new", 3, 5), STRACK_OK);
  ASSERT_TRUE(pair.run_until([&] { return got[0] == "new"; }));
  strack_connection second = 0;
  ASSERT_EQ(strack_av_connection(pair.client.get(), there, &second, nullptr, 0), STRACK_OK);
  EXPECT_NE(second, first);
  EXPECT_EQ(strack_av_find(pair.client.get(), first), 0u);
  ASSERT_EQ(strack_av_remove(pair.client.get(), there), STRACK_OK);
  ASSERT_TRUE(
      pair.run_until([&] { return Pair::count(pair.server_done, STRACK_PEER_CLOSED) == 1; }));
}

}  // namespace
