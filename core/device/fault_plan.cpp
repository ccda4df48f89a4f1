#include "device/fault_plan.hpp"

#include "base/check.hpp"

namespace cordwood {

void FaultPlan::add(const FaultRule& rule) {
  using On = FaultRule::On;
  using Action = FaultRule::Action;
  const bool of_reads = rule.action == Action::kFlipBit || rule.action == Action::kStale;
  const bool of_writes = rule.action == Action::kMisdirect || rule.action == Action::kLose;
  CW_CHECK(!of_reads || rule.on == On::kRead);
  CW_CHECK(!of_writes || rule.on == On::kWrite);
  rules_.push_back({rule, 0});
}

std::optional<FaultRule> FaultPlan::hit(FaultRule::On on, std::uint64_t offset,
                                        std::uint64_t bytes) {
  std::optional<FaultRule> result;
  for (Counted& counted : rules_) {
    const FaultRule& rule = counted.rule;
    if (rule.on != on) continue;
    const bool touches = offset < rule.end && (offset >= rule.begin || rule.begin - offset < bytes);
    if (!touches && on != FaultRule::On::kFlush) continue;
    const std::uint64_t number = counted.matched++;
    if (number < rule.skip || number - rule.skip >= rule.times) continue;
    if (rule.one_in > 1 && !random_.one_in(rule.one_in)) continue;
    if (!result) result = rule;
  }
  if (result) ++hits_;
  return result;
}

}  // namespace cordwood
