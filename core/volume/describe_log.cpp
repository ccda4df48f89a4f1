#include "volume/describe_log.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "log/ring.hpp"
#include "volume/describe.hpp"
#include "volume/findings.hpp"
#include "volume/json_parts.hpp"

namespace cordwood {

namespace json = boost::json;

namespace {

bool was_closed(const ImageReader& reader) {
  return reader.superblock().mount_state == static_cast<std::uint32_t>(MountState::kClean);
}

/// Describes the records of a log in their order, and what stands at its end.
class LogDescription {
 public:
  LogDescription(const ImageReader& reader, const LogDescriptionLimits& limits)
      : reader_(reader),
        limits_(limits),
        layout_(reader.layout()),
        start_{reader.superblock().log_sequence, reader.superblock().log_block},
        ring_(layout_, start_),
        log_(reader.device(), layout_, reader.superblock()) {}

  json::object describe(const Result<ReplayPlan>& plan) {
    json::object object{{"first_block", layout_.log.first.value},
                        {"blocks", layout_.log.count},
                        {"bytes", layout_.log.count * layout_.block_bytes},
                        {"clean", was_closed(reader_)},
                        {"start", place_json(start_)}};
    object["records"] = describe_records(plan);
    object["records_left_out"] = left_out_;
    object["end"] = end_json();
    object["plan"] = plan ? to_json(*plan) : error_json(plan.error());
    object["behind_damage"] = plan && plan->damage ? describe_behind() : json::array{};
    return object;
  }

 private:
  json::object place_json(LogPosition position) const {
    return {{"sequence", position.sequence},
            {"block", ring_.wrapped(position).block},
            {"byte", ring_.byte_of(position)}};
  }

  json::array describe_records(const Result<ReplayPlan>& plan) {
    json::array records;
    for (std::uint64_t number = 0;; ++number) {
      const LogPosition place = log_.position();
      const auto record = log_.next();
      if (!record) end_error_ = record.error();
      if (!record || !*record) return records;
      if (records.size() == limits_.records_max) {
        ++left_out_;
        continue;
      }
      json::object described = header_json(place, (*record)->header());
      described["counts"] = nullptr;
      described["why_not"] = nullptr;
      if (plan) {
        const bool counts = number < plan->records;
        described["counts"] = counts;
        if (!counts) described["why_not"] = plan->cut_reason;
      }
      add_leaves(described, **record);
      add_tombstones(described, **record);
      records.push_back(std::move(described));
    }
  }

  json::object header_json(LogPosition place, const LogRecordHeader& header) const {
    json::object object = place_json(place);
    const std::uint64_t end =
        ring_.wrapped(place).block + header.record_bytes / layout_.block_bytes;
    object["bytes"] = header.record_bytes;
    object["wraps"] = end > layout_.log.count;
    object["base_generation"] = header.base_generation;
    object["durable_sequence"] = header.durable_sequence;
    object["batch_continues"] = (header.flags & kLogBatchContinues) != 0;
    object["next_inode"] = header.next_inode;
    object["inode_count"] = header.inode_count;
    object["written_seconds"] = header.written_seconds;
    object["checksum"] = hex64(header.checksum);
    object["item_count"] = header.item_count;
    object["tombstone_count"] = header.tombstone_count;
    return object;
  }

  void add_leaves(json::object& object, const LogRecord& record) const {
    json::array leaves;
    std::size_t items_left = limits_.items_max;
    for (std::size_t i = 0; i < record.index().size(); ++i) {
      const LogIndexEntry& entry = record.index()[i];
      const Leaf leaf = record.leaf(i);
      json::array items;
      for (std::uint32_t slot = 0; slot < leaf.count() && items_left > 0; ++slot, --items_left) {
        items.push_back(item_json(record, leaf, slot));
      }
      leaves.push_back(json::object{{"offset", entry.offset},
                                    {"bytes", entry.bytes},
                                    {"first_key", describe_key(entry.first_key())},
                                    {"item_count", leaf.count()},
                                    {"items", std::move(items)}});
    }
    object["leaves"] = std::move(leaves);
    object["items_left_out"] =
        record.header().item_count - (limits_.items_max - std::uint64_t{items_left});
  }

  json::object item_json(const LogRecord& record, const Leaf& leaf, std::uint32_t slot) const {
    const ConstBytes item = leaf.item(slot);
    return {{"offset", item.data() - record.data()},
            {"bytes", item.size()},
            {"key", describe_key(leaf.key(slot))},
            {"item", describe_item(leaf.key(slot), item, layout_)}};
  }

  void add_tombstones(json::object& object, const LogRecord& record) const {
    const std::size_t shown = std::min(record.tombstones().size(), limits_.items_max);
    json::array tombstones;
    for (std::size_t i = 0; i < shown; ++i) {
      const KeyRange range = record.tombstones()[i].range();
      tombstones.push_back(
          json::object{{"first", describe_key(range.first)}, {"last", describe_key(range.last)}});
    }
    object["tombstones"] = std::move(tombstones);
    object["tombstones_left_out"] = record.tombstones().size() - shown;
  }

  // ---- the end ----

  json::object end_json() const {
    json::object object = place_json(log_.position());
    object["found"] = end_error_ ? end_error_->message() : found_at_end();
    return object;
  }

  /// What stands where the next record would be.
  [[nodiscard]] std::string found_at_end() const {
    if (blocks_left() == 0) return "the ring is full";
    const LogPosition end = log_.position();
    const auto header = header_at(end);
    if (!header) return header.error().message();
    if (header->magic != kLogMagic) return "no record";
    if (header->volume_id != reader_.superblock().volume_id()) return "a record of another volume";
    if (header->sequence == end.sequence) return "a record of this sequence that is not whole";
    return sentence("record ", header->sequence, ", which does not belong here");
  }

  [[nodiscard]] std::uint64_t blocks_left() const {
    return layout_.log.count - (log_.position().block - start_.block);
  }

  [[nodiscard]] Result<LogRecordHeader> header_at(LogPosition position) const {
    LogRecordHeader header;
    const Bytes bytes(reinterpret_cast<std::byte*>(&header), sizeof header);
    TRY(reader_.read_bytes(ring_.byte_of(position), bytes));
    return header;
  }

  // ---- behind it ----

  /// Whole records of higher sequences in the rest of the ring: what a damaged record cuts off.
  json::array describe_behind() {
    json::array records;
    const LogPosition end = log_.position();
    const std::uint64_t blocks = blocks_left();
    for (std::uint64_t i = 0; i < blocks && records.size() < limits_.records_max;) {
      const LogPosition at{0, end.block + i};
      const auto header = header_at(at);
      const std::uint64_t record_blocks = header ? whole_record_at(at, *header, end.sequence) : 0;
      if (record_blocks > 0) {
        records.push_back(header_json({header->sequence, at.block}, *header));
      }
      i += std::max<std::uint64_t>(record_blocks, 1);
    }
    return records;
  }

  /// Its length in blocks; 0 when there is none.
  std::uint64_t whole_record_at(LogPosition at, const LogRecordHeader& header,
                                std::uint64_t above) {
    if (header.magic != kLogMagic || header.sequence <= above) return 0;
    log_.skip_to({header.sequence, at.block});
    const auto record = log_.next();
    if (!record || !*record) return 0;
    return header.record_bytes / layout_.block_bytes;
  }

  const ImageReader& reader_;
  LogDescriptionLimits limits_;
  const Layout& layout_;
  LogPosition start_;
  LogRing ring_;
  LogReader log_;
  std::uint64_t left_out_ = 0;
  std::optional<Error> end_error_;
};

/// The tree of an image as the base of its log.
class ImageBase final : public ReplayBase {
 public:
  explicit ImageBase(ImageReader& reader) : reader_(reader) {}

  Result<bool> holds(Key key, ConstBytes item) override {
    const auto found = TRY(reader_.find(key));
    return found && std::equal(found->begin(), found->end(), item.begin(), item.end());
  }

 private:
  ImageReader& reader_;
};

}  // namespace

Result<ReplayPlan> plan_replay(ImageReader& reader) {
  const Layout& layout = reader.layout();
  const std::uint64_t ring_end = layout.byte_of(layout.log.end());
  const std::uint64_t device_bytes = reader.device().geometry().bytes;
  if (device_bytes < ring_end) {
    return corrupt(Place::kByte, device_bytes, "the device ends here, before the end of the log");
  }
  ImageBase base(reader);
  return plan_replay(reader.device(), layout, reader.superblock(), base);
}

json::object describe_log(ImageReader& reader, const LogDescriptionLimits& limits) {
  return LogDescription(reader, limits).describe(plan_replay(reader));
}

json::object to_json(const ReplayPlan& plan) {
  const auto position = [](LogPosition at) {
    return json::object{{"sequence", at.sequence}, {"block", at.block}};
  };
  json::object object{{"records", plan.records},       {"batches", plan.batches},
                      {"items", plan.items},           {"tombstones", plan.tombstones},
                      {"bytes", plan.bytes},           {"begin", position(plan.begin)},
                      {"end", position(plan.end)},     {"cut_records", plan.cut_records},
                      {"cut_reason", nullptr},         {"damage", nullptr},
                      {"next_inode", plan.next_inode}, {"inode_count", plan.inode_count}};
  if (plan.cut_records != 0) object["cut_reason"] = plan.cut_reason;
  if (plan.damage) object["damage"] = plan.damage->message();
  return object;
}

std::string records_text(const ReplayPlan& plan) {
  std::string text = sentence(plan.records, " records (", plan.batches, " batches, ", plan.items,
                              " items, ", plan.tombstones, " tombstones, ", plan.bytes, " bytes)");
  if (plan.records == 0) return text;
  const std::uint64_t first = plan.begin.sequence;
  if (plan.records == 1) return text + sentence(", sequence ", first);
  return text + sentence(", sequences ", first, " to ", first + plan.records - 1);
}

std::string cut_text(const ReplayPlan& plan) {
  if (plan.cut_records == 0) return {};
  return sentence(plan.cut_records, " records behind them do not count: ", plan.cut_reason);
}

}  // namespace cordwood
