#!/usr/bin/env python3
"""Checks what the folders promise about each other, from their #include lines.

  layering_test.py layers <repository>      who includes whom, and no OS header in core/
  layering_test.py cmake <repository> <build>
                                            no GLOB, and every source file is built
  layering_test.py headers <repository> <folder>,... <compiler> [<flag>...]
                                            every header of these folders compiles alone

Prints one line per violation and exits 1 if there is any.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Lowest first; a layer includes itself and what stands before it.
LAYERS = ["base", "device", "format", "space", "node", "frame", "tree", "log", "checkpoint", "fs",
          "volume", "lab"]
# `trace` stands beside `base`: it sees base only, and every layer but base may use it.
TRACE = "trace"
FRONT_ENDS = ["native", "wasm"]
FRONT_END_MAY_SEE = {"lab", "volume", "device", TRACE, "base"}

# Sources that only builds with a switch of their own have.
BUILT_ON_REQUEST = {"tests/fuzz/log_fuzz.cpp"}

# What core/ may include in angle brackets: the C++ standard library as libc++ 13 has it, Boost, and
# xxHash. An operating system's header is anything else.
STANDARD_HEADERS = set("""
    algorithm any array atomic bit bitset cassert cctype cerrno cfloat charconv chrono cinttypes
    climits cmath compare complex concepts condition_variable csignal cstdarg cstddef cstdint cstdio
    cstdlib cstring ctime deque exception filesystem forward_list fstream functional future
    initializer_list iomanip ios iosfwd iostream istream iterator limits list locale map memory
    mutex new numbers numeric optional ostream queue random ratio regex set shared_mutex span
    sstream stack stdexcept streambuf string string_view system_error thread tuple type_traits
    typeindex typeinfo unordered_map unordered_set utility valarray variant vector version
""".split())
OTHER_HEADERS = {"xxhash.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)
SOURCES = {".hpp", ".cpp", ".h", ".cc"}


def layers_below(layer):
    if layer == "base":
        return {"base"}
    if layer == TRACE:
        return {"base", TRACE}
    return set(LAYERS[: LAYERS.index(layer) + 1]) | {TRACE}


def files_below(folder, suffixes):
    return sorted(path for path in folder.rglob("*") if path.suffix in suffixes and path.is_file())


def includes_of(path):
    text = path.read_text()
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        yield line, match.group(1) == "<", match.group(2)


def check_core_file(root, path):
    relative = path.relative_to(root / "core")
    if len(relative.parts) == 1:
        return  # the precompiled header: it belongs to the build, not to a layer
    layer = relative.parts[0]
    if layer not in LAYERS and layer != TRACE:
        yield f"core/{relative}: '{layer}' is not a layer"
        return
    for line, angled, header in includes_of(path):
        place = f"core/{relative}:{line}"
        first = header.split("/")[0]
        if angled:
            allowed = header in STANDARD_HEADERS or header in OTHER_HEADERS or first == "boost"
            if not allowed:
                yield f"{place}: <{header}> is not portable enough for core/"
        elif first not in LAYERS and first != TRACE:
            yield f'{place}: "{header}" is not a path from the root of core/'
        elif first not in layers_below(layer):
            yield f'{place}: layer {layer} includes "{header}", which is above it'


def check_front_end_file(root, path):
    relative = path.relative_to(root)
    for line, angled, header in includes_of(path):
        first = header.split("/")[0]
        is_core = first in LAYERS or first == TRACE
        allowed = angled or not is_core or first in FRONT_END_MAY_SEE
        if not allowed:
            yield f'{relative}:{line}: a front end includes "{header}"'


def check_layers(root):
    problems = []
    seen = 0
    for path in files_below(root / "core", SOURCES):
        problems += check_core_file(root, path)
        seen += 1
    for front_end in FRONT_ENDS:
        for path in files_below(root / front_end, SOURCES):
            problems += check_front_end_file(root, path)
            seen += 1
    return problems, f"{seen} files"


def check_cmake(root, build):
    """No GLOB, and no source that CMake forgot: a test that nobody names never fails."""
    problems = []
    cmake_files = [root / "CMakeLists.txt", *sorted((root / "cmake").glob("*.cmake"))]
    for folder in ("core", "native", "wasm", "tests", "examples"):
        cmake_files += sorted((root / folder).rglob("CMakeLists.txt"))
    for path in cmake_files:
        if re.search(r"^[^#]*\bfile\s*\(\s*GLOB", path.read_text(), re.IGNORECASE | re.MULTILINE):
            problems.append(f"{path.relative_to(root)}: GLOB hides which files are built")

    commands = json.loads((build / "compile_commands.json").read_text())
    built = {pathlib.Path(command["file"]).resolve() for command in commands}
    built_folders = {path.parent for path in built}
    seen = 0
    for folder in ("core", "native", "tests", "examples"):
        for path in files_below(root / folder, {".cpp"}):
            # A folder of which nothing is built is one that is not finished.
            if path.parent not in built_folders:
                continue
            if str(path.relative_to(root)) in BUILT_ON_REQUEST:
                continue
            seen += 1
            if path not in built:
                problems.append(f"{path.relative_to(root)}: CMake does not build it")
    return problems, f"{seen} sources, {len(cmake_files)} CMake files"


def compile_alone(root, header, command):
    with tempfile.TemporaryDirectory() as scratch:
        # A file that includes it, and not the header itself: #pragma once warns in a main file.
        source = pathlib.Path(scratch) / "alone.cpp"
        source.write_text(f'#include "{header}"\n')
        run = subprocess.run([*command, "-fsyntax-only", str(source)],
                             capture_output=True, text=True)
    if run.returncode == 0:
        return []
    first_error = next((l for l in run.stderr.splitlines() if "error" in l), run.stderr.strip())
    return [f"{header.relative_to(root)} does not compile alone: {first_error}"]


def check_headers(root, folders, command):
    headers = [path for folder in folders for path in files_below(root / folder, {".hpp"})]
    problems = []
    with concurrent.futures.ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        for found in pool.map(lambda header: compile_alone(root, header, command), headers):
            problems += found
    return problems, f"{len(headers)} headers"


def main(arguments):
    wanted = {"layers": 2, "cmake": 3, "headers": 4}
    if not arguments or len(arguments) < wanted.get(arguments[0], len(arguments) + 1):
        print(__doc__)
        return 2
    root = pathlib.Path(arguments[1]).resolve()
    if arguments[0] == "layers":
        problems, seen = check_layers(root)
    elif arguments[0] == "cmake":
        problems, seen = check_cmake(root, pathlib.Path(arguments[2]))
    else:
        problems, seen = check_headers(root, arguments[2].split(","), arguments[3:])
    for problem in problems:
        print(problem)
    print(f"{arguments[0]}: {seen} looked at, {len(problems)} problems")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
