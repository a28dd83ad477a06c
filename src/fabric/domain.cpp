// Fabrics, domains and registered memory.
#include <algorithm>
#include <cstring>
#include <memory>

#include "fabric/provider.h"

namespace strack::fabric {
namespace {

int close_fabric(fid* inner) {
  auto& fabric = self<Fabric, fid_fabric>(inner);
  if (fabric.users > 0) return -FI_EBUSY;
  delete &fabric;
  return 0;
}

fi_ops fabric_base{.size = sizeof(fi_ops),
                   .close = close_fabric,
                   .bind = kMissing,
                   .control = kMissing,
                   .ops_open = kMissing,
                   .tostr = kMissing,
                   .ops_set = kMissing};
fi_ops_fabric fabric_operations{
    .size = sizeof(fi_ops_fabric),
    .domain = open_domain,
    .passive_ep = kMissing,
    .eq_open = open_eq,
    .wait_open = kMissing,
    .trywait = try_wait,
    .domain2 = [](fid_fabric* fabric, fi_info* info, fid_domain** domain, std::uint64_t flags,
                  void* context) {
      return flags != 0 ? -FI_EINVAL : open_domain(fabric, info, domain, context);
    }};

int close_domain(fid* inner) {
  auto& domain = self<Domain, fid_domain>(inner);
  if (domain.users > 0) return -FI_EBUSY;
  --domain.fabric->users;
  delete &domain;
  return 0;
}

fi_ops domain_base{.size = sizeof(fi_ops),
                   .close = close_domain,
                   .bind = kMissing,
                   .control = control_domain,
                   .ops_open = kMissing,
                   .tostr = kMissing,
                   .ops_set = kMissing};
fi_ops_domain domain_operations{.size = sizeof(fi_ops_domain),
                                .av_open = open_av,
                                .cq_open = open_cq,
                                .endpoint = open_ep,
                                .scalable_ep = kMissing,
                                .cntr_open = open_cntr,
                                .poll_open = open_poll,
                                .stx_ctx = open_stx,
                                .srx_ctx = kMissing,
                                .query_atomic = query_atomic,
                                .query_collective = kMissing,
                                .endpoint2 = [](fid_domain* domain, fi_info* info, fid_ep** ep,
                                                std::uint64_t flags, void* context) {
                                  return flags != 0 ? -FI_EINVAL
                                                    : open_ep(domain, info, ep, context);
                                }};

int close_region(fid* inner) {
  auto& region = self<Region, fid_mr>(inner);
  {
    const std::lock_guard lock(region.domain->mutex);
    region.domain->regions.erase(region.key);
  }
  {
    const std::lock_guard lock(region.domain->eps_mutex);
    for (Ep* ep : region.domain->eps) {
      const std::lock_guard at_rest(ep->mutex);
      ep->rdm->revoke(region.key);
    }
  }
  if (region.reads != nullptr) --region.reads->users;
  if (region.writes != nullptr) --region.writes->users;
  --region.domain->users;
  delete &region;
  return 0;
}

/// [D134] Memory belongs to the domain and not to an endpoint, so that counters are all that it can be bound to.
int bind_region(fid* inner, fid* other, std::uint64_t flags) {
  auto& region = self<Region, fid_mr>(inner);
  if (other == nullptr || other->fclass != FI_CLASS_CNTR) return -FI_EINVAL;
  if (flags == 0 || (flags & ~(FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0) return -FI_EBADFLAGS;
  auto& cntr = self<Cntr, fid_cntr>(other);
  Domain& domain = *region.domain;
  const bool reads = (flags & FI_REMOTE_READ) != 0;
  const bool writes = (flags & FI_REMOTE_WRITE) != 0;
  if (cntr.domain != &domain) return -FI_EINVAL;
  {
    const std::lock_guard lock(domain.mutex);
    if ((reads && region.reads != nullptr) || (writes && region.writes != nullptr))
      return -FI_EINVAL;
    if (reads) region.reads = &cntr;
    if (writes) region.writes = &cntr;
    cntr.users += static_cast<int>(reads) + static_cast<int>(writes);
  }
  // Whoever asks the counter makes progress: what is counted may come by any endpoint.
  const std::lock_guard lock(domain.eps_mutex);
  std::vector<Cntr*>& all = domain.region_counters;
  if (std::find(all.begin(), all.end(), &cntr) != all.end()) return 0;
  all.push_back(&cntr);
  for (Ep* ep : domain.eps) cntr.progressed.bind(*ep);
  return 0;
}

/// For programs that carry keys as bytes.
int tell_key(Region& region, const struct fi_mr_raw_attr& attr) {
  const std::size_t room = *attr.key_size;
  *attr.key_size = sizeof region.key;
  if (room < sizeof region.key) return -FI_ETOOSMALL;
  if (attr.flags != 0) return -FI_EBADFLAGS;
  *attr.base_addr = region.base;
  std::memcpy(attr.raw_key, &region.key, sizeof region.key);
  return 0;
}

int control_region(fid* inner, int command, void* arg) {
  switch (command) {
    case FI_ENABLE:
    case FI_REFRESH:
      return 0;
    case FI_GET_RAW_MR:
      return tell_key(self<Region, fid_mr>(inner), *static_cast<const struct fi_mr_raw_attr*>(arg));
    default:
      return -FI_ENOSYS;
  }
}

fi_ops region_base{.size = sizeof(fi_ops),
                   .close = close_region,
                   .bind = bind_region,
                   .control = control_region,
                   .ops_open = kMissing,
                   .tostr = kMissing,
                   .ops_set = kMissing};

/// Whose bits there are.
constexpr std::uint64_t kAccess =
    FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_COLLECTIVE;

int register_attr(fid* inner, const fi_mr_attr* attr, std::uint64_t flags, fid_mr** out) {
  if (attr == nullptr || attr->iov_count != 1 || attr->iface != FI_HMEM_SYSTEM) return -FI_EINVAL;
  if ((flags & ~std::uint64_t{FI_RMA_EVENT}) != 0) return -FI_EBADFLAGS;
  // The manual has no use for an offset, and asks for 0.
  if ((attr->access & ~kAccess) != 0 || attr->offset != 0) return -FI_EINVAL;
  auto& domain = self<Domain, fid_domain>(inner);
  // Older programs have no such field. Nobody may think that it protects memory.
  if (FI_VERSION_GE(domain.fabric->api_version, FI_VERSION(1, 5)) && attr->auth_key_size != 0)
    return -FI_EINVAL;
  auto region = std::make_unique<Region>();
  region->domain = &domain;
  region->memory = static_cast<std::byte*>(attr->mr_iov[0].iov_base);
  region->size = attr->mr_iov[0].iov_len;
  if (domain.virtual_addresses) region->base = reinterpret_cast<std::uint64_t>(region->memory);
  // Memory that comes round to 0 is nobody's.
  if (sum_of(reinterpret_cast<std::uintptr_t>(region->memory), region->size) == ~std::size_t{0} &&
      region->memory != nullptr)
    return -FI_EINVAL;
  region->access = attr->access;
  region->fid = {FI_CLASS_MR, attr->context, &region_base};
  region->mem_desc = region.get();
  const std::lock_guard lock(domain.mutex);
  region->key = attr->requested_key;
  if (domain.own_keys) {
    while (domain.regions.contains(++domain.next_key)) {
    }
    region->key = domain.next_key;
  }
  if (!domain.regions.emplace(region->key, region.get()).second) return -FI_ENOKEY;
  ++domain.users;
  *out = region.release();
  return 0;
}

int register_pieces(fid* inner, const iovec* iov, std::size_t count, std::uint64_t access,
                    std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** out,
                    void* context) {
  fi_mr_attr attr{};
  attr.mr_iov = iov;
  attr.iov_count = count;
  attr.access = access;
  attr.offset = offset;
  attr.requested_key = key;
  attr.context = context;
  return register_attr(inner, &attr, flags, out);
}

int register_memory(fid* inner, const void* bytes, std::size_t size, std::uint64_t access,
                    std::uint64_t offset, std::uint64_t key, std::uint64_t flags, fid_mr** out,
                    void* context) {
  const iovec one{const_cast<void*>(bytes), size};
  return register_pieces(inner, &one, 1, access, offset, key, flags, out, context);
}

}  // namespace

fi_ops_mr memory_operations{.size = sizeof(fi_ops_mr),
                            .reg = register_memory,
                            .regv = register_pieces,
                            .regattr = register_attr};

int open_fabric(fi_fabric_attr* attr, fid_fabric** out, void* context) {
  auto fabric = std::make_unique<Fabric>();
  fabric->fid = {FI_CLASS_FABRIC, context, &fabric_base};
  fabric->ops = &fabric_operations;
  fabric->api_version = attr->api_version;
  *out = fabric.release();
  return 0;
}

int open_domain(fid_fabric* outer, fi_info* info, fid_domain** out, void* context) {
  auto domain = std::make_unique<Domain>();
  domain->fabric = static_cast<Fabric*>(outer);
  domain->fid = {FI_CLASS_DOMAIN, context, &domain_base};
  domain->ops = &domain_operations;
  domain->mr = &memory_operations;
  domain->address_format = info->addr_format;
  if (info->domain_attr != nullptr) {
    const int mode = info->domain_attr->mr_mode;
    domain->virtual_addresses = mode == FI_MR_BASIC || (mode & FI_MR_VIRT_ADDR) != 0;
    domain->own_keys = mode == FI_MR_BASIC || (mode & FI_MR_PROV_KEY) != 0;
  }
  ++domain->fabric->users;
  *out = domain.release();
  return 0;
}

}  // namespace strack::fabric
