// Long records in memory of their own, as a front end asks for
// (memory/string_memory.h): the same elements and the same errors.
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>

#include "penstock/formats/tfrecord.h"
#include "penstock/memory/string_memory.h"
#include "penstock/penstock.h"
#include "tests/support/drain.h"
#include "tests/support/temp_dir.h"

namespace penstock {
namespace {

using testing::drain;
using testing::fresh_path;

constexpr std::size_t kLong = 40'000;

// What stands for a front end: knows which memory it gave.
struct Given {
  std::mutex mutex;
  std::set<const void*> places;
  std::atomic<int> taken{0};
};
Given& given() {
  static auto* const instance = new Given;
  return *instance;
}

Ref<Buffer> give(std::size_t size) {
  const Ref<Buffer> memory = Buffer::allocate(size);
  Given& all = given();
  ++all.taken;
  const void* const place = memory->data();
  {
    const std::lock_guard lock(all.mutex);
    all.places.insert(place);
  }
  return Buffer::external(place, size, [memory, place] {
    const std::lock_guard lock(given().mutex);
    given().places.erase(place);
  });
}

Ref<Buffer> give_none(std::size_t /*size*/) { return nullptr; }

class RecordsApart : public ::testing::Test {
 protected:
  void SetUp() override { given().taken = 0; }
  void TearDown() override {
    set_string_memory(nullptr);
    const std::lock_guard lock(given().mutex);
    EXPECT_TRUE(given().places.empty()) << "memory that nobody gave back";
  }
};

std::vector<std::string> long_records(int n) {
  std::vector<std::string> out;
  for (int i = 0; i < n; ++i) {
    // Some are short, one is longer than a read.
    const std::size_t size = i % 7 == 3 ? 10 : i == 20 ? 2'500'000 : kLong + i;
    out.emplace_back(size, static_cast<char>('a' + i % 26));
  }
  return out;
}

std::string file_of(const std::vector<std::string>& records) {
  std::string bytes;
  for (const std::string& r : records) tfrecord::append_record(r, bytes);
  const std::string path = fresh_path();
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

void flip(const std::string& path, std::streamoff at) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekg(at);
  const char c = static_cast<char>(file.get());
  file.seekp(at);
  file.put(static_cast<char>(c ^ 1));
}

// Elements and errors, in order.
std::vector<std::string> all_of(const Dataset& ds) {
  std::vector<std::string> out;
  Iterator it = ds.iterator();
  for (;;) {
    auto next = it.try_next();
    if (!next.ok()) {
      out.push_back("error: " + std::string(next.status().message()));
    } else if (!next->has_value()) {
      return out;
    } else {
      const Tensor& t = (**next)[0];
      std::string text;
      for (std::int64_t i = 0; i < t.num_elements(); ++i) {
        text.append(t.str(i)).append("|");
      }
      out.push_back(std::move(text));
    }
  }
}

void expect_the_same(const Dataset& ds, bool apart) {
  set_string_memory(nullptr);
  const std::vector<std::string> wanted = all_of(ds);
  set_string_memory(give);
  given().taken = 0;
  EXPECT_TRUE(all_of(ds) == wanted);
  EXPECT_EQ(given().taken > 0, apart);
}

ShuffleOptions kept_order(std::int64_t buffer_size) {
  return {
      .buffer_size = buffer_size, .seed = 7, .reshuffle_each_iteration = false};
}

TEST_F(RecordsApart, AreTheSameRecords) {
  const std::string a = file_of(long_records(40));
  const std::string b = file_of(long_records(5));
  const Dataset ds = Dataset::tfrecord({a, b});
  expect_the_same(ds, true);
  expect_the_same(ds.batch(8), true);
  expect_the_same(ds.repeat(2).batch(7).prefetch(2), true);
  expect_the_same(ds.shard(2, 1).skip(1).take(12), true);
  expect_the_same(ds.shuffle(kept_order(kGlobal)), true);

  set_string_memory(nullptr);
  const std::vector<std::string> wanted = all_of(ds.repeat(2));
  set_string_memory(give);
  given().taken = 0;
  EXPECT_TRUE(all_of(ds.cache().repeat(2)) == wanted);
  EXPECT_EQ(given().taken, 45);
}

TEST_F(RecordsApart, FixedLengthsToo) {
  const std::string path = fresh_path();
  std::ofstream(path, std::ios::binary)
      << "head" << std::string(3 * kLong, 'r') << "a foot";
  expect_the_same(
      Dataset::fixed_length_records(path, static_cast<std::int64_t>(kLong),
                                    {.header_bytes = 4, .footer_bytes = 6}),
      true);
}

TEST_F(RecordsApart, OnlyWhereTheyGoToTheCallerAsTheyAre) {
  const Dataset ds = Dataset::tfrecord(file_of(long_records(10)));
  expect_the_same(ds.map([](std::string_view s) { return std::string(s); }),
                  false);
  expect_the_same(ds.filter([](std::string_view s) { return s.size() > 20; }),
                  false);
  expect_the_same(ds.shuffle(kept_order(4)), false);
  const Dataset short_ones =
      Dataset::tfrecord(file_of({"one", "two", std::string(100, '3')}));
  expect_the_same(short_ones, false);
}

TEST_F(RecordsApart, EachIsInTheMemoryThatWasGivenForIt) {
  set_string_memory(give);
  Iterator it = Dataset::tfrecord(file_of(long_records(3))).batch(3).iterator();
  const auto batch = it.next();
  ASSERT_TRUE(batch);
  const Tensor& t = (*batch)[0];
  const std::lock_guard lock(given().mutex);
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(given().places.count(t.str(i).data()), 1u) << i;
  }
}

TEST_F(RecordsApart, DamageIsAnErrorInItsPlace) {
  const auto records = long_records(12);
  const std::string whole = file_of(records);
  std::vector<std::streamoff> begins{0};
  for (const std::string& r : records) {
    begins.push_back(begins.back() + 16 +
                     static_cast<std::streamoff>(r.size()));
  }
  const auto damaged = [&](std::streamoff at) {
    const std::string path = fresh_path();
    std::filesystem::copy_file(whole, path);
    // The index is made of what was whole.
    const Dataset ds = Dataset::tfrecord(path);
    flip(path, at);
    return ds;
  };
  for (const int record : {0, 3, 5, 11}) {
    SCOPED_TRACE(record);
    const std::streamoff begin = begins[static_cast<std::size_t>(record)];
    for (const std::streamoff at : {std::streamoff{0}, std::streamoff{9}}) {
      expect_the_same(damaged(begin + at), true);
    }
    expect_the_same(damaged(begin + 12), true);
    expect_the_same(damaged(begins[static_cast<std::size_t>(record) + 1] - 1),
                    true);
  }
  const Dataset ds = damaged(begins[5] + 100);
  EXPECT_EQ(drain(ds.ignore_errors()).size(), 11u);
}

TEST_F(RecordsApart, AFileThatBecameShorterGivesWhatIsLeft) {
  const auto records = long_records(12);
  for (const std::uintmax_t left : {0u, 11u, 90'000u, 200'017u}) {
    SCOPED_TRACE(left);
    const std::string path = file_of(records);
    const Dataset ds = Dataset::tfrecord(path);
    std::filesystem::resize_file(path, left);
    // How much one read gives is its own: errors name the place they saw.
    const auto kinds = [](const std::vector<std::string>& all) {
      std::vector<std::string> out;
      for (const std::string& s : all) {
        out.push_back(s.starts_with("error: ") ? "error" : s);
      }
      return out;
    };
    const auto wanted = kinds(all_of(ds));
    set_string_memory(give);
    EXPECT_TRUE(kinds(all_of(ds)) == wanted);
    set_string_memory(nullptr);
  }
}

TEST_F(RecordsApart, NoMemoryIsAnError) {
  set_string_memory(give_none);
  Iterator it = Dataset::tfrecord(file_of(long_records(3))).iterator();
  const auto next = it.try_next();
  ASSERT_FALSE(next.ok());
  EXPECT_EQ(next.status().code(), StatusCode::kResourceExhausted);
}

TEST_F(RecordsApart, AStateGoesOnInEitherWay) {
  const auto records = long_records(25);
  const Dataset ds = Dataset::tfrecord(file_of(records)).batch(4);
  Iterator before = ds.iterator();
  for (int i = 0; i < 3; ++i) before.next();
  const std::string state = before.state_dict();
  set_string_memory(give);
  Iterator after = ds.iterator(state);
  const auto batch = after.next();
  ASSERT_TRUE(batch);
  EXPECT_EQ((*batch)[0].str(0), records[12]);
}

}  // namespace
}  // namespace penstock
