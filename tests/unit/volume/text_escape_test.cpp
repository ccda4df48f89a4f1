#include "volume/text_escape.hpp"

#include <catch2/catch.hpp>

namespace cordwood {

TEST_CASE("text escape: UTF-8 sequences", "[text]") {
  CHECK(utf8_sequence("") == 0);
  CHECK(utf8_sequence("a") == 1);
  CHECK(utf8_sequence("\xc3\xa9x") == 2);
  CHECK(utf8_sequence("\xe2\x82\xac") == 3);
  CHECK(utf8_sequence("\xf0\x9f\x8c\xb2") == 4);
  CHECK(utf8_sequence("\xc3") == 0);          // cut short
  CHECK(utf8_sequence("\x80") == 0);          // a continuation alone
  CHECK(utf8_sequence("\xc0\xaf") == 0);      // overlong
  CHECK(utf8_sequence("\xe0\x80\xaf") == 0);  // overlong
  CHECK(utf8_sequence("\xf0\x80\x80\xaf") == 0);
  CHECK(utf8_sequence("\xed\xa0\x80") == 0);      // surrogate
  CHECK(utf8_sequence("\xf4\x90\x80\x80") == 0);  // above U+10FFFF
  CHECK(utf8_sequence("\xf8\x88\x80\x80\x80") == 0);
}

TEST_CASE("text escape: quoting and replacing", "[text]") {
  CHECK(quoted("plain \xc3\xa9") == "\"plain \xc3\xa9\"");
  CHECK(quoted("a\"b\\c") == "\"a\\\"b\\\\c\"");
  CHECK(quoted("\x1b[31m\n\x7f\xff\xc2\x9b") == "\"\\x1b[31m\\x0a\\x7f\\xff\\xc2\\x9b\"");
  CHECK(lossy_utf8("a\xff"
                   "b\xc3") ==
        "a\xef\xbf\xbd"
        "b\xef\xbf\xbd");
  CHECK(hex_text(as_bytes("\x01\xfe")) == "01fe");
}

}  // namespace cordwood
