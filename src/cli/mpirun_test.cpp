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
  const MpirunCall call = mpirun_call({"-n", "4", "./a program"}, "/opt/lib", {"FI_STRACK_STATS"});
  EXPECT_EQ(call.words, (std::vector<std::string>{"mpirun", "-x", "FI_PROVIDER_PATH", "-x",
                                                  "FI_STRACK_STATS", "-n", "4", "./a program"}));
  ASSERT_EQ(call.variables.size(), 4u);
  EXPECT_EQ(call.variables[0],
            (std::pair<std::string, std::string>("FI_PROVIDER_PATH", "/opt/lib")));
  EXPECT_EQ(call.variables[1], (std::pair<std::string, std::string>("OMPI_MCA_pml", "cm")));
}

// Whatever this machine has, each thing is named.
TEST(Mpirun, TheDoctorNamesAllThatItLooksFor) {
  testing::internal::CaptureStdout();
  const int status = doctor();
  const std::string said = testing::internal::GetCapturedStdout();
  for (const char* what : {"provider", "mpirun", "mpicc", "fi_info", "interface lo", "MTU",
                           "receive buffer", "send buffer", "open files", "processors"})
    EXPECT_NE(said.find(what), std::string::npos) << what;
  EXPECT_NE(said.find(status == 0 ? "ready: " : "is missing"), std::string::npos);
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
