#include "penstock/memory/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "tests/support/temp_dir.h"

namespace penstock {
namespace {

class Cgroup : public ::testing::Test {
 protected:
  void write(const std::string& path, const std::string& text) {
    const std::filesystem::path file = absl::StrCat(root(), path);
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  std::string root() const { return root_; }

 private:
  const std::string root_ = testing::fresh_path();
};

TEST_F(Cgroup, LimitsOfAContainerAreThoseOfItsRoot) {
  write("/proc/self/cgroup", "0::/\n");
  write("/sys/fs/cgroup/cpu.max", "150000 100000\n");
  write("/sys/fs/cgroup/memory.max", "1000\n");
  write("/sys/fs/cgroup/memory.current", "300\n");
  EXPECT_EQ(cgroup_cores(root()), 1.5);
  EXPECT_EQ(cgroup_memory(root()), 700);
}

TEST_F(Cgroup, LimitsOfAJobAreTheLeastOfItsGroups) {
  // As systemd-run --scope and Slurm make them: the root has no such files.
  write("/proc/self/cgroup", "0::/system.slice/job_7/step_0\n");
  const std::string job = "/sys/fs/cgroup/system.slice/job_7";
  write(absl::StrCat(job, "/step_0/cpu.max"), "max 100000\n");
  write(absl::StrCat(job, "/step_0/memory.max"), "max\n");
  write(absl::StrCat(job, "/step_0/memory.current"), "300\n");
  write(absl::StrCat(job, "/cpu.max"), "200000 100000\n");
  write(absl::StrCat(job, "/memory.max"), "1000\n");
  write(absl::StrCat(job, "/memory.current"), "400\n");
  write("/sys/fs/cgroup/system.slice/cpu.max", "800000 100000\n");
  EXPECT_EQ(cgroup_cores(root()), 2);
  EXPECT_EQ(cgroup_memory(root()), 600);
}

TEST_F(Cgroup, VersionOneHasAPathForEachController) {
  write("/proc/self/cgroup",
        "5:memory:/jobs/7\n4:cpu,cpuacct:/quota\n0::/unified\n");
  write("/sys/fs/cgroup/cpu/quota/cpu.cfs_quota_us", "50000\n");
  write("/sys/fs/cgroup/cpu/quota/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/jobs/7/memory.limit_in_bytes", "5000\n");
  write("/sys/fs/cgroup/memory/jobs/7/memory.usage_in_bytes", "6000\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "6000\n");
  EXPECT_EQ(cgroup_cores(root()), 0.5);
  EXPECT_EQ(cgroup_memory(root()), 0);
}

TEST_F(Cgroup, FilesThatTheKernelKeepsAreNotInUse) {
  write("/proc/self/cgroup", "4:memory:/old\n0::/new\n");
  write("/sys/fs/cgroup/new/memory.max", "1000\n");
  write("/sys/fs/cgroup/new/memory.current", "950\n");
  write("/sys/fs/cgroup/new/memory.stat",
        "anon 50\nfile 900\ninactive_file 600\nactive_file 200\n");
  EXPECT_EQ(cgroup_memory(root()), 850);
  write("/sys/fs/cgroup/memory/old/memory.limit_in_bytes", "1000\n");
  write("/sys/fs/cgroup/memory/old/memory.usage_in_bytes", "950\n");
  write("/sys/fs/cgroup/memory/old/memory.stat",
        "inactive_file 1\ntotal_inactive_file 500\ntotal_active_file 50\n");
  EXPECT_EQ(cgroup_memory(root()), 600);
}

TEST_F(Cgroup, ThePathOfTheHostIsNotThereInAContainer) {
  write("/proc/self/cgroup", "5:memory:/docker/abc\n4:cpu:/docker/abc\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000\n");
  write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000\n");
  EXPECT_EQ(cgroup_cores(root()), 3);
  EXPECT_EQ(cgroup_memory(root()), 4000);
}

TEST_F(Cgroup, NoLimitIsNone) {
  EXPECT_EQ(cgroup_cores(root()), 0);
  EXPECT_LT(cgroup_memory(root()), 0);
  write("/proc/self/cgroup", "garbage\n::\n0::relative\n");
  EXPECT_EQ(cgroup_cores(root()), 0);
  EXPECT_LT(cgroup_memory(root()), 0);
}

}  // namespace
}  // namespace penstock
