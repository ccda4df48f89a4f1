#include "io/posix_error.hpp"

#include <cerrno>

namespace cordwood {

Error open_error(int error_number, bool for_writing) {
  switch (error_number) {
    case ENOENT: return make_error(Errc::kNoEntry, "no such file or directory");
    case ENOTDIR: return make_error(Errc::kNotDirectory, "a part of the path is not a directory");
    case EISDIR:
      return make_error(Errc::kIsDirectory,
                        "a directory: name an image file or a block device instead");
    case EACCES:
      return for_writing
                 ? make_error(Errc::kAccess,
                              "no permission to read and write it: open it read-only, or ask its "
                              "owner")
                 : make_error(Errc::kAccess, "no permission to read it: ask its owner");
    case EPERM:
      return make_error(Errc::kNotPermitted, "its attributes forbid this (immutable, append-only)");
    case EROFS: return make_error(Errc::kReadOnly, "on a read-only file system: open it read-only");
    case ELOOP: return make_error(Errc::kSymlinkLoop, "too many symbolic links in the path");
    case ENAMETOOLONG: return make_error(Errc::kNameTooLong, "the path is too long");
    case EBUSY:
    case ETXTBSY: return in_use_error();
    case ENXIO:
    case ENODEV: return make_error(Errc::kNotSupported, "there is no device behind this file");
    case ENOMEDIUM: return make_error(Errc::kNotSupported, "there is no medium in the drive");
    case ENOSPC:
    case EDQUOT: return make_error(Errc::kNoSpace, "no space on the file system that holds it");
    case EFBIG:
      return make_error(Errc::kFileTooBig, "larger than the file system that holds it allows");
    case EMFILE:
    case ENFILE: return make_error(Errc::kBusy, "too many open files");
    case ENOMEM: return make_error(Errc::kNoMemory, "the system is out of memory");
    default: return make_error(Errc::kIo, "cannot be opened");
  }
}

Error io_error(int error_number, std::uint64_t offset) {
  const auto at = [offset](Errc code, const char* what) {
    return make_error(code, Place::kByte, offset, what);
  };
  switch (error_number) {
    case ENOSPC:
    case EDQUOT: return at(Errc::kNoSpace, "no space on the file system that holds the image");
    case EFBIG: return at(Errc::kFileTooBig, "the image may not grow that far");
    case EROFS:
    case EBADF:
    case EPERM: return at(Errc::kReadOnly, "the device takes no writes");
    case ENOMEM: return at(Errc::kNoMemory, "no memory for the transfer");
    case ENODEV:
    case ENXIO: return at(Errc::kIo, "the device is gone");
    case EINVAL: return at(Errc::kIo, "the device refused the transfer as malformed");
    default: return at(Errc::kIo, "the device reported an error");
  }
}

}  // namespace cordwood
