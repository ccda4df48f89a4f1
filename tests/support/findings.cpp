#include "support/findings.hpp"

#include "volume/check.hpp"

namespace cordwood::test {

std::string findings(BlockDevice& device, std::uint64_t orphans_max) {
  CheckOptions options;
  options.verify_data = true;
  options.findings_per_kind_max = 3;
  const auto report = check(device, options);
  if (!report) return "check: " + report.error().message() + '\n';
  std::string text;
  for (const Finding& finding : report->findings.kept()) {
    const FindingInfo& info = finding.info();
    if (info.severity == Severity::kNote) continue;
    // A power cut may tear one copy of the superblock that closed the volume; the other one serves.
    if (finding.kind == FindingKind::kSuperblockSlotDamaged) continue;
    text += std::string("check: ") + info.name + ": " + finding.sentence + '\n';
  }
  if (report->statistics.orphans > orphans_max) {
    text += "check: " + std::to_string(report->statistics.orphans) + " orphans\n";
  }
  return text;
}

}  // namespace cordwood::test
