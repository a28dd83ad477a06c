// A text as JSON has it, quotes included. What is not UTF-8 becomes a replacement character.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace strack {

[[nodiscard]] inline std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace strack
