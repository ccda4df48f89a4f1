// The log: whether all of it that was durable can be replayed.

#include "volume/check_state.hpp"
#include "volume/describe_log.hpp"

namespace cordwood {

void check_log(CheckState& state) {
  const auto plan = plan_replay(state.reader);
  if (!plan && (plan.error().place == Place::kNode || plan.error().place == Place::kTablePage)) {
    state.find(FindingKind::kPartsNotCompared, 0, 0,
               "the tree is damaged: which records of the log count was not found out");
    return;
  }
  if (!plan) {
    state.find(FindingKind::kLogUnreadable, 0, 0,
               "the log cannot be read: ", plan.error().message());
    return;
  }
  state.report.statistics.log_records = plan->records;
  state.report.statistics.log_bytes = plan->bytes;
  if (plan->damage) {
    const Error& damage = *plan->damage;
    const std::uint64_t record =
        damage.place == Place::kLogRecord ? damage.where : plan->end.sequence;
    state.find(FindingKind::kLogRecordDamaged, record, 0, damage.message());
  }
  if (plan->records > 0) {
    state.find(FindingKind::kLogWaiting, plan->begin.sequence, plan->records,
               "the log goes on from the last checkpoint: ", records_text(*plan));
  }
  if (plan->cut_records > 0) {
    state.find(FindingKind::kLogCut, plan->end.sequence, plan->cut_records, cut_text(*plan));
  }
}

}  // namespace cordwood
