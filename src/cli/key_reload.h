// [D141] A listener takes keys that were changed, when their files tell it or a SIGHUP does.
#pragma once

#include <atomic>
#include <chrono>

#include "transfer/key_watch.h"

namespace strack::cli {

class KeyReload {
 public:
  /// Before the keys are read; `quiet`: only mistakes are told.
  KeyReload(const transfer::Protection& protection, bool quiet)
      : protection_(protection), quiet_(quiet), watch_(protection) {}

  /// After stop_on_signals().
  void listen();
  /// Now and then; prints what came of it to standard error.
  void look(udp::Endpoint& endpoint);

 private:
  const transfer::Protection& protection_;
  bool quiet_;
  transfer::KeyWatch watch_;
  std::atomic<bool>* asked_ = nullptr;
};

}  // namespace strack::cli
