// Peers that do not keep to the rules, played by an endpoint of ours without a provider on top; and what an Rdm
// bounds by itself.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/message.h"
#include "fabric/rdm.h"
#include "fabric/rdm_testing.h"
#include "fabric/testing.h"
#include "udp/endpoint.h"

namespace strack::fabric {
namespace {

struct HelloBytes {
  std::array<std::uint8_t, 16> ip{};
  std::uint16_t port = 0;
  std::uint16_t v6 = 0;
  std::uint32_t scope = 0;
};

std::vector<std::byte> message_of(const Header& header, const void* more = nullptr,
                                  std::size_t size = 0) {
  std::vector<std::byte> all(sizeof header + size);
  std::memcpy(all.data(), &header, sizeof header);
  if (size > 0) std::memcpy(all.data() + sizeof header, more, size);
  return all;
}

/// An Rdm and a stranger, connected; both move when `until` is called.
class Stranger : public ::testing::Test {
 protected:
  explicit Stranger(const udp::EndpointOptions& ours = endpoint_options(), Limits limits = {})
      : endpoint_(open(endpoint_options())) {
    udp::Endpoint opened = open(ours);
    udp::Address name = *udp::Address::parse(opened.local_address());
    rdm_ = std::make_unique<Rdm>(std::move(opened), name, host_, limits);
  }
  static udp::Endpoint open(const udp::EndpointOptions& options) {
    auto opened = udp::Endpoint::open(options);
    EXPECT_TRUE(opened);
    return std::move(opened.value());
  }
  /// As if from a port that is `off` away from its own.
  void connect(std::uint16_t off = 0, bool listens = true) {
    auto made = endpoint_.connect(rdm_->endpoint().local_address());
    ASSERT_TRUE(made);
    id_ = made.value();
    for (auto& buffer : buffers_) buffer.resize(sizeof(Header) + kEager);
    if (listens) take(buffers_.size());
    const HelloBytes hello{
        {127, 0, 0, 1}, static_cast<std::uint16_t>(endpoint_.local_port() + off), 0, 0};
    say({.type = Type::hello}, &hello, sizeof hello);
  }
  /// It takes nothing, and so acknowledges nothing, until `take`. Its endpoint holds one message: the answer to
  /// a first read.
  void connect_deaf() {
    udp::EndpointOptions options = endpoint_options();
    options.unexpected_messages = 1;
    endpoint_ = open(options);
    connect(0, false);
    const Segment one{0, 1, 9};
    say({.type = Type::read, .segments = 1, .length = 1, .tag = kOwnTag}, &one, sizeof one);
    EXPECT_TRUE(until([&] { return !host_.all.empty() && rdm_->idle(); }));
    host_.all.clear();
  }
  void take(std::size_t messages) {
    for (std::size_t i = 0; i < messages; ++i) {
      ASSERT_EQ(endpoint_.post_receive(id_, udp::Match::any(), buffers_[i % buffers_.size()], 1),
                udp::Status::ok);
    }
  }
  /// All that was said before has been dealt with, or waits for its turn.
  void let_it_look() {
    const auto before = told(Counted::remote_write);
    std::array<std::byte, sizeof(Segment) + 1> body{};
    const Segment last{host_.memory.size() - 1, 1, 9};
    std::memcpy(body.data(), &last, sizeof last);
    say({.type = Type::atomic, .segments = 1, .length = 1, .tag = kAddBytes}, body.data(),
        body.size());
    EXPECT_TRUE(until([&] { return told(Counted::remote_write) > before; }));
  }
  [[nodiscard]] std::ptrdiff_t told(Counted counted) const {
    return std::count_if(host_.all.begin(), host_.all.end(),
                         [counted](const Done& one) { return one.counted == counted; });
  }
  void say(const Header& header, const void* more = nullptr, std::size_t size = 0) {
    sent_.push_back(message_of(header, more, size));
    udp::Status status = endpoint_.send(id_, kWithHeader, sent_.back(), 7);
    for (int i = 0; i < 10'000 && status == udp::Status::would_block; ++i) {
      turn();
      status = endpoint_.send(id_, kWithHeader, sent_.back(), 7);
    }
    EXPECT_EQ(status, udp::Status::ok);
  }
  void turn() {
    rdm_->progress();
    endpoint_.poll();
    std::array<udp::Completion, 16> room;
    for (const udp::Completion& one : endpoint_.completions(room)) {
      if (one.kind == udp::Kind::failed) failed_ = true;
      if (one.kind == udp::Kind::received && one.status == udp::Status::ok)
        tags_.push_back(one.tag);
    }
  }
  /// Whether `done` came true within seconds.
  template <class Done>
  bool until(Done&& done) {
    for (const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
         std::chrono::steady_clock::now() < end;) {
      turn();
      if (done()) return true;
    }
    return false;
  }
  /// A read of one byte is answered: all that was said before has been dealt with.
  void catch_up() {
    const std::size_t before = count(kOwnTag);
    const Segment one{0, 1, 0};
    say({.type = Type::read, .segments = 1, .length = 1, .tag = kOwnTag}, &one, sizeof one);
    EXPECT_TRUE(until([&] { return count(kOwnTag) > before; }));
  }
  [[nodiscard]] std::size_t count(std::uint64_t tag) const {
    return static_cast<std::size_t>(std::count(tags_.begin(), tags_.end(), tag));
  }

  static constexpr std::uint64_t kOwnTag = 1'000'000;
  static constexpr std::uint64_t kAddBytes = std::uint64_t{FI_SUM} | std::uint64_t{FI_UINT8} << 8;
  static constexpr std::uint64_t kFetches = std::uint64_t{1} << 17;
  Told host_;
  std::unique_ptr<Rdm> rdm_;
  udp::Endpoint endpoint_;
  udp::ConnectionId id_{};
  std::array<std::vector<std::byte>, 40> buffers_;
  std::deque<std::vector<std::byte>> sent_;
  std::vector<std::uint64_t> tags_;  ///< of what the stranger received
  bool failed_ = false;
};

// Whoever says it is somebody else is shown out.
TEST_F(Stranger, AHelloFromAnotherAddressIsNotBelieved) {
  connect(1);
  EXPECT_TRUE(until([&] { return failed_; }));
}

// Another program that speaks the transport, or a provider that takes too little.
TEST_F(Stranger, WhoIsNoProviderIsShownOut) {
  for (const std::uint64_t data : {std::uint64_t{0}, greeting(kMostInjected - 1)}) {
    udp::EndpointOptions other = endpoint_options();
    other.user_data = data;
    endpoint_ = open(other);
    failed_ = false;
    auto made = endpoint_.connect(rdm_->endpoint().local_address());
    ASSERT_TRUE(made);
    EXPECT_TRUE(until([&] { return failed_; })) << data;
  }
}

// Lengths and segments that lie, in every kind of message: nothing happens, and the connection goes on.
TEST_F(Stranger, LengthsThatOverflowAreRefused) {
  connect();
  catch_up();
  const std::uint64_t most = ~std::uint64_t{0};
  const std::array<Segment, 4> four{
      Segment{most, 1, 0}, {1, most, 0}, {most - 8, 16, 0}, {0, most, 0}};
  for (const Type type : {Type::send, Type::offer, Type::fetch, Type::answer, Type::write,
                          Type::write_offer, Type::read, Type::atomic}) {
    for (const std::uint64_t length : {most, most - 31, std::uint64_t{1} << 32, std::uint64_t{5}}) {
      for (const unsigned count_of : {0u, 1u, 4u, 255u}) {
        const auto segments = static_cast<std::uint8_t>(count_of);
        say({.type = type, .segments = segments, .operation = 9, .length = length, .tag = 77},
            four.data(), sizeof four);
        say({.type = type, .segments = segments, .operation = 9, .length = length, .tag = 77});
      }
    }
    catch_up();
  }
  EXPECT_FALSE(failed_);
  EXPECT_EQ(count(77), 0u) << "no bytes were handed out";
  for (const Done& one : host_.all) EXPECT_EQ(one.counted, Counted::remote_read);
}

// An offer is fetched once, however often it is asked for, and its sender is told once.
TEST_F(Stranger, ASecondFetchGetsNothing) {
  connect();
  catch_up();
  host_.all.clear();
  std::vector<std::byte> large(kEager + 1);
  Request request;
  request.local = Pieces(large.data(), large.size());
  request.peer = rdm_->peer(*udp::Address::parse(endpoint_.local_address()));
  request.flags = FI_TAGGED;
  ASSERT_EQ(rdm_->send(request), 0);
  EXPECT_TRUE(until([&] { return count(kWithHeader) > 0; }));  // the offer, operation 1
  say({.type = Type::fetch, .operation = 1, .length = 100, .tag = 78});
  say({.type = Type::fetch, .operation = 1, .length = 100, .tag = 79});
  catch_up();
  EXPECT_EQ(count(78), 1u);
  EXPECT_EQ(count(79), 0u);
  const auto sends = [&] {
    return std::count_if(host_.all.begin(), host_.all.end(),
                         [](const Done& one) { return one.counted == Counted::send; });
  };
  EXPECT_TRUE(until([&] { return sends() > 0; }));
  catch_up();
  EXPECT_EQ(sends(), 1);
}

// [D94] Hundreds of reads at once are carried out 64 at a time, and all of them.
TEST_F(Stranger, ManyReadsWaitForTheirTurn) {
  connect_deaf();
  const std::array<Segment, 2> two{Segment{0, 10, 0}, {100, 10, 0}};
  for (int i = 0; i < 500; ++i)
    say({.type = Type::read, .segments = 2, .length = 20, .tag = 80}, two.data(), sizeof two);
  let_it_look();
  EXPECT_EQ(told(Counted::remote_read), 64);
  take(501);
  EXPECT_TRUE(until([&] { return count(80) == 500; }));
  EXPECT_EQ(told(Counted::remote_read), 500);
  EXPECT_FALSE(failed_);
}

// Fetching needs the right to read, changing the right to write.
TEST_F(Stranger, AtomicsNeedTheirRights) {
  connect();
  catch_up();
  const Segment first{0, 1, 0};
  std::array<std::byte, sizeof first + 1> body{};
  std::memcpy(body.data(), &first, sizeof first);
  body.back() = std::byte{3};
  const auto add = [&](std::uint64_t rights, bool fetches) {
    host_.rights = rights;
    const std::size_t answers = count(kWithHeader);
    say({.type = Type::atomic,
         .bits = bits::kWantsAnswer,
         .segments = 1,
         .length = 1,
         .tag = kAddBytes | (fetches ? kFetches : 0)},
        body.data(), body.size());
    EXPECT_TRUE(until([&] { return count(kWithHeader) > answers; }));
    return static_cast<int>(host_.memory[0]);
  };
  EXPECT_EQ(add(FI_REMOTE_READ, false), 0);
  EXPECT_EQ(add(FI_REMOTE_WRITE, false), 3);
  EXPECT_EQ(add(FI_REMOTE_WRITE, true), 3) << "to fetch is to read";
  EXPECT_EQ(add(FI_REMOTE_WRITE | FI_REMOTE_READ, true), 6);
}

// Memory that goes back to the user is left alone from then on: who was writing it loses its connection, and
// who wrote the same bytes as part of another region does not.
TEST_F(Stranger, AWriteUnderWayEndsWithItsRegion) {
  connect();
  catch_up();
  const std::array<Segment, 2> all{Segment{0, 100'000, 4}, {0, 0, 3}};
  say({.type = Type::write_offer,
       .bits = bits::kWantsAnswer,
       .segments = 2,
       .operation = 5,
       .length = 100'000},
      all.data(), sizeof all);
  EXPECT_TRUE(until([&] { return count(kWithHeader) > 0; }));  // it is fetched
  for (const std::uint64_t other : {0u, 3u}) rdm_->revoke(other);
  catch_up();
  EXPECT_FALSE(failed_) << "no byte of these is written";
  rdm_->revoke(4);
  EXPECT_TRUE(until([&] { return failed_; }));
}

// A peer that has what it read, and says so while the region is being closed, keeps its connection.
TEST_F(Stranger, AReadThatIsDoneOutlivesItsRegion) {
  connect();
  catch_up();
  const Segment some{0, 30'000, 4};
  host_.all.clear();
  say({.type = Type::read, .segments = 1, .length = some.length, .tag = 80}, &some, sizeof some);
  // The stranger does not look again once the answer may have left.
  for (int i = 0; i < 1'000'000 && told(Counted::remote_read) == 0; ++i) {
    endpoint_.poll();
    rdm_->progress();
  }
  ASSERT_EQ(told(Counted::remote_read), 1);
  std::atomic<bool> closed = false;
  std::thread peer([&] {
    while (!closed) endpoint_.poll();
  });
  rdm_->revoke(4);
  closed = true;
  peer.join();
  catch_up();
  EXPECT_EQ(count(80), 1u);
  EXPECT_FALSE(failed_);
}

// Nothing is changed by an atomic of unknown values, of half a value, of more than it may have, or with fewer operands
// than it says.
TEST_F(Stranger, AtomicsThatMakeNoSenseAreRefused) {
  connect();
  struct Wrong {
    std::uint64_t operation;
    std::uint64_t length;
    std::size_t operands;
  };
  constexpr auto of = [](fi_op op, fi_datatype type, bool compares = false) {
    return std::uint64_t{op} | std::uint64_t{type} << 8 | std::uint64_t{compares} << 16;
  };
  const std::uint64_t most = rdm_->limits().most_atomic();
  for (const Wrong& one :
       {Wrong{of(FI_BAND, FI_FLOAT), 4, 4}, Wrong{of(FI_SUM, FI_DATATYPE_LAST), 4, 4},
        Wrong{of(FI_SUM, FI_UINT32), 6, 6}, Wrong{kAddBytes, most + 1, most + 1},
        Wrong{kAddBytes, 8, 7}, Wrong{of(FI_CSWAP, FI_UINT8, true), 8, 15}}) {
    const Segment where{0, one.length, 9};
    std::vector<std::byte> body(sizeof where + one.operands, std::byte{1});
    std::memcpy(body.data(), &where, sizeof where);
    say({.type = Type::atomic, .segments = 1, .length = one.length, .tag = one.operation},
        body.data(), body.size());
  }
  catch_up();
  EXPECT_EQ(told(Counted::remote_write), 0);
  EXPECT_EQ(host_.memory, std::vector<std::byte>(host_.memory.size()));
  EXPECT_FALSE(failed_);
}

// A set-up that fails is told to an atomic that waits for it, once.
TEST_F(Stranger, AnAtomicLearnsThatItsPeerIsNone) {
  udp::EndpointOptions other = endpoint_options();
  other.user_data = 0;
  endpoint_ = open(other);
  std::vector<std::byte> values(4'096);
  Request request;
  request.local = Pieces(values.data(), values.size());
  request.remote.all[0] = {0, values.size(), 0};
  request.remote.count = 1;
  request.op = FI_SUM;
  request.peer = rdm_->peer(*udp::Address::parse(endpoint_.local_address()));
  int told = -FI_EAGAIN;
  EXPECT_TRUE(until([&] { return (told = rdm_->atomic(request)) != -FI_EAGAIN; }));
  EXPECT_EQ(told, -FI_ECANCELED);
  EXPECT_EQ(rdm_->atomic(request), -FI_EAGAIN) << "it is tried again";
}

// An atomic takes the values as they are once they are its own, and gives them back changed: what others did
// until then, and what they do afterwards, is not lost.
TEST_F(Stranger, AnAtomicFindsWhatOthersDidBefore) {
  connect();
  std::thread after;
  host_.meanwhile = [&] {
    host_.memory[0] = std::byte{100};
    after = std::thread([&] {  // waits until the atomic is over
      const std::lock_guard lock(host_.values);
      host_.memory[0] = static_cast<std::byte>(std::to_integer<int>(host_.memory[0]) + 20);
    });
  };
  std::array<std::byte, sizeof(Segment) + 1> body{};
  const Segment first{0, 1, 4};
  std::memcpy(body.data(), &first, sizeof first);
  body.back() = std::byte{3};
  say({.type = Type::atomic, .segments = 1, .length = 1, .tag = kAddBytes}, body.data(),
      body.size());
  EXPECT_TRUE(until([&] { return told(Counted::remote_write) == 1; }));
  after.join();
  host_.meanwhile = nullptr;
  EXPECT_EQ(host_.memory[0], std::byte{123});
}

class Bounded : public Stranger {
 protected:
  Bounded()
      : Stranger(endpoint_options(),
                 Limits{.found = 100'000, .last_reads = std::chrono::milliseconds(1)}) {}
};

// Who does not take what it reads does not keep a region from its user.
TEST_F(Bounded, AReadThatNobodyTakesEndsWithItsRegion) {
  connect_deaf();
  const Segment some{0, 1'000, 4};
  say({.type = Type::read, .segments = 1, .length = some.length, .tag = 80}, &some, sizeof some);
  let_it_look();
  ASSERT_EQ(told(Counted::remote_read), 1);
  rdm_->revoke(3);
  let_it_look();
  EXPECT_FALSE(failed_);
  rdm_->revoke(4);
  EXPECT_TRUE(until([&] { return failed_; }));
}

// [D94] What atomics found is held up to a bound for a peer that does not take it; those beyond are refused
// before they change anything.
TEST_F(Bounded, FetchingAtomicsHaveABound) {
  connect_deaf();
  constexpr std::size_t kBytes = 16'384;
  const Segment first{0, kBytes, 4};
  std::vector<std::byte> body(sizeof first + kBytes, std::byte{1});
  std::memcpy(body.data(), &first, sizeof first);
  for (int i = 0; i < 20; ++i) {
    say({.type = Type::atomic,
         .bits = bits::kWantsAnswer,
         .segments = 1,
         .length = kBytes,
         .tag = kAddBytes | kFetches},
        body.data(), body.size());
  }
  let_it_look();
  EXPECT_EQ(told(Counted::remote_read), 6);  // 98,304 bytes
  EXPECT_EQ(host_.memory[0], std::byte{6});
  take(22);
  EXPECT_TRUE(until([&] { return count(kWithHeader) == 20; }));
  catch_up();
  EXPECT_FALSE(failed_);
}

// [D163] A long message goes straight into the pieces of its receive: what has come of one that is cut short is there.
TEST_F(Stranger, PiecesAreFilledAsBytesCome) {
  connect();
  catch_up();
  std::array<std::vector<std::byte>, 2> place{std::vector<std::byte>(60'000),
                                              std::vector<std::byte>(40'000)};
  Request request;
  for (auto& piece : place) request.local.add(piece.data(), piece.size());
  request.flags = FI_TAGGED;
  request.tag = 3;
  ASSERT_EQ(rdm_->receive(request), 0);
  const std::size_t before = count(kWithHeader);
  say({.type = Type::offer, .bits = bits::kTagged, .operation = 5, .length = 100'000, .tag = 3});
  EXPECT_TRUE(until([&] { return count(kWithHeader) > before; }));
  constexpr std::uint64_t kFirstTag = 1;
  const std::vector<std::byte> less(70'000, std::byte{7});
  ASSERT_EQ(endpoint_.send(id_, kFirstTag, less, 7), udp::Status::ok);
  EXPECT_TRUE(until([&] { return told(Counted::receive) == 1; }));
  EXPECT_EQ(host_.all.back().error, FI_ETRUNC);
  EXPECT_EQ(place[0], std::vector<std::byte>(60'000, std::byte{7}));
  std::vector<std::byte> rest(40'000);
  std::fill_n(rest.begin(), 10'000, std::byte{7});
  EXPECT_EQ(place[1], rest);
}

// [D163] Nor are long ones joined where they are sent: they are fetched out of their pieces.
TEST(Pieces, AreFetchedOutOfTheUsersMemory) {
  Pair pair(Limits{.eager = kEager});
  std::array<std::vector<std::byte>, 3> sent;
  Request request = pair.request(0, {}, 7);
  for (auto& piece : sent) {
    piece.resize(30'000);
    request.local.add(piece.data(), piece.size());
  }
  ASSERT_EQ(pair.both[0]->send(request), 0);
  for (auto& piece : sent) std::fill(piece.begin(), piece.end(), std::byte{9});
  std::vector<std::byte> place(90'000);
  ASSERT_EQ(pair.receive(1, place, 7), 0);
  EXPECT_TRUE(pair.until([&] { return pair.well(1, Counted::receive, 1); }));
  EXPECT_EQ(place, std::vector<std::byte>(90'000, std::byte{9}));
}

class Offered : public Stranger {
 protected:
  static constexpr std::size_t kOffers = 10;
  Offered() : Stranger(endpoint_options(), Limits{.offers = kOffers}) {}
  void offer() { say({.type = Type::offer, .bits = bits::kTagged, .length = 5, .tag = 3}); }
  /// Of the next offer of tag 3: nothing is wanted of it, so the stranger need not send.
  void receive_none() {
    Request one;
    one.flags = FI_TAGGED;
    one.tag = 3;
    ASSERT_EQ(rdm_->receive(one), 0);
  }
};

// [D104] Offers that wait for a receive are bounded for each peer; those that have found theirs do not count.
TEST_F(Offered, WhoOffersOnAndOnIsShownOut) {
  connect();
  for (std::size_t i = 0; i < kOffers; ++i) offer();
  catch_up();
  EXPECT_FALSE(failed_);
  receive_none();
  EXPECT_EQ(told(Counted::receive), 1);
  offer();
  catch_up();
  EXPECT_FALSE(failed_) << "one was taken";
  offer();
  EXPECT_TRUE(until([&] { return failed_; }));
  // With its peer an offer is gone: the receive waits for another.
  EXPECT_TRUE(until([&] { return rdm_->connections() == 0; }));
  host_.all.clear();
  receive_none();
  EXPECT_EQ(told(Counted::receive), 0);
}

class Uncounted : public Stranger {
 protected:
  static constexpr std::size_t kBytes = 1'000;
  static constexpr std::size_t kMessages =
      8;  ///< that a peer may send before it is told that they came
  Uncounted()
      : Stranger(
            endpoint_options(),
            Limits{.eager = kEager, .unexpected = 1, .uncounted = kMessages * kept_for(kBytes)}) {}
  /// Whether the Rdm takes another message for the stranger.
  bool send() {
    Request request;
    request.local = Pieces(bytes_.data(), bytes_.size());
    request.peer = rdm_->peer(*udp::Address::parse(endpoint_.local_address()));
    request.flags = FI_TAGGED;
    return rdm_->send(request) == 0;
  }
  /// Of messages of the Rdm's, so many are sent until none is taken, however often both look.
  std::size_t sends_until_it_waits() {
    std::size_t sent = 0;
    for (int still = 0; still < 2'000; ++still, turn()) {
      if (!send()) continue;
      ++sent;
      still = 0;
    }
    return sent;
  }
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kBytes);
};

// [D162] A provider sends no more unasked than so much that the peer has not said to have; acknowledgements are no such
// word, and neither is a peer's that has more than there was.
TEST_F(Uncounted, ASenderWaitsUntilItsMessagesAreCounted) {
  connect();
  catch_up();
  EXPECT_EQ(sends_until_it_waits(), kMessages);
  say({.type = Type::counted, .length = 3 * kept_for(kBytes)});
  EXPECT_EQ(sends_until_it_waits(), 3u);
  say({.type = Type::counted, .length = 2 * kept_for(kBytes)});
  EXPECT_EQ(sends_until_it_waits(), 0u);
  say({.type = Type::counted, .length = ~std::uint64_t{0}});
  EXPECT_EQ(sends_until_it_waits(), kMessages);
  EXPECT_EQ(told(Counted::send), 2 * static_cast<std::ptrdiff_t>(kMessages) + 3);
}

// [D104] [D162] So what an honest peer sends before it sees that there is no room has a bound, and whoever goes on is shown out.
TEST_F(Uncounted, BeyondTheBoundComesWhatWasUnderWay) {
  connect();
  const Header header{.type = Type::send, .bits = bits::kTagged, .length = kBytes, .tag = 3};
  for (std::size_t i = 0; i < 1 + kMessages; ++i) say(header, bytes_.data(), kBytes);
  catch_up();
  EXPECT_FALSE(failed_);
  EXPECT_EQ(rdm_->unexpected(), (1 + kMessages) * kept_for(kBytes));
  say(header, bytes_.data(), kBytes);
  EXPECT_TRUE(until([&] { return failed_; }));
}

class Scarce : public Stranger {
 protected:
  Scarce()
      : Stranger(
            [] {
              udp::EndpointOptions o = endpoint_options();
              o.max_receives = 1;
              return o;
            }(),
            Limits{.eager = kEager, .outstanding = 1'024, .buffers = 1}) {}
};

// Whoever has waited for its turn in vain is told, each of them.
TEST_F(Scarce, WritesThatFindNoReceiveAreRefused) {
  connect_deaf();
  const Segment one{0, 1, 4};
  for (int i = 0; i < 64; ++i)
    say({.type = Type::read, .segments = 1, .length = 1, .tag = 80}, &one, sizeof one);
  const Segment all{0, 100'000, 4};
  for (std::uint32_t i = 1; i <= 3; ++i) {
    say({.type = Type::write_offer,
         .bits = bits::kWantsAnswer,
         .segments = 1,
         .operation = i,
         .length = all.length},
        &all, sizeof all);
  }
  let_it_look();
  ASSERT_EQ(told(Counted::remote_read), 64);
  take(68);
  EXPECT_TRUE(until([&] { return count(80) == 64 && count(kWithHeader) == 3; }));
  EXPECT_FALSE(failed_);
}

// A buffer that the endpoint has no room for comes back later.
TEST_F(Scarce, NoBufferIsLost) {
  connect();
  std::vector<std::byte> place(kEager + 1);
  const std::vector<std::byte> bytes(kEager + 1, std::byte{7});
  for (std::uint32_t i = 1; i <= 3; ++i) {
    Request request;
    request.local = Pieces(place.data(), place.size());
    request.tag = i;
    request.flags = FI_TAGGED;
    ASSERT_EQ(rdm_->receive(request), 0);
    say({.type = Type::offer,
         .bits = bits::kTagged,
         .operation = i,
         .length = bytes.size(),
         .tag = i});
    ASSERT_TRUE(until([&] { return count(kWithHeader) == i; })) << i;
    // The receiver chooses tags from 1 on.
    ASSERT_EQ(endpoint_.send(id_, i, bytes, 8), udp::Status::ok);
    ASSERT_TRUE(until([&] { return host_.all.size() == i; })) << i;
    EXPECT_EQ(host_.all.back().error, 0);
    EXPECT_EQ(place.back(), std::byte{7});
  }
}

// [D93] Sides that take messages of different lengths unasked find out at set-up, and nothing is cut off.
TEST(Greeting, DifferentEagerLimitsWorkTogether) {
  std::array<Told, 2> hosts;
  std::array<std::unique_ptr<Rdm>, 2> both;
  std::array<udp::Address, 2> names;
  for (std::size_t i = 0; i < 2; ++i) {
    const Limits limits{.eager = i == 0 ? std::size_t{65'536} : kMostInjected, .buffers = 16};
    udp::EndpointOptions options = endpoint_options();
    options.user_data = greeting(limits.eager);
    auto opened = udp::Endpoint::open(options);
    ASSERT_TRUE(opened);
    names[i] = *udp::Address::parse(opened.value().local_address());
    both[i] = std::make_unique<Rdm>(std::move(opened.value()), names[i], hosts[i], limits);
  }
  const std::vector<std::byte> bytes(30'000, std::byte{9});
  std::vector<std::byte> place(30'000);
  for (std::size_t round = 0; round < 4; ++round) {
    const std::size_t from = round % 2;
    Request request;
    request.flags = FI_TAGGED;
    request.local = Pieces(place.data(), place.size());
    place.assign(place.size(), std::byte{0});
    ASSERT_EQ(both[1 - from]->receive(request), 0);
    request.local = Pieces(const_cast<std::byte*>(bytes.data()), bytes.size());
    request.peer = both[from]->peer(names[1 - from]);
    ASSERT_EQ(both[from]->send(request), 0);
    const std::size_t wanted = round + 1;
    for (int i = 0; i < 2'000'000 && (hosts[0].all.size() < wanted || hosts[1].all.size() < wanted);
         ++i) {
      for (auto& one : both) one->progress();
    }
    ASSERT_EQ(hosts[0].all.size(), wanted);
    ASSERT_EQ(hosts[1].all.size(), wanted);
    for (const Told& host : hosts) EXPECT_EQ(host.all.back().error, 0);
    EXPECT_EQ(place, bytes);
  }
}

}  // namespace
}  // namespace strack::fabric
