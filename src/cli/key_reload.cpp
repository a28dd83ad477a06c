#include "cli/key_reload.h"

#include <cstdio>

#include <fmt/format.h>

#include "cli/interrupt.h"

namespace strack::cli {

void KeyReload::listen() {
  // Where nothing can be read again, SIGHUP ends the program as ever.
  if (protection_.keyed() && protection_.key_file != "-") asked_ = &read_again_on_hangup();
}

void KeyReload::look(udp::Endpoint& endpoint) {
  if (asked_ == nullptr) return;
  const bool asked = asked_->exchange(false, std::memory_order_relaxed);
  if (!watch_.is_due(transfer::KeyWatch::Clock::now(), asked)) return;
  const auto read = transfer::read_keys_again(protection_, endpoint);
  if (!read) {
    fmt::print(stderr, "error: keys were read again and stay as they were: {}\n", read.error());
  } else if (!quiet_) {
    fmt::print(stderr, "keys were read again: {}\n", read.value().text);
  }
}

}  // namespace strack::cli
