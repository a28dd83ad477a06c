// Ctrl-C and its relatives, for commands that have something to put in order before they stop.
#pragma once

#include <atomic>

#include "run/pool.h"

namespace strack::cli {

/// From now on the first SIGINT, SIGTERM or SIGHUP sets the flag that is returned; a second Ctrl-C at a terminal, or another
/// signal two seconds or more later, ends the program at once. A full disk or a file size limit arrives as an error of the writing
/// call, never as a signal.
std::atomic<bool>& stop_on_signals();

/// [D141] After it, for commands that listen: SIGHUP sets the flag that is returned, each time, and stops only where the
/// terminal has gone that the program was started from.
std::atomic<bool>& read_again_on_hangup();

/// Whether it was a signal that set the flag.
[[nodiscard]] bool signal_came();

using run::kInterruptedStatus;
/// What a shell expects of a program that the signal ended: 130 after SIGINT, 143 after SIGTERM.
[[nodiscard]] int interrupted_status();

}  // namespace strack::cli
