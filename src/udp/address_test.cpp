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

}  // namespace
}  // namespace strack::udp
