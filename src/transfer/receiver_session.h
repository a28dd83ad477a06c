// What a receiver knows of one transfer. For receiver.cpp and receiver_folders.cpp alone.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "transfer/outbox.h"
#include "transfer/prune.h"
#include "transfer/receiver.h"
#include "transfer/sender.h"
#include "transfer/tree.h"

namespace strack::transfer {

struct Receiver::Session {
  using Clock = Guests::Clock;

  Session(udp::Endpoint& endpoint, udp::ConnectionId connection)
      : id(connection), outbox(endpoint, connection) {}

  enum class State : std::uint8_t { new_born, giving, running, finishing, refused, over };

  struct OpenEntry {
    Entry entry;
    std::shared_ptr<IncomingFile> file;  ///< of a file only
    bool begun = false;                  ///< counts as an open file
    bool receiving = false;              ///< its `Need` was sent, its end has not come
    bool lost = false;                   ///< to a newer transfer: what still comes of it is ignored
    std::uint64_t bytes = 0;             ///< received since the last `Need`
    std::uint64_t resumed = 0;           ///< bytes that were there before
    std::uint64_t left_out = 0;          ///< bytes of holes
  };

  /// A slow disk of this side is not the sender's silence. Where a file is on its way it is the sender's turn,
  /// though others of it wait.
  [[nodiscard]] bool waits_for_us() const {
    if (state == State::finishing || writing > 0 || (giving && !giving->sender)) return true;
    return !open.empty() && std::none_of(open.begin(), open.end(),
                                         [](const auto& one) { return one.second.receiving; });
  }

  /// What has come of a file is of no use.
  void take_back(OpenEntry& file) {
    summary.bytes -= file.bytes;
    summary.resumed_bytes -= file.resumed;
    summary.hole_bytes -= file.left_out;
    done_bytes -= file.bytes + file.resumed + file.left_out;
    file.bytes = file.resumed = file.left_out = 0;
  }

  /// What a peer fetches from here.
  struct Giving {
    Ask ask;
    std::atomic<bool> stop{false};
    Tree tree;
    std::string problem;  ///< there is no tree
    std::size_t entries = 0;
    std::unique_ptr<Sender> sender;  ///< when the tree is there
    std::uint64_t sent = 0;          ///< bytes, when it was last looked at
  };

  udp::ConnectionId id;
  std::shared_ptr<Giving>
      giving;  ///< the peer has asked; its tree is also the lister's and the worker's
  std::unique_ptr<Fetch> asked;       ///< this side has
  std::vector<Prune::Known> came;     ///< all that was announced, where the rest is to go
  std::vector<std::string> roots;     ///< what may come then; an empty one: anything
  std::uint64_t announced = 0;        ///< entries
  std::uint64_t announced_bytes = 0;  ///< that have not been named yet
  Clock::time_point spoke = Clock::now();
  State state = State::new_born;
  bool force = false;
  bool fresh = false;
  bool said_hello = false;
  bool questioned = false;  ///< the sender has asked what is here
  bool hushed = false;      ///< nothing has come for so long that a person was told
  std::uint64_t total_bytes = 0;
  std::uint64_t done_bytes = 0;
  std::uint32_t next_number = 0;
  std::uint64_t packets = 0;  ///< of data that had come when it was last looked at
  std::uint64_t notes = 0;
  std::uint32_t writing = 0;  ///< blocks that the worker has
  Clock::time_point began = Clock::now();
  Clock::time_point heard = began;
  Clock::time_point parted_at{};  ///< when it was refused, or told that all is stored
  std::unordered_map<std::uint32_t, OpenEntry> open;
  std::size_t open_files = 0;
  std::uint64_t open_blocks = 0;
  std::unordered_set<PathKey, PathKeyHash> folders;  ///< that it has begun and not ended
  std::vector<std::vector<std::byte>> control;
  std::vector<std::vector<std::byte>> data;
  Outbox outbox;
  TransferSummary summary;
};

}  // namespace strack::transfer
