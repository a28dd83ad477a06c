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

// [D164] Windows go by messages, and so over STrack, where the program uses no threads: Open MPI refuses it windows that way.
TEST(Mpirun, WindowsGoOverStrackUnlessThereAreThreads) {
  using namespace std::string_literals;
  EXPECT_EQ(windows_of("\0MPI_Put\0MPI_Init\0"s), "pt2pt");
  EXPECT_EQ(windows_of("\0mpi_init_\0"s), "pt2pt");
  EXPECT_EQ(windows_of("\0MPI_Init\0MPI_Win_allocate_shared\0"s), "sm,pt2pt");
  EXPECT_EQ(windows_of("\0MPI_Init\0MPI_Init_thread\0"s), "");
  EXPECT_EQ(windows_of("\0mpi_init_\0mpi_init_thread_\0"s), "");
  EXPECT_EQ(windows_of("\0MPI_Initialized\0"s), "") << "an interpreter, or another library's";
  const std::filesystem::path here =
      std::filesystem::temp_directory_path() / ("strack_windows_" + std::to_string(getpid()));
  std::filesystem::create_directories(here);
  const auto program = [&](const std::string& name, const std::string& bytes) {
    std::ofstream(here / name) << bytes;
    std::filesystem::permissions(here / name, std::filesystem::perms::owner_all);
    return (here / name).string();
  };
  const std::string plain = program("plain", "\177ELF\0MPI_Init\0"s);
  const std::string shares = program("shares", "\177ELF\0MPI_Init\0MPI_Win_allocate_shared\0"s);
  const std::string threads = program("threads", "\177ELF\0MPI_Init_thread\0"s);
  const std::string script = program("script", "#!/bin/sh\0MPI_Init\0"s);
  EXPECT_EQ(windows_for({"-n", "4", "/bin/true", plain}), "pt2pt");
  EXPECT_EQ(windows_for({"-n", "1", shares, ":", "-n", "1", plain}), "sm,pt2pt");
  EXPECT_EQ(windows_for({"-n", "1", plain, ":", "-n", "1", threads}), "");
  EXPECT_EQ(windows_for({"-n", "4", script}), "");
  std::filesystem::remove_all(here);
}

// [D164] Whoever has chosen how windows go, or another layer, is left his choice.
TEST(Mpirun, TheUsersWindowsAreHis) {
  const auto osc = [](const std::vector<std::string>& given, const Variables& environment) {
    for (const auto& [name, value] :
         mpirun_call(given, "/opt/lib", environment, "pt2pt").variables) {
      if (name == "OMPI_MCA_osc") return value;
    }
    return std::string();
  };
  EXPECT_EQ(osc({"-n", "4", "a"}, {}), "pt2pt");
  EXPECT_EQ(osc({"--mca", "osc", "rdma", "a"}, {}), "");
  EXPECT_EQ(osc({"--mca", "pml", "ob1", "a"}, {}), "");
  EXPECT_EQ(osc({"--mca", "btl", "osc", "a"}, {}), "pt2pt");
  EXPECT_EQ(osc({"a"}, {{"OMPI_MCA_osc", "rdma"}}), "");
  EXPECT_EQ(osc({"a"}, {{"OMPI_MPI_THREAD_LEVEL", "3"}}), "");
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
