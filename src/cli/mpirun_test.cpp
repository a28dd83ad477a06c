#include "cli/mpirun.h"

#include <cstdlib>

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

// A folder without the provider is no folder for it.
TEST(Mpirun, NothingIsStartedWithoutTheProvider) {
  const char* before = std::getenv("FI_PROVIDER_PATH");
  const std::string kept = before != nullptr ? before : "";
  setenv("FI_PROVIDER_PATH", "/nowhere", 1);
  EXPECT_EQ(provider_folder(), "");
  testing::internal::CaptureStderr();
  EXPECT_EQ(mpirun({"-n", "1", "true"}), 2);
  EXPECT_NE(testing::internal::GetCapturedStderr().find("FI_PROVIDER_PATH"), std::string::npos);
  if (before != nullptr) {
    setenv("FI_PROVIDER_PATH", kept.c_str(), 1);
  } else {
    unsetenv("FI_PROVIDER_PATH");
  }
}

}  // namespace
}  // namespace strack::cli
