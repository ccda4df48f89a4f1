#include "base/ids.hpp"

#include <catch2/catch.hpp>
#include <type_traits>

using namespace cordwood;

// What an id is for: another kind of number must not pass for it.
static_assert(!std::is_convertible_v<NodeId, BlockNumber>);
static_assert(!std::is_constructible_v<NodeId, InodeNumber>);
static_assert(!std::is_convertible_v<NodeId, std::uint64_t>);
static_assert(!std::is_convertible_v<std::uint64_t, NodeId>);
static_assert(sizeof(NodeId) == sizeof(std::uint64_t));
static_assert(std::is_trivially_copyable_v<BlockRun>);

TEST_CASE("ids: order, distance and advance", "[base]") {
  const BlockNumber a{10};
  const BlockNumber b = a + 5;
  CHECK(a < b);
  CHECK(b - a == 5);
  CHECK(b == BlockNumber{15});
  CHECK(NodeId{} == NodeId{0});
  CHECK(kRootInode == InodeNumber{1});
}

TEST_CASE("ids: a run of blocks ends after its last block", "[base]") {
  const BlockRun run{BlockNumber{10}, 3};
  CHECK(run.end() == BlockNumber{13});
  CHECK(run == BlockRun{BlockNumber{10}, 3});
  CHECK_FALSE(run == BlockRun{BlockNumber{10}, 4});
  CHECK(BlockRun{}.end() == BlockNumber{0});
}
