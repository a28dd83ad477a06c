// [D141] A key is changed in three steps, so that nobody is ever without one: the next one is made and taken beside it, it
// is used, the last one is taken no longer. What `strack key rotate` does to files; KeyWatch sees it.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "udp/endpoint.h"

namespace strack::transfer {

/// Makes FILE.new, of the kind that FILE is. Gives the public key of an identity, nothing for a shared key. Or says what
/// is wrong.
[[nodiscard]] Result<std::optional<udp::Key>, std::string> begin_rotation(const std::string& file);
/// FILE.new becomes FILE, and what was FILE becomes FILE.old. At no moment is FILE not there. Or says what is wrong.
[[nodiscard]] Result<std::optional<udp::Key>, std::string> use_next_key(const std::string& file);
/// Removes FILE.old. What is wrong, if anything.
[[nodiscard]] std::optional<std::string> end_rotation(const std::string& file);

}  // namespace strack::transfer
