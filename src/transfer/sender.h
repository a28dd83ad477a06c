// The sending side of one file transfer, over a connection of an endpoint. Reads and checksums are the
// worker's; the endpoint's thread never waits for a disk.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "transfer/outbox.h"
#include "transfer/prune.h"
#include "transfer/tree.h"
#include "transfer/worker.h"
#include "udp/endpoint.h"

namespace strack::transfer {

class Sender {
 public:
  struct Options {
    bool force = false;
    bool resume = true;
    /// An entry that was not copied, with its path and why.
    std::function<void(const std::string& text)> noted;
    /// What the tree does not have is removed at the other side, in the folders that it has.
    std::optional<Prune::Options> prune;
    /// Where the tree's files are; nothing: where their names say.
    std::shared_ptr<const Source> from;
    /// Who keeps the tree, where that is not the caller: held as long as the worker may use it.
    std::shared_ptr<const void> keeper;
    /// The other side has asked for it, over a connection whose messages come by `take`: the caller posts receives.
    bool asked = false;
  };
  /// `connection` has been asked for with `cookie`; the tree must not change.
  Sender(udp::Endpoint& endpoint, udp::ConnectionId connection, Worker& worker, const Tree& tree,
         Options options);
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender();

  void on(const udp::Completion& completion);
  /// A control message, where the caller posts receives.
  void take(std::span<const std::byte> bytes) { on_control(bytes); }
  /// Says hello; by itself when the connection is up, unless it was asked for.
  void begin();
  bool pump();

  [[nodiscard]] bool over() const { return state_ == State::over; }
  /// Why it is over: empty after a good end. Entries that were refused are not part of it.
  [[nodiscard]] const std::string& problem() const { return problem_; }
  /// All that was copied is on the receiver's disk, though there may be a problem with the rest.
  [[nodiscard]] bool finished() const { return finished_; }
  /// What ended the connection where it was not the transfer itself; ok otherwise.
  [[nodiscard]] udp::Status lost() const { return lost_; }

  struct Progress {
    std::uint64_t bytes = 0;        ///< acknowledged, or not needed
    std::uint64_t sent_bytes = 0;   ///< but for those of files that were refused in the end
    std::uint64_t again_bytes = 0;  ///< of these, sent once more: the checksum was wrong
    std::uint64_t kept_bytes = 0;   ///< that the receiver had from an earlier attempt, and uses
    std::uint64_t hole_bytes = 0;   ///< left out: zeros that take no room
    std::uint64_t files = 0;        ///< stored
    std::uint64_t there = 0;        ///< that were there already
    std::uint64_t links = 0;        ///< stored or there
    std::uint64_t refused = 0;      ///< entries, by the receiver
    std::uint64_t skipped = 0;      ///< files that vanished or changed here meanwhile
    std::uint64_t not_begun = 0;    ///< what is no folder, and had no room at the receiver
    std::uint64_t removed = 0;      ///< at the other side
  };
  [[nodiscard]] const Progress& progress() const { return progress_; }

  static constexpr std::uint32_t kBuffers = 16;  ///< of a block each
  static constexpr std::size_t kMostNamed = 20;  ///< of those that a full disk leaves out
  /// So long without anything to send, and it says that it is there.
  static constexpr std::chrono::seconds kStillHereAfter{5};

 private:
  enum class State : std::uint8_t { connecting, hello, running, finishing, closing, over };
  struct Outgoing;
  struct Buffer;

  void on_control(std::span<const std::byte> bytes);
  void handle(const Welcome& welcome);
  void handle(const Refusal& refusal);
  void handle(const Busy& busy);
  void handle(const Need& need);
  void handle(const Done& done);
  void handle(const Enough& enough);
  void handle(const Finished& finished);
  void handle(const StillHere& still_here);
  void handle(const Names& names);
  void handle(const Removed& removed);
  bool prune_on();
  template <class Other>
  void handle(const Other& other);
  void give_up_rest(const std::string& why);
  bool announce();
  static void read_block(Outgoing& file, Buffer& buffer);
  bool read_on();
  void on_block(const std::shared_ptr<Outgoing>& file, const std::shared_ptr<Buffer>& buffer);
  void on_sent(Outgoing& file, int round, std::uint32_t bytes);
  void take_back(Outgoing& file, bool again);
  void tell_hole(Outgoing& file);
  void end_file(Outgoing& file);
  void give_up(Outgoing& file, const std::string& why);
  void stop(const std::string& problem);
  void post_control(std::uint32_t index);

  udp::Endpoint& endpoint_;
  udp::ConnectionId connection_;
  Worker& worker_;
  const Tree& tree_;
  Options options_;
  State state_ = State::connecting;
  bool giving_up_ = false;  ///< no more entries but the ends of folders
  bool finished_ = false;   ///< the receiver said so
  std::string problem_;
  udp::Status lost_ = udp::Status::ok;
  Outbox outbox_;
  std::uint32_t most_open_ = 0;
  std::size_t next_ = 0;         ///< the next entry to announce
  std::size_t hard_links_from_;  ///< before the first of them nothing may be open
  std::size_t ends_from_;        ///< the same for folders' ends
  std::size_t open_ = 0;         ///< announced, without an answer
  std::unordered_map<std::uint32_t, std::shared_ptr<Outgoing>>
      files_;                     ///< those of these that are files
  std::unique_ptr<Prune> prune_;  ///< while it is at that
  bool pruned_ = false;           ///< or is to be no more
  std::deque<std::shared_ptr<Outgoing>> to_read_;
  std::vector<std::shared_ptr<Buffer>> free_;
  std::vector<std::vector<std::byte>> control_;
  Progress progress_;
  std::chrono::steady_clock::time_point sent_at_ = std::chrono::steady_clock::now();
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace strack::transfer
