#include "workload/formats/draw_schedule.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <queue>
#include <tuple>

#include <fmt/format.h>

#include "base/check.h"

namespace strack::workload {
namespace {

constexpr Picoseconds kLongest = seconds(86'400);

/// How many bytes of a text are one character of UTF-8; 0 where it is none that XML may have.
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Overlong forms, surrogates, what lies beyond Unicode, and two code points XML leaves out.
  if ((byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) > 0x9f)) return 0;
  if ((byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) > 0x8f)) return 0;
  if (byte(0) == 0xef && byte(1) == 0xbf && byte(2) >= 0xbe) return 0;
  return length;
}

std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    switch (length == 0 ? '\0' : text[0]) {
      case '\0':
        out += '?';
        break;
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += text.substr(0, length);
    }
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

/// 1, 2 or 5 times a power of ten, so that there are at most ten ticks.
std::int64_t tick_step(std::int64_t whole) {
  std::int64_t step = 1;
  for (int i = 0; step * 10 < whole; ++i) step = i % 3 == 1 ? step / 2 * 5 : step * 2;
  return step;
}

/// From blue for the first message over purple to red for the last: nothing as light as yellow, which
/// a white page would swallow.
std::string colour(std::uint32_t index, std::uint32_t count) {
  const std::uint32_t hue = count < 2 ? 200 : 200 + 160 * index / (count - 1);
  return fmt::format("hsl({},75%,52%)", hue);
}

/// To a thousandth of its largest unit.
std::string short_time(Picoseconds time) {
  std::int64_t step = 1'000'000'000;
  while (step > 1 && time.count() < step * 1'000) step /= 1'000;
  return format_time(ps(time.count() / step * step));
}
std::string rate_text(BitsPerSecond rate) {
  return rate.count() % gbps(1).count() == 0 ? fmt::format("{} Gb/s", rate / gbps(1))
                                             : fmt::format("{} Mb/s", rate / mbps(1));
}

constexpr int kLeft = 80;
constexpr int kTop = 96;
constexpr int kWidth = 960;
constexpr int kRow = 44;

constexpr std::string_view kStyle =
    "<style>\n"
    ".paper{fill:#ffffff}\n"
    "text{fill:#1f2328;font-family:system-ui,sans-serif;font-size:12px}\n"
    ".title{font-size:16px;font-weight:600}\n"
    ".rank{stroke:#1f2328;stroke-width:1}\n"
    ".tick{stroke:#d0d7de;stroke-width:1}\n"
    ".work{fill:#8c959f}\n"
    // Plain colours first: not every viewer knows more than those.
    "@media (prefers-color-scheme: "
    "dark){.paper{fill:#0d1117}text{fill:#e6edf3}.rank{stroke:#e6edf3}"
    ".tick{stroke:#30363d}.work{fill:#7d8590}}\n"
    ".arrow{stroke-width:1.5;fill:none}\n"
    ".word{stroke-dasharray:3 3}\n"
    "</style>\n";

class Picture {
 public:
  Picture(const Graph& graph, const DrawParams& params, const std::vector<DrawnNode>& times)
      : graph_(graph), params_(params), times_(times) {
    for (const DrawnNode& node : times) end_ = std::max(end_, node.done);
  }

  std::string draw() {
    height_ = kTop + kRow * static_cast<int>(graph_.ranks()) + 40;
    const int width = kLeft + kWidth + 40;
    fmt::format_to(
        at_,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
        "height=\"{1}\" role=\"img\">\n",
        width, height_);
    fmt::format_to(at_, "<title>{}</title>\n", escaped(params_.title));
    svg_ += kStyle;
    fmt::format_to(at_, "<rect class=\"paper\" width=\"{}\" height=\"{}\"/>\n", width, height_);
    fmt::format_to(at_, "<text class=\"title\" x=\"{}\" y=\"28\">{}</text>\n", kLeft,
                   escaped(params_.title));
    draw_legend();
    draw_axes();
    draw_nodes();
    svg_ += "</svg>\n";
    return std::move(svg_);
  }

 private:
  /// Tenths of a pixel: as fine as a screen shows, and the same text everywhere.
  [[nodiscard]] std::string x(Picoseconds time) const {
    const std::int64_t tenths =
        end_ > ps(0) ? mul_div(time.count(), std::int64_t{kWidth} * 10, end_.count()) : 0;
    return fmt::format("{}.{}", kLeft + tenths / 10, tenths % 10);
  }
  [[nodiscard]] static int y(Rank rank) { return kTop + kRow / 2 + kRow * static_cast<int>(rank); }

  void draw_legend() {
    int left = kLeft;
    const auto say = [&](int width, std::string_view text) {
      fmt::format_to(at_, "<text x=\"{}\" y=\"58\">{}</text>\n", left + width + 6, text);
      left += width + 20 + 7 * static_cast<int>(text.size());
    };
    if (graph_.messages() > 0) {
      constexpr int kSteps = 12;
      for (int i = 0; i < kSteps; ++i) {
        fmt::format_to(at_, "<rect x=\"{}\" y=\"50\" width=\"8\" height=\"8\" fill=\"{}\"/>\n",
                       left + 8 * i, colour(static_cast<std::uint32_t>(i), kSteps));
      }
      say(8 * kSteps, "messages, first to last");
    }
    bool words = false;
    bool work = false;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Graph::Node& node = graph_.node(id);
      words = words || (!node.computes && node.amount == 0);
      work = work || (node.computes && node.amount > 0);
    }
    if (words) {
      fmt::format_to(at_,
                     "<line class=\"arrow word\" x1=\"{}\" y1=\"54\" x2=\"{}\" y2=\"54\" "
                     "stroke=\"{}\"/>\n",
                     left, left + 24, colour(0, 1));
      say(24, "without bytes");
    }
    if (work) {
      fmt::format_to(at_, "<rect class=\"work\" x=\"{}\" y=\"49\" width=\"24\" height=\"10\"/>\n",
                     left);
      say(24, "computation");
    }
    fmt::format_to(at_,
                   "<text x=\"{}\" y=\"78\">model: latency {}, {}, a rank sends one message at "
                   "a time; ends at {}</text>\n",
                   kLeft, format_time(params_.latency), rate_text(params_.rate), short_time(end_));
  }

  void draw_axes() {
    const int bottom = kTop + kRow * static_cast<int>(graph_.ranks());
    const std::int64_t step = tick_step(std::max<std::int64_t>(end_.count(), 1));
    for (std::int64_t t = 0; t <= end_.count(); t += step) {
      fmt::format_to(at_,
                     "<line class=\"tick\" x1=\"{0}\" y1=\"{1}\" x2=\"{0}\" y2=\"{2}\"/>\n"
                     "<text x=\"{0}\" y=\"{3}\" text-anchor=\"middle\">{4}</text>\n",
                     x(ps(t)), kTop, bottom, bottom + 18, t == 0 ? "0" : format_time(ps(t)));
    }
    for (Rank r = 0; r < graph_.ranks(); ++r) {
      fmt::format_to(at_,
                     "<line class=\"rank\" x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\"/>\n"
                     "<text x=\"{}\" y=\"{}\" text-anchor=\"end\">rank {}</text>\n",
                     kLeft, y(r), kLeft + kWidth, y(r), kLeft - 8, y(r) + 4, r);
    }
  }

  void draw_nodes() {
    std::uint32_t message = 0;
    for (NodeId id = 0; id < graph_.size(); ++id) {
      const Graph::Node& node = graph_.node(id);
      const DrawnNode& when = times_[id];
      if (node.computes) {
        if (node.amount == 0) continue;  // a helper that holds others together
        draw_bar("work", "", node.rank, when, 10,
                 fmt::format("computation {} at rank {}, {}", id, node.rank,
                             format_time(ps(node.amount))));
        continue;
      }
      const std::string paint = colour(message++, graph_.messages());
      const std::string what = fmt::format("message {}: {} to {}, {}, {} to {}", id, node.rank,
                                           graph_.receiver(id), format_size(bytes(node.amount)),
                                           short_time(when.start), short_time(when.done));
      if (node.amount > 0)
        draw_bar("", fmt::format(" fill=\"{}\"", paint), node.rank, when, 5, what);
      draw_arrow(id, paint, what);
    }
  }

  void draw_bar(std::string_view kind, std::string_view fill, Rank rank, const DrawnNode& when,
                int thickness, std::string_view what) {
    fmt::format_to(at_, "<path class=\"{}\"{} d=\"M{},{}H{}v{}H{}z\"><title>{}</title></path>\n",
                   kind, fill, x(when.start), y(rank) - thickness / 2, x(when.last_out), thickness,
                   x(when.start), what);
  }

  void draw_arrow(NodeId id, std::string_view paint, std::string_view what) {
    const DrawnNode& when = times_[id];
    const int from = y(graph_.sender(id));
    const int to = y(graph_.receiver(id));
    const int head = to > from ? -7 : 7;
    fmt::format_to(at_,
                   "<path class=\"arrow{}\" stroke=\"{}\" d=\"M{},{}L{},{}m-3,{}l3,{}l3,{}\">"
                   "<title>{}</title></path>\n",
                   graph_.node(id).amount == 0 ? " word" : "", paint, x(when.start), from,
                   x(when.done), to, head, -head, head, what);
  }

  const Graph& graph_;
  const DrawParams& params_;
  const std::vector<DrawnNode>& times_;
  Picoseconds end_{0};
  int height_ = 0;
  std::string svg_;
  std::back_insert_iterator<std::string> at_{svg_};
};

}  // namespace

Result<std::vector<DrawnNode>, TextError> model_schedule(const Graph& graph,
                                                         const DrawParams& params) {
  if (params.rate < mbps(1)) {
    return TextError{0, fmt::format("the rate is {} b/s. it is at least 1 Mb/s, such as 400 Gb/s",
                                    params.rate.count())};
  }
  if (params.latency < ps(0) || params.latency > seconds(1)) {
    return TextError{0, fmt::format("the latency is {} ps. it is from 0 to 1 s, such as 1 us",
                                    params.latency.count())};
  }
  std::vector<DrawnNode> times(graph.size());
  std::vector<Picoseconds> link_free(graph.ranks());
  std::vector<std::uint32_t> left = graph.waits();

  enum class What : std::uint8_t { ready, time_has_come, sent, received };
  using Happening = std::tuple<std::int64_t, NodeId, What>;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> queue;
  for (Rank r = 0; r < graph.ranks(); ++r) {
    for (const NodeId id : graph.roots(r)) queue.emplace(0, id, What::ready);
  }
  for (const Graph::Timed& timed : graph.timed())
    queue.emplace(timed.time.count(), timed.node, What::time_has_come);
  const auto tell = [&](std::int64_t now, NodeId id, Moment moment) {
    for (const NodeId next : graph.after(moment, id)) {
      if (--left[next] == 0) queue.emplace(now, next, What::ready);
    }
  };
  while (!queue.empty()) {
    const auto [now, id, what] = queue.top();
    queue.pop();
    const Graph::Node& node = graph.node(id);
    DrawnNode& drawn = times[id];
    // Whatever is added to a time below is at most half a day more than this.
    if (ps(now) > kLongest || (node.computes && ps(node.amount) > kLongest))
      return TextError{0, "the schedule lasts longer than a day. draw a part of it"};
    switch (what) {
      case What::time_has_come:
        if (--left[id] == 0) queue.emplace(now, id, What::ready);
        break;
      case What::ready:
        if (node.computes) {
          drawn = {ps(now), ps(now + node.amount), ps(now + node.amount)};
          queue.emplace(drawn.done.count(), id, What::sent);
        } else {
          drawn.start = std::max(ps(now), link_free[node.rank]);
          drawn.last_out = drawn.start + bytes(node.amount) / params.rate;
          drawn.done = drawn.last_out + params.latency;
          if (drawn.done > kLongest)
            return TextError{0, "the schedule lasts longer than a day. draw a part of it"};
          link_free[node.rank] = drawn.last_out;
          queue.emplace(drawn.done.count(), id, What::received);
          queue.emplace((drawn.done + params.latency).count(), id, What::sent);
        }
        tell(now, id, Moment::started);
        break;
      case What::sent:
        tell(now, id, Moment::sent);
        break;
      case What::received:
        tell(now, id, Moment::received);
        break;
    }
  }
  return times;
}

Result<Drawing, TextError> draw_schedule(const Graph& graph, const DrawParams& params) {
  if (graph.ranks() > kMostDrawnRanks || graph.size() > kMostDrawnNodes) {
    return TextError{0, fmt::format("{} ranks and {} messages and computations. a drawing has at "
                                    "most {} and {}: fewer ranks, or larger chunks",
                                    graph.ranks(), graph.size(), kMostDrawnRanks, kMostDrawnNodes)};
  }
  const auto times = model_schedule(graph, params);
  if (!times) return times.error();
  return Drawing{Picture(graph, params, times.value()).draw()};
}

}  // namespace strack::workload
