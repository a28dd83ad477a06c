// [D141] Keys of an endpoint that is open are changed: nobody who has the old or the new one is ever turned away, and what
// is under way goes on.
#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "udp/testing.h"

namespace strack::udp {
namespace {

using testing::Duo;
using testing::options;
using testing::pattern;

Key key_number(int which) {
  Key key;
  key.fill(static_cast<std::byte>(which));
  return key;
}

/// Who listens has identity 1 and trusts 2; who connects is 2.
EndpointOptions server_options() {
  EndpointOptions o = options(false);
  o.listen = "127.0.0.1:4794";
  o.identity = key_number(1);
  o.trusted = {public_key(key_number(2))};
  return o;
}
EndpointOptions client_options() {
  EndpointOptions o = options(false);
  o.identity = key_number(2);
  o.peer = public_key(key_number(1));
  o.connect_timeout = std::chrono::milliseconds(600);
  return o;
}

struct Pair : Duo {
  Pair(const EndpointOptions& server_with, const EndpointOptions& client_with)
      : Duo(options(false)) {
    replace(0, server_with);
    replace(1, client_with);
  }
  void replace(std::size_t side, const EndpointOptions& o) {
    engines[side] = std::make_unique<Engine>(o, networks[side]);
    all[side] = engines[side].get();
  }
  /// One more connection of the client's: how that went.
  Status ask(const std::optional<Key>& peer = std::nullopt) {
    const std::uint64_t cookie = ++asked;
    const auto made = client().connect(hosts[0]->address(), cookie, peer);
    EXPECT_TRUE(made) << made.error().text;
    run(ms(1'000));
    for (const Completion& c : seen[1]) {
      if (c.cookie == cookie && c.kind == Kind::connected) return Status::ok;
      if (c.cookie == cookie && c.kind == Kind::failed) return c.status;
    }
    return Status::would_block;
  }
  /// A message on the first connection arrives.
  void talk() {
    buffer.assign(50'000, std::byte{0});
    ASSERT_EQ(server().post_receive(id[0], Match::any(), buffer, 900), Status::ok);
    const auto message = keep(pattern(buffer.size(), static_cast<unsigned>(++talks)));
    ASSERT_EQ(client().send(id[1], 1, message, 901), Status::ok);
    run(ms(50));
    EXPECT_TRUE(std::equal(buffer.begin(), buffer.end(), message.begin()));
  }
  std::uint64_t asked = 100;
  std::size_t talks = 0;
  std::vector<std::byte> buffer;
};

// Who is trusted changes; who is connected stays.
TEST(ChangeKeys, OfThoseWhoAreTrusted) {
  Pair duo(server_options(), client_options());
  duo.connect();
  EndpointOptions now = server_options();
  now.trusted.clear();  // nobody new
  ASSERT_FALSE(duo.server().change_keys(now));
  EXPECT_EQ(duo.ask(), Status::timed_out);
  EXPECT_GT(duo.server().statistics().refused_untrusted, 0u);
  duo.talk();
  now.trusted = {public_key(key_number(3)), public_key(key_number(2))};
  ASSERT_FALSE(duo.server().change_keys(now));
  EXPECT_EQ(duo.ask(), Status::ok);
  duo.talk();
}

// A listener changes its own: by the old and the new one it is reached, until the old one is taken out.
TEST(ChangeKeys, OfTheListener) {
  Pair duo(server_options(), client_options());
  duo.connect();
  const Key old_key = public_key(key_number(1));
  const Key new_key = public_key(key_number(4));
  EXPECT_EQ(duo.ask(new_key), Status::timed_out);
  EndpointOptions now = server_options();
  now.other_keys[0] = key_number(4);
  ASSERT_FALSE(duo.server().change_keys(now));
  EXPECT_EQ(duo.ask(old_key), Status::ok);
  EXPECT_EQ(duo.ask(new_key), Status::ok);
  std::swap(*now.identity, *now.other_keys[0]);
  std::swap(now.other_keys[0], now.other_keys[1]);
  ASSERT_FALSE(duo.server().change_keys(now));
  EXPECT_EQ(duo.ask(old_key), Status::ok);
  EXPECT_EQ(duo.ask(new_key), Status::ok);
  duo.talk();
  now.other_keys = {};
  ASSERT_FALSE(duo.server().change_keys(now));
  EXPECT_EQ(duo.ask(old_key), Status::timed_out);
  EXPECT_EQ(duo.ask(new_key), Status::ok);
  duo.talk();
}

// Who connects changes its own.
TEST(ChangeKeys, OfWhoConnects) {
  EndpointOptions server = server_options();
  server.trusted.push_back(public_key(key_number(5)));
  Pair duo(server, client_options());
  duo.connect();
  EndpointOptions now = client_options();
  now.identity = key_number(5);
  ASSERT_FALSE(duo.client().change_keys(now));
  ASSERT_EQ(duo.ask(), Status::ok);
  const Completion last = duo.of(0, Kind::accepted).back();
  EXPECT_EQ(duo.server().peer_key(last.connection), public_key(key_number(5)));
  EXPECT_EQ(duo.server().peer_key(duo.id[0]), public_key(key_number(2)));
  duo.talk();
}

// The same with a key that all share, and its cookies.
TEST(ChangeKeys, OfAJob) {
  EndpointOptions server = options();
  server.listen = "127.0.0.1:4794";
  EndpointOptions client = options();
  client.connect_timeout = std::chrono::milliseconds(600);
  Pair duo(server, client);
  duo.connect();
  EndpointOptions both = server;
  both.other_keys[1] = key_number(6);
  ASSERT_FALSE(duo.server().change_keys(both));
  EXPECT_EQ(duo.ask(), Status::ok);
  EndpointOptions next = client;
  next.key = key_number(6);
  ASSERT_FALSE(duo.client().change_keys(next));
  EXPECT_EQ(duo.ask(), Status::ok);
  both.key = key_number(6);
  both.other_keys = {};
  ASSERT_FALSE(duo.server().change_keys(both));
  EXPECT_EQ(duo.ask(), Status::ok);
  ASSERT_FALSE(duo.client().change_keys(client));
  EXPECT_EQ(duo.ask(), Status::key_refused);
  duo.talk();
}

// A server that was started again with two keys: clients of either one notice.
TEST(ChangeKeys, ResetsAreMadeWithEach) {
  for (const bool of_host : {false, true}) {
    EndpointOptions server = of_host ? server_options() : options();
    server.listen = "127.0.0.1:4794";
    Pair duo(server, of_host ? client_options() : options());
    duo.connect();
    EndpointOptions now = server;
    (of_host ? now.identity : now.key) = key_number(7);
    now.other_keys[1] = of_host ? server.identity : server.key;
    duo.replace(0, now);
    const auto message = duo.keep(pattern(10'000));
    ASSERT_EQ(duo.client().send(duo.id[1], 1, message, 7), Status::ok);
    duo.run(ms(1'000));
    ASSERT_EQ(duo.of(1, Kind::failed).size(), 1u) << of_host;
    EXPECT_EQ(duo.of(1, Kind::failed)[0].status, Status::peer_restarted);
  }
}

// What is not possible changes nothing.
TEST(ChangeKeys, MistakesAreNamed) {
  const auto says = [](const std::optional<Error>& wrong, const char* words) {
    ASSERT_TRUE(wrong) << words;
    EXPECT_NE(wrong->text.find(words), std::string::npos) << wrong->text;
  };
  Pair duo(server_options(), client_options());
  EndpointOptions shared = options();
  says(duo.server().change_keys(shared), "another kind");
  says(duo.server().change_keys(options(false)), "another kind");
  shared.identity = key_number(1);
  says(duo.server().change_keys(shared), "give one of them");
  EndpointOptions none = options(false);
  none.other_keys[0] = key_number(1);
  says(Engine::check(none), "set the one that is used");
  duo.connect();
  duo.talk();
}

}  // namespace
}  // namespace strack::udp
