#include "base/result.hpp"

namespace cordwood {

const char* errc_name(Errc code) {
  switch (code) {
    case Errc::kNotPermitted: return "operation not permitted";
    case Errc::kNoEntry: return "no such entry";
    case Errc::kIo: return "I/O error";
    case Errc::kNoMemory: return "out of memory";
    case Errc::kAccess: return "permission denied";
    case Errc::kBusy: return "busy";
    case Errc::kExists: return "already exists";
    case Errc::kCrossDevice: return "crosses volumes";
    case Errc::kNotDirectory: return "not a directory";
    case Errc::kIsDirectory: return "is a directory";
    case Errc::kInvalid: return "invalid";
    case Errc::kFileTooBig: return "file too big";
    case Errc::kNoSpace: return "no space";
    case Errc::kReadOnly: return "read-only";
    case Errc::kTooManyLinks: return "too many links";
    case Errc::kRange: return "buffer too small";
    case Errc::kNameTooLong: return "name too long";
    case Errc::kNotEmpty: return "directory not empty";
    case Errc::kSymlinkLoop: return "too many symbolic links";
    case Errc::kNoData: return "no data";
    case Errc::kOverflow: return "value too large";
    case Errc::kNotSupported: return "not supported";
    case Errc::kStale: return "stale inode";
    case Errc::kCorrupt: return "corrupt";
    case Errc::kNotCordwood: return "not a Cordwood volume";
    case Errc::kVersion: return "unknown format version";
    case Errc::kFailed: return "volume failed earlier";
  }
  return "unknown error";
}

namespace {

const char* place_name(Place place) {
  switch (place) {
    case Place::kNone: return "";
    case Place::kByte: return "byte ";
    case Place::kBlock: return "block ";
    case Place::kNode: return "node ";
    case Place::kInode: return "inode ";
    case Place::kGroup: return "group ";
    case Place::kTablePage: return "table page ";
    case Place::kValue: return "value ";
    case Place::kLogRecord: return "log record ";
  }
  return "";
}

}  // namespace

std::string Error::message() const {
  std::string text;
  if (place != Place::kNone) text = place_name(place) + std::to_string(where) + ": ";
  if (*what != '\0') text += std::string(what) + " ";
  return text + "(" + errc_name(code) + ")";
}

}  // namespace cordwood
