#include "metrics/sqlite.h"

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

namespace strack::metrics {
namespace fs = std::filesystem;

FileError error_at(const fs::path& path, std::string_view what) {
  return {fmt::format("{}: {}", path.string(), what)};
}

namespace {

/// What somebody else has to end, as opposed to what is in the file.
bool is_passing(int rc, int system_error) {
  if (system_error != 0) return true;
  switch (rc & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_FULL:
    case SQLITE_READONLY:
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
    case SQLITE_PERM:
      return true;
    default:
      return false;
  }
}

FileError words_of(const fs::path& path, int rc, int system_error, const char* said) {
  if ((rc & 0xff) == SQLITE_FULL || system_error == ENOSPC) {
    return error_at(path, "the disk is full. free some space or choose another --out");
  }
  if (system_error == EDQUOT) {
    return error_at(path, "your disk quota is used up. free some space or choose another --out");
  }
  if (system_error == EFBIG) {
    return error_at(path,
                    "the file has reached the largest size allowed here. raise `ulimit -f`, or "
                    "record less");
  }
  switch (rc & 0xff) {
    case SQLITE_NOTADB:
      return error_at(path, "is not a result file of strack");
    case SQLITE_CORRUPT:
      return error_at(path, fmt::format("is damaged ({}). run the scenario again", said));
    case SQLITE_READONLY:
      return error_at(path, "it or its folder is read-only. choose another --out");
    case SQLITE_BUSY:
      return error_at(path, "another program keeps it locked. close that program and try again");
    default:
      break;
  }
  if (system_error != 0) return error_at(path, std::strerror(system_error));
  return error_at(path, said);
}

}  // namespace

FileError explain(const fs::path& path, int rc, int system_error, const char* said) {
  FileError error = words_of(path, rc, system_error, said);
  error.passing = is_passing(rc, system_error);
  return error;
}

bool Database::open(const fs::path& path, Access access, int patience_ms) {
  const int mode = access == Access::write ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY;
  const bool opened =
      sqlite3_open_v2(path.c_str(), &handle_, mode | SQLITE_OPEN_NOMUTEX, nullptr) == SQLITE_OK;
  sqlite3_extended_result_codes(handle_, 1);
  sqlite3_busy_timeout(handle_, patience_ms);
  return opened;
}

bool Database::open_in_memory() { return sqlite3_open(":memory:", &handle_) == SQLITE_OK; }

/// Why the system refused, where it did. SQLite forgets it when a commit fails; then it is what
/// the newest failed call left, if that can be the reason at all.
int Database::system_error() const {
  const int newest = errno;
  const int rc = sqlite3_errcode(handle_) & 0xff;
  if (rc != SQLITE_IOERR && rc != SQLITE_CANTOPEN) return 0;
  if (const int remembered = sqlite3_system_errno(handle_); remembered != 0) return remembered;
  for (const int possible : {EFBIG, ENOSPC, EDQUOT, EIO, EROFS, EACCES, EPERM}) {
    if (newest == possible) return newest;
  }
  return 0;
}

FileError Database::failure(const fs::path& path) const {
  const int reason = system_error();
  return explain(path, sqlite3_errcode(handle_), reason, sqlite3_errmsg(handle_));
}

bool Database::full() const {
  const int reason = system_error();
  return (sqlite3_errcode(handle_) & 0xff) == SQLITE_FULL || reason == ENOSPC || reason == EDQUOT ||
         reason == EFBIG;
}

}  // namespace strack::metrics
