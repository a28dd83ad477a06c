// The vectors of docs/protocol.md, which make_vectors.py writes without our coder: each valid datagram
// decodes to the fields beside it and encodes to the same bytes; each malformed one is refused with
// the fault beside it.
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "vector_file.h"
#include "wire/testing.h"
#include "wire/wire.h"

namespace strack::wire {
namespace {

/// The lines after the hex ones.
std::string fields_of(const Vector& vector) {
  std::string text;
  for (const auto& [key, value] : vector.lines) {
    if (key != "hex") text += key + (value.empty() ? ":" : ": ") + value + '\n';
  }
  return text;
}

// [D147]
TEST(WireVectors, ValidOnesDecodeToTheirFieldsAndBack) {
  std::set<Type> types;
  for (const Vector& vector : read_vectors("valid.txt")) {
    const Bytes datagram = vector.bytes("hex");
    const auto decoded = testing::decode(datagram);
    ASSERT_TRUE(decoded.ok()) << vector.name << ": " << name(decoded.error());
    EXPECT_EQ(testing::describe(decoded.value()), fields_of(vector)) << vector.name;
    EXPECT_EQ(testing::encode(decoded.value()), datagram) << vector.name;
    types.insert(decoded.value().header.type);
  }
  EXPECT_EQ(types.size(), std::size(testing::kAllTypes)) << "a type without a vector";
}

TEST(WireVectors, MalformedOnesAreRefusedWithTheirFault) {
  std::set<std::string> faults;
  for (const Vector& vector : read_vectors("malformed.txt")) {
    const auto decoded = testing::decode(vector.bytes("hex"));
    ASSERT_FALSE(decoded.ok()) << vector.name;
    EXPECT_EQ(name(decoded.error()), vector.get("fault")) << vector.name;
    faults.insert(vector.get("fault"));
  }
  EXPECT_EQ(faults.size(), kDecodeFaults) << "a fault without a vector";
}

}  // namespace
}  // namespace strack::wire
