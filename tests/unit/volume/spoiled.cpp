#include "spoiled.hpp"

#include <catch2/catch.hpp>

namespace cordwood::test {

namespace {

std::set<std::string> words(const std::string& text) {
  std::set<std::string> found;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    found.insert(text.substr(at, end - at));
    at = end + 1;
  }
  return found;
}

}  // namespace

std::set<std::string> names_of(const CheckReport& report, bool with_notes) {
  std::set<std::string> names;
  for (const Finding& finding : report.findings.kept()) {
    if (with_notes || finding.info().severity != Severity::kNote) names.insert(finding.info().name);
  }
  return names;
}

CheckReport check_all(BlockDevice& device) {
  CheckOptions options;
  options.verify_data = true;
  const auto report = check(device, options);
  REQUIRE(report);
  return *report;
}

void require_findings(const Spoiled& spoiled) {
  INFO("wanted: " << spoiled.findings);
  ImageBuilder builder(spoiled.shape);
  const SampleContent content(builder);
  if (spoiled.before) spoiled.before(builder, content);
  BuiltImage image = builder.build();
  if (spoiled.after) spoiled.after(image);
  const CheckReport report = check_all(*image.device);
  INFO(render_text(report));
  CHECK(names_of(report, false) == words(spoiled.findings));
}

void flip(BlockDevice& device, std::uint64_t byte) {
  const std::uint64_t sector = byte / 512 * 512;
  std::vector<std::byte> data(512);
  REQUIRE(device.read(sector, data));
  data[byte - sector] ^= std::byte{1};
  REQUIRE(device.write(sector, data));
}

}  // namespace cordwood::test
