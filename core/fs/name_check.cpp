#include "fs/name_check.hpp"

#include "format/items.hpp"

namespace cordwood {

Result<void> check_name(std::string_view name) {
  if (name.empty()) return make_error(Errc::kNoEntry, "the name is empty");
  if (name.size() > kMaxNameBytes) {
    return make_error(Errc::kNameTooLong, "a name has at most 255 bytes");
  }
  if (name == "." || name == "..")
    return make_error(Errc::kInvalid, "\".\" and \"..\" are no names");
  for (const char c : name) {
    if (c == '/' || c == '\0')
      return make_error(Errc::kInvalid, "a name holds no \"/\" and no NUL");
  }
  return {};
}

Result<void> check_xattr_name(std::string_view name) {
  if (name.empty()) return make_error(Errc::kInvalid, "the attribute's name is empty");
  if (name.size() > kMaxNameBytes) {
    return make_error(Errc::kRange, "an attribute's name has at most 255 bytes");
  }
  if (name.find('\0') != std::string_view::npos) {
    return make_error(Errc::kInvalid, "an attribute's name holds no NUL");
  }
  return {};
}

}  // namespace cordwood
