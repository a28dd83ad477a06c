// libfabric's objects. Each derives from the struct that libfabric knows it by.
//
// Locks: `Ep::mutex` guards all that an endpoint does; those of queues, counters, address vectors and domains are
// taken last and hold nothing up. `Domain::eps_mutex`, then `Progressed::mutex`, are taken before an endpoint's.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/fi_trigger.h>
#include <rdma/providers/fi_prov.h>

#include <array>
#include <atomic>
#include <compare>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "fabric/rdm.h"
#include "udp/atomics.h"

namespace strack::fabric {

/// Stands for every operation that this provider does not have: it converts to a function that says so.
struct Missing {
  template <class R, class... A>
  using Function = R (*)(A...);
  template <class R, class... A>
  constexpr operator Function<R, A...>() const {
    return [](A...) -> R { return static_cast<R>(-FI_ENOSYS); };
  }
};
inline constexpr Missing kMissing;

inline constexpr std::size_t kQueueSize = 1'024;
inline constexpr std::size_t kLongestMessage = 0xffff'ffff;

/// [D135] What operations may ask for by default.
inline constexpr std::uint64_t kTxFlags = FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE |
                                          FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE |
                                          FI_MATCH_COMPLETE | FI_MORE;
inline constexpr std::uint64_t kRxFlags = FI_COMPLETION | FI_MULTI_RECV | FI_MORE;

/// From FI_STRACK_*, read once.
struct Settings {
  udp::EndpointOptions endpoint;
  std::string address;     ///< of this host, for peers
  std::uint16_t port = 0;  ///< the first that endpoints take; 0: any
  Limits limits;
  bool statistics = false;
};
/// Defines them with libfabric and reads them; false, said in the log, if one makes no sense.
[[nodiscard]] bool read_settings(fi_provider& provider);
/// Says it in libfabric's log; false, for whoever gives up then.
bool complain(const std::string& what);
[[nodiscard]] std::string last_complaint();
[[nodiscard]] const Settings& settings();
[[nodiscard]] udp::Address default_address(bool v6);
/// Why no socket can have the address; 0: one can.
[[nodiscard]] int bind_error(const udp::Address& address);
/// Not for a port that there is not, of which getaddrinfo takes the lower bits.
[[nodiscard]] bool is_service(const char* service);

[[nodiscard]] bool from_sockaddr(const void* bytes, std::size_t size, udp::Address& out);
/// Its size; as much of it as there is room for is written.
[[nodiscard]] std::size_t to_sockaddr(const udp::Address& address, void* out, std::size_t room);

int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
             const fi_info* hints, fi_info** info);
/// Whether an endpoint can send as this says.
[[nodiscard]] bool is_offered(const fi_tx_attr& tx);
int open_fabric(fi_fabric_attr* attr, fid_fabric** fabric, void* context);

struct Ep;
struct Domain;
struct Cntr;

/// What someone waits at: an event, and the sockets of the endpoints that make it come true.
class Waiting {
 public:
  Waiting();
  ~Waiting();
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

  void add(int fd) const;
  void remove(int fd) const;
  void signal();
  /// Before a look at what is waited for: who signals until then is not heard again.
  void clear();
  /// Until something is to be done, for at most so many milliseconds.
  void wait(int timeout_ms) const;
  [[nodiscard]] int file_descriptor() const { return all_; }

 private:
  int all_ = -1;
  int event_ = -1;
  std::atomic<bool> signalled_{false};
};

/// The endpoints bound to a queue or counter, which make progress when it is asked.
class Progressed {
 public:
  void bind(Ep& ep);
  void unbind(Ep& ep);
  void progress();
  /// Progress until `done` says so, the time is over (negative: never), or someone calls `interrupt`.
  bool wait_until(int timeout_ms, const std::function<bool()>& done);
  void interrupt() {
    interrupted_ = true;
    waiting.signal();
  }
  Waiting waiting;

 private:
  std::mutex mutex_;
  std::vector<Ep*> eps_;
  std::atomic<bool> interrupted_{false};
};

struct Fabric : fid_fabric {
  std::atomic<int> users{0};
};

struct Region : fid_mr {
  Domain* domain = nullptr;
  // [D134] What peers do to it counts there.
  Cntr* reads = nullptr;
  Cntr* writes = nullptr;
  std::byte* memory = nullptr;
  std::uint64_t size = 0;
  std::uint64_t base = 0;  ///< what peers call its first byte
  std::uint64_t access = 0;
};

/// An operation of an Rdm's.
using Action = int (Rdm::*)(const Request&);

/// [D137] What is to be done when a counter has come so far: an operation of an endpoint's, or a counter's change.
struct Deferred {
  Cntr* counter = nullptr;
  std::uint64_t threshold = 0;
  const void* name =
      nullptr;  ///< the operation's context or the work of a domain's queue, to cancel it
  bool errors_too = false;  ///< what has failed brings the counter there as well

  Ep* ep = nullptr;
  Action action = nullptr;
  Request request;

  Cntr* end = nullptr;  ///< of work: where its end counts

  Cntr* target = nullptr;  ///< without an endpoint
  std::uint64_t value = 0;
  bool add = false;

  [[nodiscard]] bool due() const;
  /// It is taken back: counters that it names may be closed.
  void forget() const;
};

/// Where it waits: those of one counter by threshold, and as they came.
struct Place {
  const Cntr* counter = nullptr;
  bool errors_too = false;
  std::uint64_t threshold = 0;
  std::uint64_t arrived = 0;
  auto operator<=>(const Place&) const = default;
};

struct Domain : fid_domain {
  Fabric* fabric = nullptr;
  bool virtual_addresses = false;  ///< peers name memory by its address here
  bool own_keys = false;           ///< the provider chooses keys
  std::uint32_t address_format = FI_FORMAT_UNSPEC;
  std::atomic<int> users{0};

  std::mutex mutex;
  std::unordered_map<std::uint64_t, Region*> regions;
  std::uint64_t next_key = 0;
  std::mutex eps_mutex;  ///< taken before an endpoint's
  std::vector<Ep*> eps;
  std::vector<Cntr*> region_counters;  ///< [D134] which all of these endpoints make progress for

  std::mutex deferred_mutex;
  std::map<Place, Deferred> deferred;  ///< [D137]
  std::uint64_t arrivals = 0;

  /// Whether its endpoints send to addresses of this kind.
  [[nodiscard]] bool reaches(const udp::Address& address) const {
    return address_format != (address.v6 ? FI_SOCKADDR_IN : FI_SOCKADDR_IN6);
  }
  /// Takes back what is chosen, and says how many.
  std::size_t take_back(const std::function<bool(const Deferred&)>& chosen,
                        std::vector<Deferred>* taken = nullptr);
};
int open_domain(fid_fabric* fabric, fi_info* info, fid_domain** domain, void* context);
extern fi_ops_mr memory_operations;
/// [D137] Puts it in its place, and lets it begin where its time has come.
void defer(Deferred one);
int control_domain(fid* domain, int command, void* arg);

struct Event {
  std::uint32_t event = 0;
  std::vector<std::byte> bytes;
  int error = 0;
  fi_eq_err_entry entry{};
};

struct Eq : fid_eq {
  Fabric* fabric = nullptr;
  bool writable = false;
  std::atomic<int> users{0};
  std::mutex mutex;
  std::deque<Event> events;
  Waiting waiting;

  void push(Event event);
};
int open_eq(fid_fabric* fabric, fi_eq_attr* attr, fid_eq** eq, void* context);

struct Av : fid_av {
  Domain* domain = nullptr;
  Eq* eq = nullptr;
  bool tells = false;  ///< insertions end with an event
  std::atomic<int> users{0};

  std::mutex mutex;
  std::vector<udp::Address> entries;  ///< port 0: free
  std::set<fi_addr_t> free;           ///< entries that were removed
  std::unordered_map<udp::Address, std::uint64_t, AddressHash> names;
  std::atomic<std::uint64_t> epoch{1};  ///< another with every change

  /// False: no such entry.
  [[nodiscard]] bool find(fi_addr_t name, udp::Address& out);
  [[nodiscard]] fi_addr_t name_of(const udp::Address& address);
};
int open_av(fid_domain* domain, fi_av_attr* attr, fid_av** av, void* context);

struct Cq : fid_cq {
  Domain* domain = nullptr;
  fi_cq_format format = FI_CQ_FORMAT_CONTEXT;
  std::size_t entry_size = 0;
  bool waits = false;
  std::atomic<int> users{0};
  Progressed progressed;

  struct Entry {
    fi_cq_err_entry entry{};
    fi_addr_t source = FI_ADDR_NOTAVAIL;
  };
  std::mutex mutex;
  std::deque<Entry> entries;

  void push(const Entry& entry);
  [[nodiscard]] bool empty();
};
int open_cq(fid_domain* domain, fi_cq_attr* attr, fid_cq** cq, void* context);

struct Cntr : fid_cntr {
  Domain* domain = nullptr;
  std::atomic<int> users{0};
  std::atomic<std::uint64_t> value{0};
  std::atomic<std::uint64_t> errors{0};
  std::atomic<std::uint64_t> polled_value{0}, polled_errors{0};  ///< as a poll set saw them
  std::atomic<std::uint64_t> shown_value{0}, shown_errors{0};    ///< as the program knows them
  std::atomic<std::size_t> waited_for{0};  ///< [D137] by so many that are deferred
  Progressed progressed;

  void add(std::uint64_t n, bool failed);
  void set(std::uint64_t to, bool failed);
  /// [D137] After a change: lets begin what has waited for it.
  void fire();
  void begin_deferred();
  /// Whether something is bound to it, waits for it or counts in it.
  [[nodiscard]] bool is_held() const;
  [[nodiscard]] bool has_news() const { return value != shown_value || errors != shown_errors; }
};
int open_cntr(fid_domain* domain, fi_cntr_attr* attr, fid_cntr** cntr, void* context);

int open_poll(fid_domain* domain, fi_poll_attr* attr, fid_poll** poll);
int try_wait(fid_fabric* fabric, fid** fids, int count);

/// [D136] A transmit context that endpoints share: what they send has its defaults.
struct Stx : fid_stx {
  Domain* domain = nullptr;
  std::uint64_t flags = 0;
  std::atomic<int> users{0};
};
int open_stx(fid_domain* domain, fi_tx_attr* attr, fid_stx** stx, void* context);

/// An endpoint as a program holds it: one of its own, or an alias with other flags by default.
struct Handle : fid_ep {
  Ep* whole = nullptr;
  std::uint64_t tx_flags = 0;
  std::uint64_t rx_flags = 0;
  const Deferred* when = nullptr;  ///< [D137] for work of a domain's queue: all that goes by it is
};
int open_alias(Handle& of, std::uint64_t flags, fid** alias);

/// An endpoint of libfabric's.
struct Ep : Handle, Host {
  Domain* domain = nullptr;
  std::atomic<int> aliases{0};
  Av* av = nullptr;
  Stx* stx = nullptr;
  bool shares_tx = false;  ///< it needs one
  Eq* eq = nullptr;
  Cq* tx = nullptr;
  Cq* rx = nullptr;
  std::array<Cntr*, kCounters> counters{};
  bool tx_selective = false;
  bool rx_selective = false;
  std::uint64_t caps = 0;
  std::size_t most_injected = kMostInjected;
  std::atomic<bool> enabled{false};
  udp::Address name;

  std::mutex mutex;
  std::unique_ptr<Rdm> rdm;
  std::vector<Peer*> peers;  ///< by the address vector's names, as of `peers_epoch`
  std::uint64_t peers_epoch = 0;

  // [D85] Someone answers peers while the program computes.
  std::thread keeper;
  int keeper_wakes = -1;
  std::atomic<bool> ends{false};
  std::atomic<std::uint32_t> looked{0};  ///< how often the program made progress itself
  std::atomic<std::uint32_t> idle{0};    ///< how often of late there was nothing to do

  void done(const Done& done) override;
  std::byte* region(const Segment& segment, std::uint64_t access) override;
  void accessed(std::span<const Segment> segments, std::uint64_t how) override;
  /// [D94] libfabric takes domains of one name for one actor, however often that one was opened.
  std::unique_lock<std::mutex> alone() override { return udp::alone_with_values(); }

  /// Whether there was anything to do, now or shortly before.
  bool progress();
  void keep();

  std::mutex due_mutex;
  std::deque<Deferred> due;  ///< [D137] whose time has come
  std::atomic<bool> has_due{false};
  void wake();
  void give(Deferred one);
  /// [D137] Where work of this endpoint's counts that waits or is under way, and how often: those stay open.
  std::mutex ends_mutex;
  std::map<Cntr*, int> ends_of_work;
  void holds(Cntr& cntr);
  void lets_go_of(Cntr& cntr);
  /// [D137] Makes of a request what its counter decides on. With the endpoint's lock, as `begin_due`.
  int defer(const Handle& handle, Action action, const Request& request);
  void begin_due();
  void failed(const Deferred& one, int error);
  /// [D137] Whether something that was deferred was taken back.
  bool cancel_deferred(const void* context);
  /// Null: no such name.
  [[nodiscard]] Peer* peer_of(fi_addr_t name);
};
int open_ep(fid_domain* domain, fi_info* info, fid_ep** ep, void* context);
extern fi_ops_msg message_operations;
extern fi_ops_tagged tagged_operations;
extern fi_ops_rma rma_operations;
extern fi_ops_atomic atomic_operations;
int query_atomic(fid_domain* domain, fi_datatype datatype, fi_op op, fi_atomic_attr* attr,
                 std::uint64_t flags);

/// The object of ours that libfabric knows by this struct within another of its own.
template <class T, class Outer>
[[nodiscard]] T& self(fid* inner) {
  return static_cast<T&>(*reinterpret_cast<Outer*>(inner));  // its first member
}

}  // namespace strack::fabric
