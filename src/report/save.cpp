#include "report/save.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "base/process.h"
#include "report/csv.h"

extern char** environ;

namespace strack::report {
namespace fs = std::filesystem;
namespace {

FileError error_at(const fs::path& path, std::string_view what) {
  return {fmt::format("{}: {}", path.string(), what)};
}

/// What the system said, for somebody who wants to know what to do.
FileError explain(const fs::path& path, int error) {
  switch (error) {
    case ENOSPC:
      return error_at(path, "the disk is full. free some space or choose another place");
    case EDQUOT:
      return error_at(path, "your disk quota is used up. free some space or choose another place");
    case EFBIG:
      return error_at(path,
                      "the file has reached the largest size allowed here. raise `ulimit -f`");
    case EACCES:
    case EPERM:
    case EROFS:
      return error_at(path, fmt::format("cannot be written here ({}). choose another place",
                                        std::strerror(error)));
    default:
      return error_at(path, std::strerror(error));
  }
}

/// A page's beginning; empty where it cannot be read.
std::string beginning_of(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return "";
  std::string text(4'096, '\0');
  const ssize_t got = ::read(fd, text.data(), text.size());
  ::close(fd);
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return text;
}

std::optional<FileError> make_folder(const fs::path& folder) {
  if (folder.empty()) return std::nullopt;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error && !fs::is_directory(folder)) {
    return error_at(folder, fmt::format("this folder cannot be made ({})", error.message()));
  }
  if (!fs::is_directory(folder)) return error_at(folder, "is a file, and a folder is needed here");
  return std::nullopt;
}

}  // namespace

std::optional<FileError> check_page_path(const fs::path& path, const SaveOptions& options) {
  struct stat facts {};
  if (stat(path.c_str(), &facts) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) return std::nullopt;
    return explain(path, errno);
  }
  if (S_ISDIR(facts.st_mode)) return error_at(path, "is a folder. name a file in it");
  if (!S_ISREG(facts.st_mode)) return error_at(path, "is not a plain file. choose another name");
  if (options.force || facts.st_size == 0 || is_our_page(beginning_of(path))) return std::nullopt;
  return error_at(path,
                  "exists already, and is not a report. choose another --out, or --force to "
                  "replace it");
}

std::optional<FileError> write_file(const fs::path& path, const std::string& text) {
  if (auto error = make_folder(path.parent_path())) return error;
  // In the same folder, so that the move is one step; hidden, so that no pattern finds it.
  fs::path temporary = path;
  temporary.replace_filename(
      fmt::format(".{}.{}.part", path.filename().string(), static_cast<long>(getpid())));
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) return explain(path, errno);
  int failed = 0;
  for (std::size_t at = 0; at < text.size() && failed == 0;) {
    const ssize_t written = ::write(fd, text.data() + at, text.size() - at);
    if (written > 0) {
      at += static_cast<std::size_t>(written);
    } else if (written == 0) {
      failed = ENOSPC;
    } else if (errno != EINTR) {
      failed = errno;
    }
  }
  // Some file systems say only now that there was no room.
  if (failed == 0 && fsync(fd) != 0 && errno != EINVAL) failed = errno;
  if (::close(fd) != 0 && failed == 0) failed = errno;
  if (failed == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) failed = errno;
  if (failed == 0) return std::nullopt;
  ::unlink(temporary.c_str());
  return explain(path, failed);
}

std::optional<FileError> save_page(const Report& report, const fs::path& path,
                                   const SaveOptions& options) {
  if (auto error = check_page_path(path, options)) return error;
  return write_file(path, html(report, page_template()));
}

Result<std::size_t, FileError> save_csv(const Report& report, const fs::path& folder) {
  if (auto error = make_folder(folder)) return *error;
  std::size_t count = 0;
  const auto save = [&](const std::string& id, const std::string& text) {
    ++count;
    return write_file(folder / (safe_id(id) + ".csv"), text);
  };
  for (const Section& section : report.sections) {
    for (const Figure& figure : section.figures) {
      if (auto error = save(head_of(figure).id, csv(figure))) return *error;
    }
    for (const Table& table : section.tables) {
      if (auto error = save(table.id, csv(table))) return *error;
    }
  }
  if (auto error = save("runs", csv(report.runs))) return *error;
  return count;
}

// --- Pictures ------------------------------------------------------------------------------------

namespace {

constexpr const char* kHowToGetIt =
    "--png needs Chromium, which draws the pictures. on Debian: apt-get install chromium; a "
    "browser "
    "elsewhere is named by the environment variable CHROMIUM";

/// A folder of our own that is gone afterwards, with whatever is in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code ignored;
    std::string name = (fs::temp_directory_path(ignored) / "strack-png-XXXXXX").string();
    if (mkdtemp(name.data()) != nullptr) path_ = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code ignored;
    // A browser that is going may still write; a second look finds what it left.
    for (int i = 0; i < 20 && !path_.empty() && fs::exists(path_, ignored); ++i) {
      if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));
      fs::remove_all(path_, ignored);
    }
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

/// file:///folder/page.html, whatever is in its name.
std::string file_url(const fs::path& path) {
  std::string url = "file://";
  for (const char c : path.string()) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '/' || c == '-' || c == '_' || c == '.' || c == '~';
    url += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return url;
}

/// Runs a program without a shell and waits; its exit status, or nothing after the time is up. Then
/// it and what it has started are gone: they are a process group of their own.
Result<int, FileError> run_program(const fs::path& program, const std::vector<std::string>& words,
                                   const fs::path& output, std::chrono::seconds limit,
                                   const std::atomic<bool>* stop) {
  const int log = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (log < 0) return error_at(output, std::strerror(errno));
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  std::vector<std::string> all{program.string()};
  all.insert(all.end(), words.begin(), words.end());
  const pid_t child = start_process(program.string(), std::move(all),
                                    {.input = nothing, .output = log, .errors = log});
  const int reason = errno;
  close(log);
  close(nothing);
  if (child < 0) {
    return error_at(program, fmt::format("cannot be run: {}", std::strerror(reason)));
  }

  const auto until = std::chrono::steady_clock::now() + limit;
  bool timed_out = false;
  const auto stopped = [stop] { return stop != nullptr && stop->load(std::memory_order_relaxed); };
  while (true) {
    siginfo_t ended{};
    const int looked = waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOHANG | WNOWAIT);
    if (looked == 0 && ended.si_pid == child) break;
    timed_out = timed_out || std::chrono::steady_clock::now() > until;
    if (timed_out || stopped()) kill(-child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  // Its helpers, should any be left. It has not been waited for yet, so its number is still its own.
  kill(-child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (stopped()) return FileError{"interrupted before all pictures were drawn"};
  if (timed_out) {
    return error_at(program, fmt::format("did not draw a figure within {} s", limit.count()));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// The last line that says something.
std::string last_words(const fs::path& log) {
  std::string text = beginning_of(log);
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

/// The page says in its first element whether the figure is drawn, and if not, why.
std::optional<std::string> why_not_ready(const fs::path& log) {
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("<html")) continue;
    const std::string element = line.substr(0, line.find('>'));
    if (element.find(R"( data-ready="1")") != std::string::npos) return std::nullopt;
    constexpr std::string_view kError = R"( data-error=")";
    const std::size_t at = element.find(kError);
    if (at == std::string::npos) return "the page was not drawn in time";
    const std::size_t from = at + kError.size();
    std::string why = element.substr(from, element.find('"', from) - from);
    for (std::size_t quote = 0; (quote = why.find("&quot;", quote)) != std::string::npos;) {
      why.replace(quote, 6, "\"");
    }
    return why;
  }
  return "the browser did not show the page";
}

bool is_png(const fs::path& path) { return beginning_of(path).starts_with("\x89PNG\r\n\x1a\n"); }

}  // namespace

Result<fs::path, FileError> find_browser() {
  if (const char* named = std::getenv("CHROMIUM"); named != nullptr && *named != '\0') {
    if (const fs::path found = find_program(named); !found.empty()) return found;
    return FileError{fmt::format(
        "$CHROMIUM is {}, which is not a program. correct it, or unset it to use what PATH has",
        named)};
  }
  for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
    if (const fs::path found = find_program(name); !found.empty()) return found;
  }
  return FileError{kHowToGetIt};
}

Result<std::size_t, FileError> save_png(const Report& report, const fs::path& page,
                                        const fs::path& folder, const std::atomic<bool>* stop) {
  const auto browser = find_browser();
  if (!browser) return browser.error();
  if (auto error = make_folder(folder)) return *error;
  std::error_code error;
  const fs::path whole = fs::absolute(page, error);
  const TemporaryFolder temporary;
  if (temporary.path().empty()) {
    return FileError{fmt::format("no temporary folder can be made: {}", std::strerror(errno))};
  }
  const fs::path log = temporary.path() / "log";
  std::size_t count = 0;
  for (const Section& section : report.sections) {
    for (const Figure& figure : section.figures) {
      const std::string& id = head_of(figure).id;
      const fs::path picture = temporary.path() / "figure.png";
      fs::remove(picture, error);
      std::vector<std::string> words{
          "--headless=new",
          "--disable-gpu",
          "--disable-background-networking",
          "--no-first-run",
          "--no-default-browser-check",
          "--disable-sync",
          "--disable-component-update",
          "--disable-default-apps",
          "--disable-extensions",
          "--disable-quic",
          "--disable-dev-shm-usage",
          "--hide-scrollbars",
          "--force-device-scale-factor=2",
          fmt::format("--window-size={},{}", kPictureWidth, picture_height(figure)),
          "--virtual-time-budget=10000",
          "--dump-dom",  // with --screenshot, both are done
          "--user-data-dir=" + (temporary.path() / "profile").string(),
          "--screenshot=" + picture.string(),
      };
      // Its sandbox cannot be had by root.
      if (geteuid() == 0) words.emplace_back("--no-sandbox");
      words.push_back(file_url(whole) + "#export=" + id);
      const auto ended = run_program(browser.value(), words, log, std::chrono::seconds(60), stop);
      if (!ended) return ended.error();
      if (ended.value() != 0 || !is_png(picture)) {
        return error_at(browser.value(),
                        fmt::format("could not draw figure {}: {}", id, last_words(log)));
      }
      if (const auto why = why_not_ready(log)) {
        return error_at(page, fmt::format("there is no picture of figure {}: {}", id, *why));
      }
      std::string bytes;
      {
        const int fd = ::open(picture.c_str(), O_RDONLY | O_CLOEXEC);
        std::array<char, 65'536> part{};
        for (ssize_t got = 0; fd >= 0 && (got = ::read(fd, part.data(), part.size())) > 0;) {
          bytes.append(part.data(), static_cast<std::size_t>(got));
        }
        if (fd >= 0) ::close(fd);
      }
      if (auto unwritten = write_file(folder / (safe_id(id) + ".png"), bytes)) return *unwritten;
      ++count;
    }
  }
  return count;
}

}  // namespace strack::report
