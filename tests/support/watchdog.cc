// A test that hangs ends the process and says which one it was.
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace penstock::testing {
namespace {

// Sanitizers slow the longest tests (a few seconds) down by 20 or so.
constexpr unsigned kSeconds = 300;
char g_test[256];

void on_alarm(int) {
  constexpr char kText[] = "\nthe test hangs: ";
  (void)!write(STDERR_FILENO, kText, sizeof(kText) - 1);
  (void)!write(STDERR_FILENO, g_test, std::strlen(g_test));
  (void)!write(STDERR_FILENO, "\n", 1);
  std::abort();
}

class Watchdog final : public ::testing::EmptyTestEventListener {
  void OnTestStart(const ::testing::TestInfo& info) override {
    std::snprintf(g_test, sizeof(g_test), "%s.%s", info.test_suite_name(),
                  info.name());
    std::signal(SIGALRM, on_alarm);
    alarm(kSeconds);
  }
  void OnTestEnd(const ::testing::TestInfo&) override { alarm(0); }
};

const bool kInstalled = [] {
  ::testing::UnitTest::GetInstance()->listeners().Append(new Watchdog);
  return true;
}();

}  // namespace
}  // namespace penstock::testing
