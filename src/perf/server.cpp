#include "perf/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace strack::perf {

using udp::Completion;
using udp::Kind;
using udp::Status;

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One client's connection.
struct Server::Session {
  udp::ConnectionId id{};
  std::string peer;
  Pattern pattern = Pattern::stream;
  std::uint64_t size = 0;
  bool spoke =
      false;  ///< or was refused. Whoever tries several addresses leaves all but one unused
  bool running = false;
  bool reported = false;
  std::array<WordsBuffer, 2> in{};
  Said said;
  std::optional<udp::RegionKey> region;
  Direction direction = Direction::client;
  double cpu_before = 0;   ///< seconds that the program had used
  bool finishing = false;  ///< no more of that
  bool tells_paths = false;
  std::uint64_t count = 0;  ///< of messages to send; 0: until it is to finish
  std::uint64_t depth = 0;  ///< under way at a time
  std::uint64_t count_started = 0;
  std::uint64_t under_way = 0;
  std::uint64_t words_bytes = 0;  ///< of what it has said, which is no data
  std::uint64_t owed = 0;         ///< answers of a pingpong that found no room
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sent_messages = 0;
  std::uint64_t sent_bytes = 0;
  std::uint64_t packets = 0;  ///< of data that had come when it was last looked at
  Clock::time_point heard{};
  Clock::time_point began{};
  Clock::time_point last{};
  udp::ConnectionStatistics statistics;

  [[nodiscard]] bool sends() const { return direction != Direction::client; }
};

void Server::prepare(udp::EndpointOptions& options) {
  static constexpr std::uint32_t kMost = Limits{}.most;
  options.max_connections = 2 * kMost;
  options.max_connections_per_source = kMostOfOneSource;
  static_assert(kMostOfOneSource <= kMost / 4 * 3);
  options.message_slots = kMaxDepth;
  // So that no connection takes what another one needs.
  options.max_receives = kMost * (kMaxDepth + 2);
  options.answers_first = true;  // [D139]
}

void Server::look_for_silence(Clock::time_point now) {
  if (now - looked_at_ < limits_.patience / 8) return;
  looked_at_ = now;
  std::vector<std::pair<std::shared_ptr<Session>, const char*>> gone;
  for (const auto& [id, session] : sessions_) {
    // Packets, since writes are not told and a long message takes its time.
    if (const auto found = endpoint_.statistics(session->id);
        found && found.value().data_packets_received != session->packets) {
      session->packets = found.value().data_packets_received;
      session->heard = now;
      guests_.heard(id, now);
    }
    if (!session->running && now - session->began > limits_.patience) {
      gone.emplace_back(session, "it asked for nothing");
    } else if (session->reported ? now - session->last > limits_.patience
                                 : now - session->heard > limits_.silence) {
      gone.emplace_back(session, "nothing came from it for too long");
    }
  }
  for (const auto& [session, why] : gone) end_rudely(*session, why);
}

void Server::on(const Completion& completion, Clock::time_point now) {
  if (completion.kind == Kind::accepted) return on_accepted(completion, now);
  const auto found = sessions_.find(static_cast<std::uint64_t>(completion.connection));
  if (found == sessions_.end()) return;
  Session& session = *found->second;
  switch (completion.kind) {
    case Kind::received:
      if (completion.status != Status::ok) break;
      if (completion.tag == kDataTag) {
        on_data(session, completion, now);
      } else {
        on_words(session, completion.cookie, completion.length, now);
      }
      break;
    case Kind::sent:
      if (completion.tag == kControlTag) {
        session.said.forget(completion.cookie);
      } else if (session.sends() && completion.status == Status::ok) {
        on_sent(session, now);
      } else if (completion.tag == kDataTag) {
        pay(session);
      }
      break;
    case Kind::peer_closed:
      endpoint_.close(session.id);
      break;
    case Kind::closed:
      end(session, {});
      break;
    case Kind::failed:
      end(session, std::string(udp::text(completion.status)));
      break;
    default:
      break;
  }
}

void Server::on_accepted(const Completion& completion, Clock::time_point now) {
  auto session = std::make_shared<Session>();
  session->id = completion.connection;
  session->peer = endpoint_.peer_address(completion.connection);
  session->began = session->heard = now;
  for (std::size_t i = 0; i < session->in.size(); ++i) post_words(*session, i);
  Session& kept = *session;
  sessions_.emplace(static_cast<std::uint64_t>(completion.connection), std::move(session));
  if (completion.tag != kService) {
    kept.spoke = true;
    return end_rudely(kept, "it is not `strack perf client`");
  }
  const auto leaves =
      guests_.enter(static_cast<std::uint64_t>(kept.id), transfer::source_of(kept.peer), now);
  if (!leaves) return;
  const std::shared_ptr<Session> other = sessions_.at(*leaves);
  end_rudely(*other, "it had to make room for others");
}

void Server::post_words(Session& session, std::size_t index) {
  // Fails only where the connection has ended, which comes as a completion of its own.
  [[maybe_unused]] const Status posted = endpoint_.post_receive(
      session.id, udp::Match::exactly(kControlTag), session.in[index], index);
}
Status Server::post_data(Session& session) {
  // All receives share the memory: nobody reads what comes.
  return endpoint_.post_receive(session.id, udp::Match::exactly(kDataTag),
                                arena_.first(std::max<std::uint64_t>(session.size, 1)), 0);
}
void Server::say(Session& session, const Words& words) {
  const auto [cookie, bytes] = session.said.add(words);
  // Fails where the connection has ended, or a client that breaks the rules takes no answers.
  if (endpoint_.send(session.id, kControlTag, bytes, cookie) != Status::ok)
    session.said.forget(cookie);
}

void Server::on_words(Session& session, std::uint64_t index, std::uint64_t length,
                      Clock::time_point now) {
  const auto words = decode(std::span(session.in[index]).first(length));
  session.spoke = true;
  session.words_bytes += length;
  post_words(session, index);
  if (!words) return end_rudely(session, "it sent a message that cannot be understood");
  if (words->type == Say::request && !session.running) return begin(session, *words, now);
  if (words->type == Say::go && session.sends() && session.count_started == 0 &&
      !session.finishing) {
    if (words->numbers[0] == 1 && tell_paths_ < kMostTellPaths && !session.tells_paths &&
        endpoint_.keep_path_statistics(session.id)) {
      ++tell_paths_;
      session.tells_paths = true;
    }
    return send_on(session);
  }
  if (words->type == Say::finish && session.running && !session.reported && !session.finishing) {
    session.finishing = true;
    if (session.under_way == 0) report(session, now);
    return;
  }
  end_rudely(session, "it broke the rules of the test");
}

void Server::report(Session& session, Clock::time_point now) {
  session.reported = true;
  session.last = now;
  if (const auto statistics = endpoint_.statistics(session.id))
    session.statistics = statistics.value();
  if (session.tells_paths) {
    for (const udp::PathStatistics& one : endpoint_.path_statistics(session.id))
      say(session, path_words(one));
  }
  say(session, {Say::effort,
                0,
                {session.sent_messages, session.sent_bytes,
                 static_cast<std::uint64_t>((cpu_seconds() - session.cpu_before) * 1e6),
                 endpoint_.threads()}});
  say(session, {Say::report,
                0,
                {session.messages, session.bytes, session.statistics.marks_received,
                 session.statistics.duplicates_received}});
}

/// As many as may be under way.
void Server::send_on(Session& session) {
  while (!session.finishing && session.under_way < session.depth &&
         (session.count == 0 || session.count_started < session.count) &&
         endpoint_.send(session.id, kDataTag, arena_.first(session.size), kDataTag) == Status::ok) {
    ++session.under_way;
    ++session.count_started;
  }
}

void Server::on_sent(Session& session, Clock::time_point now) {
  --session.under_way;
  ++session.sent_messages;
  session.sent_bytes += session.size;
  session.last = session.heard = now;
  guests_.heard(static_cast<std::uint64_t>(session.id), now);
  if (session.finishing && session.under_way == 0 && !session.reported) return report(session, now);
  send_on(session);
}

void Server::begin(Session& session, const Words& request, Clock::time_point now) {
  const std::uint64_t depth = request.numbers[1];
  if (request.code < 1 || request.code > 3 || request.numbers[0] > kMaxSize || depth < 1 ||
      depth > kMaxDepth || request.numbers[2] > 2 ||
      (request.numbers[2] > 0 && request.code != static_cast<std::uint8_t>(Pattern::stream))) {
    say(session, {Say::refuse, 0, {kMaxSize, kMaxDepth, 0, 0}});
    return;
  }
  session.pattern = static_cast<Pattern>(request.code);
  session.size = request.numbers[0];
  session.running = true;
  session.began = now;
  session.direction = static_cast<Direction>(request.numbers[2]);
  session.cpu_before = cpu_seconds();
  session.depth = depth;
  session.count = request.numbers[3];
  std::uint64_t region = 0;
  if (session.direction == Direction::server) {
    // Sends when it is told to.
  } else if (session.pattern == Pattern::write) {
    const auto key = endpoint_.register_region(
        arena_.first(std::max<std::uint64_t>(session.size, 1)), session.id);
    if (!key) return end_rudely(session, key.error().text);
    session.region = key.value();
    region = key.value().id;
  } else {
    for (std::uint64_t i = 0; i < depth; ++i) {
      if (post_data(session) != Status::ok)
        return end_rudely(session,
                          "with the others', more messages at a time than there is room for");
    }
  }
  say(session, {Say::ready, 0, {region, 0, 0, 0}});
}

void Server::on_data(Session& session, const Completion& completion, Clock::time_point now) {
  ++session.messages;
  session.bytes += completion.length;
  session.last = now;
  // The one that completed has made room; if the connection has ended, that is told by itself.
  [[maybe_unused]] const Status posted = post_data(session);
  if (session.pattern != Pattern::pingpong) return;
  ++session.owed;
  pay(session);
}

void Server::pay(Session& session) {
  while (session.owed > 0 &&
         endpoint_.send(session.id, kDataTag, arena_.first(session.size), kDataTag) == Status::ok)
    --session.owed;
}

void Server::end_rudely(Session& session, const std::string& why) {
  endpoint_.abort(session.id);
  end(session, why);
}

void Server::end(Session& session, const std::string& problem) {
  if (session.region) endpoint_.unregister_region(*session.region);
  guests_.leave(static_cast<std::uint64_t>(session.id));
  if (session.tells_paths) --tell_paths_;
  if (!session.spoke) {
    sessions_.erase(static_cast<std::uint64_t>(session.id));
    return;
  }
  ServerResult result;
  // A client that has its report may leave as it likes.
  result.ok = session.reported;
  result.tested = session.running;
  result.peer = session.peer;
  result.pattern = session.pattern;
  result.direction = session.direction;
  result.sent_bytes = session.sent_bytes;
  result.size = session.size;
  result.messages = session.messages;
  result.bytes = session.pattern == Pattern::write
                     ? session.statistics.message_bytes_received -
                           std::min(session.words_bytes, session.statistics.message_bytes_received)
                 : session.direction == Direction::server ? session.sent_bytes
                                                          : session.bytes;
  if (session.direction == Direction::server) result.messages = session.sent_messages;
  // Nobody is told of single writes; all of a test are of one size.
  if (session.pattern == Pattern::write && session.size > 0)
    result.messages = result.bytes / session.size;
  result.seconds = std::chrono::duration<double>(session.last - session.began).count();
  result.marks_received = session.statistics.marks_received;
  result.duplicates_received = session.statistics.duplicates_received;
  if (!result.ok) result.problem = problem.empty() ? "it left before the end" : problem;
  if (ended_) ended_(result);
  sessions_.erase(static_cast<std::uint64_t>(session.id));
}

}  // namespace strack::perf
