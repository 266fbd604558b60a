#include "penstock/io/mapped_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/temp_dir.h"

namespace penstock {
namespace {

using testing::fresh_path;

const auto kPage = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

std::string pages_of_x(std::size_t count) {
  const std::string path = fresh_path();
  std::ofstream(path, std::ios::binary) << std::string(count * kPage, 'x');
  return path;
}

void cut(const std::string& path, std::size_t size) {
  ASSERT_EQ(::truncate(path.c_str(), static_cast<off_t>(size)), 0);
}

char at(const MappedFile& file, std::size_t i) {
  const auto* bytes = reinterpret_cast<const volatile char*>(
      static_cast<const Buffer&>(*file.bytes()).data());
  return bytes[i];
}

/// What a child that runs `body` ends with, as waitpid() says it. A SIGBUS
/// does there what the system has for it, also under sanitizers.
int status_of_child(const std::function<void()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGBUS, SIG_DFL);
    body();
    ::_exit(0);
  }
  int status = -1;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

bool killed_by_bus_error(int status) {
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS;
}

int exit_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// Reads of a mapping that penstock does not know, whose file is gone.
volatile char* foreign_fault() {
  const std::string path = pages_of_x(2);
  const int fd = ::open(path.c_str(), O_RDONLY);
  void* data = ::mmap(nullptr, 2 * kPage, PROT_READ, MAP_SHARED, fd, 0);
  cut(path, 0);
  return static_cast<volatile char*>(data) + kPage;
}

TEST(MappedFile, PagesThatAFileLosesReadAsZeros) {
  const std::string path = pages_of_x(4);
  const MappedFile file = MappedFile::open(path).value();
  EXPECT_EQ(file.intact(), 4 * kPage);
  cut(path, kPage);
  EXPECT_EQ(at(file, 3 * kPage), '\0');
  EXPECT_EQ(at(file, kPage), '\0');
  EXPECT_EQ(at(file, kPage - 1), 'x');
  EXPECT_EQ(file.intact(), kPage);
}

TEST(MappedFile, WhatWasLostStaysLostWhenTheFileGrowsAgain) {
  const std::string path = pages_of_x(4);
  const MappedFile read = MappedFile::open(path).value();
  cut(path, 2 * kPage);
  EXPECT_EQ(at(read, 3 * kPage), '\0');
  std::ofstream(path, std::ios::binary) << std::string(4 * kPage, 'y');
  EXPECT_EQ(at(read, 3 * kPage), '\0');
  EXPECT_EQ(read.intact(), 3 * kPage);

  const MappedFile asked = MappedFile::open(path).value();
  cut(path, 17);
  EXPECT_EQ(asked.intact(), 17u);
  cut(path, 4 * kPage);
  EXPECT_EQ(asked.intact(), 17u);
}

TEST(MappedFile, AnotherFileInItsPlaceTakesNothing) {
  const std::string path = pages_of_x(2);
  const MappedFile file = MappedFile::open(path).value();
  std::filesystem::rename(pages_of_x(1), path);
  EXPECT_EQ(file.intact(), 2 * kPage);
  std::filesystem::remove(path);
  EXPECT_EQ(file.intact(), 2 * kPage);
  EXPECT_EQ(at(file, kPage), 'x');
}

TEST(MappedFile, ManyThreadsMayReadWhatIsLost) {
  constexpr int kThreads = 8;
  for (int round = 0; round < 20; ++round) {
    const std::string path = pages_of_x(64);
    const MappedFile file = MappedFile::open(path).value();
    const MappedFile whole = MappedFile::open(pages_of_x(1)).value();
    std::atomic<int> ready = 0;
    std::atomic<int> others = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] {
        ++ready;
        while (ready < kThreads) std::this_thread::yield();
        if (t == 0) cut(path, kPage);
        for (std::size_t page = 64; page-- > 0;) {
          const char c = at(file, page * kPage + static_cast<std::size_t>(t));
          if (c != 'x' && c != '\0') ++others;
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(others, 0);
    EXPECT_EQ(at(file, 0), 'x');
    EXPECT_EQ(at(whole, 0), 'x');
    EXPECT_EQ(file.intact(), kPage);
    EXPECT_EQ(whole.intact(), kPage);
  }
}

TEST(MappedFile, AThousandAreGuardedEach) {
  std::vector<std::string> paths;
  std::vector<MappedFile> files;
  for (int i = 0; i < 1'000; ++i) {
    paths.push_back(pages_of_x(2));
    files.push_back(MappedFile::open(paths.back()).value());
  }
  for (std::size_t i = 0; i < files.size(); i += 3) {
    files[i] = MappedFile::open(paths[i]).value();
  }
  for (std::size_t i = 0; i < files.size(); i += 2) cut(paths[i], kPage);
  for (std::size_t i = 0; i < files.size(); ++i) {
    ASSERT_EQ(at(files[i], kPage), i % 2 == 0 ? '\0' : 'x') << i;
  }
}

TEST(MappedFile, AForkedChildIsGuardedToo) {
  const std::string path = pages_of_x(2);
  const MappedFile file = MappedFile::open(path).value();
  const pid_t child = ::fork();
  if (child == 0) {
    cut(path, 0);
    ::_exit(at(file, kPage) == '\0' && file.intact() == 0 ? 3 : 4);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(exit_code(status), 3) << status;
  EXPECT_EQ(at(file, kPage), '\0');
}

TEST(MappedFile, OtherBusErrorsEndTheProcessAsBefore) {
  const std::string path = pages_of_x(1);
  const std::vector<std::function<void()>> errors = {
      [] { *foreign_fault(); },
      [] { ::kill(::getpid(), SIGBUS); },
      [] { ::raise(SIGBUS); },
  };
  for (const auto& error : errors) {
    const int status = status_of_child([&] {
      const auto file = MappedFile::open(path);
      error();
    });
    EXPECT_TRUE(killed_by_bus_error(status)) << status;
  }
}

volatile char* expected_address = nullptr;

[[noreturn]] void fault_under_a_former_handler() {
  struct sigaction theirs = {};
  theirs.sa_flags = SA_SIGINFO;
  theirs.sa_sigaction = [](int, siginfo_t* info, void*) {
    ::_exit(info->si_addr == const_cast<char*>(expected_address) ? 7 : 8);
  };
  ::sigaction(SIGBUS, &theirs, nullptr);
  const std::string path = pages_of_x(2);
  const MappedFile file = MappedFile::open(path).value();
  cut(path, 0);
  if (at(file, kPage) != '\0') ::_exit(9);
  expected_address = foreign_fault();
  *expected_address;
  ::_exit(10);
}

TEST(MappedFile, TheHandlerThatWasThereGetsOtherBusErrors) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // nothing mapped before
  EXPECT_EXIT(fault_under_a_former_handler(), ::testing::ExitedWithCode(7), "");
}

struct sigaction before_the_later;
int reports = 0;

// As Python's faulthandler does it.
void report_and_raise_again(int signal) {
  ++reports;
  ::sigaction(SIGBUS, &before_the_later, nullptr);
  ::raise(signal);
}

TEST(MappedFile, AHandlerThatCameLaterMayPassItOnByRaisingIt) {
  const std::string path = pages_of_x(4);
  const auto install_later = [] {
    struct sigaction later = {};
    later.sa_handler = report_and_raise_again;
    later.sa_flags = SA_NODEFER;
    ::sigaction(SIGBUS, &later, &before_the_later);
  };
  const int ours = status_of_child([&] {
    const MappedFile file = MappedFile::open(path).value();
    install_later();
    cut(path, kPage + 1);
    const bool right = at(file, 3 * kPage) == '\0' &&
                       at(file, 2 * kPage) == '\0' && at(file, kPage) == 'x' &&
                       file.intact() == kPage + 1;
    ::_exit(right && reports == 1 ? 5 : 6);
  });
  EXPECT_EQ(exit_code(ours), 5) << ours;
  const int theirs = status_of_child([&] {
    const MappedFile file = MappedFile::open(path).value();
    install_later();
    *foreign_fault();
  });
  EXPECT_TRUE(killed_by_bus_error(theirs)) << theirs;
}

TEST(MappedFile, TheGuardComesBackWhenItWasTakenOut) {
  const std::string path = pages_of_x(2);
  const int status = status_of_child([&] {
    const MappedFile first = MappedFile::open(path).value();
    std::signal(SIGBUS, SIG_DFL);
    const MappedFile second = MappedFile::open(path).value();
    cut(path, 0);
    ::_exit(at(first, 0) == '\0' && at(second, kPage) == '\0' ? 5 : 6);
  });
  EXPECT_EQ(exit_code(status), 5) << status;
}

}  // namespace
}  // namespace penstock
