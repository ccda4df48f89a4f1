#include "log/block_changes.hpp"

namespace cordwood {

Result<BlockChanges::Net> BlockChanges::net() const {
  Net result;
  std::int64_t users = 0;
  std::uint64_t start = 0;
  for (const auto& [block, step] : steps_) {
    if (users != 0 && block != start) {
      const BlockRun run{{start}, block - start};
      if (users < -1 || users > 1) {
        return corrupt(Place::kBlock, start, "the log gives it to two files at once");
      }
      (users > 0 ? result.taken : result.freed).push_back(run);
    }
    users += step;
    start = block;
  }
  return result;
}

}  // namespace cordwood
