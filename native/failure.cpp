#include "failure.hpp"

#include <cerrno>
#include <cstring>
#include <utility>

namespace cordwood {

namespace {

std::string with_subject(std::string_view subject, std::string text) {
  return subject.empty() ? text : std::string(subject) + ": " + text;
}

bool is_fatal(Errc code) {
  return code == Errc::kNoSpace || code == Errc::kFailed || code == Errc::kReadOnly ||
         code == Errc::kNoMemory;
}

/// The next step after an error of the volume: one for each class that a person can meet.
const char* advice_for(const Error& error) {
  if (error.code == Errc::kCorrupt && error.place == Place::kLogRecord) {
    return "see it with cordwood check and cordwood dump log; to give up what follows it and go "
           "on, "
           "use cordwood replay --discard-log";
  }
  switch (error.code) {
    case Errc::kNoEntry: return "see what is there with cordwood ls or cordwood find";
    case Errc::kNotPermitted:
    case Errc::kAccess: return "run it as a user who may read and write the image";
    case Errc::kIo: return "see the kernel log about the disk, then run cordwood check";
    case Errc::kNoMemory: return "free some memory, or give a smaller --cache";
    case Errc::kBusy: return "close the program that has it open, then try again";
    case Errc::kExists: return "choose another name, or remove that one first";
    case Errc::kNotDirectory: return "name a directory";
    case Errc::kIsDirectory: return "name a file, or use the recursive option";
    case Errc::kNotEmpty: return "use cordwood rm -r to remove a directory with its content";
    case Errc::kNoSpace: return "remove something with cordwood rm, or make a larger image";
    case Errc::kReadOnly: return "make the image writable, or copy it";
    case Errc::kNameTooLong: return "a name has at most 255 bytes";
    case Errc::kSymlinkLoop: return "a symlink leads back to itself: see it with cordwood stat";
    case Errc::kNotCordwood: return "make a volume with cordwood mkfs, or name another image";
    case Errc::kVersion: return "nothing was changed";
    case Errc::kCorrupt: return "see what is damaged with cordwood check";
    case Errc::kFailed: return "open it again; then run cordwood check";
    default: return "";
  }
}

/// The same for errors of the host.
const char* host_advice_for(int code) {
  switch (code) {
    case ENOENT: return "check the path";
    case EACCES:
    case EPERM: return "run it as a user who may do this";
    case EEXIST: return "choose another name, or remove that one first";
    case ENOTDIR: return "name a directory";
    case EISDIR: return "name a file";
    case ENOSPC:
    case EDQUOT: return "free space on the host";
    case EFBIG: return "the file system of the host cannot hold such a size";
    case EROFS: return "choose a place that may be written";
    case EMLINK: return "the file system of the host allows no more hard links";
    case ENOTSUP: return "the file system of the host cannot hold this";
    case EIO: return "see the kernel log about the disk";
    default: return "";
  }
}

}  // namespace

bool is_damage(Errc code) {
  return code == Errc::kIo || code == Errc::kCorrupt || code == Errc::kFailed ||
         code == Errc::kNoMemory;
}

Failure refused(std::string what, std::string advice) {
  return {ExitCode::kRefused, std::move(what), std::move(advice), false};
}

Failure volume_failure(const Error& error, std::string_view subject) {
  return {is_damage(error.code) ? ExitCode::kDamaged : ExitCode::kRefused,
          with_subject(subject, error.message()), advice_for(error), is_fatal(error.code)};
}

Failure host_failure(int code, std::string_view subject) {
  return {is_damage(static_cast<Errc>(code)) ? ExitCode::kDamaged : ExitCode::kRefused,
          with_subject(subject, std::strerror(code)), host_advice_for(code),
          code == ENOSPC || code == EDQUOT};
}

}  // namespace cordwood
