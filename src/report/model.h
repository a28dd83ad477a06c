// What a report shows, as plain values; FORMAT.md describes the same objects as JSON.
//
// Whoever makes a report (run_report.h from any runs, src/paper from the paper's) fills a Report;
// to_json() and html() turn it into a page, csv.h into tables for other programs.
//
// Times are microseconds, sizes bytes, rates Gb/s. What is not known is kUnknown, which becomes
// null. Ids are made of [A-Za-z0-9_.-] and unique in a report: safe_id() makes one of any text.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace strack::report {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A stretch of time in which something was broken, to be seen behind whatever is drawn over time.
struct TimeSpan {
  double from = 0;
  double until = kUnknown;  ///< unknown: it was never mended
  std::string label;        ///< "spine 3 down"

  friend bool operator==(const TimeSpan&, const TimeSpan&) = default;
};

/// What every figure has.
struct FigureHead {
  std::string id;
  std::string title;
  std::string caption;  ///< what to see, one or two sentences; also for screen readers
  std::vector<std::string> notices;
  std::vector<TimeSpan> spans = {};  ///< of figures over time
};

struct Axis {
  std::string label;
  std::string unit;              ///< us, B, Gbps, share, count, x or nothing
  std::string scale = "linear";  ///< linear, log or category
  /// With the scale `category`: what the x of points, whole numbers from 0, stand for.
  std::vector<std::string> categories;
};

/// A line across a figure.
struct Mark {
  std::string axis = "y";
  double at = 0;
  std::string label;
};

struct Point {
  double x = 0;
  double y = 0;
  double low = kUnknown;  ///< the spread over seeds, where there is one
  double high = kUnknown;
};

/// Whose a series is: its name, and its role, which gives the colour: a scheme's own
/// (transports/descriptor.h), ideal, paper or other.
struct Label {
  std::string name;
  std::string role = "other";

  friend bool operator==(const Label&, const Label&) = default;
};

struct Series {
  Label label;
  std::string draw = "line";  ///< line, step or points
  bool dashed = false;
  std::vector<Point> points;
};

struct XyFigure : FigureHead {
  Axis x;
  Axis y;
  std::vector<Series> series;
  std::vector<Mark> marks;
};

/// Of as many values as the figure has categories. `low` and `high` are as long, or empty.
struct BarSeries {
  Label label;
  std::vector<double> values;
  std::vector<double> low;
  std::vector<double> high;
};

struct BarsFigure : FigureHead {
  std::vector<std::string> categories;
  bool horizontal = false;  ///< categories from top to bottom, for many or long names
  Axis y;
  std::vector<BarSeries> series;
  std::vector<Mark> marks;
};

/// One quantity of all links in one direction. A value is byte / 255 x max.
struct FabricLayer {
  std::string id;  ///< up-use, up-queue, down-use, down-queue
  std::string label;
  std::string unit;  ///< share or us
  double max = 1;
  std::vector<std::uint8_t> data;  ///< frames x tors x spines, row by row, frame by frame
};

/// One run's replay.
struct FabricVariant {
  std::string name;
  std::uint32_t tors = 0;
  std::uint32_t spines = 0;
  std::vector<double> times;  ///< end of each frame
  std::vector<FabricLayer> layers;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> down;  ///< links that are: tor, spine
};

struct FabricFigure : FigureHead {
  std::vector<FabricVariant> variants;
};

/// Columns of equal length, or empty where nothing was recorded.
struct FlowColumns {
  std::vector<double> t;
  std::vector<double> cwnd;
  std::vector<double> rtt;
  std::vector<double> qdelay;
  std::vector<double> gbps;
  std::vector<double> ecn;
  std::vector<double> rate;
};

/// Columns of equal length.
struct FlowEvents {
  std::vector<double> t;
  std::vector<std::uint32_t> kind;  ///< index into InspectedFlow::kinds
  std::vector<double> path;
  std::vector<double> psn;  ///< relative to the first
  std::vector<double> rtt;
  std::vector<double> ecn;
  std::vector<double> cwnd;
};

struct InspectedFlow {
  Label label;
  FlowColumns samples;
  std::optional<FlowEvents> events;
  std::vector<std::string> kinds;
  double base_rtt = kUnknown;
  double target = kUnknown;
  bool truncated = false;  ///< there were more events
};

struct FlowFigure : FigureHead {
  std::vector<InspectedFlow> flows;
};

/// A number where a row and a column meet. Without one it may have a text: why there is none.
struct HeatCell {
  double value = kUnknown;
  std::string text;  ///< in the cell, a few characters
  std::string note;  ///< all there is to say, for who looks closer
};

/// A table to be taken in at a glance: the larger a value, the darker its cell.
struct HeatFigure : FigureHead {
  Axis value;
  double low = 0;  ///< the lightest colour, and the darkest
  double high = 1;
  std::string none;  ///< what it means that a cell has no value
  struct Row {
    std::string name;
    std::string note;  ///< a word or two beside it
  };
  std::vector<Row> rows;
  std::vector<std::string> columns;
  std::vector<std::pair<std::string, std::size_t>> groups;  ///< of columns: a name, and how many
  std::vector<std::vector<HeatCell>> cells;                 ///< by row
};

/// A switch or link that fails or works badly.
struct Trouble {
  bool down = false;  ///< else it works badly
  std::string
      from;  ///< a switch, as in "spine 3"; or a link's lower end; empty: links drawn at random
  std::string to;    ///< the link's upper end
  std::string text;  ///< "spine 3: down from 20 us to 60 us"
};

/// A switch of a network from a file.
struct DrawnSwitch {
  std::string name;
  std::uint32_t level = 0;
  std::uint32_t place = 0;  ///< in its level, from the left
  std::uint32_t hosts = 0;
};

/// All links between two switches of such a network, by their numbers among those drawn.
struct DrawnLink {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t count = 1;
  double gbps = 0;  ///< of each
};

/// The network, to be drawn: racks below spines, or pods below cores; or, where there are levels, a graph.
struct TopologyFigure : FigureHead {
  std::uint32_t hosts = 0;
  std::uint32_t hosts_per_rack = 1;
  std::uint32_t racks = 0;
  std::uint32_t pods = 0;           ///< with three tiers; else 0
  std::uint32_t uppers = 0;         ///< spines, or aggregation switches of a pod
  std::uint32_t cores_per_agg = 0;  ///< with three tiers
  std::uint32_t parallel = 1;       ///< links between a ToR and a spine
  double host_gbps = kUnknown;
  double fabric_gbps = kUnknown;
  double core_gbps = kUnknown;
  std::vector<std::uint32_t> levels;  ///< of a graph: how many switches each has, drawn or not
  bool ring = false;                  ///< of a graph: levels say nothing of it
  std::vector<DrawnSwitch> switches;  ///< by level and place; of many not all
  std::vector<DrawnLink> links;
  std::string rates;  ///< of a graph, in words
  std::vector<Trouble> troubles;
};

using Figure =
    std::variant<XyFigure, BarsFigure, FabricFigure, FlowFigure, HeatFigure, TopologyFigure>;
[[nodiscard]] const FigureHead& head_of(const Figure& figure);
[[nodiscard]] FigureHead& head_of(Figure& figure);

/// A figure alone, as a picture: all are as wide, and only bars that lie and heat maps are not as high.
inline constexpr std::uint32_t kPictureWidth = 960;
[[nodiscard]] std::uint32_t picture_height(const Figure& figure);

/// A cell of a table: text, a number, or nothing.
struct Cell {
  std::variant<std::monostate, double, std::string> value;

  Cell() = default;
  Cell(double number) : value(number) {}
  Cell(int number) : value(static_cast<double>(number)) {}
  Cell(std::int64_t number) : value(static_cast<double>(number)) {}
  Cell(std::uint64_t number) : value(static_cast<double>(number)) {}
  Cell(std::string text) : value(std::move(text)) {}
  Cell(std::string_view text) : value(std::string(text)) {}
  Cell(const char* text) : value(std::string(text)) {}
};

struct Column {
  std::string name;
  std::string align = "right";  ///< left or right
};

struct Table {
  std::string id;
  std::string title;
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// One sentence of a claim, measured.
struct Check {
  std::string says;
  std::string paper;
  std::string ours;
  std::string spread;
  std::string verdict;  ///< reproduced, partly, not, open
  std::string rule;
};

struct Section {
  std::string id;
  std::string title;
  std::string group;
  std::optional<std::string> verdict;  ///< reproduced, partly, not, open
  std::optional<std::string> claim;
  std::optional<std::string> scale;
  std::vector<Check> checks;
  std::vector<std::string> explanation;
  std::vector<Figure> figures;
  std::vector<Table> tables;
  /// What was simulated, in words; and the settings that are not the defaults.
  std::vector<std::string> scenario = {};
  std::optional<Table> settings = {};
  /// Sections that follow each other and have the same are alternatives: the reader chooses one.
  std::string choice = {};
};

/// A run's line in the table at the end.
struct Run {
  std::string file;
  std::string name;
  std::string scheme;
  std::uint64_t seed = 0;
  std::string status;
  bool partial = false;
  std::uint32_t hosts = 0;
  std::string what;
  std::string version;
  double max_us = kUnknown;
  double mean_us = kUnknown;
  double p99_us = kUnknown;
  double ideal_us = kUnknown;
  double slowdown = kUnknown;
  double drops = kUnknown;
  double marks = kUnknown;
  double retransmissions = kUnknown;
  double pause_frames = kUnknown;
  double cpu_s = kUnknown;
  std::string hash;
  std::uint64_t flows_finished = 0;  ///< these four are in tables for programs only
  std::uint64_t flows_unfinished = 0;
  std::uint64_t jobs_finished = 0;
  std::uint64_t jobs_unfinished = 0;
};

struct Notice {
  std::string level = "warning";  ///< info or warning
  std::string text;
};

struct Made {
  std::string version;
  std::string commit;
  std::string at;  ///< UTC, ISO 8601
  std::string command;
};

struct Report {
  std::string title;
  std::vector<std::string> lead;  ///< paragraphs; `code` is the only markup
  Made made;
  std::vector<Notice> notices;
  std::vector<Section> sections;
  std::vector<Run> runs;
};

/// The object of FORMAT.md in one line, fit to stand in a <script>: `<` is written as \u003c, what
/// is not UTF-8 as U+FFFD, what is not a finite number as null.
[[nodiscard]] std::string to_json(const Report& report);

/// The page: the template with the report's data and title in it, and who made it.
[[nodiscard]] std::string html(const Report& report, std::string_view page_template);

/// The template that is compiled into the program; built from src/report/web.
[[nodiscard]] std::string_view page_template();

/// Whether a text is the beginning of a page that html() has made.
[[nodiscard]] bool is_our_page(std::string_view beginning);

/// An id, or a file name, made of any text.
[[nodiscard]] std::string safe_id(std::string_view text);

}  // namespace strack::report
