// The receiver's part in folders that several transfers fill (transfer/receiver.h).
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "transfer/names.h"
#include "transfer/receiver_session.h"

namespace strack::transfer {

/// The last one that fills a folder finishes it: with permissions that forbid it, the others could not go on.
void Receiver::end_folder(const SessionPtr& session, const Entry& entry) {
  const PathKey key = path_key(entry.path);
  const auto found = folders_.find(key);
  if (found != folders_.end()) {
    found->second.sessions -= session->folders.erase(key);
    if (found->second.sessions > 0) {
      found->second.end = std::make_unique<Entry>(entry);
      return done(session, entry, {});
    }
    folders_.erase(found);
  }
  auto verdict = std::make_shared<Verdict>();
  worker_.run([store = store_, entry, verdict] { *verdict = store->finish_folder(entry); },
              [this, alive = alive_, session, entry, verdict] {
                if (*alive) done(session, entry, *verdict);
              });
}

void Receiver::forget_folder(const SessionPtr& session, const PathKey& key) {
  const auto found = folders_.find(key);
  if (session->folders.erase(key) == 0 || found == folders_.end()) return;
  if (--found->second.sessions == 0) folders_.erase(found);
}

/// The transfer is over: what others have left to it to finish is finished.
void Receiver::leave_folders(const SessionPtr& session) {
  std::vector<Entry> ends;
  for (const PathKey& key : session->folders) {
    const auto found = folders_.find(key);
    if (--found->second.sessions > 0) continue;
    if (found->second.end) ends.push_back(std::move(*found->second.end));
    folders_.erase(found);
  }
  session->folders.clear();
  if (ends.empty()) return;
  // What is in a folder first: afterwards it may not be reached.
  std::sort(ends.begin(), ends.end(),
            [](const Entry& a, const Entry& b) { return a.path > b.path; });
  auto problems = std::make_shared<std::vector<std::string>>();
  worker_.run(
      [store = store_, ends, problems] {
        for (const Entry& one : ends) {
          const Verdict verdict = store->finish_folder(one);
          if (verdict.outcome > Outcome::there)
            problems->push_back(fmt::format("{}: {}", printable(one.path), verdict.text));
        }
        store->tidy();
      },
      [this, alive = alive_, problems, peer = session->summary.peer] {
        if (!*alive || !events_.noted) return;
        for (const std::string& problem : *problems) events_.noted(peer, problem);
      });
}

}  // namespace strack::transfer
