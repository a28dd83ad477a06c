// Names of files that come from somewhere else: which are safe to use below a folder, and how to show them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/text.h"

namespace strack::transfer {

/// The folder in the receiver's folder where unfinished files are. No path may begin with it.
inline constexpr std::string_view kPartsFolder = ".strack";
inline constexpr std::size_t kMaxPathBytes = 4095;
inline constexpr std::size_t kMaxNameBytes = 255;
/// Names of a path. Each step of one is a system call, and a folder if it is missing.
inline constexpr std::size_t kMaxDepth = 256;

[[nodiscard]] constexpr bool is_control(char c) {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// What is wrong with a path that is to be created below a folder, in words; nothing if it is safe: names
/// between single slashes, kMaxDepth at most, none of them "." or "..", no control characters, and not in
/// `kPartsFolder`.
[[nodiscard]] std::optional<std::string> path_fault(std::string_view path);

/// Whether a name in it, however deep, is `kPartsFolder`: what is called so is nobody's to copy, serve or remove.
[[nodiscard]] bool is_in_parts(std::string_view path);

/// Whether it is one name that a file can have, `kPartsFolder` too.
[[nodiscard]] bool is_one_name(std::string_view name);

/// `path_fault` for where the symbolic link `path` points. It must be relative, and stay below the folder by its text
/// alone: as many ".." as the link is deep at most, and these first, since a later one could follow
/// another link to elsewhere.
[[nodiscard]] std::optional<std::string> target_fault(std::string_view path,
                                                      std::string_view target);

/// Whether it is HOST:..., and not the name of something here: a colon before any slash.
[[nodiscard]] bool is_remote(std::string_view text);

/// HOST[:PORT]:[PATH] in its parts; the path is whatever follows.
struct Remote {
  std::string host;  ///< "name", "user@name", "[::1]"
  std::string port;  ///< empty: none
  std::string path;
};
/// Or what is wrong with it.
[[nodiscard]] Result<Remote, std::string> parse_remote(std::string_view text);

/// HOST[:PORT]:[DEST], what `strack cp` copies to.
struct Destination {
  std::string host_and_port;  ///< as udp::resolve takes it: "name", "name:4800", "[::1]:4800"
  std::string path;           ///< without slashes at the end
  bool folder = false;        ///< empty, or it ended in a slash: things keep their names below it
};
/// Or what is wrong with it.
[[nodiscard]] Result<Destination, std::string> parse_destination(std::string_view text);

}  // namespace strack::transfer
