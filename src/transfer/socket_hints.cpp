#include "transfer/socket_hints.h"

#include <cstdint>

#include <fmt/format.h>

namespace strack::transfer {
namespace {

void add_buffer(std::vector<std::string>& out, const char* name, const char* option,
                std::uint64_t asked, std::uint64_t got) {
  if (got == 0 || got >= asked) return;
  // The kernel doubles what it is asked for, and what it allows.
  out.push_back(fmt::format(
      "{} buffers have {} bytes, of {} that were asked for: sysctl -w {}={} allows them", name, got,
      asked, option, asked / 2));
}

}  // namespace

void add_receive_hints(std::vector<std::string>& out, const udp::SocketLimits& limits) {
  add_buffer(out, "receive", "net.core.rmem_max", limits.receive_buffer_asked,
             limits.receive_buffer);
}

void add_send_hints(std::vector<std::string>& out, const udp::SocketLimits& limits) {
  add_buffer(out, "send", "net.core.wmem_max", limits.send_buffer_asked, limits.send_buffer);
}

void add_sharing_hints(std::vector<std::string>& out, const udp::SocketLimits& limits,
                       std::uint32_t paths) {
  if (limits.paths_sharing == 0) return;
  out.push_back(fmt::format(
      "{} of {} paths got no port of their own and share one: a higher limit of open files "
      "(ulimit -n) gives each its own, or --paths {} asks for no more than there are",
      limits.paths_sharing, paths,
      paths > limits.paths_sharing ? paths - limits.paths_sharing : 1));
}

}  // namespace strack::transfer
