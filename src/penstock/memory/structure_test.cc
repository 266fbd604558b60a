#include "penstock/memory/structure.h"

#include <gtest/gtest.h>

#include <thread>

namespace penstock {
namespace {

const Structure* leaf() { return Structure::leaf(); }

TEST(Structure, EqualOnesAreTheSamePointer) {
  EXPECT_EQ(Structure::tuple({leaf(), leaf()}), Structure::leaves(2));
  EXPECT_EQ(Structure::dict({{"a", leaf()}}), Structure::dict({{"a", leaf()}}));
  EXPECT_EQ(Structure::ragged(2), Structure::ragged(2));
  EXPECT_EQ(Structure::absent(), Structure::absent());
}

TEST(Structure, DifferentOnesDiffer) {
  const Structure* pair = Structure::leaves(2);
  const std::vector<const Structure*> all = {
      leaf(),
      Structure::absent(),
      pair,
      Structure::leaves(0),
      Structure::leaves(1),
      Structure::tuple({pair}),
      Structure::tuple({leaf(), Structure::absent()}),
      Structure::tuple({leaf(), leaf()}, "Point"),
      Structure::dict({{"a", leaf()}, {"b", leaf()}}),
      Structure::dict({{"b", leaf()}, {"a", leaf()}}),
      Structure::dict({{"a", leaf()}, {"c", leaf()}}),
      Structure::dict({}),
      Structure::ragged(1),
      Structure::ragged(2),
      // Keys made to look like the separators of a textual key.
      Structure::dict({{"a|1", leaf()}, {"b", leaf()}}),
      Structure::dict({{"a", leaf()}, {"1|b", leaf()}}),
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) EXPECT_NE(all[i], all[k]) << i << k;
  }
}

TEST(Structure, CountsLeavesThroughNesting) {
  const Structure* s = Structure::tuple(
      {leaf(), Structure::absent(), Structure::ragged(2),
       Structure::dict({{"x", leaf()}, {"y", Structure::leaves(2)}})});
  EXPECT_EQ(s->num_leaves(), 7u);
  EXPECT_EQ(s->leaf_offset(0), 0u);
  EXPECT_EQ(s->leaf_offset(1), 1u);
  EXPECT_EQ(s->leaf_offset(2), 1u);
  EXPECT_EQ(s->leaf_offset(3), 4u);
  EXPECT_EQ(s->children()[3]->find("y"), 1u);
  EXPECT_EQ(s->children()[3]->find("z"), 2u);
  EXPECT_EQ(s->children()[2]->ragged_rank(), 2);
}

TEST(Structure, Prints) {
  EXPECT_EQ(leaf()->to_string(), "*");
  EXPECT_EQ(Structure::leaves(0)->to_string(), "()");
  EXPECT_EQ(Structure::leaves(1)->to_string(), "(*,)");
  EXPECT_EQ(Structure::tuple({leaf(), leaf()}, "Point")->to_string(),
            "Point(*, *)");
  const Structure* s =
      Structure::dict({{"a", Structure::tuple({leaf(), Structure::absent()})},
                       {"b", Structure::ragged(1)}});
  const std::vector<std::string> leaves = {"x", "v", "s"};
  EXPECT_EQ(s->render(leaves), "{'a': (x, None), 'b': ragged(v, s)}");
}

TEST(Structure, IsInternedAcrossThreads) {
  std::vector<const Structure*> made(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&made, t] {
      for (int i = 0; i < 200; ++i) {
        made[t] = Structure::dict({{"thread" + std::to_string(i), leaf()}});
      }
    });
  }
  for (std::thread& t : threads) t.join();
  for (const Structure* s : made) EXPECT_EQ(s, made[0]);
}

}  // namespace
}  // namespace penstock
