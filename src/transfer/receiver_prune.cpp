// The receiver's part in removing what the source does not have (transfer/prune.h): as a sender asks, or after a fetch.
#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "transfer/names.h"
#include "transfer/receiver_session.h"

namespace strack::transfer {
namespace {

constexpr std::size_t kMostWaiting = 16'384;  ///< answers that a sender has not taken
constexpr std::size_t kNamesOfAMessage =
    200;  ///< of 255 bytes each at most: less than a control message may have

std::string parts_stay() { return fmt::format("what is called '{}' is not removed", kPartsFolder); }

}  // namespace

void Receiver::handle(const SessionPtr& session, const List& list) {
  if (session->state != Session::State::running || session->asked)
    return refuse(session, "a question out of place");
  session->questioned = true;
  if (session->outbox.waiting() > kMostWaiting || session->writing > kMostOpen)
    return refuse(session, "too many questions at a time");
  if (!limits_.may_remove) {
    session->outbox.send(
        Removed{list.number, "nothing is removed here: `strack recv` runs without --allow-delete"});
    return;
  }
  if (is_in_parts(list.path)) return session->outbox.send(Removed{list.number, parts_stay()});
  auto listing = std::make_shared<Store::Listing>();
  ++session->writing;
  worker_.run([store = store_, list, listing,
               most = limits_.most_names] { *listing = store->list(list.path, most); },
              [alive = alive_, session, list, listing] {
                --session->writing;
                if (!*alive || session->state != Session::State::running) return;
                if (!listing->problem.empty()) {
                  session->outbox.send(Removed{list.number, clean_text(listing->problem)});
                  return;
                }
                auto from = listing->names.begin();
                do {
                  const auto end = from + std::min<std::ptrdiff_t>(kNamesOfAMessage,
                                                                   listing->names.end() - from);
                  const bool last = end == listing->names.end();
                  session->outbox.send(Names{list.number, last, last ? listing->hidden : 0,
                                             std::vector<Names::Name>(from, end)});
                  from = end;
                } while (from != listing->names.end());
              });
}

void Receiver::handle(const SessionPtr& session, const Remove& remove) {
  if (session->state != Session::State::running || session->asked)
    return refuse(session, "a question out of place");
  if (session->outbox.waiting() > kMostWaiting || session->writing > kMostOpen)
    return refuse(session, "too many questions at a time");
  // Only below folders that this transfer fills.
  bool within = false;
  const std::string_view path = remove.path;
  for (std::size_t slash = path.find('/'); slash != std::string_view::npos && !within;
       slash = path.find('/', slash + 1))
    within = session->folders.count(path_key(path.substr(0, slash))) > 0;
  if (!limits_.may_remove || !within) return refuse(session, "it may not remove that");
  if (is_in_parts(remove.path)) return session->outbox.send(Removed{remove.number, parts_stay()});
  auto problem = std::make_shared<std::string>();
  ++session->writing;
  worker_.run(
      [store = store_, remove, problem] { *problem = store->remove(remove.path, remove.folder); },
      [alive = alive_, session, number = remove.number, problem] {
        --session->writing;
        if (!*alive || session->state != Session::State::running) return;
        if (problem->empty()) ++session->summary.removed;
        session->outbox.send(Removed{number, clean_text(*problem)});
      });
}

/// After a fetch: what is here and was not announced goes. Not if there is something that could not be, of which the name
/// is not known [D171]; files that changed meanwhile were announced.
void Receiver::prune(const SessionPtr& session) {
  if (!session->asked || !session->asked->prune) return;
  if (session->summary.partial)
    return note(session, "nothing is removed, since not everything could be read there");
  struct Told {
    std::vector<std::string> removed;
    std::vector<std::string> notes;
  };
  auto outcome = std::make_shared<Told>();
  Prune::Options options;
  options.exclude = session->asked->exclude;
  options.dry = session->asked->dry;
  options.removed = [outcome](const std::string& path) { outcome->removed.push_back(path); };
  options.noted = [outcome](const std::string& text) { outcome->notes.push_back(text); };
  worker_.run(
      [store = store_, came = std::move(session->came), options] {
        Prune prune(came, options);
        while (const auto message = prune.next()) {
          [[maybe_unused]] bool taken = false;
          if (const List* list = std::get_if<List>(&*message)) {
            Store::Listing listing = store->list(list->path, Prune::kMostNames);
            taken =
                listing.problem.empty()
                    ? prune.on(Names{list->number, true, listing.hidden, std::move(listing.names)})
                    : prune.on(Removed{list->number, listing.problem});
          } else {
            const Remove& remove = std::get<Remove>(*message);
            taken = prune.on(Removed{remove.number, store->remove(remove.path, remove.folder)});
          }
        }
      },
      [this, alive = alive_, session, outcome] {
        if (!*alive) return;
        session->summary.removed = outcome->removed.size();
        for (const std::string& text : outcome->notes) note(session, text);
        if (!session->asked->removed) return;
        for (const std::string& path : outcome->removed) session->asked->removed(path);
      });
}

}  // namespace strack::transfer
