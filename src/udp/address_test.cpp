#include "udp/address.h"

#include <gtest/gtest.h>

namespace strack::udp {
namespace {

TEST(Address, Parse_TextAndBack) {
  for (const char* text : {"192.0.2.7:4794", "0.0.0.0:0", "[::1]:65535", "[2001:db8::7]:1"}) {
    const auto address = Address::parse(text);
    ASSERT_TRUE(address) << text;
    EXPECT_EQ(address->text(), text);
  }
}

TEST(Address, Parse_RefusesWhatIsNotNumericWithAPort) {
  for (const char* text :
       {"", "192.0.2.7", "192.0.2.7:", "192.0.2.7:65536", "192.0.2.7:1x", "host:1", "::1:5",
        "[::1]", "[::1]:", "[192.0.2.7]:1", "192.0.2:1", "[::1%none-such]:1"}) {
    EXPECT_FALSE(Address::parse(text)) << text;
  }
}

TEST(Address, KnowsLoopback) {
  EXPECT_TRUE(Address::parse("127.9.9.9:1")->is_loopback());
  EXPECT_TRUE(Address::parse("[::1]:1")->is_loopback());
  EXPECT_FALSE(Address::parse("128.0.0.1:1")->is_loopback());
  EXPECT_FALSE(Address::parse("[::2]:1")->is_loopback());
  EXPECT_TRUE(Address::parse("0.0.0.0:1")->is_any());
  EXPECT_FALSE(Address::parse("[::1]:1")->is_any());
}

TEST(Address, Source_IsTheHostOrItsNetwork) {
  const auto source = [](const char* text) { return Address::parse(text)->source(); };
  EXPECT_EQ(source("192.0.2.7:1"), 0xc000'0207u);
  EXPECT_EQ(source("192.0.2.7:2"), 0xc000'0207u);
  EXPECT_EQ(source("[2001:db8:0:1::7]:1"), 0x2001'0db8'0000'0001u);
  EXPECT_EQ(source("[2001:db8:0:1:ffff::]:1"), 0x2001'0db8'0000'0001u);
  EXPECT_EQ(source("[fe80::7]:1"), 7u);
}

// Whatever the system's files say of names: a numeric one has one address, and none comes twice.
TEST(Address, ResolveAll_EachAddressOnce) {
  const auto one = resolve_all("[::1]:5", 7);
  ASSERT_TRUE(one.ok());
  ASSERT_EQ(one.value().size(), 1u);
  EXPECT_EQ(one.value()[0].text(), "[::1]:5");
  EXPECT_EQ(resolve_all("192.0.2.7", 7).value()[0].text(), "192.0.2.7:7");
  if (const auto all = resolve_all("localhost", 9)) {
    for (std::size_t i = 0; i < all.value().size(); ++i) {
      EXPECT_EQ(all.value()[i].port, 9);
      for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(all.value()[i] == all.value()[j]);
    }
  }
  EXPECT_NE(resolve_all("[::1", 7).error().find("lacks its ]"), std::string::npos);
  // The resolver takes 70000 for 4464.
  for (const char* wrong : {"127.0.0.1:70000", "127.0.0.1:", "localhost:http", "[::1]:-1"})
    EXPECT_NE(resolve_all(wrong, 7).error().find("not a number up to 65535"), std::string::npos);
  EXPECT_NE(resolve_all("no such host.invalid:1", 7).error().find("no such host.invalid:1"),
            std::string::npos);
}

}  // namespace
}  // namespace strack::udp
