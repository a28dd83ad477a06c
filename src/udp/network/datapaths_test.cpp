// An endpoint on each datapath.
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "udp/endpoint.h"
#include "udp/network.h"

namespace strack::udp {
namespace {

EndpointOptions on(std::string_view datapath) {
  EndpointOptions o;
  o.datapath = datapath;
  o.key.emplace();
  return o;
}

TEST(Datapaths, EachRunsAnEndpoint) {
  ASSERT_GE(datapaths().size(), 2u);
  for (const Datapath& datapath : datapaths()) {
    SCOPED_TRACE(std::string(datapath.name));
    EndpointOptions listening = on(datapath.name);
    listening.listen = "127.0.0.1:0";
    auto server = Endpoint::open(listening);
    ASSERT_TRUE(server) << server.error().text;
    auto client = Endpoint::open(on(datapath.name));
    ASSERT_TRUE(client) << client.error().text;
    const auto made = client.value().connect(server.value().local_address(), 3);
    ASSERT_TRUE(made) << made.error().text;
    std::vector<std::byte> message(100'000);
    for (std::size_t i = 0; i < message.size(); ++i) message[i] = static_cast<std::byte>(i * 7);
    std::vector<std::byte> buffer(message.size());
    ASSERT_EQ(server.value().post_receive(kAnyConnection, Match::any(), buffer, 1), Status::ok);
    ASSERT_EQ(client.value().send(made.value(), 1, message, 2), Status::ok);
    std::size_t received = 0;
    std::size_t sent = 0;
    for (int turns = 0; turns < 20'000 && received + sent < 2; ++turns) {
      for (Endpoint* end : {&server.value(), &client.value()}) {
        end->wait(std::chrono::microseconds(100));
        std::array<Completion, 16> room;
        for (const Completion& c : end->completions(room)) {
          EXPECT_EQ(c.status, Status::ok);
          received += c.kind == Kind::received ? 1 : 0;
          sent += c.kind == Kind::sent ? 1 : 0;
        }
      }
    }
    EXPECT_EQ(received, 1u);
    EXPECT_EQ(sent, 1u);
    EXPECT_EQ(buffer, message);
    EXPECT_GT(client.value().statistics().datagrams_sent, 10u);
  }
}

TEST(Datapaths, ANameThatNobodyHasIsAnError) {
  const auto opened = Endpoint::open(on("pigeons"));
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().text, "datapath is \"pigeons\". it takes one of: kernel, simulated");
}

TEST(Datapaths, OneAddressIsOneEndpoints) {
  for (const Datapath& datapath : datapaths()) {
    EndpointOptions o = on(datapath.name);
    o.listen = "127.0.0.1:0";
    auto first = Endpoint::open(o);
    ASSERT_TRUE(first);
    o.listen = first.value().local_address();
    EXPECT_FALSE(Endpoint::open(o)) << datapath.name;
  }
}

}  // namespace
}  // namespace strack::udp
