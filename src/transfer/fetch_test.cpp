// What goes the other way: a receiver that serves a folder, one that fetches from it, and peers of either that break
// the rules.
#include <array>
#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "transfer/digest.h"
#include "transfer/session_testing.h"

namespace strack::transfer {
namespace {

namespace fs = std::filesystem;
using testing::open_endpoint;
using testing::Puppet;
using testing::random_text;
using testing::read_file;
using testing::SessionTest;
using testing::write_file;

class FetchTest : public SessionTest {
 protected:
  void serve() {
    fs::create_directories(folder_ / "out");
    receiver_->serve(Source::below((folder_ / "out").string()).value());
  }
  [[nodiscard]] fs::path got(const std::string& name) const { return folder_ / ("got/" + name); }

  /// One that fetches, in the same thread; returns what came of it.
  TransferSummary fetch(Receiver::Fetch what) {
    udp::Endpoint endpoint = open_endpoint("");
    const auto connection = endpoint.connect(address());
    EXPECT_TRUE(static_cast<bool>(connection));
    std::vector<TransferSummary> ended;
    Receiver::Events events;
    events.ended = [&](const TransferSummary& one) { ended.push_back(one); };
    events.noted = [&](const std::string&, const std::string& text) { told_.push_back(text); };
    Worker worker;
    Receiver receiver(endpoint, worker, Store::open((folder_ / "got").string()).value(), events,
                      patient());
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (ended.empty() && std::chrono::steady_clock::now() < limit) {
      turn();
      endpoint.poll();
      std::array<udp::Completion, 64> taken;
      for (const udp::Completion& completion : endpoint.completions(taken)) {
        if (completion.kind == udp::Kind::connected) receiver.fetch(completion, what);
        receiver.on(completion);
      }
      worker.deliver();
      receiver.pump();
    }
    EXPECT_EQ(ended.size(), 1u);
    return ended.empty() ? TransferSummary{} : ended[0];
  }
  static Receiver::Fetch asking(std::vector<std::string> paths, std::string as = {}) {
    Receiver::Fetch what;
    what.ask = Ask{kVersion, std::move(as), std::move(paths)};
    return what;
  }
  void make_tree() {
    fs::create_directories(out("t/d"));
    big_ = random_text(3 * kBlockBytes + 17, 1);
    write_file(out("t/big"), big_);
    write_file(out("t/d/empty"), "");
    fs::create_symlink("d/empty", out("t/l"));
    fs::create_hard_link(out("t/big"), out("t/other"));
  }

  std::string big_;
  std::vector<std::string> told_;
};

TEST_F(FetchTest, ATreeIsFetched) {
  make_tree();
  serve();
  const TransferSummary summary = fetch(asking({"t"}));
  EXPECT_TRUE(summary.finished) << summary.problem;
  EXPECT_EQ(summary.files, 2u);
  EXPECT_EQ(summary.links, 2u);
  EXPECT_EQ(summary.bytes, big_.size());
  EXPECT_FALSE(summary.partial);
  EXPECT_TRUE(read_file(got("t/big")) == big_);
  EXPECT_EQ(fs::read_symlink(got("t/l")), "d/empty");
  EXPECT_EQ(fs::hard_link_count(got("t/other")), 2u);
  EXPECT_FALSE(fs::exists(got(".strack")));
  wait_for_end(1);
  EXPECT_TRUE(ended_[0].given);
  EXPECT_TRUE(ended_[0].finished) << ended_[0].problem;
  EXPECT_EQ(ended_[0].files, 2u);
  EXPECT_EQ(ended_[0].bytes, big_.size());
}

TEST_F(FetchTest, UnderAnotherNameAndWithoutWhatIsLeftOut) {
  make_tree();
  serve();
  Receiver::Fetch what = asking({"t"}, "x");
  what.exclude = {"big", "d"};
  const TransferSummary summary = fetch(what);
  EXPECT_TRUE(summary.finished) << summary.problem;
  EXPECT_FALSE(fs::exists(got("x/big")));
  EXPECT_FALSE(fs::exists(got("x/d")));
  EXPECT_TRUE(fs::is_symlink(got("x/l")));
}

// Everything that is served, but for what is unfinished there; twice is once.
TEST_F(FetchTest, AWholeFolderIsFetched) {
  make_tree();
  write_file(out("a"), "1");
  fs::create_directories(out(".strack"));
  write_file(out(".strack/secret"), "of somebody else");
  serve();
  EXPECT_TRUE(fetch(asking({""})).finished);
  EXPECT_EQ(read_file(got("a")), "1");
  EXPECT_TRUE(fs::exists(got("t/d/empty")));
  EXPECT_FALSE(fs::exists(got(".strack")));
  const TransferSummary again = fetch(asking({""}));
  EXPECT_TRUE(again.finished) << again.problem;
  EXPECT_EQ(again.there, 3u);
  EXPECT_EQ(again.bytes, 0u);
  EXPECT_TRUE(fetch(asking({""}, "all")).finished);
  EXPECT_EQ(read_file(got("all/a")), "1");
  EXPECT_FALSE(fs::exists(got("all/.strack")));
}

// What is called .strack is not served at any depth, listed or asked for by its name; one that is here stays.
TEST_F(FetchTest, UnfinishedFilesBelowAreNotServed) {
  fs::create_directories(out("a/.strack/d"));
  write_file(out("a/.strack/x"), "of somebody else");
  write_file(out("a/.stracks"), "1");
  serve();
  fs::create_directories(got("a/.strack"));
  write_file(got("a/.strack/mine"), "2");
  write_file(got("a/more"), "3");
  Receiver::Fetch what = asking({"a"});
  what.prune = true;
  const TransferSummary summary = fetch(what);
  EXPECT_TRUE(summary.finished) << summary.problem;
  EXPECT_FALSE(summary.partial);
  EXPECT_EQ(read_file(got("a/.stracks")), "1");
  EXPECT_FALSE(fs::exists(got("a/.strack/x")));
  EXPECT_FALSE(fs::exists(got("a/more")));
  EXPECT_EQ(read_file(got("a/.strack/mine")), "2");
  for (const std::string name : {"a/.strack", "a/.strack/x", "a/.strack/d"})
    EXPECT_EQ(fetch(asking({name}, "x")).problem,
              "the other side refuses: " + name + ": what is called '.strack' is not served");
  EXPECT_FALSE(fs::exists(got("x")));
}

// What differs stays, unless this side says otherwise: the other one has no say in it.
TEST_F(FetchTest, WhatIsThereAndDiffersStays) {
  write_file(out("f"), "theirs");
  fs::create_directories(folder_ / "got");
  write_file(got("f"), "mine");
  serve();
  const TransferSummary kept = fetch(asking({"f"}));
  EXPECT_TRUE(kept.finished);
  EXPECT_EQ(kept.refused, 1u);
  EXPECT_EQ(read_file(got("f")), "mine");
  Receiver::Fetch what = asking({"f"});
  what.force = true;
  EXPECT_TRUE(fetch(what).finished);
  EXPECT_EQ(read_file(got("f")), "theirs");
}

// What cannot be read is told, and the rest comes.
TEST_F(FetchTest, WhatIsLeftOutThereIsTold) {
  fs::create_directories(out("t"));
  write_file(out("t/f"), "1");
  fs::create_symlink("/etc/passwd", out("t/l"));
  serve();
  const TransferSummary summary = fetch(asking({"t"}));
  EXPECT_TRUE(summary.finished) << summary.problem;
  EXPECT_TRUE(summary.partial);
  EXPECT_EQ(summary.unread, 1u);
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_EQ(told_[0], "t/l: a link to '/etc/passwd', which is not relative");
  EXPECT_EQ(read_file(got("t/f")), "1");
}

// Who asks for what it may not have is told why.
TEST_F(FetchTest, WhatIsNotServedIsRefused) {
  const auto problem_of = [&](const std::string& path) { return fetch(asking({path})).problem; };
  EXPECT_EQ(problem_of("t"),
            "the other side refuses: nothing can be fetched here: `strack recv` runs without "
            "--serve");
  write_file(folder_ / "secret", "secret");
  fs::create_directory_symlink("..", out("up"));
  serve();
  EXPECT_EQ(problem_of("no"), "the other side refuses: no: No such file or directory");
  EXPECT_EQ(problem_of("up/secret"),
            "the other side refuses: up/secret: the way there is a link, and none is followed");
  EXPECT_EQ(problem_of("../secret"),
            "the other side refuses: a message cannot be understood: a name is not allowed");
  EXPECT_EQ(problem_of((folder_ / "secret").string()),
            "the other side refuses: a message cannot be understood: a name is not allowed");
  EXPECT_EQ(problem_of("a\nb"),
            "the other side refuses: a message cannot be understood: a name is not allowed");
  EXPECT_FALSE(fs::exists(got("secret")));
}

// A folder that becomes a link after it was listed is not followed when its files are read.
TEST_F(FetchTest, AFolderThatBecomesALinkIsNotFollowed) {
  fs::create_directories(folder_ / "outside");
  write_file(folder_ / "outside/f", "xx");
  fs::create_directories(out("t/d"));
  write_file(out("t/d/f"), "12");
  fs::last_write_time(folder_ / "outside/f", fs::last_write_time(out("t/d/f")));
  serve();
  Puppet puppet(address());
  puppet.say(asking({"t"}).ask);
  run(puppet, [&] { return puppet.last<Hello>() != nullptr; });
  fs::remove_all(out("t/d"));
  fs::create_directory_symlink("../../outside", out("t/d"));
  puppet.say(Welcome{kVersion, 64});
  run(puppet,
      [&] { return puppet.last<Entry>() != nullptr && puppet.last<Entry>()->path == "t/d/f"; });
  puppet.say(Need{puppet.last<Entry>()->number, {{0, 1}}});
  run(puppet, [&] { return puppet.last<Skip>() != nullptr; });
  run(puppet, [&] { return puppet.last<Note>() != nullptr; });
  EXPECT_EQ(puppet.last<Note>()->text, "t/d/f: Too many levels of symbolic links");
  puppet.abort();
  wait_for_end(1);
  EXPECT_EQ(ended_[0].bytes, 0u);
}

// More than one may fetch is refused before anything is sent; and a second question ends it.
TEST_F(FetchTest, AListingHasABound) {
  fs::create_directories(out("t"));
  for (int i = 0; i < 20; ++i) write_file(out("t/" + std::to_string(i)), "");
  Receiver::Limits limits = patient();
  limits.most_listed = 10;
  open_receiver(limits);
  serve();
  EXPECT_EQ(
      fetch(asking({"t"})).problem,
      "the other side refuses: more than the 10 files and folders that one transfer may have");
  EXPECT_TRUE(fetch(asking({"t/1"})).finished);
}

// Somebody who only gives takes nothing.
TEST_F(FetchTest, WhoOnlyServesTakesNothing) {
  Receiver::Events events;
  events.ended = [this](const TransferSummary& summary) { ended_.push_back(summary); };
  receiver_ = std::make_unique<Receiver>(endpoint_, worker_, nullptr, events, patient());
  write_file(out("f"), "1");
  EXPECT_EQ(copy({out("f").string()}, ""),
            "the receiver has ended the transfer: nothing is taken here: `strack recv` runs "
            "without --dir");
}

// What the other side does not have goes, where that is wanted; what it could not read may be there.
TEST_F(FetchTest, WhatTheOtherSideLacksGoes) {
  make_tree();
  fs::create_directories(got("t/old"));
  write_file(got("t/old/x"), "x");
  write_file(got("t/keep.o"), "x");
  write_file(got("beside"), "x");
  serve();
  Receiver::Fetch what = asking({"t"});
  what.prune = what.dry = true;
  what.exclude = {"*.o"};
  std::vector<std::string> removed;
  what.removed = [&](const std::string& path) { removed.push_back(path); };
  EXPECT_TRUE(fetch(what).finished);
  EXPECT_EQ(removed, (std::vector<std::string>{"t/old/x", "t/old"}));
  EXPECT_FALSE(fs::exists(got("t/big"))) << "nothing is copied, either";
  what.dry = false;
  fs::create_symlink("/etc", out("t/skipped"));
  EXPECT_TRUE(fetch(what).finished);
  EXPECT_TRUE(fs::exists(got("t/old/x")));
  fs::remove(out("t/skipped"));
  const TransferSummary summary = fetch(what);
  EXPECT_TRUE(summary.finished) << summary.problem;
  EXPECT_EQ(summary.removed, 2u);
  EXPECT_FALSE(fs::exists(got("t/old")));
  EXPECT_TRUE(fs::exists(got("t/keep.o")));
  EXPECT_TRUE(fs::exists(got("beside")));
  EXPECT_TRUE(read_file(got("t/big")) == big_);
}

/// A server that says what a test wants, and the other side a receiver that fetches.
class HostileServerTest : public ::testing::Test {
 protected:
  HostileServerTest() : server_(open_endpoint("127.0.0.1:0")), client_(open_endpoint("")) {
    Receiver::Events events;
    events.ended = [this](const TransferSummary& one) { ended_.push_back(one); };
    Receiver::Limits limits;
    limits.patience = limits.silence = std::chrono::minutes(1);
    store_ = Store::open((folder_ / "got").string()).value();
    receiver_ = std::make_unique<Receiver>(client_, worker_, store_, events, limits);
    [[maybe_unused]] const auto connection = client_.connect(server_.local_address());
    buffers_.assign(16, std::vector<std::byte>(kMaxControlBytes));
  }
  ~HostileServerTest() override { receiver_.reset(); }

  void turn() {
    std::this_thread::yield();
    std::array<udp::Completion, 64> taken;
    client_.poll();
    for (const udp::Completion& one : client_.completions(taken)) {
      if (one.kind == udp::Kind::connected) {
        Receiver::Fetch what;
        what.ask = Ask{kVersion, {}, {"t"}};
        receiver_->fetch(one, what);
      }
      receiver_->on(one);
    }
    worker_.deliver();
    receiver_->pump();
    server_.poll();
    for (const udp::Completion& one : server_.completions(taken)) {
      if (one.kind == udp::Kind::accepted) {
        peer_ = one.connection;
        for (std::size_t i = 0; i < buffers_.size(); ++i) post(i);
      }
      if (one.kind == udp::Kind::received && one.status == udp::Status::ok) {
        const auto message = decode(std::span(buffers_[one.cookie]).first(one.length));
        if (message) heard_.push_back(message.value());
        post(one.cookie);
      }
    }
  }
  void post(std::size_t i) {
    [[maybe_unused]] const auto posted =
        server_.post_receive(peer_, {kControlTag, kKindMask}, buffers_[i], i);
  }
  template <class Until>
  void run(Until until) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (!until() && std::chrono::steady_clock::now() < limit) turn();
    EXPECT_TRUE(until());
  }
  void say(const Control& message) {
    kept_.push_back(encode(message));
    EXPECT_EQ(server_.send(peer_, kControlTag, kept_.back(), 0), udp::Status::ok);
  }
  /// What the client says to an entry after a hello of one entry and ten bytes.
  std::string answer_to(const Entry& entry) {
    run([&] { return !heard_.empty(); });
    say(Hello{kVersion, true, true, 1, 10});
    say(entry);
    const auto last_words = [&]() -> std::string {
      for (const Control& one : heard_) {
        if (const Refusal* refusal = std::get_if<Refusal>(&one)) return refusal->text;
        if (const Done* done = std::get_if<Done>(&one)) return "done: " + done->text;
        if (std::holds_alternative<Need>(one)) return "need";
      }
      return {};
    };
    run([&] { return !last_words().empty(); });
    return last_words();
  }

  testing::TemporaryFolder folder_;
  Worker worker_;
  udp::Endpoint server_;
  udp::Endpoint client_;
  std::shared_ptr<Store> store_;
  std::unique_ptr<Receiver> receiver_;
  udp::ConnectionId peer_{};
  std::vector<std::vector<std::byte>> buffers_;
  std::deque<std::vector<std::byte>> kept_;
  std::vector<Control> heard_;
  std::vector<TransferSummary> ended_;
};

TEST_F(HostileServerTest, WhatWasNotAskedForIsRefused) {
  EXPECT_EQ(answer_to({0, EntryKind::file, 0644, 0, 5, "tt", ""}), "'tt' was not asked for");
  EXPECT_FALSE(fs::exists(folder_ / "got/tt"));
}
TEST_F(HostileServerTest, MoreThanWasAnnouncedIsRefused) {
  EXPECT_EQ(answer_to({0, EntryKind::file, 0644, 0, 11, "t/f", ""}),
            "more came than was announced");
}
TEST_F(HostileServerTest, AnEndlessListingIsRefused) {
  EXPECT_EQ(answer_to({1, EntryKind::file, 0644, 0, 1, "t/f", ""}), "more came than was announced");
}
TEST_F(HostileServerTest, ALinkOutOfWhatWasAskedForIsNotMade) {
  EXPECT_EQ(answer_to({0, EntryKind::link, 0777, 0, 0, "t/a/l", "../../x"}),
            "done: a link to '../../x', which leads out of what was asked for");
}
TEST_F(HostileServerTest, ALinkWithinItIs) {
  EXPECT_EQ(answer_to({0, EntryKind::link, 0777, 0, 0, "t/a/l", "../x"}), "done: ");
}
TEST_F(HostileServerTest, AnotherNameOfSomethingElseIsRefused) {
  EXPECT_EQ(answer_to({0, EntryKind::hard_link, 0644, 0, 5, "t/h", "mine"}),
            "'t/h' was not asked for");
}
// [D109] It says "force", and is not believed.
TEST_F(HostileServerTest, WhatIsThereIsNotReplaced) {
  fs::create_directories(folder_ / "got/t");
  write_file(folder_ / "got/t/f", "mine");
  EXPECT_EQ(answer_to({0, EntryKind::file, 0644, 0, 5, "t/f", ""}),
            "done: is there already and differs (4 B there, 5 B here); --force replaces it");
}
TEST_F(HostileServerTest, ARefusalIsShownAsItCanBe) {
  run([&] { return !heard_.empty(); });
  say(Refusal{"no \xe2\x80\xae"});
  run([&] { return !ended_.empty(); });
  EXPECT_FALSE(ended_[0].finished);
  EXPECT_EQ(ended_[0].lost, udp::Status::ok);
}

}  // namespace
}  // namespace strack::transfer
