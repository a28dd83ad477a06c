#include "workload/formats/goal_import.h"

#include <optional>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "workload/formats/import_builder.h"
#include "workload/formats/import_ops.h"
#include "workload/lines.h"

namespace strack::workload {
namespace {

constexpr std::int64_t kLargestTag = (std::int64_t{1} << 32) - 2;

[[nodiscard]] bool is_digit(char c) { return c >= '0' && c <= '9'; }
[[nodiscard]] bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct Token {
  std::string_view text;  ///< empty: the end
  int line = 0;
};

/// Words, whole numbers with a sign, and single other characters.
class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(without_bom(text)) {}

  /// The next token, or nothing where a comment never ends.
  [[nodiscard]] std::optional<Token> next() {
    while (!rest_.empty()) {
      if (rest_.starts_with("//")) {
        rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
      } else if (rest_.starts_with("/*")) {
        const std::size_t end = rest_.find("*/", 2);
        if (end == rest_.npos) return std::nullopt;
        for (const char c : rest_.substr(0, end)) line_ += c == '\n' ? 1 : 0;
        rest_.remove_prefix(end + 2);
      } else if (rest_[0] == '\n') {
        ++line_;
        rest_.remove_prefix(1);
      } else if (rest_[0] == ' ' || rest_[0] == '\t' || rest_[0] == '\r') {
        rest_.remove_prefix(1);
      } else {
        break;
      }
    }
    std::size_t length = rest_.empty() ? 0 : 1;
    if (!rest_.empty() && (is_letter(rest_[0]) || rest_[0] == '_')) {
      while (length < rest_.size() &&
             (is_letter(rest_[length]) || is_digit(rest_[length]) || rest_[length] == '_'))
        ++length;
    } else if (!rest_.empty() && (is_digit(rest_[0]) || rest_[0] == '-')) {
      while (length < rest_.size() && is_digit(rest_[length])) ++length;
    }
    const Token token{rest_.substr(0, length), line_};
    rest_.remove_prefix(length);
    return token;
  }
  [[nodiscard]] int line() const { return line_; }

 private:
  std::string_view rest_;
  int line_ = 1;
};

class Reader {
 public:
  Reader(std::string_view text, Picoseconds calc_unit) : tokens_(text), calc_unit_(calc_unit) {}

  Result<GoalImport, TextError> read() {
    if (!advance() || !read_ranks()) return error_;
    while (!token_.text.empty()) {
      if (!read_rank()) return error_;
    }
    if (ops_->size() == 0)
      return TextError{0, "no operations. a rank has some, such as send 4096b to 1"};
    auto graph = ops_->build();
    if (!graph) {
      return TextError{static_cast<int>(ops_->op(graph.error().op).place),
                       std::move(graph.error().message)};
    }
    return GoalImport{std::move(graph.value()), goal_notes(*ops_, resources_)};
  }

 private:
  bool fail(int line, std::string message) {
    error_ = {line, std::move(message)};
    return false;
  }
  bool advance() {
    const std::optional<Token> token = tokens_.next();
    if (!token)
      return fail(tokens_.line(), "a comment begins with /* and never ends. end it with */");
    token_ = *token;
    return true;
  }
  [[nodiscard]] std::string found() const {
    return token_.text.empty() ? std::string("the file ends here") : "found " + quoted(token_.text);
  }
  bool expected(std::string_view what) {
    return fail(token_.line, fmt::format("{}. expected {}", found(), what));
  }
  bool accept(std::string_view word, std::string_view what) {
    if (token_.text != word) return expected(what);
    return advance();
  }
  /// A whole number in a range, or -1 where that is allowed.
  std::optional<std::int64_t> number(std::string_view name, std::int64_t least, std::int64_t most) {
    const bool any = least < 0 && token_.text == "-1";
    const auto value = any ? std::optional<std::int64_t>(-1)
                           : parse_within(token_.text, std::max<std::int64_t>(least, 0), most);
    if (!value) {
      fail(token_.line,
           fmt::format("{} is {}. it is a number from {} to {}", name,
                       token_.text.empty() ? "missing" : quoted(token_.text), least, most));
      return std::nullopt;
    }
    if (!advance()) return std::nullopt;
    return value;
  }
  [[nodiscard]] bool on_line(int line) const {
    return !token_.text.empty() && token_.line == line && token_.text != "}";
  }
  [[nodiscard]] static bool is_word(std::string_view text) {
    return !text.empty() && (is_letter(text[0]) || text[0] == '_');
  }

  bool read_ranks() {
    if (!accept("num_ranks", "num_ranks, with which a schedule begins, such as num_ranks 16"))
      return false;
    const auto ranks = number("num_ranks", 1, kMostRanks);
    if (!ranks) return false;
    ranks_ = static_cast<Rank>(*ranks);
    ops_.emplace(ranks_);
    line_of_rank_.assign(ranks_, 0);
    return true;
  }

  bool read_rank() {
    const int line = token_.line;
    if (!accept("rank", "rank, such as rank 0 {")) return false;
    const auto rank = number("rank", 0, ranks_ - 1);
    if (!rank) return false;
    rank_ = static_cast<Rank>(*rank);
    if (line_of_rank_[rank_] != 0) {
      return fail(line, fmt::format("rank {} a second time, after line {}. it is written once",
                                    rank_, line_of_rank_[rank_]));
    }
    line_of_rank_[rank_] = line;
    if (!accept("{", fmt::format("{{, such as rank {} {{", rank_))) return false;
    labels_.clear();
    dependencies_.clear();
    while (token_.text != "}") {
      if (token_.text.empty())
        return fail(token_.line,
                    fmt::format("rank {} of line {} never ends. end it with }}", rank_, line));
      if (!read_statement()) return false;
    }
    return resolve() && advance();
  }

  bool read_statement() {
    const Token first = token_;
    if (!is_word(first.text))
      return expected(
          "send, recv, calc, a label such as a: send 4096b to 1, or a requirement such as a "
          "requires b");
    if (!advance()) return false;
    std::string_view label;
    Token verb = first;
    if (on_line(first.line) && (token_.text == "requires" || token_.text == "irequires"))
      return read_requirement(first);
    if (on_line(first.line) && token_.text == ":") {
      label = first.text;
      if (!advance()) return false;
      verb = token_;
      if (!advance()) return false;
    }
    ImportOp op;
    op.rank = rank_;
    op.place = static_cast<std::uint64_t>(verb.line);
    if (verb.text == "send" || verb.text == "recv") {
      if (!read_transfer(op, verb)) return false;
    } else if (verb.text == "calc") {
      if (!read_calc(op, verb)) return false;
    } else {
      return fail(verb.line, fmt::format("{} is no operation. those are send, recv and calc, and "
                                         "between labels requires and irequires",
                                         quoted(verb.text)));
    }
    if (!read_options(op, verb)) return false;
    const OpId id = ops_->add(op);
    if (label.empty()) return true;
    const auto [it, is_new] = labels_.try_emplace(label, id);
    if (!is_new) {
      return fail(first.line, fmt::format("label {} is that of line {}. take another one",
                                          quoted(label), ops_->op(it->second).place));
    }
    return true;
  }

  bool read_transfer(ImportOp& op, const Token& verb) {
    op.kind = verb.text == "send" ? OpKind::send : OpKind::recv;
    const bool sends = op.kind == OpKind::send;
    const std::string_view like = sends ? "send 4096b to 1" : "recv 4096b from 1";
    const auto size = number("the size", 0, kMostMessageBytes);
    if (!size) return false;
    op.amount = *size;
    if (!accept("b", fmt::format("b, for bytes, such as {}", like))) return false;
    if (!accept(sends ? "to" : "from", fmt::format("{}, such as {}", sends ? "to" : "from", like)))
      return false;
    const int line = token_.line;
    const auto peer = number(sends ? "the destination" : "the source", sends ? 0 : -1, ranks_ - 1);
    if (!peer) return false;
    op.peer = *peer < 0 ? kNobody : static_cast<Rank>(*peer);
    if (op.peer == rank_) {
      return fail(line, fmt::format("rank {} {} itself. it is another rank", rank_,
                                    sends ? "sends to" : "receives from"));
    }
    return true;
  }

  bool read_calc(ImportOp& op, const Token& verb) {
    op.kind = OpKind::compute;
    const std::int64_t most = kLongestWait / calc_unit_;
    const auto time = number("the time of calc", 0, most);
    if (!time) return false;
    op.amount = (*time * calc_unit_).count();
    // ATLAHS has no unit here, but a size is so easily written in its place.
    if (on_line(verb.line) && token_.text == "b")
      return fail(token_.line, "calc has no b behind its number. it is a time, such as calc 1000");
    return true;
  }

  bool read_options(ImportOp& op, const Token& verb) {
    bool tag = false;
    bool cpu = false;
    bool nic = false;
    while (on_line(verb.line)) {
      const std::string_view name = token_.text;
      const bool is_tag = name == "tag" && op.kind != OpKind::compute;
      if (!is_tag && name != "cpu" && name != "nic") {
        return fail(
            token_.line,
            fmt::format("{} behind {}. what can follow is {}cpu and nic, then the next line",
                        quoted(name), verb.text, op.kind == OpKind::compute ? "" : "tag, "));
      }
      bool& given = is_tag ? tag : name == "cpu" ? cpu : nic;
      if (given)
        return fail(token_.line, fmt::format("{} a second time. it is written once", name));
      given = true;
      if (!advance()) return false;
      if (is_tag) {
        const auto value = number("tag", op.kind == OpKind::recv ? -1 : 0, kLargestTag);
        if (!value) return false;
        op.tag = *value;
      } else {
        const auto value = number(name, 0, kLargestTag);
        if (!value) return false;
        if (*value != 0) ++resources_;
      }
    }
    return true;
  }

  bool read_requirement(const Token& label) {
    const bool has_started = token_.text == "irequires";
    if (!advance()) return false;
    if (!is_word(token_.text)) return expected("a label, such as a requires b");
    dependencies_.push_back({label, token_, has_started});
    if (!advance()) return false;
    if (on_line(label.line)) {
      return fail(token_.line,
                  fmt::format("{} behind a requirement. it names two labels, such as a "
                              "requires b",
                              quoted(token_.text)));
    }
    return true;
  }

  /// Labels may be used before the line that has them.
  bool resolve() {
    for (const Dependency& d : dependencies_) {
      OpId ids[2];
      for (const int which : {0, 1}) {
        const Token& label = which == 0 ? d.op : d.other;
        const auto it = labels_.find(label.text);
        if (it == labels_.end()) {
          return fail(label.line, fmt::format("no label {} in rank {}. requirements are between "
                                              "labels of one rank",
                                              quoted(label.text), rank_));
        }
        ids[which] = it->second;
      }
      if (ids[0] == ids[1])
        return fail(d.op.line,
                    fmt::format("{} requires itself. it requires another one", quoted(d.op.text)));
      ops_->require(ids[0], ids[1], d.has_started);
    }
    return true;
  }

  struct Dependency {
    Token op;
    Token other;
    bool has_started;
  };
  Tokens tokens_;
  Picoseconds calc_unit_;
  Token token_;
  TextError error_;
  std::optional<ImportOps> ops_;
  Rank ranks_ = 0;
  Rank rank_ = 0;
  std::vector<int> line_of_rank_;
  std::unordered_map<std::string_view, OpId> labels_;  ///< looked up, never walked
  std::vector<Dependency> dependencies_;
  std::uint32_t resources_ = 0;
};

}  // namespace

std::vector<std::string> goal_notes(const ImportOps& ops, std::uint32_t resources) {
  std::vector<std::string> notes;
  if (ops.other_sizes() > 0) {
    notes.push_back(fmt::format("{} another size than the send it gets: the send's counts",
                                counted(ops.other_sizes(), "receive names", "receives name")));
  }
  if (resources > 0) {
    notes.push_back(fmt::format("{} cpu or nic other than 0: ignored, there is one of each",
                                counted(resources, "time", "times")));
  }
  return notes;
}

Result<GoalImport, TextError> import_goal(std::string_view text, Picoseconds calc_unit) {
  return Reader(text, calc_unit).read();
}

}  // namespace strack::workload
