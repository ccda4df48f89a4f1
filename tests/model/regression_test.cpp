#include <string>

#include "support/catch.hpp"
#include "support/files.hpp"
#include "support/runner.hpp"

namespace cordwood::test {

TEST_CASE("regressions: sequences that failed once", "[model]") {
  for (const std::string& path : files_below(CORDWOOD_TEST_DATA "/regressions", ".ops")) {
    INFO(path);
    const auto regression = parse_regression(read_file(path));
    REQUIRE(regression);
    const auto failure = replay(regression->config, regression->operations);
    INFO((failure ? "step " + std::to_string(failure->step) + ": " + failure->what : ""));
    CHECK(!failure);
  }
}

TEST_CASE("operations: text there and back", "[model]") {
  Operation operation;
  operation.kind = Operation::Kind::kSetXattr;
  operation.path = "/a%b=c\n \xff/x";
  operation.path2 = std::string("n\0m", 3);
  operation.offset = UINT64_MAX;
  operation.bytes = 17;
  operation.seed = 3;
  operation.mode = 2;
  operation.number = UINT32_MAX;
  const auto parsed = parse_operation(to_text(operation));
  REQUIRE(parsed);
  CHECK(to_text(*parsed) == to_text(operation));
  CHECK(parsed->path == operation.path);
  CHECK(parsed->path2 == operation.path2);
  CHECK(parsed->offset == operation.offset);
  CHECK(!parse_operation("frobnicate path=/a"));
  CHECK(!parse_operation("write path"));
  CHECK(!parse_operation("write bytes=1x"));

  WorkloadConfig config;
  config.node_bytes = 4096;
  config.no_space = 1;
  const auto again = parse_config(to_text(config));
  REQUIRE(again);
  CHECK(to_text(*again) == to_text(config));
}

}  // namespace cordwood::test
