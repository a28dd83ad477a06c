// What to say where the command line cannot be understood: what was meant, if that can be guessed.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace strack::cli {

/// The words behind "error: ".
[[nodiscard]] std::string misspelt(const CLI::App& app, const CLI::ParseError& error);

}  // namespace strack::cli
