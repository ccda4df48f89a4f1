# Toolchain: Debian's Emscripten. Its own cache is prebuilt and frozen, so EM_CACHE must stay unset.

find_program(CORDWOOD_EMXX em++ REQUIRED)
get_filename_component(emxx_real ${CORDWOOD_EMXX} REALPATH)
get_filename_component(emscripten_root ${emxx_real} DIRECTORY)
if(NOT EXISTS ${emscripten_root}/cmake/Modules/Platform/Emscripten.cmake)
  set(emscripten_root /usr/share/emscripten)
endif()
include(${emscripten_root}/cmake/Modules/Platform/Emscripten.cmake)

# A Node.js that is not Debian's does not search Debian's modules, where the linker's acorn is.
set(CMAKE_C_LINKER_LAUNCHER ${CMAKE_COMMAND} -E env --unset=EM_CACHE NODE_PATH=/usr/share/nodejs)
set(CMAKE_CXX_LINKER_LAUNCHER ${CMAKE_C_LINKER_LAUNCHER})

# The loader would use Node's fetch(), which refuses file paths.
find_program(CORDWOOD_NODE NAMES node nodejs REQUIRED)
set(CMAKE_CROSSCOMPILING_EMULATOR ${CORDWOOD_NODE} --no-experimental-fetch)
