#include "sim/scenario/files.h"

#include <cstdint>
#include <fstream>
#include <map>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "workload/formats/import_builder.h"
#include "workload/lines.h"

namespace strack::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 30;

[[nodiscard]] workload::TextError wrong(std::string message) { return {0, std::move(message)}; }

}  // namespace

Result<std::string, workload::TextError> read_file(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return wrong("there is no such file");
  if (fs::is_directory(status)) return wrong("it is a folder. name a file in it");
  if (!fs::is_regular_file(status)) return wrong("it is not a plain file");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) return wrong(fmt::format("it cannot be read: {}", error.message()));
  if (size > kLargestFile)
    return wrong(fmt::format("it has {} bytes. at most {} are read", size, kLargestFile));
  std::ifstream in(path, std::ios::binary);
  std::string text(static_cast<std::size_t>(size), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (!in || static_cast<std::uintmax_t>(in.gcount()) != size)
    return wrong("it cannot be read. check its permissions");
  return text;
}

Result<std::vector<fs::path>, workload::TextError> trace_files(const fs::path& name) {
  const std::string pattern = name.filename().string();
  const std::size_t mark = pattern.find(kRankMark);
  if (mark == pattern.npos) return std::vector<fs::path>{name};
  const std::string before = pattern.substr(0, mark);
  const std::string after = pattern.substr(mark + kRankMark.size());
  const fs::path folder = name.has_parent_path() ? name.parent_path() : fs::path(".");

  // Numbers may have leading zeros, so all names are looked at.
  std::map<std::int64_t, fs::path> found;
  std::error_code error;
  fs::directory_iterator at(folder, error);
  if (error) return wrong(fmt::format("its folder cannot be read: {}", error.message()));
  for (; at != fs::directory_iterator(); at.increment(error)) {
    const std::string file = at->path().filename().string();
    if (file.size() <= before.size() + after.size() || !file.starts_with(before) ||
        !file.ends_with(after)) {
      continue;
    }
    const std::optional<std::int64_t> rank = workload::parse_within(
        std::string_view(file).substr(before.size(), file.size() - before.size() - after.size()), 0,
        workload::kMostRanks - 1);
    if (!rank) continue;
    // In the words of the caller: relative where the name was.
    const auto [other, is_new] = found.try_emplace(*rank, name.parent_path() / file);
    if (!is_new) {
      return wrong(fmt::format("rank {} has two files, {} and {}. take one of them away", *rank,
                               workload::quoted(other->second.filename().string()),
                               workload::quoted(file)));
    }
  }
  if (error) return wrong(fmt::format("its folder cannot be read: {}", error.message()));
  std::vector<fs::path> files;
  for (const auto& [rank, file] : found) {
    if (rank != static_cast<std::int64_t>(files.size())) break;
    files.push_back(file);
  }
  if (files.size() != found.size() || files.empty()) {
    const std::string missing = fmt::format("{}{}{}", before, files.size(), after);
    return wrong(files.size() == found.size()
                     ? fmt::format("there is no {}. {{rank}} stands for 0, 1, 2 and so on",
                                   workload::quoted(missing))
                     : fmt::format("there are {} such files, but no {}. ranks are numbered from 0 "
                                   "without a gap",
                                   found.size(), workload::quoted(missing)));
  }
  return files;
}

Result<workload::Trace, workload::TraceError> read_trace(std::span<const fs::path> files,
                                                         const workload::TraceParams& params) {
  std::vector<workload::TraceFile> texts;
  for (const fs::path& file : files) {
    auto text = read_file(file);
    if (!text) return workload::TraceError{file.string(), 0, text.error().message};
    texts.push_back({file.string(), std::move(text.value())});
  }
  return workload::import_trace(texts, params);
}

}  // namespace strack::sim
