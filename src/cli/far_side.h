// The other side of a copy, started on its host over ssh: `strack recv` with a key that nobody else has, on a port
// of its own, for as long as this object is there.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "transfer/file_handle.h"
#include "udp/endpoint.h"

namespace strack::cli {

class FarSide {
 public:
  struct Options {
    std::string ssh = "ssh";  ///< a program, and words that it gets first
    std::string strack;       ///< the program there; empty: as the shell finds it
    std::string host;         ///< "name" or "user@name"
    std::string port;         ///< UDP; empty: any
    std::string folder;       ///< there
    bool serve = false;       ///< it gives files, and takes none
    bool may_delete = false;
  };
  /// Waits until it is there; ssh may ask for a password. Or says what is wrong.
  [[nodiscard]] static Result<std::unique_ptr<FarSide>, std::string> start(
      const Options& options, const std::atomic<bool>& stop);
  FarSide(const FarSide&) = delete;
  FarSide& operator=(const FarSide&) = delete;
  /// It ends when it can no longer hear us.
  ~FarSide();

  [[nodiscard]] bool is_alive();
  [[nodiscard]] const udp::Key& key() const { return key_; }
  [[nodiscard]] std::string address() const { return host_ + ":" + port_; }

 private:
  FarSide() = default;

  udp::Key key_{};
  std::string host_;
  std::string port_;
  pid_t child_ = -1;
  transfer::FileHandle to_;
  transfer::FileHandle from_;
};

/// What the shell there is told to run.
[[nodiscard]] std::string far_command(const FarSide::Options& options);

}  // namespace strack::cli
