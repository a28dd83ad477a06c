// In what runs differ, and in which order and under which headings a report shows them.
#include "report/differences.h"

#include <stdlib.h>

#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "report/run_report.h"

namespace strack::report {
namespace {

namespace fs = std::filesystem;
using metrics::RunInfo;
using Settings = std::vector<metrics::Setting>;
using Words = std::vector<std::string>;

RunInfo run_of(const std::string& scheme, Settings settings, std::uint64_t seed = 1) {
  RunInfo run;
  run.name = "perm";
  run.scheme = scheme;
  run.seed = seed;
  run.hosts = 4;
  run.flows = 1;
  run.settings = std::move(settings);
  return run;
}

Words keys_of(const RunInfo& a, const RunInfo& b) {
  const RunInfo* const runs[] = {&a, &b};
  return differing_keys(runs);
}

TEST(Differences, OfOneSchemeAreAllThatDoNotFollow) {
  EXPECT_EQ(keys_of(run_of("strack", {{"switch.kmin", "1", {}, "default"},
                                      {"pfc.headroom", "2", {}, "derived"},
                                      {"run.seed", "1", {}, "given"}}),
                    run_of("strack", {{"switch.kmin", "9", {}, "default"},
                                      {"pfc.headroom", "9", {}, "derived"},
                                      {"run.seed", "9", {}, "given"}})),
            (Words{"switch.kmin"}));
}

// One of two runs was given something: that is a difference, whoever ran. What a scheme brings along,
// and what its transport does not read, is none.
TEST(Differences, OfTwoSchemesAreWhatWasGiven) {
  const RunInfo a = run_of("strack", {{"transport.mtu", "8192", {}, "given"},
                                      {"transport.max_paths", "64", {}, "given"},
                                      {"switch.kmin", "1", {}, "default"}});
  const RunInfo b = run_of("rocev2", {{"transport.mtu", "4096", {}, "default"},
                                      {"transport.max_paths", "256", {}, "default"},
                                      {"switch.kmin", "9", {}, "default"}});
  EXPECT_EQ(keys_of(a, b), (Words{"transport.mtu"}));
  EXPECT_EQ(setting_of(b, "transport.max_paths"), nullptr);
  EXPECT_EQ(setting_of(a, "transport.max_paths")->value, "64");
  EXPECT_EQ(setting_of(a, "nothing"), nullptr);
}

// A transport may read another's section: MRC's window is NSCC's.
TEST(Differences, OfASectionThatTwoTransportsRead) {
  const Settings small{{"uet.max_cwnd", "100000", {}, "given"}};
  const Settings large{{"uet.max_cwnd", "200000", {}, "given"}};
  for (const char* scheme : {"mrc", "nscc"})
    EXPECT_EQ(keys_of(run_of(scheme, small), run_of(scheme, large)), (Words{"uet.max_cwnd"}))
        << scheme;
  const RunInfo other = run_of("strack", small);
  EXPECT_EQ(setting_of(other, "uet.max_cwnd"), nullptr);
}

class DifferencesOnAPage : public testing::Test {
 protected:
  DifferencesOnAPage() {
    std::string name = (fs::temp_directory_path() / "strack_differences_XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~DifferencesOnAPage() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const RunInfo& run) {
    const auto writer = metrics::ResultWriter::create(folder_ / name, run);
    EXPECT_TRUE(writer);
    EXPECT_FALSE(writer.value()->finish(metrics::RunStatus::finished, Instant{}, {}, 1, 1));
    return folder_ / name;
  }

  fs::path folder_;
};

// The tenth seed comes after the second, whatever the files are called.
TEST_F(DifferencesOnAPage, RunsStandInTheOrderOfSchemesSizesAndSeeds) {
  const auto at_size = [](std::int64_t size) {
    return Settings{{"workload.size", std::to_string(size), size, "given"}};
  };
  const RunReport made = report_on({write("a.db", run_of("rocev2", at_size(5), 2)),
                                    write("b-s10.db", run_of("strack", at_size(5), 10)),
                                    write("b-s2.db", run_of("strack", at_size(5), 2)),
                                    write("c.db", run_of("strack", at_size(1), 10))});
  Words order;
  for (const auto& run : made.report.runs) order.push_back(fs::path(run.file).filename().string());
  EXPECT_EQ(order, (Words{"c.db", "b-s2.db", "b-s10.db", "a.db"}));
}

TEST_F(DifferencesOnAPage, HeadingsSayWhatTellsGroupsApart) {
  const auto on = [](const char* spines) {
    return Settings{{"topology.spines", spines, {}, "given"},
                    {"workload.kind", "permutation", {}, "given"}};
  };
  const RunReport made =
      report_on({write("a.db", run_of("strack", on("4"))), write("b.db", run_of("rocev2", on("4"))),
                 write("c.db", run_of("strack", on("8")))});
  ASSERT_EQ(made.report.sections.size(), 2u);
  EXPECT_EQ(made.report.sections[0].title, "perm (spines 4)");
  EXPECT_EQ(made.report.sections[1].title, "perm (spines 8): STrack, seed 1");
}

// Between schemes, too, a parameter that only one was given is part of the name.
TEST_F(DifferencesOnAPage, NamesSayWhatOneSchemeWasGiven) {
  const RunReport made = report_on(
      {write("a.db", run_of("strack", {{"switch.queue_limit", "1 MB", {}, "given"}})),
       write("b.db", run_of("rocev2", {{"switch.queue_limit", "5 BDP", {}, "default"}}))});
  const auto& rows = made.report.sections.at(0).tables.at(0).rows;
  EXPECT_EQ(std::get<std::string>(rows.at(0).at(0).value), "STrack, queue_limit 1 MB");
  EXPECT_EQ(std::get<std::string>(rows.at(1).at(0).value), "RoCEv2, queue_limit 5 BDP");
}

}  // namespace
}  // namespace strack::report
