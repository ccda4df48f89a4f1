#include "volume/check.hpp"

#include <algorithm>

#include "volume/check_state.hpp"

namespace cordwood {

namespace {

void describe_volume(const ImageReader& reader, CheckReport& report) {
  const Superblock& superblock = reader.superblock();
  report.uuid = superblock.uuid;
  const auto end = std::find(superblock.label.begin(), superblock.label.end(), '\0');
  report.label.assign(superblock.label.begin(), end);
  report.generation = superblock.generation;
  report.slot = reader.slot();
  report.block_bytes = superblock.block_bytes;
  report.node_bytes = superblock.node_bytes;
  report.device_blocks = superblock.device_blocks;
}

void tell_what_is_left_out(CheckState& state) {
  if (!state.tree_complete) {
    state.find(FindingKind::kPartsNotCompared, 0, 0,
               "parts of the tree were not seen: what should be in them, the count of inodes and "
               "nodes without a parent were not compared");
  }
  if (!state.claims_complete) {
    state.find(FindingKind::kPartsNotCompared, 0, 0,
               "not everything that owns blocks was seen: blocks that belong to nobody were not "
               "looked for");
  }
}

}  // namespace

Result<CheckReport> check(BlockDevice& device, const CheckOptions& options) {
  ImageOptions image = options.image;
  image.allow_truncated = true;
  ImageReader reader = TRY(ImageReader::open(device, image));
  CheckReport report;
  report.findings = Findings(options.findings_per_kind_max);
  describe_volume(reader, report);
  CheckState state(reader, options, report);
  for (const auto part : {check_superblocks, check_log, check_table, check_tree, check_space}) {
    part(state);
    if (report.cancelled) return report;
  }
  tell_what_is_left_out(state);
  return report;
}

std::string uuid_text(const std::array<std::uint8_t, 16>& uuid) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < uuid.size(); ++i) {
    if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += kDigits[uuid[i] >> 4];
    text += kDigits[uuid[i] & 0xf];
  }
  return text;
}

std::string render_text(const CheckReport& report) {
  std::string text =
      sentence("volume ", uuid_text(report.uuid), ", generation ", report.generation,
               ", superblock slot ", std::uint64_t{report.slot}, ", ", report.device_blocks,
               " blocks of ", std::uint64_t{report.block_bytes}, " bytes, nodes of ",
               std::uint64_t{report.node_bytes}, " bytes\n");
  for (const Severity severity : {Severity::kError, Severity::kWarning, Severity::kNote}) {
    for (const Finding& finding : report.findings.kept()) {
      if (finding.info().severity != severity) continue;
      text += sentence(severity_name(severity), " [", finding.info().name, "] ", finding.sentence,
                       "\n");
    }
  }
  for (std::size_t i = 0; i < kFindingKinds; ++i) {
    const auto kind = static_cast<FindingKind>(i);
    const auto kept =
        std::count_if(report.findings.kept().begin(), report.findings.kept().end(),
                      [kind](const Finding& finding) { return finding.kind == kind; });
    const std::uint64_t more = report.findings.count(kind) - static_cast<std::uint64_t>(kept);
    if (more > 0) text += sentence("[", finding_info(kind).name, "] and ", more, " more\n");
  }
  const CheckStatistics& seen = report.statistics;
  text +=
      sentence(seen.nodes, " nodes, ", seen.items, " items, ", seen.inodes, " inodes, ", seen.names,
               " names, ", seen.extents, " extents, ", seen.owned_blocks, " blocks in use\n");
  if (report.cancelled) text += "stopped before the end\n";
  if (report.clean()) return text + (report.cancelled ? "" : "clean\n");
  return text + sentence(report.findings.count(Severity::kError), " errors, ",
                         report.findings.count(Severity::kWarning), " warnings\n");
}

}  // namespace cordwood
