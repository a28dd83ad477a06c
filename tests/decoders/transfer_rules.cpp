#include "transfer_rules.h"

#include <algorithm>
#include <optional>

namespace strack::decoders {
namespace {

constexpr std::uint64_t kLargestNumber = (std::uint64_t{1} << 28) - 1;
constexpr std::uint64_t kMark = 0x5354'5241'434b'4350;  // "STRACKCP"

/// Takes field after field; what is not there is 0, and remembered.
class Fields {
 public:
  explicit Fields(Bytes bytes) : bytes_(bytes) {}

  std::uint64_t number(std::size_t bits) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bits / 8; ++i) value = value << 8 | byte();
    return value;
  }
  std::string_view text() {
    const std::size_t size = number(16);
    if (size > bytes_.size() - at_) {
      whole_ = false;
      return {};
    }
    const auto* start = reinterpret_cast<const char*>(bytes_.data()) + at_;
    at_ += size;
    return {start, size};
  }
  [[nodiscard]] bool whole() const { return whole_; }
  [[nodiscard]] bool ended() const { return whole_ && at_ == bytes_.size(); }

 private:
  std::uint8_t byte() {
    if (at_ < bytes_.size()) return bytes_[at_++];
    whole_ = false;
    return 0;
  }
  Bytes bytes_;
  std::size_t at_ = 0;
  bool whole_ = true;
};

bool has_control(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 32 || byte == 127;
  });
}

/// Words for people.
bool words(std::string_view text) { return text.size() <= 1024 && !has_control(text); }

/// One name of a path, and what is behind its slash; nothing where that was the last.
struct Split {
  std::string_view name;
  std::optional<std::string_view> rest;
};
Split split(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash == std::string_view::npos) return {path, std::nullopt};
  return {path.substr(0, slash), path.substr(slash + 1)};
}

bool name_is_right(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name.size() <= 255;
}

bool path_is_right(std::string_view path) {
  if (path.size() > 4095 || has_control(path)) return false;
  if (split(path).name == ".strack") return false;
  std::optional<std::string_view> rest = path;
  std::size_t names = 0;
  while (rest) {
    const auto [name, behind] = split(*rest);
    if (!name_is_right(name) || ++names > 256) return false;
    rest = behind;
  }
  return true;
}

/// Relative, below the folder by its text alone, ".." only at its front.
bool link_is_right(std::string_view path, std::string_view target) {
  if (target.empty() || target.size() > 4095 || has_control(target)) return false;
  auto up = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
  std::optional<std::string_view> rest = target;
  std::size_t names = 0;
  bool front = true;
  while (rest) {
    const auto [name, behind] = split(*rest);
    if (++names > 256) return false;
    if (name == "..") {
      if (!front || up == 0) return false;
      --up;
    } else {
      front = false;
      if (name != "." && !name_is_right(name)) return false;
    }
    rest = behind;
  }
  return true;
}

bool hello(Fields& in) {
  const bool marked = in.number(64) == kMark;
  const std::uint64_t version = in.number(16);
  const std::uint64_t flags = in.number(16);
  in.number(64);
  in.number(64);
  return in.ended() && marked && version != 0 && flags <= 7;
}

bool welcome(Fields& in) {
  const std::uint64_t version = in.number(16);
  const std::uint64_t zero = in.number(16);
  const std::uint64_t most = in.number(32);
  return in.ended() && version != 0 && zero == 0 && most >= 1 && most <= 4096;
}

bool only_words(Fields& in) {
  const std::string_view text = in.text();
  return in.ended() && words(text);
}

bool only_number(Fields& in, std::size_t more_bytes) {
  const std::uint64_t number = in.number(32);
  for (std::size_t i = 0; i < more_bytes; ++i) in.number(8);
  return in.ended() && number <= kLargestNumber;
}

bool entry(Fields& in) {
  const std::uint64_t number = in.number(32);
  const std::uint64_t kind = in.number(8);
  const std::uint64_t zero = in.number(8);
  const std::uint64_t mode = in.number(16);
  in.number(64);
  const std::uint64_t size = in.number(64);
  const std::uint64_t holes = in.number(64);
  const std::string_view path = in.text();
  const std::string_view target = in.text();
  if (!in.ended() || number > kLargestNumber || zero != 0 || mode > 0777) return false;
  const std::uint64_t largest = kind == 1 || kind == 5 ? std::uint64_t{1} << 50 : 0;
  if (kind < 1 || kind > 5 || size > largest || holes > size || !path_is_right(path)) return false;
  if (kind == 3) return link_is_right(path, target);
  return kind == 5 ? path_is_right(target) : target.empty();
}

bool need(Fields& in) {
  const std::uint64_t number = in.number(32);
  const std::uint64_t count = in.number(16);
  if (count > 4096) return false;
  std::uint64_t least = 0;
  for (std::uint64_t i = 0; i < count && in.whole(); ++i) {
    const std::uint64_t first = in.number(32);
    const std::uint64_t blocks = in.number(32);
    if (first < least || blocks == 0 || first + blocks > UINT32_MAX) return false;
    least = first + blocks + 1;
  }
  return in.ended() && number <= kLargestNumber;
}

bool done(Fields& in) {
  const std::uint64_t number = in.number(32);
  const std::uint64_t outcome = in.number(8);
  const std::string_view text = in.text();
  return in.ended() && number <= kLargestNumber && outcome <= 3 && words(text) &&
         (outcome >= 2 || text.empty());
}

bool hole(Fields& in) {
  const std::uint64_t number = in.number(32);
  in.number(32);
  const std::uint64_t blocks = in.number(32);
  return in.ended() && number <= kLargestNumber && blocks != 0;
}

bool ask(Fields& in) {
  const bool marked = in.number(64) == kMark;
  const std::uint64_t version = in.number(16);
  const std::uint64_t zero = in.number(16);
  const std::string_view as = in.text();
  const std::uint64_t count = in.number(16);
  bool right = as.empty() || (count == 1 && path_is_right(as));
  for (std::uint64_t i = 0; i < count && in.whole(); ++i) {
    const std::string_view path = in.text();
    right = right && (path.empty() || path_is_right(path));
  }
  return in.ended() && marked && version != 0 && zero == 0 && count != 0 && right;
}

bool list(Fields& in) {
  in.number(32);
  const std::string_view path = in.text();
  return in.ended() && path_is_right(path);
}

bool names(Fields& in) {
  in.number(32);
  bool right = in.number(8) <= 1;
  in.number(32);
  const std::uint64_t count = in.number(16);
  for (std::uint64_t i = 0; i < count && in.whole(); ++i) {
    right = in.number(8) <= 1 && right;
    const std::string_view name = in.text();
    right = right && (name == ".strack" ||
                      (path_is_right(name) && name.find('/') == std::string_view::npos));
  }
  return in.ended() && right;
}

bool remove(Fields& in) {
  in.number(32);
  const bool right = in.number(8) <= 1;
  const std::string_view path = in.text();
  return in.ended() && right && path_is_right(path);
}

bool removed(Fields& in) {
  in.number(32);
  return only_words(in);
}

}  // namespace

bool control_is_right(Bytes message) {
  if (message.empty() || message.size() > 64 << 10) return false;
  Fields in(message.subspan(1));
  switch (message[0]) {
    case 1:
      return hello(in);
    case 2:
      return welcome(in);
    case 3:
    case 16:
      return only_words(in);
    case 4:
      return entry(in);
    case 5:
      return need(in);
    case 6:
      return only_number(in, 32);
    case 7:
    case 14:
      return only_number(in, 0);
    case 8:
      return done(in);
    case 9:
    case 10:
    case 11:
    case 13:
      return in.ended();
    case 12:
      return hole(in);
    case 15:
      return ask(in);
    case 17:
      return list(in);
    case 18:
      return names(in);
    case 19:
      return remove(in);
    case 20:
      return removed(in);
    default:
      return false;
  }
}

}  // namespace strack::decoders
