#include "penstock/runtime/thread_sight.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

namespace penstock {
namespace {

class OtherThread {
 public:
  explicit OtherThread(bool spins)
      : thread_([this, spins] {
          tid_ = gettid();
          if (!spins) stop_.wait(false);
          while (!stop_) {
          }
        }) {
    while (tid_ == 0) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ~OtherThread() {
    stop_ = true;
    stop_.notify_all();
    thread_.join();
  }
  pid_t tid() const { return tid_; }

 private:
  std::atomic<pid_t> tid_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

TEST(ThreadSight, ComputingThreadIsRunnableWithOrWithoutACore) {
  const OtherThread spinner(true);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(look_at_thread(spinner.tid()).runnable);
  }
}

TEST(ThreadSight, SleepingThreadIsNotRunnable) {
  const OtherThread sleeper(false);
  // It may still be on its way to sleep.
  bool asleep = false;
  for (int i = 0; i < 1000 && !asleep; ++i) {
    asleep = !look_at_thread(sleeper.tid()).runnable;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_TRUE(asleep);
}

TEST(ThreadSight, DelayNeverFalls) {
  const OtherThread spinner(true);
  const std::int64_t before = look_at_thread(spinner.tid()).run_delay_ns;
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GE(look_at_thread(spinner.tid()).run_delay_ns, before);
}

TEST(ThreadSight, UnknownThreadGivesZeros) {
  const ThreadSight sight = look_at_thread(0x3fffffff);
  EXPECT_FALSE(sight.runnable);
  EXPECT_EQ(sight.run_delay_ns, 0);
}

TEST(ThreadSight, AThreadThatWaitsForALockIsFoundByWhereTheLockLies) {
  struct {
    std::atomic<int> lock{1};
    std::atomic<int> other{1};
  } memory;
  std::atomic<pid_t> tid{0};
  std::thread waits([&] {
    tid = gettid();
    memory.lock.wait(1);
  });
  const auto waits_for = [&](const std::atomic<int>& word) {
    const auto begin = reinterpret_cast<std::uintptr_t>(&word);
    return waits_in_memory(tid, begin, begin + sizeof(word));
  };
  bool found = false;
  for (int i = 0; i < 1000 && !found; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    found = waits_for(memory.lock);
    EXPECT_FALSE(waits_for(memory.other));
  }
  const bool told = access("/proc/self/syscall", R_OK) == 0;
  EXPECT_EQ(found, told);
  memory.lock = 0;
  memory.lock.notify_all();
  waits.join();
  EXPECT_FALSE(waits_in_memory(gettid(), 0, ~std::uintptr_t{0}));
}

TEST(ThreadSight, OtherProcessesAreSeenToo) {
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  bool asleep = false;
  for (int i = 0; i < 1000 && !asleep; ++i) {
    asleep = !look_at_process(child).runnable;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_TRUE(asleep);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(cpu_time_of_process(child), 0);
  EXPECT_TRUE(look_at_process(getpid()).runnable);
  EXPECT_GT(cpu_time_of_process(getpid()), 0);
}

}  // namespace
}  // namespace penstock
