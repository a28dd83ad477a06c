// libfabric closes providers when a program exits. An endpoint that is open then has a thread at work in this one, which must not be unloaded
// under it.
#include <dlfcn.h>

#include <cstdio>

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  void* const provider = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (provider == nullptr) {
    std::printf("%s\n", dlerror());
    return 2;
  }
  dlclose(provider);
  const bool stays = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD) != nullptr;
  std::printf("%s\n", stays ? "the provider stays" : "the provider was unloaded");
  return stays ? 0 : 1;
}
