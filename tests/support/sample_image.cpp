#include "support/sample_image.hpp"

#include <utility>

#include "device/memory_device.hpp"
#include "support/executor.hpp"

namespace cordwood::test {

using Kind = Operation::Kind;

Operation op_on(Kind kind, std::string path, std::string path2) {
  Operation operation;
  operation.kind = kind;
  operation.path = std::move(path);
  operation.path2 = std::move(path2);
  return operation;
}

Operation op_create(std::string path, std::uint32_t mode) {
  Operation operation = op_on(Kind::kCreate, std::move(path));
  operation.mode = mode;
  return operation;
}

Operation op_mkdir(std::string path) {
  Operation operation = op_on(Kind::kMakeDirectory, std::move(path));
  operation.mode = 0755;
  return operation;
}

Operation op_write(std::string path, std::uint64_t offset, std::uint64_t bytes,
                   std::uint64_t seed) {
  Operation operation = op_on(Kind::kWrite, std::move(path));
  operation.offset = offset;
  operation.bytes = bytes;
  operation.seed = seed;
  return operation;
}

Operation op_truncate(std::string path, std::uint64_t size) {
  Operation operation = op_on(Kind::kTruncate, std::move(path));
  operation.offset = size;
  return operation;
}

Operation op_xattr(std::string path, std::string name, std::uint64_t bytes, std::uint64_t seed) {
  Operation operation = op_on(Kind::kSetXattr, std::move(path), std::move(name));
  operation.bytes = bytes;
  operation.seed = seed;
  return operation;
}

std::vector<Operation> sample_operations(std::uint32_t names) {
  std::vector<Operation> operations{
      op_mkdir("/d"),
      op_mkdir("/d/e"),
      op_create("/inline"),
      op_write("/inline", 0, 300, 1),
      op_create("/data"),
      op_write("/data", 0, 10'000, 2),
      op_create("/holes"),
      op_write("/holes", 20'000, 5'000, 3),
      op_truncate("/holes", std::uint64_t{1} << 40),
      op_create("/d/fifo", 0010600),
      op_create("/d/device", 0020600),
      op_on(Kind::kLink, "/data", "/d/e/again"),
      op_on(Kind::kSymlink, "/short", "d/e"),
      op_on(Kind::kSymlink, "/long", std::string(4000, 'l')),
      op_xattr("/inline", "user.small", 50, 4),
      op_xattr("/inline", "user.middle", 900, 5),
      op_xattr("/d", "user.large", 30'000, 6),
  };
  for (std::uint32_t i = 0; i < names; ++i) {
    operations.push_back(op_create("/d/e/name-" + std::to_string(i)));
  }
  return operations;
}

SampleImage sample_image(const WorkloadConfig& config, std::uint32_t names) {
  SampleImage sample;
  MemoryDevice device(config.device_bytes);
  Executor executor(device, config);
  sample.problem = executor.start();
  std::vector<Operation> operations = sample_operations(names);
  operations.push_back(op_create("/orphan"));
  operations.push_back(op_write("/orphan", 0, 9'000, 7));
  operations.push_back(op_on(Kind::kOpen, "/orphan"));
  operations.push_back(op_on(Kind::kUnlink, "/orphan"));
  operations.push_back(op_on(Kind::kCheckpoint, ""));
  for (const Operation& operation : operations) {
    if (sample.problem.empty()) sample.problem = executor.apply(operation);
    if (!sample.problem.empty()) {
      sample.problem = to_text(operation) + ": " + sample.problem;
      break;
    }
  }
  sample.image = device.snapshot();
  sample.model = executor.model();
  sample.model.close_all();
  executor.abandon();
  return sample;
}

}  // namespace cordwood::test
