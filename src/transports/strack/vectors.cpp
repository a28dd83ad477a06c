// The scripted bad days that vectors are made of: both ends of a connection, and a network between them that
// loses, marks, repeats, reorders and falls silent as the day says.
#include "transports/vectors.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/check.h"
#include "base/prng.h"
#include "transports/strack/vectors_machine.h"

namespace strack::transports {
namespace {

/// What happens between the ends, in percent of packets; and how the connection is set up.
struct Day {
  std::string_view name;
  std::uint64_t seed;
  int messages = 6;
  std::int64_t message_bytes = 9'000;
  int lose = 0;
  int lose_sacks = 0;
  int mark = 0;
  int repeat = 0;
  std::int64_t jitter_ps = 0;  ///< added to a packet's way, at most: what reorders
  std::int64_t dark_from_ps = -1;
  std::int64_t dark_to_ps = -1;  ///< nothing gets through between these
  std::uint32_t initial_psn = 100;
  void (*tune)(core::StrackParams& params) = nullptr;
};

constexpr std::int64_t kOneWay = 5'000'000;  // ps
constexpr std::int64_t kNever = -1;

/// A link of 10 Gb/s and 10 us, with packets of 1000 bytes: windows of a dozen packets.
core::StrackParams params_of(const Day& day) {
  auto made = core::StrackParams::for_link(gbps(10), us(10), bytes(1'000));
  STRACK_CHECK(made.ok());
  core::StrackParams params = made.value();
  params.max_paths = 8;
  params.min_paths = 2;
  params.tracking_window = 64;
  if (day.tune != nullptr) day.tune(params);
  STRACK_CHECK(params.validated().ok());
  return params;
}

/// Both ends, their clock, and what is on its way between them.
class World {
 public:
  World(const Day& day, std::vector<TestVector>& out)
      : day_(day), rng_(day.seed), params_(params_of(day)) {
    for (const bool sends : {true, false}) {
      TestVector& vector = sends ? sent_ : received_;
      vector.name = fmt::format("{}-{}", sends ? "sender" : "receiver", day.name);
      vector.begin = beginning(sends, day.initial_psn, params_);
      auto made = make_machine(vector.begin);
      STRACK_CHECK(made.ok());
      (sends ? sender_ : receiver_) = std::move(made.value());
    }
    run();
    for (TestVector* vector : {&sent_, &received_}) out.push_back(std::move(*vector));
  }

 private:
  struct InFlight {
    VectorLine line;
    bool to_sender = false;
  };

  void run() {
    for (int steps = 0; steps < kMostSteps; ++steps) {
      // Whatever is next: a message to post, an arrival, the sender's own time.
      const std::int64_t arrival = way_.empty() ? kNever : way_.begin()->first;
      const std::int64_t due = sender_->deadline();
      const std::int64_t post = posted_ < day_.messages ? next_post_ : kNever;
      std::int64_t next = kNever;
      for (const std::int64_t time : {arrival, due, post}) {
        if (time != kNever && (next == kNever || time < next)) next = time;
      }
      if (next == kNever) return;
      now_ = std::max(now_, next);
      if (next == post) {
        post_message();
      } else if (next == arrival) {
        arrive();
      } else {
        feed(*sender_, sent_, VectorLine{"time"});
      }
    }
  }

  void post_message() {
    VectorLine line{"message"};
    set_value(line, "t_ps", now_);
    set_value(line, "id", posted_ + 1);
    set_value(line, "length", day_.message_bytes + 37 * posted_);
    feed(*sender_, sent_, std::move(line));
    const bool posted = sent_.steps.back().decisions.front().word == "posted";
    if (posted) ++posted_;
    next_post_ = now_ + (posted ? 2'000'000 : 15'000'000);
  }

  void arrive() {
    InFlight item = std::move(way_.begin()->second);
    way_.erase(way_.begin());
    set_value(item.line, "t_ps", now_);
    if (item.to_sender) {
      feed(*sender_, sent_, std::move(item.line));
    } else {
      feed(*receiver_, received_, std::move(item.line));
    }
  }

  /// One event to one end; what it sends goes on its way.
  void feed(VectorMachine& machine, TestVector& vector, VectorLine event) {
    set_value(event, "t_ps", now_);
    auto step = machine.take(event);
    STRACK_CHECK(step.ok());
    for (const std::string& branch : machine.reached()) {
      if (std::find(vector.reached.begin(), vector.reached.end(), branch) == vector.reached.end())
        vector.reached.push_back(branch);
    }
    for (const VectorLine& decision : step.value().decisions) {
      if (decision.word == "data" || decision.word == "probe") {
        send(decision, false);
      } else if (decision.word == "sack") {
        send(decision, true);
      }
    }
    vector.steps.push_back(std::move(step.value()));
  }

  void send(VectorLine line, bool to_sender) {
    const bool lost = percent(to_sender ? day_.lose_sacks : day_.lose);
    const bool dark = now_ >= day_.dark_from_ps && now_ < day_.dark_to_ps;
    if (lost || dark) return;
    if (to_sender) {
      set_value(line, "hold_ns", 0);
    } else {
      set_value(line, "ecn", percent(day_.mark) ? 1 : 0);
      set_value(line, "trimmed", 0);
    }
    const int copies = percent(day_.repeat) ? 2 : 1;
    for (int i = 0; i < copies; ++i) {
      const std::int64_t extra = day_.jitter_ps > 0 ? rng_.between(0, day_.jitter_ps) : 0;
      way_.emplace(now_ + kOneWay + extra, InFlight{line, to_sender});
    }
  }

  [[nodiscard]] bool percent(int chance) { return chance > 0 && rng_.chance({chance, 100}); }

  static constexpr int kMostSteps = 400;
  const Day& day_;
  Rng rng_;
  core::StrackParams params_;
  std::unique_ptr<VectorMachine> sender_;
  std::unique_ptr<VectorMachine> receiver_;
  TestVector sent_;
  TestVector received_;
  std::multimap<std::int64_t, InFlight> way_;  ///< by arrival; equal ones in the order of sending
  std::int64_t now_ = 0;
  std::int64_t next_post_ = 0;
  int posted_ = 0;
};

constexpr std::int64_t kMs = 1'000'000'000;

/// More packets under way than one SACK can tell of.
constexpr void wide(core::StrackParams& params) {
  params.tracking_window = 256;
  params.max_cwnd = bytes(200'000);
  params.sack_bytes = bytes(4'000);
}

constexpr std::array kDays{
    Day{.name = "clean", .seed = 1},
    Day{.name = "wrapping",
        .seed = 2,
        .repeat = 3,
        .jitter_ps = 3'000'000,
        .initial_psn = 0xffff'fff0},
    Day{.name = "marked", .seed = 3, .mark = 90, .jitter_ps = 30'000'000},
    Day{.name = "marks-forgotten",
        .seed = 4,
        .mark = 60,
        .tune = [](core::StrackParams& p) { p.ecn_bitmap_reset = us(20); }},
    Day{.name = "many-messages",
        .seed = 5,
        .messages = 9,
        .message_bytes = 2'500,
        .jitter_ps = 6'000'000},
    Day{.name = "short-tracking",
        .seed = 6,
        .lose = 5,
        .jitter_ps = 9'000'000,
        .tune = [](core::StrackParams& p) { p.tracking_window = 8; }},
    Day{.name = "losses",
        .seed = 7,
        .messages = 8,
        .message_bytes = 20'000,
        .lose = 12,
        .jitter_ps = 4'000'000},
    Day{.name = "all-bad",
        .seed = 8,
        .messages = 8,
        .lose = 15,
        .lose_sacks = 15,
        .mark = 30,
        .repeat = 10,
        .jitter_ps = 12'000'000},
    Day{.name = "sacks-lost", .seed = 9, .messages = 8, .lose_sacks = 45, .jitter_ps = 9'000'000},
    Day{.name = "dark",
        .seed = 10,
        .dark_from_ps = 12'000'000,
        .dark_to_ps = 4 * kMs,
        .tune = [](core::StrackParams& p) { p.rto_backoff_max = 1; }},
    Day{.name = "late-answers", .seed = 11, .lose = 20, .jitter_ps = 60'000'000},
    Day{.name = "few-sacks",
        .seed = 12,
        .messages = 8,
        .message_bytes = 20'000,
        .lose = 8,
        .jitter_ps = 8'000'000,
        .tune =
            [](core::StrackParams& p) {
              p.sack_bytes = bytes(8'000);
              p.sack_on_epsn = false;
            }},
    Day{.name = "single-packets",
        .seed = 13,
        .messages = 24,
        .message_bytes = 100,
        .lose = 25,
        .jitter_ps = 3'000'000},
    Day{.name = "wide",
        .seed = 14,
        .messages = 5,
        .message_bytes = 60'000,
        .lose = 4,
        .lose_sacks = 20,
        .jitter_ps = 25'000'000,
        .tune = wide},
};

using Values = std::initializer_list<std::pair<std::string_view, std::int64_t>>;

VectorLine line_with(std::string_view word, Values values) {
  VectorLine line{std::string(word)};
  for (const auto& [name, value] : values) set_value(line, name, value);
  return line;
}

/// A SACK of a receiver that has got everything so far but the packet at `epsn`.
VectorLine honest_sack(std::uint32_t epsn, std::uint32_t psn, std::int64_t bytes_recvd) {
  return line_with("sack", {{"t_ps", 10'000'000},
                            {"epsn", epsn},
                            {"base", epsn},
                            {"bitmap", 0},
                            {"bytes_recvd", bytes_recvd},
                            {"ooo", 0},
                            {"psn", psn},
                            {"path", 0},
                            {"timestamp_ns", 0},
                            {"ecn", 0},
                            {"for_probe", 0},
                            {"probe", 0},
                            {"hold_ns", 0}});
}

struct Lie {
  std::string_view field;
  std::int64_t value;
  std::string_view with = {};  ///< and another one
  std::int64_t with_value = 0;
};

/// Every SACK that no honest receiver could have sent, then an honest one.
TestVector hostile_sender() {
  const core::StrackParams params = params_of({.name = "hostile", .seed = 0});
  TestVector vector{"sender-hostile", beginning(true, 100, params)};
  vector.steps.push_back({line_with("message", {{"t_ps", 0}, {"id", 1}, {"length", 5'000}})});
  // Five packets, 100 to 104, are on their way.
  constexpr std::array kLies{
      Lie{"epsn", 106, "base", 106},
      Lie{"psn", 105},
      Lie{"bitmap", 1 << 10, "ooo", 1},
      Lie{"base", 101 + 1'024},
      Lie{"bytes_recvd", 5'001},
      Lie{"epsn", 105, "base", 105},
      Lie{"ooo", 1'024},
      Lie{"bitmap", 6, "ooo", 1},
      Lie{"bitmap", 1, "ooo", 1},
      Lie{"psn", 101},
      Lie{"path", 8},
      Lie{"timestamp_ns", 10'001},
      Lie{"base", 100},
  };
  for (const Lie& lie : kLies) {
    VectorLine sack = honest_sack(101, 100, 1'000);
    set_value(sack, lie.field, lie.value);
    if (!lie.with.empty()) set_value(sack, lie.with, lie.with_value);
    vector.steps.push_back({sack});
  }
  vector.steps.push_back({honest_sack(101, 100, 1'000)});
  return vector;
}

/// The window falls to a packet, a timeout claims all the others, and then a SACK counts more bytes than
/// its bitmap tells of: nothing is in flight, and not less.
TestVector counted_before_told() {
  const core::StrackParams params = params_of({.name = "counted", .seed = 0});
  TestVector vector{"sender-counted-before-told", beginning(true, 100, params)};
  const VectorLine message = line_with("message", {{"t_ps", 0}, {"id", 1}, {"length", 12'000}});
  VectorLine marked = honest_sack(101, 100, 1'000);
  set_value(marked, "t_ps", 200'000'000);
  set_value(marked, "ecn", 1);
  const VectorLine timeout = line_with("time", {{"t_ps", 600'000'000}});
  VectorLine counting = honest_sack(102, 101, 11'000);
  set_value(counting, "t_ps", 610'000'000);
  set_value(counting, "ooo", 9);
  VectorLine whole = honest_sack(112, 111, 12'000);
  set_value(whole, "t_ps", 620'000'000);
  for (const VectorLine& event : {message, marked, timeout, counting, whole})
    vector.steps.push_back({event});
  return vector;
}

/// Packets that contradict themselves, come twice or from beyond the window, or have lost their payload.
TestVector hostile_receiver() {
  const core::StrackParams params = params_of({.name = "hostile", .seed = 0});
  TestVector vector{"receiver-hostile", beginning(false, 100, params)};
  const VectorLine honest = line_with("data", {{"t_ps", 0},
                                               {"psn", 100},
                                               {"path", 0},
                                               {"timestamp_ns", 0},
                                               {"payload", 1'000},
                                               {"message", 1},
                                               {"offset", 0},
                                               {"length", 2'500},
                                               {"again", 0},
                                               {"ecn", 0},
                                               {"trimmed", 0}});
  constexpr std::array kLies{
      Lie{"path", 8},       Lie{"payload", 0},           Lie{"payload", 1'001},
      Lie{"offset", 2'400}, Lie{"length", 999},          Lie{"trimmed", 1},
      Lie{"psn", 164},      Lie{"psn", 102, "ecn", 1},   Lie{"psn", 102},
      Lie{"psn", 100},      Lie{"psn", 100, "again", 1},
  };
  for (const Lie& lie : kLies) {
    VectorLine packet = honest;
    set_value(packet, lie.field, lie.value);
    if (!lie.with.empty()) set_value(packet, lie.with, lie.with_value);
    vector.steps.push_back({packet});
  }
  // A probe that wants a base before what is held, one of an unknown path, and one of far ahead.
  for (const Lie& lie : {Lie{"psn", 90}, Lie{"path", 9}, Lie{"psn", 100 + 5'000}}) {
    VectorLine probe = line_with("probe", {{"t_ps", 0},
                                           {"psn", 101},
                                           {"path", 1},
                                           {"timestamp_ns", 0},
                                           {"probe", 1},
                                           {"ecn", 0},
                                           {"trimmed", 0}});
    set_value(probe, lie.field, lie.value);
    vector.steps.push_back({probe});
  }
  return vector;
}

/// "the core says X", for the first line that differs.
std::string difference(const VectorStep& answered, const VectorStep& ours) {
  const std::size_t both = std::min(answered.decisions.size(), ours.decisions.size());
  for (std::size_t i = 0; i < both; ++i) {
    if (answered.decisions[i] != ours.decisions[i])
      return fmt::format("decision {} is `{}`. the core says `{}`", i + 1,
                         answered.decisions[i].text(), ours.decisions[i].text());
  }
  if (ours.decisions.size() > both)
    return fmt::format("`{}` is missing after {} decisions", ours.decisions[both].text(), both);
  if (answered.decisions.size() > both)
    return fmt::format("`{}` is one decision too many", answered.decisions[both].text());
  if (answered.digest != ours.digest)
    return fmt::format("the decisions agree, but the digest of the state is {}. the core's is {}",
                       answered.digest.empty() ? "missing" : answered.digest, ours.digest);
  return {};
}

std::string first_difference(const TestVector& answered) {
  const auto ours = replay(answered);
  if (!ours) return ours.error();
  for (std::size_t i = 0; i < answered.steps.size(); ++i) {
    const std::string found = difference(answered.steps[i], ours.value().steps[i]);
    const int line = answered.steps[i].event.line;
    if (!found.empty())
      return fmt::format("{}{}, step {} (`{}`): {}",
                         line > 0 ? fmt::format("line {}: ", line) : std::string(), answered.name,
                         i + 1, answered.steps[i].event.text(), found);
  }
  return {};
}

}  // namespace

bool operator==(const VectorLine& a, const VectorLine& b) {
  const auto sorted = [](auto fields) {
    std::sort(fields.begin(), fields.end());
    return fields;
  };
  return a.word == b.word && sorted(a.fields) == sorted(b.fields);
}

std::vector<TestVector> make_vectors() {
  std::vector<TestVector> vectors;
  for (const Day& day : kDays) World(day, vectors);
  for (const TestVector& events : {counted_before_told(), hostile_sender(), hostile_receiver()}) {
    auto made = replay(events);
    STRACK_CHECK(made.ok());
    vectors.push_back(std::move(made.value()));
  }
  return vectors;
}

static bool same_questions(const TestVector& a, const TestVector& b) {
  return a.begin == b.begin &&
         std::equal(a.steps.begin(), a.steps.end(), b.steps.begin(), b.steps.end(),
                    [](const VectorStep& x, const VectorStep& y) { return x.event == y.event; });
}

std::vector<std::string> check_vectors(const std::vector<TestVector>& answered,
                                       const std::vector<TestVector>& wanted) {
  std::vector<std::string> problems;
  std::map<std::string_view, const TestVector*> known;
  for (const TestVector& vector : answered) {
    if (!known.emplace(vector.name, &vector).second)
      problems.push_back(fmt::format("{} is there twice", vector.name));
    if (std::string found = first_difference(vector); !found.empty())
      problems.push_back(std::move(found));
  }
  for (const TestVector& vector : wanted) {
    const auto found = known.find(vector.name);
    if (found == known.end()) {
      problems.push_back(fmt::format("{} is missing. `vectors export` has it", vector.name));
    } else if (found->second->steps.size() != vector.steps.size()) {
      problems.push_back(fmt::format("{} has {} steps. `vectors export` has {}", vector.name,
                                     found->second->steps.size(), vector.steps.size()));
    } else if (!same_questions(*found->second, vector)) {
      problems.push_back(
          fmt::format("{} asks something else than that of `vectors export`", vector.name));
    }
  }
  return problems;
}

}  // namespace strack::transports
