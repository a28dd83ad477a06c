// What was compiled for GPUs, one image for each of the transports' files; the list is made by the build.
#pragma once

#include <span>
#include <string_view>

namespace strack::sim::gpu {

struct KernelImage {
  const char* data;  ///< as cuModuleLoadData takes it
  const char* end;

  /// Whether something in it is called so.
  [[nodiscard]] bool has(std::string_view name) const {
    return std::string_view(data, static_cast<std::size_t>(end - data)).find(name) !=
           std::string_view::npos;
  }
};
[[nodiscard]] std::span<const KernelImage> kernel_images();

}  // namespace strack::sim::gpu
