// The receiving side of file transfers: takes connections of an endpoint and stores what they send.
//
// Everything that a peer says is checked: what breaks a rule ends its transfer with a reason and touches no
// other. Disks and checksums are the worker's; the endpoint's thread never waits for them.
//
// It goes the other way, too. Where a folder is served, who connects may ask for what is in it, and a sender takes
// over that connection; and `fetch` asks for it, over a connection of this side's own.
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

#include "transfer/digest.h"
#include "transfer/guests.h"
#include "transfer/source.h"
#include "transfer/store.h"
#include "transfer/worker.h"
#include "udp/endpoint.h"

namespace strack::transfer {

/// How a transfer ended.
struct TransferSummary {
  std::string peer;
  bool finished = false;
  std::string problem;  ///< why it did not
  std::uint64_t files = 0;
  std::uint64_t folders = 0;
  std::uint64_t links = 0;
  std::uint64_t there = 0;    ///< files that were there already
  std::uint64_t refused = 0;  ///< entries
  std::uint64_t skipped = 0;  ///< files that the sender gave up: they vanished or changed there
  std::uint64_t removed = 0;  ///< since the source does not have them
  /// Received: once, though a file was sent again, and not of files that were refused in the end.
  std::uint64_t bytes = 0;
  std::uint64_t again_bytes = 0;  ///< received besides: the checksum was wrong
  std::uint64_t resumed_bytes = 0;
  std::uint64_t hole_bytes = 0;  ///< not sent: zeros that take no room
  std::uint64_t unread = 0;      ///< fetched: what could not be read there, as far as it was told
  double seconds = 0;
  bool given = false;    ///< the peer has fetched it from here: `bytes` are those sent
  bool partial = false;  ///< fetched, and there was more which could not be read there
  udp::Status lost = udp::Status::ok;  ///< what ended the connection, where it was not the transfer
};

class Receiver {
 public:
  struct Events {
    std::function<void(const TransferSummary&)> ended;
    /// Something that a person should see: an entry refused, with its path and why.
    std::function<void(const std::string& peer, const std::string& text)> noted;
  };

  /// What peers can cost at most. Who goes beyond ends its transfer, with a reason, and not the receiver.
  struct Limits {
    /// Until a connection has said hello and begun an entry; and for one to leave that was refused.
    std::chrono::milliseconds patience = std::chrono::seconds(5);
    /// Without a word in a transfer. A sender that is at work speaks every kStillHereAfter.
    std::chrono::milliseconds silence = std::chrono::seconds(30);
    /// The same, until a person is told. Longer than kStillHereAfter.
    std::chrono::milliseconds hush = std::chrono::seconds(6);
    std::size_t most_transfers = 32;  ///< at a time; beyond, Guests says who goes
    /// Without a word, and it may have to go for others: longer than twice kStillHereAfter.
    std::chrono::milliseconds idle = std::chrono::seconds(15);
    /// Open at a time, of all transfers together; the others wait for their turn.
    std::size_t most_files = SIZE_MAX;
    /// Blocks of all open files together: each takes 33 bytes of memory. A larger file is refused.
    std::uint64_t most_blocks = std::uint64_t{1} << 24;
    std::size_t most_folders = std::size_t{1} << 20;  ///< begun and not ended, of one transfer
    std::uint64_t most_refused = 100'000;             ///< entries of one transfer
    std::uint64_t most_notes = 100;                   ///< of one transfer, told to `Events::noted`
    bool may_remove = false;                        ///< senders, what is in folders that they fill
    std::size_t most_names = std::size_t{1} << 17;  ///< of a folder, told to a sender that asks
    /// Entries that one peer may fetch; all of them together, twice that. Each takes some 300 bytes of memory.
    std::size_t most_listed = std::size_t{1} << 20;
  };

  Receiver(udp::Endpoint& endpoint, Worker& worker, std::shared_ptr<Store> store, Events events,
           Limits limits);
  Receiver(const Receiver&) = delete;
  Receiver& operator=(const Receiver&) = delete;
  ~Receiver();

  /// From now on peers may fetch what is there.
  void serve(std::shared_ptr<const Source> from) { served_ = std::move(from); }
  struct Fetch {
    Ask ask;
    bool force = false;
    bool fresh = false;
    std::vector<std::string> exclude;  ///< patterns, as transfer::scan takes them
    bool prune = false;                ///< what the other side does not have is removed here
    bool dry = false;                  ///< it is only told; nothing is copied, either
    std::function<void(const std::string& path)> removed;
  };
  /// Asks for it over a connection that has come up. Nothing is believed of the other side: what comes is below what
  /// was asked for, and no more than was announced.
  void fetch(const udp::Completion& connected, Fetch what);

  void on(const udp::Completion& completion);
  /// Sends what can be sent; to be called after each round of completions and of the worker.
  bool pump();
  /// Ends all transfers; what they have stays resumable.
  void stop();

  /// A served folder is being read: `pump` is to be called soon, though nothing will wake it.
  [[nodiscard]] bool listing() const { return lister_ && lister_->pending() > 0; }
  /// Transfers that have said hello and are not over.
  [[nodiscard]] std::size_t active() const;
  struct Progress {
    std::uint64_t bytes = 0;  ///< stored, of the transfers under way
    std::uint64_t of = 0;
  };
  [[nodiscard]] Progress progress() const;
  /// Folders that transfers have begun and not ended.
  [[nodiscard]] std::size_t open_folders() const { return folders_.size(); }

  static constexpr std::uint32_t kMostOpen = 64;       ///< entries of a transfer under way
  static constexpr std::uint32_t kDataBuffers = 16;    ///< of a block each
  static constexpr std::uint32_t kControlBuffers = 8;  ///< of kMaxControlBytes each

 private:
  struct Session;
  using SessionPtr = std::shared_ptr<Session>;

  void on_accepted(const udp::Completion& completion);
  void on_control(const SessionPtr& session, std::span<const std::byte> bytes);
  void on_data(const SessionPtr& session, const udp::Completion& completion);
  void handle(const SessionPtr& session, const Hello& hello);
  void handle(const SessionPtr& session, const Entry& entry);
  void handle(const SessionPtr& session, const FileEnd& end);
  void handle(const SessionPtr& session, const Skip& skip);
  void handle(const SessionPtr& session, const Finish& finish);
  void handle(const SessionPtr& session, const StillHere& still_here);
  void handle(const SessionPtr& session, const Hole& hole);
  void handle(const SessionPtr& session, const Ask& ask);
  void handle(const SessionPtr& session, const Note& note);
  void handle(const SessionPtr& session, const List& list);
  void handle(const SessionPtr& session, const Remove& remove);
  void handle(const SessionPtr& session, const Refusal& refusal);
  void handle(const SessionPtr& session, const Busy& busy);
  template <class Other>
  void handle(const SessionPtr& session, const Other& other);
  [[nodiscard]] SessionPtr enrol(const udp::Completion& completion);
  void finish(const SessionPtr& session);
  void prune(const SessionPtr& session);
  [[nodiscard]] bool is_wanted(const SessionPtr& session, const Entry& entry);
  void leave(const SessionPtr& session, const std::string& why, udp::Status lost);
  void give(const SessionPtr& session);
  void take_for_sender(const SessionPtr& session, std::span<const std::byte> bytes);
  [[nodiscard]] bool pump_sender(const SessionPtr& session, Guests::Clock::time_point now);
  void note_given(Session& session);
  void begin_files();
  void begin_file(const SessionPtr& session, std::uint32_t number);
  void break_off(const SessionPtr& session, std::uint32_t number, const Verdict& verdict);
  void take_step(const SessionPtr& session, std::uint32_t number, const IncomingFile::Step& step);
  void done(const SessionPtr& session, const Entry& entry, const Verdict& verdict,
            bool skipped = false);
  void refuse(const SessionPtr& session, const std::string& why);
  void part(const SessionPtr& session, const std::string& why, const Control& last_words);
  void note(const SessionPtr& session, const std::string& text);
  [[nodiscard]] bool look_for_silence(const SessionPtr& session, Guests::Clock::time_point now);
  [[nodiscard]] bool take_over(const SessionPtr& session, const std::string& path);
  void lose(const SessionPtr& session, std::uint32_t number);
  void unclaim(const SessionPtr& session, const std::string& path);
  void end_folder(const SessionPtr& session, const Entry& entry);
  void forget_folder(const SessionPtr& session, const PathKey& key);
  void leave_folders(const SessionPtr& session);
  void release(const SessionPtr& session);
  void end(const SessionPtr& session, bool finished, const std::string& problem);
  void post_control(Session& session, std::uint32_t index);
  void post_data(Session& session, std::uint32_t index);

  udp::Endpoint& endpoint_;
  Worker& worker_;
  std::shared_ptr<Store> store_;
  Events events_;
  Limits limits_;
  Guests guests_;
  Guests::Clock::time_point looked_at_{};                           ///< for silence
  std::unordered_map<std::uint64_t, SessionPtr> sessions_;          ///< by connection
  std::unordered_map<std::string, std::weak_ptr<Session>> claims_;  ///< who writes which path
  /// A folder gets its permissions when nobody fills it any more.
  struct Filling {
    std::size_t sessions = 0;
    std::unique_ptr<Entry> end;  ///< of one that has left it to the others
  };
  std::unordered_map<PathKey, Filling, PathKeyHash> folders_;
  std::size_t open_files_ = 0;     ///< begun and not over, those of ended transfers included
  std::uint64_t open_blocks_ = 0;  ///< of these
  struct Waiting {
    SessionPtr session;
    std::uint32_t number;
  };
  std::deque<Waiting> waiting_;  ///< files that were announced and not begun
  std::shared_ptr<const Source> served_;
  std::size_t listed_ = 0;  ///< entries of those who fetch
  std::optional<Worker>
      lister_;  ///< reads folders that are asked for; others' files do not wait for it
  /// Guards what the worker is to do on this thread after this object has gone.
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace strack::transfer
