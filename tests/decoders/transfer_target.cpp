#include <algorithm>
#include <array>
#include <variant>

#include <fmt/format.h>

#include "base/check.h"
#include "target.h"
#include "transfer/messages.h"
#include "transfer_rules.h"

namespace strack::decoders {
namespace {

using namespace transfer;

constexpr std::size_t kTypes = std::variant_size_v<Control>;

/// Makes messages of random but valid fields.
class Maker {
 public:
  explicit Maker(Rng& rng) : rng_(rng) {}

  Control make() {
    switch (rng_.below(kTypes + 3)) {
      case 0:
        return Hello{version(), flag(), flag(), any(), any(), flag()};
      case 1:
        return Welcome{version(), static_cast<std::uint32_t>(1 + rng_.below(4096))};
      case 2:
        return Refusal{words(60)};
      case 3:
        return need();
      case 4:
        return FileEnd{entry_number(), digest()};
      case 5:
        return Skip{entry_number()};
      case 6:
        return done();
      case 7:
        return one_of_empty();
      case 8:
        return Hole{entry_number(), {number(), 1 + (number() >> 1)}};
      case 9:
        return Enough{entry_number()};
      case 10:
        return ask();
      case 11:
        return Note{words(60)};
      case 12:
        return List{number(), path()};
      case 13:
        return names();
      case 14:
        return Remove{number(), flag(), path()};
      case 15:
        return Removed{number(), words(40)};
      default:
        return entry();
    }
  }

 private:
  bool flag() { return rng_.below(2) == 0; }
  std::uint64_t any() { return rng_.next() >> rng_.below(64); }
  std::uint32_t number() { return static_cast<std::uint32_t>(any()); }
  std::uint32_t entry_number() {
    return flag() ? kMaxEntries : static_cast<std::uint32_t>(rng_.below(kMaxEntries + 1));
  }
  std::uint16_t version() { return static_cast<std::uint16_t>(1 + rng_.below(0xffff)); }

  Digest digest() {
    Digest bytes;
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(rng_.next());
    return bytes;
  }
  char letter() {
    const auto c = static_cast<unsigned char>(rng_.next());
    return static_cast<char>(c < 0x20 || c == 0x7f || c == '/' ? '.' : c);
  }
  std::string words(std::size_t most) {
    std::string text(rng_.below(64) == 0 ? kMaxTextBytes : rng_.below(most), ' ');
    for (char& c : text) c = letter();
    return text;
  }
  std::string one_name() {
    std::string name(rng_.below(32) == 0 ? 255 : 1 + rng_.below(9), 'a');
    for (char& c : name) c = letter();
    if (name == "." || name == ".." || name == ".strack") name = "...";
    return name;
  }
  std::string path() {
    std::string path = one_name();
    std::uint64_t more = rng_.below(3);
    if (rng_.below(128) == 0) {  // the most names, the most bytes
      more = rng_.below(2) == 0 ? 255 : 15;
      path = more == 15 ? std::string(255, 'b') : "b";
    }
    for (const bool wide = more == 15; more > 0; --more)
      path += '/' + (wide ? std::string(255, 'c') : more > 15 ? "d" : one_name());
    return path;
  }

  Control one_of_empty() {
    switch (rng_.below(4)) {
      case 0:
        return Finish{};
      case 1:
        return Finished{};
      case 2:
        return StillHere{};
      default:
        return Busy{};
    }
  }
  Control need() {
    Need need{entry_number(), {}};
    std::uint64_t first = rng_.below(5);
    for (std::uint64_t more = rng_.below(256) == 0 ? kMaxRanges : rng_.below(5); more > 0; --more) {
      const std::uint64_t count = 1 + rng_.below(9);
      need.ranges.push_back({static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(count)});
      first += count + 1 + rng_.below(9);
    }
    return need;
  }
  Control done() {
    const auto outcome = static_cast<Outcome>(rng_.below(4));
    return Done{entry_number(), outcome, outcome <= Outcome::there ? "" : words(60)};
  }
  Control ask() {
    Ask ask{version(), flag() ? path() : "", {}};
    for (std::uint64_t more = ask.as.empty() ? 1 + rng_.below(4) : 1; more > 0; --more)
      ask.paths.push_back(rng_.below(4) == 0 ? "" : path());
    return ask;
  }
  Control names() {
    Names names{number(), flag(), number(), {}};
    for (std::uint64_t more = rng_.below(5); more > 0; --more)
      names.names.push_back({flag(), one_name()});
    return names;
  }
  Control entry() {
    Entry entry;
    entry.number = entry_number();
    entry.kind = static_cast<EntryKind>(1 + rng_.below(5));
    entry.mode = static_cast<std::uint16_t>(rng_.below(01000));
    entry.mtime_ns = static_cast<std::int64_t>(rng_.next());
    entry.path = path();
    if (entry.kind == EntryKind::file || entry.kind == EntryKind::hard_link) {
      entry.size = flag() ? kMaxFileBytes : rng_.below(kMaxFileBytes);
      entry.holes = flag() ? 0 : rng_.below(entry.size + 1);
    }
    if (entry.kind == EntryKind::hard_link) entry.target = path();
    if (entry.kind == EntryKind::link) {
      auto up = rng_.below(1 + static_cast<std::uint64_t>(std::ranges::count(entry.path, '/')));
      for (up = std::min<std::uint64_t>(up, 3); up > 0; --up) entry.target += "../";
      entry.target += one_name();
    }
    return entry;
  }

  Rng& rng_;
};

class Transfer final : public Target {
 public:
  [[nodiscard]] std::string_view name() const override { return "transfer"; }

  std::size_t make(Rng& rng, Room room) override {
    const Control message = Maker(rng).make();
    const auto bytes = encode(message);
    STRACK_CHECK_OP(bytes.size(), <=, room.size());
    const auto decoded = decode(bytes);
    STRACK_CHECK(decoded.ok());
    STRACK_CHECK(decoded.value() == message);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      room[i] = std::to_integer<std::uint8_t>(bytes[i]);
    return bytes.size();
  }

  bool check(Bytes message, Room) override {
    const bool right = control_is_right(message);
    const auto decoded = decode(std::as_bytes(message));
    STRACK_CHECK(decoded.ok() == right);
    if (!decoded) {
      ++refused_[static_cast<std::size_t>(decoded.error())];
      return false;
    }
    const auto again = encode(decoded.value());
    const auto given = std::as_bytes(message);
    STRACK_CHECK(std::equal(again.begin(), again.end(), given.begin(), given.end()));
    ++accepted_[message[0]];
    return true;
  }

  [[nodiscard]] std::span<const std::string_view> words() const override {
    static constexpr std::array<std::string_view, 14> kWords{
        "/",   "//", "..",      "../",      "/../", "/..", ".",
        "/./", "./", ".strack", ".strack/", "\x7f", "\n",  std::string_view("\0", 1)};
    return kWords;
  }

  [[nodiscard]] std::string reached() const override {
    std::string text = "accepted:";
    for (std::size_t i = 1; i <= kTypes; ++i) text += fmt::format(" {} {}", i, accepted_[i]);
    text += "; refused:";
    for (std::size_t i = 0; i < refused_.size(); ++i)
      text += fmt::format(" \"{}\" {}", transfer::text(static_cast<Fault>(i)), refused_[i]);
    return text;
  }

 private:
  std::array<std::uint64_t, kTypes + 1> accepted_{};
  std::array<std::uint64_t, static_cast<std::size_t>(Fault::bad_ranges) + 1> refused_{};
};

}  // namespace

std::unique_ptr<Target> transfer_target() { return std::make_unique<Transfer>(); }

}  // namespace strack::decoders
