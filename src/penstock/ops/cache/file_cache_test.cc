#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>

#include "penstock/io/file.h"
#include "penstock/ops/cache/cache.h"
#include "penstock/penstock.h"
#include "tests/support/show.h"
#include "tests/support/temp_dir.h"

namespace penstock {
namespace {

using testing::counted;
using testing::fresh_path;
using ::testing::HasSubstr;
using testing::values;
using I64 = std::int64_t;

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void spill(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

TEST(FileCache, LaterIterationsReadTheFile) {
  std::atomic<int> calls{0};
  const std::string path = fresh_path();
  const Dataset ds = counted(calls).cache(path);
  const auto first = values(ds);
  EXPECT_EQ(calls, 20);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(std::filesystem::exists(path + ".lock"));
  EXPECT_EQ(values(ds), first);
  EXPECT_EQ(ds.at(7)[0].value<I64>(), 70);
  EXPECT_EQ(values(counted(calls).cache(path)), first);  // another object
  EXPECT_EQ(calls, 20);
}

TEST(FileCache, RemovesWhatADeadWriterLeft) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  const std::filesystem::path path = fresh_path();
  const auto beside = [&](const std::string& name, pid_t process) {
    const auto at =
        path.parent_path() / absl::StrCat(".", name, ".tmp.", process, ".0");
    spill(at, "half a file");
    return at;
  };
  const auto left = beside(path.filename(), child);
  const auto of_another = beside(path.filename().string() + "2", child);
  const auto in_use = beside(path.filename(), ::getpid());
  values(Dataset::range(5).cache(path));
  EXPECT_FALSE(std::filesystem::exists(left));
  EXPECT_TRUE(std::filesystem::exists(of_another));
  EXPECT_TRUE(std::filesystem::exists(in_use));
}

TEST(FileCache, ReplaysEvenIfTheInputHasChanged) {
  const std::string path = fresh_path();
  values(Dataset::range(5).cache(path));
  EXPECT_EQ(values(Dataset::range(100, 103).cache(path)),
            (std::vector<I64>{0, 1, 2, 3, 4}));
}

TEST(FileCache, RepetitionsReplayBehindAFilter) {
  std::atomic<int> calls{0};
  const Dataset ds = counted(calls, 9)
                         .filter([](I64 x) { return x >= 60; })
                         .cache(fresh_path())
                         .repeat(3);
  EXPECT_EQ(values(ds), (std::vector<I64>{60, 70, 80, 60, 70, 80, 60, 70, 80}));
  EXPECT_EQ(calls, 9);
}

TEST(FileCache, ASecondWriterIsRefused) {
  const std::string path = fresh_path();
  const Dataset ds = Dataset::range(10).cache(path).prefetch(0);
  Iterator writer = ds.iterator();
  writer.next();
  // Of the same object, and of another one.
  for (const Dataset& other : {ds, Dataset::range(10).cache(path)}) {
    Iterator second = other.iterator();
    const Status status = second.try_next().status();
    EXPECT_EQ(status.code(), StatusCode::kAlreadyExists);
    EXPECT_THAT(std::string(status.message()), HasSubstr(path));
  }
  while (writer.next()) {
  }
  EXPECT_EQ(values(ds).size(), 10u);
}

TEST(FileCache, AWriterThatDiedIsForgotten) {
  const std::string path = fresh_path();
  const pid_t child = ::fork();
  if (child == 0) {
    // Holds the lock and dies with it.
    auto lock = FileSystem::local().lock(path + ".lock");
    if (lock.ok()) lock->release();
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  ASSERT_TRUE(std::filesystem::exists(path + ".lock"));
  EXPECT_EQ(values(Dataset::range(3).cache(path)).size(), 3u);
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST(FileCache, ADroppedOrFailedPassLeavesNoFile) {
  const std::string path = fresh_path() + "/cache";
  std::filesystem::create_directories(
      std::filesystem::path(path).parent_path());
  {
    const Dataset ds = Dataset::range(10).cache(path).prefetch(0);
    Iterator it = ds.iterator();
    it.next();
  }
  const Dataset failing = Dataset::range(5)
                              .map([](I64 x) -> StatusOr<I64> {
                                if (x == 2) return absl::InternalError("two");
                                return x;
                              })
                              .cache(path);
  Iterator it = failing.iterator();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(it.try_next().ok(), i != 2);
  EXPECT_FALSE(it.next().has_value());
  it.close();
  EXPECT_TRUE(
      std::filesystem::is_empty(std::filesystem::path(path).parent_path()));
}

TEST(FileCache, ADamagedFileIsWrittenAnew) {
  std::atomic<int> calls{0};
  const std::string path = fresh_path();
  const auto make = [&] {
    // The seed is in the file too.
    return counted(calls, 6).cache(path).with_options({.seed = 1});
  };
  values(make());
  const std::string whole = slurp(path);
  const std::size_t step = 7;  // every byte is tried in the format's own test
  for (std::size_t at = 0; at < whole.size(); at += step) {
    std::string flipped = whole;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x10);
    for (const std::string& bytes : {flipped, whole.substr(0, at)}) {
      spill(path, bytes);
      calls = 0;
      ASSERT_EQ(values(make()), (std::vector<I64>{0, 10, 20, 30, 40, 50}))
          << at;
      ASSERT_EQ(calls, 6) << at;
      ASSERT_EQ(slurp(path), whole) << at;
    }
  }
}

// As files are that take too long to be checked first.
TEST(FileCache, DamageFoundOnTheWayIsAnErrorAndThenWrittenAnew) {
  const std::string path = fresh_path();
  std::atomic<int> calls{0};
  const Dataset rows = Dataset::range(40).map([&](I64 i) {
    ++calls;
    return std::vector<I64>(100'000, i);
  });
  const auto open = [&] {
    return Dataset(detail::value_or_throw(
        Node::make(detail::value_or_throw(
                       ops::make_file_cache(path, FileSystem::local(), 0)),
                   {rows.node()})));
  };
  const auto look = [](const Dataset& ds, std::vector<std::string>& errors) {
    std::vector<I64> seen;
    Iterator it = ds.iterator();
    for (;;) {
      const auto next = it.try_next();
      if (!next.ok()) {
        errors.emplace_back(next.status().message());
        continue;
      }
      if (!*next) return seen;
      seen.push_back((**next)[0].as<I64>()[99'999]);
    }
  };
  std::vector<std::string> errors;
  const auto whole = look(open(), errors);
  ASSERT_EQ(whole.size(), 40u);
  std::string bytes = slurp(path);
  bytes[bytes.size() / 2] ^= 1;
  for (const bool same_object : {true, false}) {
    spill(path, bytes);
    calls = 0;
    errors.clear();
    const Dataset ds = open();
    const auto some = look(ds, errors);
    EXPECT_EQ(calls, 0);
    ASSERT_FALSE(errors.empty());
    EXPECT_EQ(some.size() + errors.size(), 40u);
    for (const std::string& error : errors) {
      EXPECT_THAT(error, HasSubstr("'" + path + "', block "));
      EXPECT_THAT(error, HasSubstr(" at byte "));
    }
    for (const I64 i : some) EXPECT_EQ(whole[static_cast<std::size_t>(i)], i);
    errors.clear();
    EXPECT_EQ(look(same_object ? ds : open(), errors), whole);
    EXPECT_EQ(calls, 40);
    EXPECT_EQ(look(same_object ? ds : open(), errors), whole);
    EXPECT_EQ(calls, 40);
    EXPECT_TRUE(errors.empty());
  }
}

TEST(FileCache, AFileOfOtherElementsIsRefused) {
  const std::string path = fresh_path();
  values(Dataset::range(3).cache(path));
  const Dataset ds =
      Dataset::range(3).map([](I64) { return 1.5f; }).cache(path);
  Iterator it = ds.iterator();
  const Status status = it.try_next().status();
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("int64"), HasSubstr("float32")));
}

TEST(FileCache, NamesThePathThatCannotBeWritten) {
  const Dataset ds = Dataset::range(3).cache(fresh_path() + "/none/here");
  Iterator it = ds.iterator();
  const Status status = it.try_next().status();
  EXPECT_EQ(status.code(), StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("/none/here"));
  EXPECT_THROW(Dataset::range(3).cache(""), Error);
}

TEST(FileCache, RestoresAtEveryElementWithAndWithoutTheFile) {
  for (const bool keep : {true, false}) {
    const std::string path = fresh_path();
    const auto make = [&path] {
      return Dataset::range(4)
          .map([](I64, RandomStream& random) {
            return static_cast<I64>(random.next_u64() >> 1);
          })
          .cache(path)
          .repeat(2)
          .with_options({.seed = 3});
    };
    const Dataset ds = make();
    Iterator it = ds.iterator();
    std::vector<I64> all;
    std::vector<std::string> states;
    while (auto e = it.next()) {
      all.push_back((*e)[0].value<I64>());
      states.push_back(it.state_dict());
    }
    ASSERT_EQ(all.size(), 8u);
    for (std::size_t at = 0; at < states.size(); ++at) {
      if (!keep) std::filesystem::remove(path);
      const Dataset other = make();
      Iterator restored = other.iterator(states[at]);
      for (std::size_t i = at + 1; i < all.size(); ++i) {
        ASSERT_EQ((*restored.next())[0].value<I64>(), all[i]) << at;
      }
      EXPECT_FALSE(restored.next().has_value());
    }
  }
}

TEST(Snapshot, FirstIterationWritesLaterOnesRead) {
  std::atomic<int> calls{0};
  const std::string path = fresh_path();
  const Dataset ds = counted(calls, 5).snapshot(path);
  const auto first = values(ds);
  EXPECT_EQ(values(ds), first);
  EXPECT_EQ(values(counted(calls, 5).snapshot(path)), first);
  EXPECT_EQ(calls, 5);
}

TEST(Snapshot, OthersComputeForThemselvesWhileOneWrites) {
  const Dataset ds = Dataset::range(5).snapshot(fresh_path()).prefetch(0);
  Iterator writer = ds.iterator();
  writer.next();
  EXPECT_EQ(values(ds), (std::vector<I64>{0, 1, 2, 3, 4}));
}

TEST(SaveLoad, LoadNeedsNoSpecAndKnowsTheCardinality) {
  const std::string path = fresh_path();
  const Dataset ds = Dataset::range(1000).map([](I64 x) {
    return std::tuple(x, std::vector<float>(static_cast<std::size_t>(x % 5)));
  });
  for (const I64 shards : {1, 3}) {
    ds.save(path, {.num_shards = shards});
    const Dataset loaded = Dataset::load(path);
    EXPECT_EQ(loaded.cardinality(), Cardinality(1000));
    EXPECT_EQ(loaded.element_spec(), ds.element_spec());
    EXPECT_EQ(loaded.to_list(), ds.to_list());
    EXPECT_EQ(loaded.at(999), ds.at(999));
  }
  // The shards of the first save are gone: metadata and three shards.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path), {}), 4);
}

TEST(SaveLoad, ReadsShardsInTurns) {
  const std::string path = fresh_path();
  Dataset::range(6).save(path, {.shard_func = [](const Element& e) -> I64 {
                           return e[0].value<I64>() < 4 ? 0 : 1;
                         }});
  EXPECT_EQ(values(Dataset::load(path)), (std::vector<I64>{0, 4, 1, 5, 2, 3}));
}

TEST(SaveLoad, AnErrorLeavesWhatWasThere) {
  const std::string path = fresh_path();
  Dataset::range(3).save(path);
  const Dataset failing = Dataset::range(3).map([](I64 x) -> StatusOr<I64> {
    if (x == 2) return absl::InternalError("two");
    return x;
  });
  EXPECT_THROW(failing.save(path), Error);
  EXPECT_THROW(Dataset::range(3).save(path, {.num_shards = 0}), Error);
  EXPECT_THROW(
      Dataset::range(3).save(
          path, {.shard_func = [](const Element&) -> I64 { return -1; }}),
      Error);
  EXPECT_EQ(values(Dataset::load(path)), (std::vector<I64>{0, 1, 2}));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(path), {}), 2);
}

TEST(SaveLoad, OfNothingIsNothing) {
  const std::string path = fresh_path();
  Dataset::range(0).save(path);
  EXPECT_TRUE(Dataset::load(path).to_list().empty());
  EXPECT_EQ(Dataset::load(path).cardinality(), Cardinality(0));
}

TEST(SaveLoad, SaysWhatIsMissingOrDamaged) {
  try {
    Dataset::load("/nowhere/at/all");
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.status().code(), StatusCode::kNotFound);
    EXPECT_THAT(std::string(e.status().message()),
                HasSubstr("/nowhere/at/all"));
  }
  const std::string path = fresh_path();
  Dataset::range(100).save(path);
  for (const auto& entry : std::filesystem::directory_iterator(path)) {
    if (entry.path().extension() != ".blocks") continue;
    std::string bytes = slurp(entry.path());
    bytes[200] = static_cast<char>(bytes[200] ^ 1);
    spill(entry.path(), bytes);
  }
  Iterator it = Dataset::load(path).iterator();
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(it.try_next().status().code(), StatusCode::kDataLoss);
  }
  EXPECT_FALSE(it.next().has_value());
}

}  // namespace
}  // namespace penstock
