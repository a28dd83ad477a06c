// Any bytes: decoding a control message ends well, and what is accepted encodes to the same bytes again and
// names nothing outside the receiver's folder. Journals are read the same way: from any bytes.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/check.h"
#include "transfer/journal.h"
#include "transfer/messages.h"
#include "transfer/names.h"

namespace strack::transfer {
namespace {

void check_path(std::string_view path) {
  STRACK_CHECK(!path.empty());
  STRACK_CHECK(path.front() != '/');
  STRACK_CHECK(("/" + std::string(path) + "/").find("/../") == std::string::npos);
  STRACK_CHECK(("/" + std::string(path) + "/").find("/./") == std::string::npos);
  STRACK_CHECK(path.find('\0') == std::string_view::npos);
}

void run(std::span<const std::byte> bytes) {
  const auto decoded = decode(bytes);
  if (!decoded) {
    STRACK_CHECK(text(decoded.error()) != nullptr);
    return;
  }
  const std::vector<std::byte> again = encode(decoded.value());
  STRACK_CHECK(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()));
  if (const Entry* entry = std::get_if<Entry>(&decoded.value())) {
    check_path(entry->path);
    STRACK_CHECK((entry->kind == EntryKind::link || entry->kind == EntryKind::hard_link) ==
                 !entry->target.empty());
  }
  if (const Ask* ask = std::get_if<Ask>(&decoded.value())) {
    for (const std::string& path : ask->paths) {
      if (!path.empty()) check_path(path);
    }
  }
}

}  // namespace
}  // namespace strack::transfer

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace strack::transfer;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  run(bytes);
  if (size == 0) return 0;
  // The same as every type, so that few inputs end at the first byte.
  std::vector<std::byte> typed(bytes.begin(), bytes.end());
  for (std::uint8_t type = 1; type <= 20; ++type) {
    typed[0] = std::byte{type};
    run(typed);
  }
  [[maybe_unused]] const auto destination =
      parse_destination({reinterpret_cast<const char*>(data), size});

  const FileIdentity file{"a/b", 5 * std::uint64_t{kBlockBytes} + 7, 1};
  std::vector<std::byte> journal = journal_header(file);
  const std::size_t head = journal.size();
  journal.insert(journal.end(), bytes.begin(), bytes.end());
  const auto contents = read_journal(file, journal);
  STRACK_CHECK(contents.has_value());
  STRACK_CHECK_OP(contents->good_bytes, ==, head + contents->blocks.size() * kRecordBytes);
  [[maybe_unused]] const auto foreign = read_journal(file, bytes);
  return 0;
}
