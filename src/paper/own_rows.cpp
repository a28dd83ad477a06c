#include "paper/own_rows.h"

#include <charconv>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include "base/check.h"

// As report/page.cpp does it. STRACK_PAPER_OWN_ROWS is the file.
__asm__(
    ".pushsection .rodata\n"
    ".global strack_paper_rows\n"
    ".global strack_paper_rows_end\n"
    "strack_paper_rows:\n"
    ".incbin \"" STRACK_PAPER_OWN_ROWS
    "\"\n"
    "strack_paper_rows_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char strack_paper_rows[];
extern const char strack_paper_rows_end[];
}

namespace strack::paper {

std::string_view own_rows() {
  const char* begin = strack_paper_rows;
  return {begin, static_cast<std::size_t>(strack_paper_rows_end - begin)};
}

std::optional<metrics::FileError> write_own_rows(const std::filesystem::path& folder) {
  std::error_code failure;
  std::filesystem::create_directories(folder, failure);
  if (failure) {
    return metrics::FileError{
        fmt::format("{}: the folder cannot be made: {}. choose another "
                    "--results",
                    folder.string(), failure.message())};
  }
  for (std::string_view rest = own_rows(); !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const std::size_t space = line.rfind(' ');
    STRACK_CHECK(line.starts_with("@@ ") && space > 3);  // as the build wrote it
    const std::string name(line.substr(3, space - 3));
    std::size_t size = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), size);
    rest.remove_prefix(line.size() + 1);
    STRACK_CHECK(size <= rest.size());
    std::ofstream file(folder / name, std::ios::binary);
    file.write(rest.data(), static_cast<std::streamsize>(size));
    file.close();
    if (!file) {
      return metrics::FileError{
          fmt::format("{}: cannot be written. choose another --results", (folder / name).string())};
    }
    rest.remove_prefix(size);
  }
  return std::nullopt;
}

}  // namespace strack::paper
