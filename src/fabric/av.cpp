// Address vectors. A name is an index, whichever kind the program asks for.
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

#include "fabric/provider.h"

namespace strack::fabric {
namespace {

int close_av(fid* inner) {
  auto& av = self<Av, fid_av>(inner);
  if (av.users > 0) return -FI_EBUSY;
  if (av.eq != nullptr) --av.eq->users;
  --av.domain->users;
  delete &av;
  return 0;
}

int bind_av(fid* inner, fid* other, std::uint64_t flags) {
  auto& av = self<Av, fid_av>(inner);
  if (other->fclass != FI_CLASS_EQ || flags != 0) return -FI_EINVAL;
  if (av.eq != nullptr) return -FI_EINVAL;
  av.eq = &self<Eq, fid_eq>(other);
  ++av.eq->users;
  return 0;
}

fi_addr_t insert_one(Av& av, const udp::Address& address) {
  const std::lock_guard lock(av.mutex);
  fi_addr_t at = av.entries.size();
  if (av.free.empty()) {
    av.entries.push_back(address);
  } else {
    at = *av.free.begin();
    av.free.erase(av.free.begin());
    av.entries[at] = address;
  }
  av.names.emplace(address, at);
  ++av.epoch;
  return at;
}

/// How many went in. Those that are no address are told of one by one, as the program wants it.
class Insertion {
 public:
  Insertion(Av& av, fi_addr_t* names, std::uint64_t flags, void* context)
      : av_(av), names_(names), context_(context), each_((flags & FI_SYNC_ERR) != 0) {}

  void add(const udp::Address* address) {
    const bool fine = address != nullptr && address->port != 0 && !address->is_any() &&
                      av_.domain->reaches(*address);
    const fi_addr_t name = fine ? insert_one(av_, *address) : FI_ADDR_NOTAVAIL;
    if (names_ != nullptr) names_[index_] = name;
    if (each_) static_cast<int*>(context_)[index_] = fine ? 0 : FI_EINVAL;
    if (fine) {
      ++inserted_;
    } else if (av_.tells) {
      Event event;
      event.error = FI_EINVAL;
      event.entry.fid = &av_.fid;
      event.entry.context = context_;
      event.entry.data = index_;
      event.entry.err = FI_EINVAL;
      av_.eq->push(std::move(event));
    }
    ++index_;
  }
  [[nodiscard]] int finish() {
    if (!av_.tells) return inserted_;
    const fi_eq_entry entry{&av_.fid, context_, static_cast<std::uint64_t>(inserted_)};
    Event event;
    event.event = FI_AV_COMPLETE;
    event.bytes.resize(sizeof entry);
    std::memcpy(event.bytes.data(), &entry, sizeof entry);
    av_.eq->push(std::move(event));
    return 0;
  }

 private:
  Av& av_;
  fi_addr_t* names_;
  void* context_;
  bool each_;
  int inserted_ = 0;
  std::size_t index_ = 0;
};

int check(const Av& av, std::uint64_t flags) {
  if ((flags & ~(FI_MORE | FI_SYNC_ERR)) != 0) return -FI_EBADFLAGS;
  return av.tells && av.eq == nullptr ? -FI_ENOEQ : 0;
}

int insert(fid_av* outer, const void* addresses, std::size_t count, fi_addr_t* names,
           std::uint64_t flags, void* context) {
  Av& av = static_cast<Av&>(*outer);
  if (const int error = check(av, flags)) return error;
  Insertion insertion(av, names, flags, context);
  const auto* at = static_cast<const std::byte*>(addresses);
  for (std::size_t i = 0; i < count; ++i) {
    // All are of one kind: the first says which.
    sa_family_t family = 0;
    std::memcpy(&family, addresses, sizeof family);
    const std::size_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
    udp::Address address;
    insertion.add(from_sockaddr(at, size, address) ? &address : nullptr);
    at += size;
  }
  return insertion.finish();
}

void insert_named(const Av& av, Insertion& insertion, const char* node, const char* service) {
  addrinfo hints{};
  hints.ai_family = av.domain->address_format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_INET;
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  udp::Address address;
  const bool fine = node != nullptr && service != nullptr && is_service(service) &&
                    getaddrinfo(node, service, &hints, &found) == 0 &&
                    from_sockaddr(found->ai_addr, found->ai_addrlen, address);
  if (found != nullptr) freeaddrinfo(found);
  insertion.add(fine ? &address : nullptr);
}

int insert_service(fid_av* outer, const char* node, const char* service, fi_addr_t* name,
                   std::uint64_t flags, void* context) {
  Av& av = static_cast<Av&>(*outer);
  if (const int error = check(av, flags)) return error;
  Insertion insertion(av, name, flags, context);
  insert_named(av, insertion, node, service);
  return insertion.finish();
}

/// "node7" and 3 are node7, node8, node9; "10.0.0.1" and 2 are 10.0.0.1 and 10.0.0.2. Empty: the number is too
/// large to count from.
std::string next_name(const char* name, std::size_t step) {
  const std::string text = name;
  const std::size_t end = text.find_last_not_of("0123456789");
  const std::size_t digits = end == std::string::npos ? 0 : end + 1;
  if (digits == text.size()) return text;
  std::uint64_t number = 0;
  if (std::from_chars(text.data() + digits, text.data() + text.size(), number).ec != std::errc{} ||
      number > ~std::uint64_t{0} - step)
    return {};
  return text.substr(0, digits) + std::to_string(number + step);
}

int insert_symmetric(fid_av* outer, const char* node, std::size_t nodes, const char* service,
                     std::size_t services, fi_addr_t* names, std::uint64_t flags, void* context) {
  Av& av = static_cast<Av&>(*outer);
  if (node == nullptr || service == nullptr) return -FI_EINVAL;
  if (const int error = check(av, flags)) return error;
  Insertion insertion(av, names, flags, context);
  for (std::size_t i = 0; i < nodes; ++i) {
    for (std::size_t j = 0; j < services; ++j)
      insert_named(av, insertion, next_name(node, i).c_str(), next_name(service, j).c_str());
  }
  return insertion.finish();
}

int remove(fid_av* outer, fi_addr_t* names, std::size_t count, std::uint64_t flags) {
  Av& av = static_cast<Av&>(*outer);
  if (flags != 0) return -FI_EINVAL;
  const std::lock_guard lock(av.mutex);
  for (std::size_t i = 0; i < count; ++i) {
    if (names[i] >= av.entries.size() || av.entries[names[i]].port == 0) return -FI_EINVAL;
    const udp::Address address = av.entries[names[i]];
    const auto found = av.names.find(address);
    if (found != av.names.end() && found->second == names[i]) av.names.erase(found);
    av.entries[names[i]] = {};
    av.free.insert(names[i]);
    // The same address may be there once more: some are, where there are fewer names than entries.
    if (av.names.size() == av.entries.size() - av.free.size()) continue;
    for (std::size_t j = 0; j < av.entries.size() && !av.names.contains(address); ++j) {
      if (av.entries[j] == address) av.names.emplace(address, j);
    }
  }
  ++av.epoch;
  return 0;
}

int look_up(fid_av* outer, fi_addr_t name, void* out, std::size_t* size) {
  udp::Address address;
  if (!static_cast<Av&>(*outer).find(name, address)) return -FI_EINVAL;
  *size = to_sockaddr(address, out, *size);
  return 0;
}

const char* as_text(fid_av*, const void* bytes, char* out, std::size_t* size) {
  udp::Address address;
  if (!from_sockaddr(bytes, sizeof(sockaddr_in), address)) {
    sa_family_t family = 0;
    std::memcpy(&family, bytes, sizeof family);
    if (family != AF_INET6 || !from_sockaddr(bytes, sizeof(sockaddr_in6), address)) return nullptr;
  }
  const std::string text =
      "fi_sockaddr_in" + std::string(address.v6 ? "6" : "") + "://" + address.text();
  if (out != nullptr && *size > 0) {
    const std::size_t n = std::min(*size - 1, text.size());
    std::memcpy(out, text.data(), n);
    out[n] = '\0';
  }
  *size = text.size() + 1;
  return out;
}

fi_ops base{.size = sizeof(fi_ops),
            .close = close_av,
            .bind = bind_av,
            .control = kMissing,
            .ops_open = kMissing,
            .tostr = kMissing,
            .ops_set = kMissing};
fi_ops_av operations{.size = sizeof(fi_ops_av),
                     .insert = insert,
                     .insertsvc = insert_service,
                     .insertsym = insert_symmetric,
                     .remove = remove,
                     .lookup = look_up,
                     .straddr = as_text,
                     .av_set = kMissing};

}  // namespace

bool Av::find(fi_addr_t name, udp::Address& out) {
  const std::lock_guard lock(mutex);
  if (name >= entries.size() || entries[name].port == 0) return false;
  out = entries[name];
  return true;
}

fi_addr_t Av::name_of(const udp::Address& address) {
  const std::lock_guard lock(mutex);
  const auto found = names.find(address);
  return found == names.end() ? FI_ADDR_NOTAVAIL : found->second;
}

int open_av(fid_domain* outer, fi_av_attr* attr, fid_av** out, void* context) {
  if (attr == nullptr) return -FI_EINVAL;
  // A vector that several processes share is nothing that this provider has.
  if (attr->name != nullptr || attr->rx_ctx_bits != 0) return -FI_ENOSYS;
  if ((attr->flags & ~(FI_EVENT | FI_SYMMETRIC)) != 0) return -FI_ENOSYS;
  unsigned type = 0;  // which none of the enumeration need be
  std::memcpy(&type, &attr->type, sizeof type);
  if (type > FI_AV_TABLE) return -FI_EINVAL;
  auto av = std::make_unique<Av>();
  if (attr->count > av->entries.max_size()) return -FI_ENOMEM;
  av->domain = static_cast<Domain*>(outer);
  av->tells = (attr->flags & FI_EVENT) != 0;
  av->fid = {FI_CLASS_AV, context, &base};
  av->ops = &operations;
  if (attr->type == FI_AV_UNSPEC) attr->type = FI_AV_TABLE;
  ++av->domain->users;
  *out = av.release();
  return 0;
}

}  // namespace strack::fabric
