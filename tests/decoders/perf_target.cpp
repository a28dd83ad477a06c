#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "base/check.h"
#include "perf/protocol.h"
#include "target.h"

namespace strack::decoders {
namespace {

class Perf final : public Target {
 public:
  [[nodiscard]] std::string_view name() const override { return "perf"; }

  std::size_t make(Rng& rng, Room room) override {
    perf::Words words;
    words.type = static_cast<perf::Say>(1 + rng.below(8));
    words.code = static_cast<std::uint8_t>(rng.below(4));
    for (auto& number : words.numbers) number = rng.next() >> rng.below(64);
    const auto bytes = perf::encode(words);
    STRACK_CHECK(perf::decode(bytes) == words);
    const Bytes plain(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
    std::copy(plain.begin(), plain.end(), room.begin());
    return plain.size();
  }

  bool check(Bytes message, Room room) override {
    const bool right = message.size() == 36 && message[0] >= 1 && message[0] <= 8 &&
                       message[2] == 0 && message[3] == 0;
    const auto words = perf::decode(std::as_bytes(message));
    STRACK_CHECK(words.has_value() == right);
    if (!words) return false;
    const auto again = perf::encode(*words);
    const Room out = room.first(again.size());
    std::transform(again.begin(), again.end(), out.begin(),
                   [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
    STRACK_CHECK(std::equal(out.begin(), out.end(), message.begin(), message.end()));
    STRACK_CHECK(perf::path_words(perf::path_of(*words)).numbers == words->numbers);
    ++accepted_[message[0]];
    return true;
  }

  [[nodiscard]] std::string reached() const override {
    std::string text = "accepted:";
    for (std::size_t i = 1; i < accepted_.size(); ++i)
      text += fmt::format(" {} {}", i, accepted_[i]);
    return text;
  }

 private:
  std::array<std::uint64_t, 9> accepted_{};
};

}  // namespace

std::unique_ptr<Target> perf_target() { return std::make_unique<Perf>(); }

}  // namespace strack::decoders
