// Execution traces from any bytes: read or refused at a byte that exists. The first byte says how many
// ranks share the others.
#include "workload/formats/chakra_import.h"

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "workload/formats/import_fuzzing.h"

namespace strack::workload {
namespace {

void check(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t ranks = 1 + static_cast<unsigned char>(bytes[0]) % 4;
  bytes.remove_prefix(1);
  std::vector<ChakraFile> files;
  for (std::size_t r = 0; r < ranks; ++r) {
    const std::size_t begin = bytes.size() * r / ranks;
    files.push_back({"trace", bytes.substr(begin, bytes.size() * (r + 1) / ranks - begin)});
  }
  const auto trace = import_chakra(files, {.most_messages = 20'000});
  if (trace) {
    check_graph(trace.value().graph);
    return;
  }
  STRACK_CHECK(trace.error().file == "trace" && trace.error().offset <= bytes.size());
  STRACK_CHECK(!trace.error().message.empty());
  STRACK_CHECK(trace.error().message.find('\n') == std::string::npos);
}

}  // namespace
}  // namespace strack::workload

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  strack::workload::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
