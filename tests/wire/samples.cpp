// Prints random valid packets as our coder writes them, in the format of vectors/valid.txt, for tools
// that must read them too: samples COUNT SEED
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <vector>

#include "wire/testing.h"

int main(int argc, char** argv) {
  using namespace strack::wire;
  if (argc != 3) {
    std::fputs("usage: wire_samples COUNT SEED\n", stderr);
    return 2;
  }
  const long count = std::strtol(argv[1], nullptr, 10);
  testing::Buffer payload(300);
  std::iota(payload.begin(), payload.end(), std::uint8_t{1});
  testing::RandomPackets random(std::strtoull(argv[2], nullptr, 0), payload);
  for (long i = 0; i < count; ++i) {
    const Type type =
        testing::kAllTypes[static_cast<std::size_t>(i) % std::size(testing::kAllTypes)];
    const testing::Packet packet = random.make(type);
    std::printf("[%s-%ld]\nhex:", std::string(name(type)).c_str(), i);
    for (const std::uint8_t byte : testing::encode(packet)) std::printf(" %02x", byte);
    std::printf("\n%s\n", testing::describe(packet).c_str());
  }
  return 0;
}
