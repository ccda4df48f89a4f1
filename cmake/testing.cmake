# How tests are built and run; tests/CMakeLists.txt lists them.

# cordwood_test(<name> SOURCES <file>... [LIBS <library>...] [THREADS] [SLOW] [NATIVE_ONLY]
#               [TIMEOUT <seconds>])
# Makes a Catch2 executable and registers it with ctest.
#   THREADS      it has cases tagged [threads]: the thread sanitizer runs those, and nothing else
#   SLOW         it has cases tagged [slow]: they become a second ctest entry <name>_slow, which
#                only the release build runs
#   NATIVE_ONLY  it needs files, processes or native/: not built for WebAssembly
#   TIMEOUT      for one ctest entry; 300 s unless said otherwise: sanitizers are slow
function(cordwood_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS;SLOW;NATIVE_ONLY" "TIMEOUT" "SOURCES;LIBS")
  set(thread_sanitizer FALSE)
  if(CORDWOOD_SANITIZE MATCHES "thread")
    set(thread_sanitizer TRUE)
  endif()
  if((thread_sanitizer AND NOT arg_THREADS) OR (EMSCRIPTEN AND arg_NATIVE_ONLY))
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 300)
  endif()

  add_executable(${name} ${arg_SOURCES})
  cordwood_warnings(${name})
  target_link_libraries(${name} PRIVATE ${arg_LIBS} cordwood_test_main)
  target_precompile_headers(${name} REUSE_FROM cordwood_test_main)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    # What they test is optimised; they themselves need not be, and take most of the build's time.
    target_compile_options(${name} PRIVATE -O1 -g0)
  endif()
  # Files of a test use the same short names for different things.
  set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
  if(EMSCRIPTEN)
    # -O1: no pass of wasm-opt over the whole program, which would take longer than to run it.
    target_link_options(${name} PRIVATE
      -O1 -sENVIRONMENT=node -sALLOW_MEMORY_GROWTH=1 -sEXIT_RUNTIME=1)
  endif()

  set(cases "~[slow]")
  if(thread_sanitizer)
    set(cases "[threads]~[slow]")
  endif()
  # `--warn NoTests`: an entry whose filter matches nothing is a mistake, not a success.
  add_test(NAME ${name} COMMAND ${CORDWOOD_TEST_LAUNCHER} $<TARGET_FILE:${name}> --warn NoTests ${cases})
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT})
  if(thread_sanitizer)
    # Inodes are locked in the order of the directory tree, which the detector of inversions does not
    # know; the tests would hang in a real deadlock.
    set_tests_properties(${name} PROPERTIES ENVIRONMENT TSAN_OPTIONS=detect_deadlocks=0)
  endif()
  if(arg_SLOW AND NOT CORDWOOD_SANITIZE AND NOT EMSCRIPTEN)
    add_test(NAME ${name}_slow COMMAND $<TARGET_FILE:${name}> --warn NoTests "[slow]")
    set_tests_properties(${name}_slow PROPERTIES LABELS slow TIMEOUT 600)
  endif()
endfunction()

set(CORDWOOD_TEST_LAUNCHER)
if(EMSCRIPTEN)
  set(CORDWOOD_TEST_LAUNCHER ${CMAKE_CROSSCOMPILING_EMULATOR})
elseif(CORDWOOD_SANITIZE MATCHES "thread")
  # The sanitizer's shadow memory does not fit under the widest address randomisation of newer
  # kernels; where the switch is not allowed the tests still run, and say so if they cannot.
  execute_process(COMMAND setarch --addr-no-randomize true RESULT_VARIABLE failed ERROR_QUIET)
  if(NOT failed)
    set(CORDWOOD_TEST_LAUNCHER setarch --addr-no-randomize)
  endif()
endif()

# What every test executable is linked with: Catch2's runner, and a precompiled header that all share.
add_library(cordwood_test_main STATIC ${PROJECT_SOURCE_DIR}/tests/support/precompiled.cpp)
cordwood_warnings(cordwood_test_main)
target_include_directories(cordwood_test_main PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(cordwood_test_main PUBLIC cordwood_base cordwood_catch2)
target_precompile_headers(cordwood_test_main PRIVATE ${PROJECT_SOURCE_DIR}/tests/support/catch.hpp)
if(EMSCRIPTEN)
  # Elsewhere it is Debian's library. It takes long to compile and need not be fast.
  target_sources(cordwood_test_main PRIVATE ${PROJECT_SOURCE_DIR}/tests/wasm/catch_main.cpp)
  set_source_files_properties(${PROJECT_SOURCE_DIR}/tests/wasm/catch_main.cpp PROPERTIES
    SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS -O1)
endif()

# What the folders promise about each other. Once is enough: sources in the release build, and
# headers with clang++, which is nearer to Emscripten and brings fewer headers along by accident.
if(NOT EMSCRIPTEN)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(layering ${Python3_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tests/layering/layering_test.py)
  if(NOT CORDWOOD_SANITIZE)
    add_test(NAME layering COMMAND ${layering} layers ${PROJECT_SOURCE_DIR})
    add_test(NAME layering_cmake COMMAND ${layering} cmake ${PROJECT_SOURCE_DIR} ${PROJECT_BINARY_DIR})
  elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    get_property(folders GLOBAL PROPERTY CORDWOOD_COMPILED_FOLDERS)
    list(JOIN folders "," folders)
    add_test(NAME layering_headers
      COMMAND ${layering} headers ${PROJECT_SOURCE_DIR} ${folders} ${CMAKE_CXX_COMPILER} -std=c++20
              -Wall -Wextra -Werror -I${PROJECT_SOURCE_DIR}/core)
    set_tests_properties(layering_headers PROPERTIES TIMEOUT 300 PROCESSORS 2)
  endif()
endif()
