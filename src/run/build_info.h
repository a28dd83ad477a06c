// Which program this is; every result file says so.
#pragma once

namespace strack::run {

struct BuildInfo {
  const char* version;
  const char* commit;  ///< "" where git knows nothing; "+" at its end: and changes on top
  /// Of the sources that decide a run's results. Runs of equal fingerprints can stand for each
  /// other, whatever was changed in reports, tests or documents.
  const char* source;
};

extern const BuildInfo kBuildInfo;

}  // namespace strack::run
