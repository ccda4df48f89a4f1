# Flags for everything that is compiled here, whatever the preset.

find_program(CORDWOOD_CCACHE ccache)
if(CORDWOOD_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # ccache takes part in precompiled headers only when told to be lax about their macros.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CORDWOOD_CCACHE})
  if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  endif()
endif()

add_compile_options(-fdiagnostics-color=auto)

if(EMSCRIPTEN)
  # One exception model for all objects, or `catch` is dropped. Legacy wasm exceptions are an order
  # of magnitude cheaper than the JavaScript ones.
  add_compile_options(-fwasm-exceptions)
  add_link_options(-fwasm-exceptions)
elseif(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # POPCNT and SSE4.2: every x86-64 machine since 2009.
  add_compile_options(-march=x86-64-v2)
endif()

if(CORDWOOD_SANITIZE)
  add_compile_options(-fsanitize=${CORDWOOD_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${CORDWOOD_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # The inserted checks hide initialisations from g++'s flow analysis; the release build has it.
    add_compile_options(-Wno-maybe-uninitialized)
  endif()
endif()

if(CORDWOOD_FUZZ AND CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  # What the fuzzers learn from: every object tells which of its edges were taken.
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# Warnings are errors in our own code: every target of ours calls this.
function(cordwood_warnings target)
  target_compile_options(${target} PRIVATE -Wall -Wextra -Werror)
endfunction()
