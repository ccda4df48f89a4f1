#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "lab/crash_run.hpp"

namespace cordwood {

/// One line of a script for a volume, as text: what a person types, and what a failing run prints.
///
///     mkdir P | create P | mkfifo P | symlink P BYTES | link P NEW | unlink P | rmdir P
///     rename P NEW | exchange P Q | write P OFFSET BYTES | append P BYTES | truncate P SIZE
///     setxattr P NAME BYTES | rmxattr P NAME | chmod P OCTAL
///     fsync P | fdatasync P | sync | checkpoint
///
/// Paths hold no spaces. What is written depends on the line alone.
/// @errors kInvalid: no such line; else those of the volume.
Result<void> run_script_line(Volume& volume, std::string_view line);

/// Runs a line as a step of a crash run, with what it promises.
Result<void> run_script_line(CrashRun& run, std::string_view line);

}  // namespace cordwood
