#include "cli/mpirun.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

namespace strack::cli {
namespace {

// The user's words come last and unchanged; what ranks elsewhere need goes with them.
TEST(Mpirun, TheUsersWordsFollowOurs) {
  const MpirunCall call =
      mpirun_call({"-n", "4", "./a program"}, "/opt/lib",
                  {{"HOME", "/root"}, {"FI_STRACK_STATS", "1"}, {"FI_STRACK_KEY_FILE", "k"}});
  EXPECT_EQ(call.words,
            (std::vector<std::string>{"mpirun", "-x", "FI_PROVIDER_PATH", "-x", "FI_STRACK_STATS",
                                      "-x", "FI_STRACK_KEY_FILE", "-x", "FI_LOG_LEVEL", "-x",
                                      "FI_LOG_PROV", "-n", "4", "./a program"}));
  EXPECT_EQ(call.variables, (Variables{{"FI_PROVIDER_PATH", "/opt/lib"},
                                       {"OMPI_MCA_pml", "cm"},
                                       {"OMPI_MCA_mtl", "ofi"},
                                       {"OMPI_MCA_mtl_ofi_provider_include", "strack"},
                                       {"FI_LOG_LEVEL", "warn"},
                                       {"FI_LOG_PROV", "strack"}}));
}

// A log that the user has asked for stays his, and others' providers stay, too.
TEST(Mpirun, TheUsersLogIsKept) {
  const MpirunCall call =
      mpirun_call({"a"}, "/opt/lib", {{"FI_LOG_LEVEL", "debug"}, {"FI_PROVIDER_PATH", "/theirs"}});
  EXPECT_EQ(call.words, (std::vector<std::string>{"mpirun", "-x", "FI_PROVIDER_PATH", "-x",
                                                  "FI_LOG_LEVEL", "a"}));
  EXPECT_EQ(call.variables, (Variables{{"FI_PROVIDER_PATH", "/opt/lib:/theirs"},
                                       {"OMPI_MCA_pml", "cm"},
                                       {"OMPI_MCA_mtl", "ofi"},
                                       {"OMPI_MCA_mtl_ofi_provider_include", "strack"}}));
}

// A folder without the provider is no folder for it; one of a list is.
TEST(Mpirun, TheProvidersFolderIsFound) {
  const std::filesystem::path here =
      std::filesystem::temp_directory_path() / ("strack_mpirun_" + std::to_string(getpid()));
  std::filesystem::create_directories(here / "fabric");
  std::filesystem::create_directories(here / "bin");
  const std::string fabric = (here / "fabric").string();
  EXPECT_EQ(provider_folder("/nowhere:" + fabric, "/nowhere/bin/strack"), "");
  std::ofstream(here / "fabric/libstrack-fi.so") << "";
  EXPECT_EQ(provider_folder("/nowhere:" + fabric, "/nowhere/bin/strack"), fabric);
  EXPECT_EQ(provider_folder("", (here / "bin/strack").string()), fabric) << "beside the program";
  EXPECT_EQ(provider_folder("/nowhere", (here / "bin/strack").string()), fabric);
  std::filesystem::remove_all(here);
}

// Others' providers stay where they are.
TEST(Mpirun, AListOfProvidersIsKept) {
  EXPECT_EQ(with_provider("", "/ours"), "/ours");
  EXPECT_EQ(with_provider("/one:/two", "/ours"), "/ours:/one:/two");
  EXPECT_EQ(with_provider("/one:/ours:/two", "/ours"), "/one:/ours:/two");
}

}  // namespace
}  // namespace strack::cli
