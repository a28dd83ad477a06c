// What the provider offers, and whether that is what a program asks for.
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <rdma/providers/fi_log.h>
#include <sys/socket.h>
#include <unistd.h>

#include <bit>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string_view>
#include <system_error>

#include "fabric/provider.h"
#include "udp/key_file.h"

namespace strack::fabric {
namespace {

constexpr const char* kName = "strack";  // the program's name, as programs name the provider
constexpr std::uint64_t kPrimary = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
constexpr std::uint64_t kDirections =
    FI_READ | FI_WRITE | FI_RECV | FI_SEND | FI_REMOTE_READ | FI_REMOTE_WRITE;
constexpr std::uint64_t kSecondary = FI_MULTI_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SOURCE |
                                     FI_DIRECTED_RECV | FI_RMA_EVENT | FI_TRIGGER;
constexpr std::uint64_t kCaps = kPrimary | kDirections | kSecondary;
/// Of these, what is about a context that sends, and about one that receives.
constexpr std::uint64_t kTxCaps = kPrimary | FI_SEND | FI_READ | FI_WRITE | FI_TRIGGER;
constexpr std::uint64_t kRxCaps = kPrimary | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |
                                  FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV | FI_RMA_EVENT |
                                  FI_TRIGGER;
constexpr std::uint64_t kOrders = FI_ORDER_SAS;
constexpr std::uint32_t kProtocol = FI_PROV_SPECIFIC | 0x5354;
constexpr std::size_t kMostObjects = 65'536;
constexpr std::uint64_t kAllTagBits =
    0xaaaa'aaaa'aaaa'aaaa;  ///< libfabric's way to say: every bit is a field

Settings all_settings;
std::mutex complaint_mutex;
std::string complaint;
fi_provider* logged = nullptr;

/// FI_STRACK_<name>, where it is set. An empty one is not, as scripts have it that pass on what they were not told.
const char* text_of(const char* name) {
  char* value = nullptr;
  return fi_param_get_str(logged, name, &value) == 0 && *value != '\0' ? value : nullptr;
}

/// As users set it: FI_STRACK_EAGER for "eager".
std::string variable(const char* name) {
  std::string whole = "FI_STRACK_";
  for (; *name != '\0'; ++name)
    whole += static_cast<char>(std::toupper(static_cast<unsigned char>(*name)));
  return whole;
}

template <class T>
bool read_number(const char* name, T& out, std::size_t least, std::size_t most) {
  const char* text = text_of(name);
  if (text == nullptr) return true;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  // Which takes spaces before it, and signs.
  if (std::isdigit(static_cast<unsigned char>(*text)) == 0 || *end != '\0' || value < least ||
      value > most) {
    return complain(variable(name) + " is '" + text + "'. it takes a number from " +
                    std::to_string(least) + " to " + std::to_string(most));
  }
  out = static_cast<T>(value);
  return true;
}

/// Gbit/s, decimals allowed: there are slower links.
bool read_rate(std::uint64_t& bps) {
  constexpr double kLeast = 0.001;
  constexpr double kMost = 10'000;
  const char* text = text_of("rate_gbps");
  if (text == nullptr) return true;
  double value = 0;
  const char* const all = text + std::strlen(text);
  const auto [end, error] = std::from_chars(text, all, value);
  if (error != std::errc() || end != all || !(value >= kLeast && value <= kMost)) {
    return complain(variable("rate_gbps") + " is '" + text +
                    "'. it takes a number from 0.001 to 10000");
  }
  bps = static_cast<std::uint64_t>(value * 1e9);
  return true;
}

bool read_slots(std::uint32_t& out) {
  if (!read_number("message_slots", out, 2, 32'768)) return false;
  if (std::has_single_bit(out)) return true;
  return complain(variable("message_slots") + " is '" + std::to_string(out) +
                  "'. it takes a power of two, such as " + std::to_string(std::bit_ceil(out)));
}

std::optional<udp::Address> address_of(const std::string& text) {
  const bool v6 = text.find(':') != std::string::npos;
  return udp::Address::parse(v6 ? "[" + text + "]:0" : text + ":0");
}

bool read_address(std::string& out) {
  const char* text = text_of("address");
  if (text == nullptr) return true;
  if (!address_of(text)) {
    return complain(variable("address") + " is '" + text +
                    "'. it takes a numeric address of this host without a port, such as 192.0.2.7");
  }
  if (bind_error(*address_of(text)) == EADDRNOTAVAIL)
    return complain(variable("address") + " is '" + text + "', which is none of this host's");
  out = text;
  return true;
}

bool read_flag(const char* name, bool& out) {
  unsigned value = out ? 1 : 0;
  if (!read_number(name, value, 0, 1)) return false;
  out = value != 0;
  return true;
}

bool read_key(udp::EndpointOptions& options) {
  std::string hex;
  if (const char* file = text_of("key_file")) {
    auto word = udp::first_word_of(file);
    if (!word || word->empty()) {
      return complain(variable("key_file") + " is '" + file + "', and no key can be read there: " +
                      (word ? std::string("it is empty") : udp::why_no_key()) +
                      ". `strack key` makes one");
    }
    hex = *word;
    ::explicit_bzero(word->data(), word->size());
  } else if (const char* key = text_of("key")) {
    hex = key;
  } else {
    return true;
  }
  auto parsed = udp::parse_key(hex);
  ::explicit_bzero(hex.data(), hex.size());
  if (!parsed) {
    return complain(variable(text_of("key_file") != nullptr ? "key_file" : "key") + ": " +
                    parsed.error().text);
  }
  options.key = parsed.value();
  ::explicit_bzero(parsed.value().data(), parsed.value().size());
  return true;
}

void define_settings(fi_provider& provider) {
  const auto define = [&](const char* name, const char* help) {
    fi_param_define(&provider, name, FI_PARAM_STRING, "%s", help);
  };
  define("address",
         "the address of this host that peers are told, without a port. default: without a key and "
         "without insecure 127.0.0.1, else that of the first interface that is up");
  define("port",
         "the first UDP port that endpoints listen at, 1 to 65535; several of a host take the next "
         "free ones. default: any that is free");
  define("key_file", "a file with the job's pre-shared key, 64 hexadecimal digits");
  define("key", "the same key itself");
  define("insecure", "1: leave this host without a key. default: 0");
  define("paths",
         "UDP source ports that packets are spread over, 1 to 256. default: 4 on loopback "
         "addresses, else 256");
  define("burst",
         "packets per path and system call, 1 to 64. default: as many as take 50 us on the link, "
         "1 where set-up finds a slow one");
  define("payload",
         "the most bytes of a message in a packet, 512 to 65000; the path's MTU lowers it further. "
         "default: 16392 on loopback addresses, else 8192");
  define("rate_gbps", "the rate of this host's link in Gbit/s, 0.001 to 10000. default: 10");
  define("eager",
         "bytes, 4096 to 1048576; longer messages are fetched by their receiver. default: 65536");
  define("buffers",
         "for messages on their way in, of a little more than that, 8 to 65536. default: 32");
  define("message_slots",
         "messages under way per connection, a power of two, 2 to 32768. default: 64");
  define("timeout",
         "seconds of silence after which a peer is given up, 1 to 3600; so long it may take to "
         "connect, too. default: 10");
  define("idle",
         "seconds after which a connection that nothing uses is closed, up to 86400; 0: none is. "
         "default: 60");
  define("unexpected",
         "MiB of messages that wait for a receive, 1 to 65536; beyond them peers wait, too. "
         "default: 64");
  define("stats", "1: print at the end of each endpoint what crossed the network. default: 0");
}

bool is_tclass(std::uint32_t tclass) {
  return tclass == FI_TC_UNSPEC || (tclass & ~std::uint32_t{0x3f}) == FI_TC_DSCP ||
         (tclass >= FI_TC_LABEL && tclass <= FI_TC_NETWORK_CTRL);
}

/// Numeric, from a node and a service as getaddrinfo takes them.
int resolve(const char* node, const char* service, bool v6, bool numeric, udp::Address& out) {
  addrinfo hints{};
  hints.ai_family = v6 ? AF_INET6 : AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  hints.ai_flags = numeric ? AI_NUMERICHOST : 0;
  addrinfo* found = nullptr;
  if (!is_service(service) || getaddrinfo(node, service, &hints, &found) != 0) return -FI_ENODATA;
  const bool ok = from_sockaddr(found->ai_addr, found->ai_addrlen, out);
  freeaddrinfo(found);
  return ok ? 0 : -FI_ENODATA;
}

bool any_bit_outside(std::uint64_t asked, std::uint64_t offered) { return (asked & ~offered) != 0; }

bool suits(const fi_rx_attr& rx) {
  return !any_bit_outside(rx.caps, kCaps) && !any_bit_outside(rx.op_flags, kRxFlags) &&
         !any_bit_outside(rx.msg_order, kOrders) && rx.comp_order == FI_ORDER_NONE &&
         rx.size <= kMostObjects && rx.iov_limit <= kMostPieces;
}

bool suits(const fi_ep_attr& ep) {
  return (ep.type == FI_EP_UNSPEC || ep.type == FI_EP_RDM) &&
         (ep.protocol == FI_PROTO_UNSPEC || ep.protocol == kProtocol) && ep.protocol_version <= 1 &&
         ep.max_msg_size <= kLongestMessage &&
         (ep.tx_ctx_cnt <= 1 || ep.tx_ctx_cnt == FI_SHARED_CONTEXT) && ep.rx_ctx_cnt <= 1 &&
         ep.auth_key_size == 0 && ep.max_order_raw_size == 0 && ep.max_order_war_size == 0 &&
         ep.max_order_waw_size == 0;
}

/// How it is used: of each the values that libfabric has.
bool is_known(const fi_domain_attr& domain) {
  const auto one_of = [](const auto& asked, unsigned last) {
    unsigned value = 0;  // which none of the enumeration need be
    std::memcpy(&value, &asked, sizeof value);
    return value <= last;
  };
  return one_of(domain.threading, FI_THREAD_ENDPOINT) &&
         one_of(domain.control_progress, FI_PROGRESS_MANUAL) &&
         one_of(domain.data_progress, FI_PROGRESS_MANUAL) &&
         one_of(domain.resource_mgmt, FI_RM_ENABLED) && one_of(domain.av_type, FI_AV_TABLE);
}

bool suits(const fi_domain_attr& domain) {
  return is_known(domain) && (domain.name == nullptr || std::strcmp(domain.name, kName) == 0) &&
         is_tclass(domain.tclass) && domain.mr_key_size <= 8 && domain.cq_data_size <= 8 &&
         domain.cq_cnt <= kMostObjects && domain.ep_cnt <= kMostObjects &&
         domain.tx_ctx_cnt <= kMostObjects && domain.rx_ctx_cnt <= kMostObjects &&
         domain.max_ep_tx_ctx <= 1 && domain.max_ep_rx_ctx <= 1 &&
         domain.max_ep_stx_ctx <= kMostObjects && domain.max_ep_srx_ctx == 0 &&
         domain.cntr_cnt <= kMostObjects && domain.mr_iov_limit <= 1 &&
         domain.mr_cnt <= kMostObjects && domain.auth_key_size == 0 &&
         !any_bit_outside(domain.caps, FI_LOCAL_COMM | FI_REMOTE_COMM);
}

/// What was asked for, and what goes with it.
std::uint64_t caps_for(const fi_info* hints) {
  const std::uint64_t asked = hints != nullptr ? hints->caps : 0;
  if (asked == 0) return kCaps;
  std::uint64_t caps = asked | FI_LOCAL_COMM | FI_REMOTE_COMM;
  if ((asked & (FI_MSG | FI_TAGGED)) != 0 && (asked & (FI_SEND | FI_RECV)) == 0)
    caps |= FI_SEND | FI_RECV;
  constexpr std::uint64_t kRemote = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
  if ((asked & (FI_RMA | FI_ATOMIC)) != 0 && (asked & kRemote) == 0) caps |= kRemote;
  return caps;
}

bool suits(const fi_info& hints) {
  if (any_bit_outside(hints.caps, kCaps)) return false;
  // A context has no more than its endpoint.
  const std::uint64_t caps = caps_for(&hints);
  if (hints.tx_attr != nullptr && any_bit_outside(hints.tx_attr->caps & kTxCaps, caps))
    return false;
  if (hints.rx_attr != nullptr && any_bit_outside(hints.rx_attr->caps & kRxCaps, caps))
    return false;
  if (hints.addr_format != FI_FORMAT_UNSPEC && hints.addr_format != FI_SOCKADDR &&
      hints.addr_format != FI_SOCKADDR_IN && hints.addr_format != FI_SOCKADDR_IN6)
    return false;
  if (hints.fabric_attr != nullptr && hints.fabric_attr->name != nullptr &&
      std::strcmp(hints.fabric_attr->name, kName) != 0)
    return false;
  return (hints.tx_attr == nullptr || is_offered(*hints.tx_attr)) &&
         (hints.rx_attr == nullptr || suits(*hints.rx_attr)) &&
         (hints.ep_attr == nullptr || suits(*hints.ep_attr)) &&
         (hints.domain_attr == nullptr || suits(*hints.domain_attr));
}

void fill_domain(fi_domain_attr& domain, const fi_domain_attr* hints, std::uint32_t version) {
  domain.name = strdup(kName);
  const auto chosen = [](auto asked, auto otherwise) {
    return asked != decltype(asked){} ? asked : otherwise;
  };
  domain.threading = chosen(hints != nullptr ? hints->threading : FI_THREAD_UNSPEC, FI_THREAD_SAFE);
  domain.control_progress =
      chosen(hints != nullptr ? hints->control_progress : FI_PROGRESS_UNSPEC, FI_PROGRESS_AUTO);
  domain.data_progress =
      chosen(hints != nullptr ? hints->data_progress : FI_PROGRESS_UNSPEC, FI_PROGRESS_AUTO);
  domain.resource_mgmt = FI_RM_ENABLED;
  domain.av_type = hints != nullptr ? hints->av_type : FI_AV_UNSPEC;
  // Old programs name one of two kinds; newer ones the bits that they can live with, of which none is needed.
  if (hints != nullptr && hints->mr_mode == FI_MR_BASIC) {
    domain.mr_mode = FI_MR_BASIC;
  } else if (FI_VERSION_LT(version, FI_VERSION(1, 5)) ||
             (hints != nullptr && hints->mr_mode == FI_MR_SCALABLE)) {
    domain.mr_mode = FI_MR_SCALABLE;
  }
  domain.mr_key_size = 8;
  domain.cq_data_size = 8;
  domain.cq_cnt = domain.ep_cnt = domain.tx_ctx_cnt = domain.rx_ctx_cnt = domain.cntr_cnt =
      domain.mr_cnt = kMostObjects;
  domain.max_ep_tx_ctx = domain.max_ep_rx_ctx = 1;
  domain.max_ep_stx_ctx = kMostObjects;
  domain.mr_iov_limit = 1;
  domain.caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
}

void fill_rest(fi_info& info, const fi_info* hints) {
  const fi_tx_attr* tx_hints = hints != nullptr ? hints->tx_attr : nullptr;
  const fi_rx_attr* rx_hints = hints != nullptr ? hints->rx_attr : nullptr;
  fi_tx_attr& tx = *info.tx_attr;
  tx.caps = info.caps & kTxCaps;
  tx.op_flags = tx_hints != nullptr ? tx_hints->op_flags : 0;
  tx.msg_order = kOrders;
  tx.inject_size = kMostInjected;
  tx.size = tx_hints != nullptr && tx_hints->size != 0 ? tx_hints->size : kQueueSize;
  tx.iov_limit = kMostPieces;
  tx.rma_iov_limit = kMostPieces;
  fi_rx_attr& rx = *info.rx_attr;
  rx.caps = info.caps & kRxCaps;
  rx.op_flags = rx_hints != nullptr ? rx_hints->op_flags : 0;
  rx.msg_order = kOrders;
  rx.size = rx_hints != nullptr && rx_hints->size != 0 ? rx_hints->size : kQueueSize;
  rx.iov_limit = kMostPieces;
  fi_ep_attr& ep = *info.ep_attr;
  ep.type = FI_EP_RDM;
  ep.protocol = kProtocol;
  ep.protocol_version = 1;
  ep.max_msg_size = kLongestMessage;
  const bool shares_tx = hints != nullptr && hints->ep_attr != nullptr &&
                         hints->ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT;
  ep.tx_ctx_cnt = shares_tx ? FI_SHARED_CONTEXT : 1;
  ep.rx_ctx_cnt = 1;
  ep.mem_tag_format =
      hints != nullptr && hints->ep_attr != nullptr && hints->ep_attr->mem_tag_format != 0
          ? hints->ep_attr->mem_tag_format
          : kAllTagBits;
  info.fabric_attr->name = strdup(kName);
  info.fabric_attr->prov_version = FI_VERSION(1, 0);
}

void put_address(const udp::Address& address, void*& out, std::size_t& size) {
  out = std::calloc(1, sizeof(sockaddr_in6));
  size = to_sockaddr(address, out, sizeof(sockaddr_in6));
}

/// Where this side is and, if the program says so, where the other is.
int fill_addresses(fi_info& info, const char* node, const char* service, std::uint64_t flags,
                   const fi_info* hints) {
  const std::uint32_t format =
      hints != nullptr ? hints->addr_format : std::uint32_t{FI_FORMAT_UNSPEC};
  udp::Address other;
  bool has_source = false;
  bool has_other = false;
  const bool names = (node != nullptr || service != nullptr) && (flags & FI_PROV_ATTR_ONLY) == 0;
  const bool names_other = names && (flags & FI_SOURCE) == 0;
  if (hints != nullptr && hints->dest_addr != nullptr && !names_other)
    has_other = from_sockaddr(hints->dest_addr, hints->dest_addrlen, other);
  const bool v6 = format == FI_SOCKADDR_IN6 || (has_other && other.v6) ||
                  (node != nullptr && std::strchr(node, ':') != nullptr);
  const bool numeric = (flags & FI_NUMERICHOST) != 0;
  udp::Address source = default_address(v6);
  if (hints != nullptr && hints->src_addr != nullptr) {
    if (!from_sockaddr(hints->src_addr, hints->src_addrlen, source)) return -FI_ENODATA;
    has_source = true;
  }
  if (names) {
    udp::Address named;
    if (const int error = resolve(node, service, v6 || source.v6, numeric, named)) return error;
    if (!names_other) {
      if (node == nullptr) {
        source.port = named.port;
      } else {
        source = named;
      }
      has_source = true;
    } else {
      other = named;
      has_other = true;
    }
  }
  if (has_source && source.is_any()) {
    const std::uint16_t port = source.port;
    source = default_address(source.v6);
    source.port = port;
  }
  if (has_source && bind_error(source) == EADDRNOTAVAIL) return -FI_ENODATA;
  info.addr_format = source.v6 ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
  const bool any_format = format == FI_FORMAT_UNSPEC || format == FI_SOCKADDR;
  if ((has_other && other.v6 != source.v6) || (!any_format && format != info.addr_format))
    return -FI_ENODATA;
  put_address(source, info.src_addr, info.src_addrlen);
  if (has_other) put_address(other, info.dest_addr, info.dest_addrlen);
  return 0;
}

}  // namespace

bool complain(const std::string& what) {
  FI_WARN(logged, FI_LOG_CORE, "%s\n", what.c_str());
  const std::lock_guard lock(complaint_mutex);
  complaint = what;
  return false;
}

std::string last_complaint() {
  const std::lock_guard lock(complaint_mutex);
  return complaint;
}

bool read_settings(fi_provider& provider) {
  if (logged == nullptr) define_settings(provider);
  logged = &provider;
  all_settings = {};
  Settings& s = all_settings;
  udp::EndpointOptions& options = s.endpoint;
  options.max_connections = kMostObjects;
  options.max_receives = 2 * kMostObjects;
  options.burst = options.paths = options.max_payload = 0;  // as the address has it
  options.answers_first = true;
  auto timeout = std::chrono::duration_cast<std::chrono::seconds>(options.peer_timeout).count();
  auto idle = std::chrono::duration_cast<std::chrono::seconds>(s.limits.idle).count();
  std::size_t unexpected = s.limits.unexpected >> 20;
  const bool ok =
      read_key(options) && read_address(s.address) && read_flag("insecure", options.insecure) &&
      read_flag("stats", s.statistics) && read_number("port", s.port, 1, 65'535) &&
      read_number("paths", options.paths, 1, 256) && read_number("burst", options.burst, 1, 64) &&
      read_number("payload", options.max_payload, 512, 65'000) && read_rate(options.rate_bps) &&
      read_number("eager", s.limits.eager, kMostInjected, 1 << 20) &&
      read_number("buffers", s.limits.buffers, 8, kMostObjects) &&
      read_number("timeout", timeout, 1, 3'600) && read_number("idle", idle, 0, 86'400) &&
      read_number("unexpected", unexpected, 1, 65'536) && read_slots(options.message_slots);
  options.peer_timeout = options.connect_timeout = std::chrono::seconds(timeout);
  s.limits.idle = std::chrono::seconds(idle);
  s.limits.unexpected = unexpected << 20;
  return ok;
}

const Settings& settings() { return all_settings; }

udp::Address default_address(bool v6) {
  udp::Address address;
  address.v6 = v6;
  const std::string& given = all_settings.address;
  if (!given.empty()) {
    if (const auto parsed = address_of(given)) return *parsed;
  }
  const udp::EndpointOptions& options = all_settings.endpoint;
  ifaddrs* all = nullptr;
  bool found = false;
  if ((options.key || options.insecure) && getifaddrs(&all) == 0) {
    for (const ifaddrs* one = all; one != nullptr && !found; one = one->ifa_next) {
      if (one->ifa_addr == nullptr || (one->ifa_flags & IFF_UP) == 0 ||
          (one->ifa_flags & IFF_LOOPBACK) != 0 ||
          one->ifa_addr->sa_family != (v6 ? AF_INET6 : AF_INET))
        continue;
      found =
          from_sockaddr(one->ifa_addr, v6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in), address);
    }
    freeifaddrs(all);
  }
  if (found) {
    address.port = 0;
    return address;
  }
  if (v6) {
    address.ip[15] = 1;
  } else {
    address.ip = {127, 0, 0, 1};
  }
  return address;
}

bool is_service(const char* service) {
  if (service == nullptr) return true;
  const std::string_view all = service;
  unsigned port = 0;
  const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), port);
  return end != all.data() + all.size() || (error == std::errc{} && port <= 65'535);
}

int bind_error(const udp::Address& address) {
  sockaddr_in6 name{};
  const std::size_t size = to_sockaddr(address, &name, sizeof name);
  const int socket = ::socket(address.v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return errno;
  const auto* const from = reinterpret_cast<const sockaddr*>(&name);
  const int error = ::bind(socket, from, static_cast<socklen_t>(size)) == 0 ? 0 : errno;
  close(socket);
  return error;
}

bool from_sockaddr(const void* bytes, std::size_t size, udp::Address& out) {
  sockaddr_in6 v6{};
  sockaddr_in v4{};
  if (bytes == nullptr || size < sizeof(sa_family_t)) return false;
  sa_family_t family = 0;
  std::memcpy(&family, bytes, sizeof family);
  out = {};
  if (family == AF_INET && size >= sizeof v4) {
    std::memcpy(&v4, bytes, sizeof v4);
    out.port = ntohs(v4.sin_port);
    std::memcpy(out.ip.data(), &v4.sin_addr, 4);
    return true;
  }
  if (family != AF_INET6 || size < sizeof v6) return false;
  std::memcpy(&v6, bytes, sizeof v6);
  out.v6 = true;
  out.port = ntohs(v6.sin6_port);
  out.scope = v6.sin6_scope_id;
  std::memcpy(out.ip.data(), &v6.sin6_addr, 16);
  return true;
}

std::size_t to_sockaddr(const udp::Address& address, void* out, std::size_t room) {
  sockaddr_in6 v6{};
  sockaddr_in v4{};
  const void* from = &v4;
  std::size_t size = sizeof v4;
  if (address.v6) {
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(address.port);
    v6.sin6_scope_id = address.scope;
    std::memcpy(&v6.sin6_addr, address.ip.data(), 16);
    from = &v6;
    size = sizeof v6;
  } else {
    v4.sin_family = AF_INET;
    v4.sin_port = htons(address.port);
    std::memcpy(&v4.sin_addr, address.ip.data(), 4);
  }
  if (out != nullptr) std::memcpy(out, from, std::min(size, room));
  return size;
}

bool is_offered(const fi_tx_attr& tx) {
  return !any_bit_outside(tx.caps, kCaps) && !any_bit_outside(tx.op_flags, kTxFlags) &&
         !any_bit_outside(tx.msg_order, kOrders) && tx.comp_order == FI_ORDER_NONE &&
         tx.inject_size <= kMostInjected && tx.size <= kMostObjects && is_tclass(tx.tclass) &&
         tx.iov_limit <= kMostPieces && tx.rma_iov_limit <= kMostPieces;
}

int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags,
             const fi_info* hints, fi_info** info) {
  if (hints != nullptr && !suits(*hints)) return -FI_ENODATA;
  fi_info* made = fi_allocinfo();
  if (made == nullptr) return -FI_ENOMEM;
  made->caps = caps_for(hints);
  fill_domain(*made->domain_attr, hints != nullptr ? hints->domain_attr : nullptr, version);
  fill_rest(*made, hints);
  made->fabric_attr->api_version = version;
  if (const int error = fill_addresses(*made, node, service, flags, hints)) {
    fi_freeinfo(made);
    return error;
  }
  *info = made;
  return 0;
}

}  // namespace strack::fabric

namespace {

fi_provider provider{};

}  // namespace

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini(void) {
  using namespace strack::fabric;
  provider.version = FI_VERSION(1, 0);
  provider.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION);
  provider.name = kName;
  provider.getinfo = get_info;
  provider.fabric = open_fabric;
  provider.cleanup = [] {};
  return read_settings(provider) ? &provider : nullptr;
}
