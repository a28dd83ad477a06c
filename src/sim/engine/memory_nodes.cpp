#include "sim/engine/memory_nodes.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <string>
#include <system_error>

namespace strack::sim {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostNodes = 1'024;
constexpr int kPreferred = 1;  ///< MPOL_PREFERRED
constexpr unsigned kMove = 2;  ///< MPOL_MF_MOVE

cpu_set_t allowed_here() {
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_ZERO(&allowed);
  return allowed;
}

}  // namespace

std::vector<std::uint32_t> processors_in(std::string_view list) {
  std::vector<std::uint32_t> all;
  const char* at = list.data();
  const char* const end = at + list.size();
  while (at != end) {
    std::uint32_t first = 0;
    const auto read = std::from_chars(at, end, first);
    if (read.ec != std::errc()) break;
    at = read.ptr;
    std::uint32_t last = first;
    if (at != end && *at == '-') {
      const auto more = std::from_chars(at + 1, end, last);
      if (more.ec != std::errc()) break;
      at = more.ptr;
    }
    for (std::uint32_t p = first; p <= last && p < CPU_SETSIZE; ++p) all.push_back(p);
    if (at != end && *at == ',') ++at;
  }
  return all;
}

MemoryNodes::MemoryNodes(const fs::path& folder, const cpu_set_t& allowed) {
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    const std::string name = entry.path().filename().string();
    Node node;
    if (!name.starts_with("node") ||
        std::from_chars(name.data() + 4, name.data() + name.size(), node.number).ec != std::errc())
      continue;
    std::string list;
    std::getline(std::ifstream(entry.path() / "cpulist"), list);
    for (const std::uint32_t p : processors_in(list)) {
      if (CPU_ISSET(p, &allowed)) node.processors.push_back(p);
    }
    if (!node.processors.empty() && node.number < kMostNodes) nodes_.push_back(std::move(node));
  }
  std::sort(nodes_.begin(), nodes_.end(),
            [](const Node& a, const Node& b) { return a.number < b.number; });
}

MemoryNodes MemoryNodes::here() { return {"/sys/devices/system/node", allowed_here()}; }

const MemoryNodes::Node* MemoryNodes::node_of(std::uint32_t worker, std::uint32_t workers) const {
  std::size_t largest = 0;
  std::size_t all = 0;
  for (const Node& node : nodes_) {
    largest = std::max(largest, node.processors.size());
    all += node.processors.size();
  }
  if (nodes_.size() < 2 || workers <= largest || workers > all) return nullptr;
  // To each its part of the workers, by its part of the processors.
  std::size_t before = 0;
  for (const Node& node : nodes_) {
    before += node.processors.size();
    if (worker * all < before * workers) return &node;
  }
  return nullptr;
}

bool stay_at(const MemoryNodes::Node& node) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const std::uint32_t p : node.processors) CPU_SET(p, &set);
  return sched_setaffinity(0, sizeof set, &set) == 0;
}

bool move_to(const MemoryNodes::Node& node, void* memory, std::size_t size) {
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t begin = (address + page - 1) / page * page;
  const std::uintptr_t end = (address + size) / page * page;
  if (begin >= end) return true;
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::array<unsigned long, kMostNodes / kBits> mask{};
  mask[node.number / kBits] = 1UL << (node.number % kBits);
  return syscall(SYS_mbind, begin, end - begin, kPreferred, mask.data(), kMostNodes + 1, kMove) ==
         0;
}

KeepsAffinity::KeepsAffinity() : before_(allowed_here()) {}
KeepsAffinity::~KeepsAffinity() { sched_setaffinity(0, sizeof before_, &before_); }

}  // namespace strack::sim
