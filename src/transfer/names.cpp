#include "transfer/names.h"

#include <algorithm>

#include <fmt/format.h>

namespace strack::transfer {
namespace {

/// Takes the part before the first slash, and the slash.
std::string_view next_name(std::string_view& path) {
  const std::size_t slash = path.find('/');
  const std::string_view name = path.substr(0, slash);
  path = slash == std::string_view::npos ? std::string_view{} : path.substr(slash + 1);
  return name;
}

std::optional<std::string> name_fault(std::string_view name) {
  if (name.empty()) return "has an empty name in it";
  if (name == "." || name == "..") return fmt::format("has '{}' in it", name);
  if (name.size() > kMaxNameBytes)
    return fmt::format("has a name of {} bytes; {} are possible", name.size(), kMaxNameBytes);
  return std::nullopt;
}

std::optional<std::string> characters_fault(std::string_view path) {
  if (path.size() > kMaxPathBytes)
    return fmt::format("is {} bytes long; {} are possible", path.size(), kMaxPathBytes);
  if (std::any_of(path.begin(), path.end(), is_control)) return "has control characters";
  if (path.front() == '/') return "is not relative";
  if (path.back() == '/') return "ends in a slash";
  const auto names = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/')) + 1;
  if (names > kMaxDepth) return fmt::format("is {} names deep; {} are possible", names, kMaxDepth);
  return std::nullopt;
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::optional<std::string> path_fault(std::string_view path) {
  if (path.empty()) return "is empty";
  if (auto fault = characters_fault(path)) return fault;
  bool first = true;
  for (std::string_view rest = path; !rest.empty(); first = false) {
    const std::string_view name = next_name(rest);
    if (auto fault = name_fault(name)) return fault;
    if (first && name == kPartsFolder)
      return fmt::format("begins with '{}', where unfinished files are", kPartsFolder);
  }
  return std::nullopt;
}

bool is_in_parts(std::string_view path) {
  for (std::string_view rest = path; !rest.empty();) {
    if (next_name(rest) == kPartsFolder) return true;
  }
  return false;
}

bool is_one_name(std::string_view name) {
  return name == kPartsFolder || (!path_fault(name) && name.find('/') == std::string_view::npos);
}

std::optional<std::string> target_fault(std::string_view path, std::string_view target) {
  if (target.empty()) return "is empty";
  if (auto fault = characters_fault(target)) return fault;
  auto depth = std::count(path.begin(), path.end(), '/');
  bool leading = true;
  for (std::string_view rest = target; !rest.empty();) {
    const std::string_view name = next_name(rest);
    if (name == "..") {
      if (!leading) return "has '..' after a name";
      if (--depth < 0) return "leads out of the folder";
      continue;
    }
    leading = false;
    if (name == ".") continue;
    if (auto fault = name_fault(name)) return fault;
  }
  return std::nullopt;
}

bool is_remote(std::string_view text) {
  const std::size_t colon = text.find(':');
  return text.starts_with('[') || (colon != std::string_view::npos && colon < text.find('/'));
}

Result<Remote, std::string> parse_remote(std::string_view text) {
  const auto wrong = [&](std::string_view what) {
    return fmt::format("'{}' {}. write HOST:, HOST:NAME, HOST:PORT:NAME or [IPV6]:PORT:NAME",
                       printable(text), what);
  };
  // The host ends at the first colon, or at the one after the bracket.
  std::size_t colon = text.find(':');
  if (text.starts_with('[')) {
    const std::size_t bracket = text.find(']');
    if (bracket == std::string_view::npos) return wrong("has no ']'");
    colon = bracket + 1;
    if (colon == text.size() || text[colon] != ':') return wrong("has no ':' after the ']'");
  }
  if (colon == std::string_view::npos) return wrong("names no host");
  if (colon == 0) return wrong("has nothing before the ':'");
  Remote remote{std::string(text.substr(0, colon)), {}, {}};
  std::string_view rest = text.substr(colon + 1);
  const std::size_t next = rest.find(':');
  if (next != std::string_view::npos && is_port(rest.substr(0, next))) {
    remote.port = rest.substr(0, next);
    rest = rest.substr(next + 1);
  }
  remote.path = rest;
  return remote;
}

Result<Destination, std::string> parse_destination(std::string_view text) {
  const auto remote = parse_remote(text);
  if (!remote) return remote.error();
  const auto& [host, port, path] = remote.value();
  Destination destination{host, {}, false};
  if (!port.empty()) destination.host_and_port += ":" + port;
  std::string_view rest = path;
  destination.folder = rest.empty() || rest.ends_with('/');
  while (rest.ends_with('/') && rest.size() > 1) rest.remove_suffix(1);
  destination.path = rest;
  if (!rest.empty()) {
    if (const auto fault = path_fault(rest))
      return fmt::format(
          "'{}': the name '{}' {}. it must be one below the folder of the other side",
          printable(text), printable(rest), *fault);
  }
  return destination;
}

}  // namespace strack::transfer
