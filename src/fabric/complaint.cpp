// For `strack doctor`, which loads the provider without libfabric's headers: whether programs will find it.
#include <memory>
#include <string>

#include "fabric/provider.h"

extern "C" fi_provider* fi_prov_ini(void);

namespace strack::fabric {
namespace {

/// Opens an endpoint as a program would that asks for nothing in particular.
int open_and_close() {
  fi_info* found = nullptr;
  if (const int error = get_info(FI_VERSION(1, 17), nullptr, nullptr, 0, nullptr, &found))
    return error;
  const std::unique_ptr<fi_info, decltype(&fi_freeinfo)> info(found, fi_freeinfo);
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_ep* ep = nullptr;
  int error = open_fabric(info->fabric_attr, &fabric, nullptr);
  if (error == 0) error = open_domain(fabric, info.get(), &domain, nullptr);
  if (error == 0) error = open_ep(domain, info.get(), &ep, nullptr);
  if (ep != nullptr) fi_close(&ep->fid);
  if (domain != nullptr) fi_close(&domain->fid);
  if (fabric != nullptr) fi_close(&fabric->fid);
  return error;
}

}  // namespace
}  // namespace strack::fabric

/// What is wrong with the provider in this process's environment; null: nothing. Good until the next call.
extern "C" __attribute__((visibility("default"))) const char* strack_provider_complaint(void) {
  using namespace strack::fabric;
  static std::string said;
  const int error = fi_prov_ini() != nullptr ? open_and_close() : -FI_EINVAL;
  if (error == 0) return nullptr;
  said = last_complaint();
  if (said.empty()) said = fi_strerror(-error);
  return said.c_str();
}
