// Endpoints of the provider, as a program that links libfabric has them, without loading anything.
#pragma once

#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "fabric/provider.h"

extern "C" fi_provider* fi_prov_ini(void);
extern "C" const char* strack_provider_complaint(void);

namespace strack::fabric {

inline fi_provider& provider() {
  static fi_provider* const one = fi_prov_ini();
  return *one;
}

/// A domain with an address vector, and endpoints in it that know each other by their order.
class World {
 public:
  struct Member {
    fid_ep* ep = nullptr;
    fid_cq* tx = nullptr;
    fid_cq* rx = nullptr;
  };

  explicit World(int members = 2, std::uint64_t caps = 0, std::uint64_t bind_flags = 0,
                 fi_threading threading = FI_THREAD_UNSPEC) {
    fi_info* hints = fi_allocinfo();
    hints->caps = caps;
    hints->domain_attr->threading = threading;
    hints->ep_attr->type = FI_EP_RDM;
    EXPECT_EQ(provider().getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), 0);
    fi_freeinfo(hints);
    EXPECT_EQ(provider().fabric(info->fabric_attr, &fabric, nullptr), 0);
    EXPECT_EQ(fi_domain(fabric, info, &domain, nullptr), 0);
    fi_av_attr av_attr{};
    EXPECT_EQ(fi_av_open(domain, &av_attr, &av, nullptr), 0);
    for (int i = 0; i < members; ++i) add(bind_flags);
  }
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World() {
    for (fid_mr* region : regions) EXPECT_EQ(fi_close(&region->fid), 0);
    for (Member& one : all) {
      EXPECT_EQ(fi_close(&one.ep->fid), 0);
      EXPECT_EQ(fi_close(&one.tx->fid), 0);
      EXPECT_EQ(fi_close(&one.rx->fid), 0);
    }
    EXPECT_EQ(fi_close(&av->fid), 0);
    EXPECT_EQ(fi_close(&domain->fid), 0);
    EXPECT_EQ(fi_close(&fabric->fid), 0);
    fi_freeinfo(info);
  }

  void add(std::uint64_t bind_flags) {
    Member one;
    EXPECT_EQ(fi_endpoint(domain, info, &one.ep, nullptr), 0);
    fi_cq_attr attr{};
    attr.format = FI_CQ_FORMAT_TAGGED;
    attr.wait_obj = FI_WAIT_UNSPEC;
    EXPECT_EQ(fi_cq_open(domain, &attr, &one.tx, nullptr), 0);
    EXPECT_EQ(fi_cq_open(domain, &attr, &one.rx, nullptr), 0);
    EXPECT_EQ(fi_ep_bind(one.ep, &av->fid, 0), 0);
    EXPECT_EQ(fi_ep_bind(one.ep, &one.tx->fid, FI_TRANSMIT | bind_flags), 0);
    EXPECT_EQ(fi_ep_bind(one.ep, &one.rx->fid, FI_RECV | bind_flags), 0);
    EXPECT_EQ(fi_enable(one.ep), 0);
    char name[64];
    std::size_t size = sizeof name;
    EXPECT_EQ(fi_getname(&one.ep->fid, name, &size), 0);
    fi_addr_t address = FI_ADDR_NOTAVAIL;
    EXPECT_EQ(fi_av_insert(av, name, 1, &address, 0, nullptr), 1);
    EXPECT_EQ(address, all.size());
    all.push_back(one);
  }

  /// The next completion, success or not, within seconds.
  static fi_cq_err_entry next(fid_cq* cq, fi_addr_t* source = nullptr) {
    fi_cq_err_entry entry{};
    fi_cq_tagged_entry fine{};
    fi_addr_t from = FI_ADDR_NOTAVAIL;
    ssize_t got = -FI_EAGAIN;
    for (int tries = 0; tries < 400 && got == -FI_EAGAIN; ++tries)
      got = fi_cq_sreadfrom(cq, &fine, 1, &from, nullptr, 50);
    if (got == -FI_EAVAIL) {
      EXPECT_EQ(fi_cq_readerr(cq, &entry, 0), 1);
      return entry;
    }
    EXPECT_EQ(got, 1) << "nothing came";
    std::memcpy(&entry, &fine, sizeof fine);
    if (source != nullptr) *source = from;
    return entry;
  }
  static bool nothing(fid_cq* cq) {
    fi_cq_tagged_entry entry{};
    return fi_cq_read(cq, &entry, 1) == -FI_EAGAIN;
  }

  std::uint64_t expose(void* memory, std::size_t size, std::uint64_t key) {
    fid_mr* region = nullptr;
    EXPECT_EQ(fi_mr_reg(domain, memory, size, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, key, 0, &region,
                        nullptr),
              0);
    regions.push_back(region);
    return fi_mr_key(region);
  }

  Member& operator[](std::size_t i) { return all[i]; }

  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_av* av = nullptr;
  std::vector<Member> all;
  std::vector<fid_mr*> regions;
};

inline void* as_context(std::uintptr_t number) { return reinterpret_cast<void*>(number); }

/// Bytes that say where they belong.
inline std::vector<unsigned char> pattern(std::size_t size, unsigned seed = 1) {
  std::vector<unsigned char> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<unsigned char>(i * 31 + (i >> 8) * 7 + seed);
  return bytes;
}

}  // namespace strack::fabric
