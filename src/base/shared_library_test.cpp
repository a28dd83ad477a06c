#include "base/shared_library.h"

#include <dlfcn.h>

#include <gtest/gtest.h>

namespace strack {
namespace {

TEST(SharedLibrary, OpensWhatIsThere) {
  const auto library = open_library("libm.so.6");
  ASSERT_TRUE(library.ok()) << library.error();
  EXPECT_NE(dlsym(library.value(), "cos"), nullptr);
}

TEST(SharedLibrary, SaysWhatIsNotThere) {
  const auto library = open_library("libnowhere.so.7");
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.error().find("libnowhere.so.7"), std::string::npos) << library.error();
}

}  // namespace
}  // namespace strack
