#include "fs/xattr_list.hpp"

#include "fs/name_check.hpp"
#include "support/catch.hpp"
#include "support/mounted.hpp"

namespace cordwood::test {

TEST_CASE("xattr list: encodes what it parses", "[fs]") {
  XattrList list;
  list.entries().push_back({XattrKind::kInline, "user.a", {std::byte{1}, std::byte{2}}});
  std::vector<std::byte> number(8);
  store_le(number.data(), kInodeLimit - 1);
  list.entries().push_back({XattrKind::kInode, "user.b", number});
  list.entries().push_back({XattrKind::kInline, "user.empty", {}});
  const Key key = make_key({9}, ItemType::kXattr, 3);
  const std::vector<std::byte> item = list.encode();
  CHECK(item.size() == list.stored_bytes());
  auto parsed = XattrList::parse(item, key);
  CHECK(error_of(parsed) == Errc{});
  REQUIRE(parsed->entries().size() == 3);
  CHECK(parsed->find("user.b")->value_inode().value == kInodeLimit - 1);
  CHECK(parsed->find("user.a")->value_inode().value == 0);
  CHECK(parsed->find("user.empty")->value.empty());
  CHECK(parsed->find("user.c") == nullptr);
  for (std::size_t cut = 1; cut < item.size(); ++cut) {
    const auto shorter = XattrList::parse(ConstBytes(item).first(cut), key);
    if (shorter) CHECK(shorter->entries().size() < 3);
  }
}

TEST_CASE("names: what a directory and an attribute may be called", "[fs]") {
  CHECK(check_name("a"));
  CHECK(check_name("..."));
  CHECK(check_name(std::string(255, 'x')));
  CHECK(check_name("\x80\xff\n"));
  CHECK(error_of(check_name("")) == Errc::kNoEntry);
  CHECK(error_of(check_name(".")) == Errc::kInvalid);
  CHECK(error_of(check_name("..")) == Errc::kInvalid);
  CHECK(error_of(check_name("a/b")) == Errc::kInvalid);
  CHECK(error_of(check_name(std::string_view("a\0b", 3))) == Errc::kInvalid);
  CHECK(error_of(check_name(std::string(256, 'x'))) == Errc::kNameTooLong);
  CHECK(check_xattr_name("user.x"));
  CHECK(error_of(check_xattr_name("")) == Errc::kInvalid);
  CHECK(error_of(check_xattr_name(std::string(256, 'x'))) == Errc::kRange);
  CHECK(error_of(check_xattr_name(std::string_view("a\0", 2))) == Errc::kInvalid);
}

}  // namespace cordwood::test
