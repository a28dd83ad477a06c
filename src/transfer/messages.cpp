#include "transfer/messages.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "transfer/names.h"

namespace strack::transfer {
namespace {

enum class Type : std::uint8_t {
  hello = 1,
  welcome,
  refusal,
  entry,
  need,
  file_end,
  skip,
  done,
  finish,
  finished,
  still_here,
  hole,
  busy,
  enough,
  ask,
  note,
  list,
  names,
  remove,
  removed,
};

constexpr std::uint64_t kMagic = 0x5354'5241'434b'4350;  // "STRACKCP"
constexpr std::uint16_t kForce = 1;
constexpr std::uint16_t kFresh = 2;
constexpr std::uint16_t kPartial = 4;
constexpr std::uint32_t kMostOpen = 4096;

class Writer {
 public:
  explicit Writer(Type type) { number(static_cast<std::uint8_t>(type)); }

  template <class T>
  void number(T value) {
    for (std::size_t i = sizeof(T); i-- > 0;)
      bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
  }
  void raw(std::span<const std::uint8_t> bytes) {
    for (const std::uint8_t byte : bytes) bytes_.push_back(std::byte{byte});
  }
  void string(std::string_view text) {
    number(static_cast<std::uint16_t>(text.size()));
    for (const char c : text) bytes_.push_back(static_cast<std::byte>(c));
  }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Reads on after the end give zeros and are remembered, so that only the end needs looking at.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    std::uint64_t value = 0;
    if (rest_.size() < sizeof(T)) {
      fail();
      return T{0};
    }
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value = (value << 8) | std::to_integer<std::uint64_t>(rest_[i]);
    rest_ = rest_.subspan(sizeof(T));
    return static_cast<T>(value);
  }
  void raw(std::span<std::uint8_t> out) {
    if (rest_.size() < out.size()) return fail();
    std::memcpy(out.data(), rest_.data(), out.size());
    rest_ = rest_.subspan(out.size());
  }
  std::string string() {
    const std::size_t size = number<std::uint16_t>();
    if (rest_.size() < size) {
      fail();
      return {};
    }
    std::string text(reinterpret_cast<const char*>(rest_.data()), size);
    rest_ = rest_.subspan(size);
    return text;
  }
  /// After the last field: what is wrong with the length.
  [[nodiscard]] std::optional<Fault> end() const {
    if (short_) return Fault::too_short;
    if (!rest_.empty()) return Fault::too_long;
    return std::nullopt;
  }

 private:
  void fail() {
    short_ = true;
    rest_ = {};
  }
  std::span<const std::byte> rest_;
  bool short_ = false;
};

bool is_clean(std::string_view text) {
  return text.size() <= kMaxTextBytes && std::none_of(text.begin(), text.end(), is_control);
}

using Decoded = Result<Control, Fault>;

Decoded decode_hello(Reader& in) {
  Hello hello;
  const auto magic = in.number<std::uint64_t>();
  hello.version = in.number<std::uint16_t>();
  const auto flags = in.number<std::uint16_t>();
  hello.force = (flags & kForce) != 0;
  hello.fresh = (flags & kFresh) != 0;
  hello.partial = (flags & kPartial) != 0;
  hello.entries = in.number<std::uint64_t>();
  hello.bytes = in.number<std::uint64_t>();
  if (const auto fault = in.end()) return *fault;
  if (magic != kMagic) return Fault::bad_magic;
  if ((flags & ~(kForce | kFresh | kPartial)) != 0) return Fault::reserved;
  if (hello.version == 0) return Fault::bad_number;
  return Control(hello);
}

Decoded decode_welcome(Reader& in) {
  Welcome welcome;
  welcome.version = in.number<std::uint16_t>();
  const auto reserved = in.number<std::uint16_t>();
  welcome.most_open = in.number<std::uint32_t>();
  if (const auto fault = in.end()) return *fault;
  if (reserved != 0) return Fault::reserved;
  if (welcome.version == 0 || welcome.most_open == 0 || welcome.most_open > kMostOpen)
    return Fault::bad_number;
  return Control(welcome);
}

/// One that has nothing but words for people.
template <class Worded>
Decoded decode_worded(Reader& in) {
  Worded message{in.string()};
  if (const auto fault = in.end()) return *fault;
  if (!is_clean(message.text)) return Fault::bad_text;
  return Control(std::move(message));
}

Decoded decode_ask(Reader& in) {
  Ask ask;
  const auto magic = in.number<std::uint64_t>();
  ask.version = in.number<std::uint16_t>();
  const auto flags = in.number<std::uint16_t>();
  ask.as = in.string();
  const auto count = in.number<std::uint16_t>();
  for (std::uint16_t i = 0; i < count; ++i) {
    ask.paths.push_back(in.string());
    if (const auto fault = in.end(); fault == Fault::too_short) return *fault;
  }
  if (const auto fault = in.end()) return *fault;
  if (magic != kMagic) return Fault::bad_magic;
  if (flags != 0) return Fault::reserved;
  if (ask.version == 0 || count == 0 || (count > 1 && !ask.as.empty())) return Fault::bad_number;
  const auto is_bad = [](const std::string& path) { return !path.empty() && path_fault(path); };
  if (is_bad(ask.as) || std::any_of(ask.paths.begin(), ask.paths.end(), is_bad))
    return Fault::bad_name;
  return Control(std::move(ask));
}

Decoded decode_entry(Reader& in) {
  Entry entry;
  entry.number = in.number<std::uint32_t>();
  const auto kind = in.number<std::uint8_t>();
  const auto reserved = in.number<std::uint8_t>();
  entry.mode = in.number<std::uint16_t>();
  entry.mtime_ns = in.number<std::int64_t>();
  entry.size = in.number<std::uint64_t>();
  entry.holes = in.number<std::uint64_t>();
  entry.path = in.string();
  entry.target = in.string();
  if (const auto fault = in.end()) return *fault;
  if (reserved != 0) return Fault::reserved;
  if (kind < 1 || kind > 5 || entry.number > kMaxEntries || entry.mode > 0777)
    return Fault::bad_number;
  entry.kind = static_cast<EntryKind>(kind);
  const bool sized = entry.kind == EntryKind::file || entry.kind == EntryKind::hard_link;
  if (entry.size > (sized ? kMaxFileBytes : 0)) return Fault::bad_number;
  if (entry.holes > entry.size) return Fault::bad_number;
  if (path_fault(entry.path)) return Fault::bad_name;
  if (entry.kind == EntryKind::hard_link && path_fault(entry.target)) return Fault::bad_name;
  if (entry.kind == EntryKind::link && target_fault(entry.path, entry.target))
    return Fault::bad_target;
  if (entry.kind != EntryKind::link && entry.kind != EntryKind::hard_link && !entry.target.empty())
    return Fault::bad_target;
  return Control(std::move(entry));
}

Decoded decode_need(Reader& in) {
  Need need;
  need.number = in.number<std::uint32_t>();
  const auto count = in.number<std::uint16_t>();
  if (count > kMaxRanges) return Fault::bad_number;
  std::uint64_t from = 0;  // the first block that the next range may begin with
  bool ordered = true;
  for (std::uint16_t i = 0; i < count; ++i) {
    const auto first = in.number<std::uint32_t>();
    const auto blocks = in.number<std::uint32_t>();
    if (const auto fault = in.end(); fault == Fault::too_short) return *fault;
    ordered = ordered && first >= from && blocks > 0;
    from = std::uint64_t{first} + blocks + 1;
    need.ranges.push_back({first, blocks});
  }
  if (const auto fault = in.end()) return *fault;
  if (!ordered || from > std::uint64_t{UINT32_MAX} + 1) return Fault::bad_ranges;
  if (need.number > kMaxEntries) return Fault::bad_number;
  return Control(std::move(need));
}

Decoded decode_file_end(Reader& in) {
  FileEnd end;
  end.number = in.number<std::uint32_t>();
  in.raw(end.digest);
  if (const auto fault = in.end()) return *fault;
  if (end.number > kMaxEntries) return Fault::bad_number;
  return Control(end);
}

/// One that has nothing but the number of an entry.
template <class Numbered>
Decoded decode_numbered(Reader& in) {
  const Numbered message{in.number<std::uint32_t>()};
  if (const auto fault = in.end()) return *fault;
  if (message.number > kMaxEntries) return Fault::bad_number;
  return Control(message);
}

Decoded decode_done(Reader& in) {
  Done done;
  done.number = in.number<std::uint32_t>();
  const auto outcome = in.number<std::uint8_t>();
  done.text = in.string();
  if (const auto fault = in.end()) return *fault;
  if (done.number > kMaxEntries || outcome > 3) return Fault::bad_number;
  done.outcome = static_cast<Outcome>(outcome);
  if (!is_clean(done.text) || (done.outcome <= Outcome::there && !done.text.empty()))
    return Fault::bad_text;
  return Control(std::move(done));
}

Decoded decode_list(Reader& in) {
  List list;
  list.number = in.number<std::uint32_t>();
  list.path = in.string();
  if (const auto fault = in.end()) return *fault;
  if (path_fault(list.path)) return Fault::bad_name;
  return Control(std::move(list));
}

Decoded decode_names(Reader& in) {
  Names names;
  names.number = in.number<std::uint32_t>();
  const auto last = in.number<std::uint8_t>();
  names.hidden = in.number<std::uint32_t>();
  const auto count = in.number<std::uint16_t>();
  bool good = last <= 1;
  bool safe = true;
  for (std::uint16_t i = 0; i < count; ++i) {
    const auto folder = in.number<std::uint8_t>();
    std::string name = in.string();
    if (const auto fault = in.end(); fault == Fault::too_short) return *fault;
    good = good && folder <= 1;
    safe = safe && is_one_name(name);
    names.names.push_back({folder == 1, std::move(name)});
  }
  if (const auto fault = in.end()) return *fault;
  if (!good) return Fault::bad_number;
  if (!safe) return Fault::bad_name;
  names.last = last == 1;
  return Control(std::move(names));
}

Decoded decode_remove(Reader& in) {
  Remove remove;
  remove.number = in.number<std::uint32_t>();
  const auto folder = in.number<std::uint8_t>();
  remove.path = in.string();
  if (const auto fault = in.end()) return *fault;
  if (folder > 1) return Fault::bad_number;
  if (path_fault(remove.path)) return Fault::bad_name;
  remove.folder = folder == 1;
  return Control(std::move(remove));
}

Decoded decode_removed(Reader& in) {
  Removed removed;
  removed.number = in.number<std::uint32_t>();
  removed.text = in.string();
  if (const auto fault = in.end()) return *fault;
  if (!is_clean(removed.text)) return Fault::bad_text;
  return Control(std::move(removed));
}

Decoded decode_hole(Reader& in) {
  Hole hole;
  hole.number = in.number<std::uint32_t>();
  hole.blocks.first = in.number<std::uint32_t>();
  hole.blocks.count = in.number<std::uint32_t>();
  if (const auto fault = in.end()) return *fault;
  if (hole.number > kMaxEntries || hole.blocks.count == 0) return Fault::bad_number;
  return Control(hole);
}

template <class Empty>
Decoded decode_empty(const Reader& in) {
  if (const auto fault = in.end()) return *fault;
  return Control(Empty{});
}

struct Encoder {
  std::vector<std::byte> operator()(const Hello& hello) const {
    Writer out(Type::hello);
    out.number(kMagic);
    out.number(hello.version);
    out.number(static_cast<std::uint16_t>((hello.force ? kForce : 0) | (hello.fresh ? kFresh : 0) |
                                          (hello.partial ? kPartial : 0)));
    out.number(hello.entries);
    out.number(hello.bytes);
    return out.take();
  }
  std::vector<std::byte> operator()(const Ask& ask) const {
    Writer out(Type::ask);
    out.number(kMagic);
    out.number(ask.version);
    out.number(std::uint16_t{0});
    out.string(ask.as);
    out.number(static_cast<std::uint16_t>(ask.paths.size()));
    for (const std::string& path : ask.paths) out.string(path);
    return out.take();
  }
  std::vector<std::byte> operator()(const List& list) const {
    Writer out(Type::list);
    out.number(list.number);
    out.string(list.path);
    return out.take();
  }
  std::vector<std::byte> operator()(const Names& names) const {
    Writer out(Type::names);
    out.number(names.number);
    out.number(static_cast<std::uint8_t>(names.last ? 1 : 0));
    out.number(names.hidden);
    out.number(static_cast<std::uint16_t>(names.names.size()));
    for (const Names::Name& one : names.names) {
      out.number(static_cast<std::uint8_t>(one.folder ? 1 : 0));
      out.string(one.name);
    }
    return out.take();
  }
  std::vector<std::byte> operator()(const Remove& remove) const {
    Writer out(Type::remove);
    out.number(remove.number);
    out.number(static_cast<std::uint8_t>(remove.folder ? 1 : 0));
    out.string(remove.path);
    return out.take();
  }
  std::vector<std::byte> operator()(const Removed& removed) const {
    Writer out(Type::removed);
    out.number(removed.number);
    out.string(removed.text);
    return out.take();
  }
  std::vector<std::byte> operator()(const Note& note) const {
    Writer out(Type::note);
    out.string(note.text);
    return out.take();
  }
  std::vector<std::byte> operator()(const Welcome& welcome) const {
    Writer out(Type::welcome);
    out.number(welcome.version);
    out.number(std::uint16_t{0});
    out.number(welcome.most_open);
    return out.take();
  }
  std::vector<std::byte> operator()(const Refusal& refusal) const {
    Writer out(Type::refusal);
    out.string(refusal.text);
    return out.take();
  }
  std::vector<std::byte> operator()(const Entry& entry) const {
    Writer out(Type::entry);
    out.number(entry.number);
    out.number(static_cast<std::uint8_t>(entry.kind));
    out.number(std::uint8_t{0});
    out.number(entry.mode);
    out.number(entry.mtime_ns);
    out.number(entry.size);
    out.number(entry.holes);
    out.string(entry.path);
    out.string(entry.target);
    return out.take();
  }
  std::vector<std::byte> operator()(const Need& need) const {
    STRACK_CHECK_OP(need.ranges.size(), <=, kMaxRanges);
    Writer out(Type::need);
    out.number(need.number);
    out.number(static_cast<std::uint16_t>(need.ranges.size()));
    for (const BlockRange& range : need.ranges) {
      out.number(range.first);
      out.number(range.count);
    }
    return out.take();
  }
  std::vector<std::byte> operator()(const FileEnd& end) const {
    Writer out(Type::file_end);
    out.number(end.number);
    out.raw(end.digest);
    return out.take();
  }
  std::vector<std::byte> operator()(const Skip& skip) const {
    Writer out(Type::skip);
    out.number(skip.number);
    return out.take();
  }
  std::vector<std::byte> operator()(const Enough& enough) const {
    Writer out(Type::enough);
    out.number(enough.number);
    return out.take();
  }
  std::vector<std::byte> operator()(const Done& done) const {
    Writer out(Type::done);
    out.number(done.number);
    out.number(static_cast<std::uint8_t>(done.outcome));
    out.string(done.text);
    return out.take();
  }
  std::vector<std::byte> operator()(const Finish&) const { return Writer(Type::finish).take(); }
  std::vector<std::byte> operator()(const Finished&) const { return Writer(Type::finished).take(); }
  std::vector<std::byte> operator()(const StillHere&) const {
    return Writer(Type::still_here).take();
  }
  std::vector<std::byte> operator()(const Busy&) const { return Writer(Type::busy).take(); }
  std::vector<std::byte> operator()(const Hole& hole) const {
    Writer out(Type::hole);
    out.number(hole.number);
    out.number(hole.blocks.first);
    out.number(hole.blocks.count);
    return out.take();
  }
};

}  // namespace

const char* text(Fault fault) {
  switch (fault) {
    case Fault::too_short:
      return "it is too short";
    case Fault::too_long:
      return "it is too long";
    case Fault::unknown_type:
      return "its type is unknown";
    case Fault::reserved:
      return "reserved bits are set";
    case Fault::bad_magic:
      return "it is not of this protocol";
    case Fault::bad_number:
      return "a number is out of its range";
    case Fault::bad_name:
      return "a name is not allowed";
    case Fault::bad_target:
      return "a link leads out of the folder";
    case Fault::bad_text:
      return "its text has control characters";
    case Fault::bad_ranges:
      return "ranges of blocks are out of order";
  }
  return "it is broken";
}

std::vector<std::byte> encode(const Control& message) { return std::visit(Encoder{}, message); }

Result<Control, Fault> decode(std::span<const std::byte> bytes) {
  if (bytes.empty()) return Fault::too_short;
  if (bytes.size() > kMaxControlBytes) return Fault::too_long;
  Reader in(bytes);
  switch (static_cast<Type>(in.number<std::uint8_t>())) {
    case Type::hello:
      return decode_hello(in);
    case Type::welcome:
      return decode_welcome(in);
    case Type::refusal:
      return decode_worded<Refusal>(in);
    case Type::entry:
      return decode_entry(in);
    case Type::need:
      return decode_need(in);
    case Type::file_end:
      return decode_file_end(in);
    case Type::skip:
      return decode_numbered<Skip>(in);
    case Type::done:
      return decode_done(in);
    case Type::finish:
      return decode_empty<Finish>(in);
    case Type::finished:
      return decode_empty<Finished>(in);
    case Type::still_here:
      return decode_empty<StillHere>(in);
    case Type::hole:
      return decode_hole(in);
    case Type::busy:
      return decode_empty<Busy>(in);
    case Type::enough:
      return decode_numbered<Enough>(in);
    case Type::ask:
      return decode_ask(in);
    case Type::note:
      return decode_worded<Note>(in);
    case Type::list:
      return decode_list(in);
    case Type::names:
      return decode_names(in);
    case Type::remove:
      return decode_remove(in);
    case Type::removed:
      return decode_removed(in);
  }
  return Fault::unknown_type;
}

std::string clean_text(std::string text) {
  std::replace_if(text.begin(), text.end(), is_control, '?');
  if (text.size() > kMaxTextBytes) text.resize(kMaxTextBytes);
  return text;
}

}  // namespace strack::transfer
