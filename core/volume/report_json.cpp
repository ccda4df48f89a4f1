// Reports of check and scrub as JSON.

#include "volume/describe.hpp"
#include "volume/json_parts.hpp"

namespace cordwood {

namespace json = boost::json;

namespace {

json::array findings_json(const Findings& findings) {
  json::array array;
  for (const Finding& finding : findings.kept()) {
    const FindingInfo& info = finding.info();
    json::object object{{"name", info.name},
                        {"severity", severity_name(info.severity)},
                        {"place", place_word(info.place)},
                        {"where", finding.where},
                        {"detail", finding.detail}};
    object["sentence"] = lossy_utf8(finding.sentence);
    array.push_back(std::move(object));
  }
  return array;
}

json::object counts_json(const Findings& findings) {
  json::object object;
  for (std::size_t i = 0; i < kFindingKinds; ++i) {
    const auto kind = static_cast<FindingKind>(i);
    if (findings.count(kind) > 0) object[finding_info(kind).name] = findings.count(kind);
  }
  return object;
}

json::object statistics_json(const CheckStatistics& seen) {
  return {
      {"table_pages", seen.table_pages},
      {"nodes", seen.nodes},
      {"leaves", seen.leaves},
      {"fragmented_nodes", seen.fragmented_nodes},
      {"leaf_bytes_used", seen.leaf_bytes_used},
      {"leaf_bytes", seen.leaf_bytes},
      {"leaf_fill_permille", permille(seen.leaf_bytes_used, seen.leaf_bytes)},
      {"items", seen.items},
      {"inodes", seen.inodes},
      {"directories", seen.directories},
      {"names", seen.names},
      {"xattrs", seen.xattrs},
      {"extents", seen.extents},
      {"orphans", seen.orphans},
      {"owned_blocks", seen.owned_blocks},
      {"data_bytes", seen.data_bytes},
      {"data_bytes_verified", seen.data_bytes_verified},
      {"log_records", seen.log_records},
      {"log_bytes", seen.log_bytes},
  };
}

}  // namespace

json::object to_json(const CheckReport& report) {
  json::object object{
      {"clean", report.clean()},
      {"cancelled", report.cancelled},
      {"errors", report.findings.count(Severity::kError)},
      {"warnings", report.findings.count(Severity::kWarning)},
      {"notes", report.findings.count(Severity::kNote)},
      {"uuid", uuid_text(report.uuid)},
      {"generation", report.generation},
      {"superblock_slot", report.slot},
      {"block_bytes", report.block_bytes},
      {"node_bytes", report.node_bytes},
      {"device_blocks", report.device_blocks},
      {"findings", findings_json(report.findings)},
      {"counts", counts_json(report.findings)},
      {"statistics", statistics_json(report.statistics)},
  };
  put_text(object, "label", report.label);
  return object;
}

json::object to_json(const ScrubReport& report) {
  json::array files;
  for (const DamagedFile& file : report.files) {
    json::object object{{"inode", file.inode.value}, {"bytes_damaged", file.bytes_damaged}};
    put_text(object, "path", file.path);
    json::array pieces;
    for (const DataDamage& piece : file.pieces) {
      pieces.push_back(json::object{{"offset", piece.offset},
                                    {"bytes", piece.bytes},
                                    {"device_byte", piece.device_byte},
                                    {"readable", piece.readable}});
    }
    object["pieces"] = std::move(pieces);
    files.push_back(std::move(object));
  }
  return {{"clean", report.clean()},
          {"files", std::move(files)},
          {"file_count", report.file_count},
          {"bytes_damaged", report.bytes_damaged},
          {"check", to_json(report.check)}};
}

}  // namespace cordwood
