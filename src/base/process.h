// Another program, started without a shell in a process group of its own: Ctrl-C at the terminal does
// not reach it, and it goes when this process goes.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace strack {

struct ProcessFiles {
  int input = -1;   ///< a descriptor for standard input; -1: this process's own
  int output = -1;  ///< the same for standard output
  int errors = -1;  ///< and for standard error
};

/// Its process id, which is its group's too; -1 where none could be made. A program that cannot be
/// run ends with status 127.
[[nodiscard]] pid_t start_process(const std::string& program, std::vector<std::string> words,
                                  const ProcessFiles& files);

/// The program of that name in one of PATH's folders, or a file of that name where it has a slash; empty: there is none.
[[nodiscard]] std::string find_program(const std::string& name);

}  // namespace strack
