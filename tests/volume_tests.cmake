# Tests of a whole volume: beside a model, under crashes and faults, with threads.

add_library(cordwood_test_support STATIC
  support/child_process.cpp
  support/compare.cpp
  support/crash_lab.cpp
  support/crash_lab_faults.cpp
  support/damage.cpp
  support/executor.cpp
  support/executor_data.cpp
  support/executor_names.cpp
  support/file_content.cpp
  support/findings.cpp
  support/forge.cpp
  support/generator.cpp
  support/model_fs.cpp
  support/model_fs_data.cpp
  support/operation.cpp
  support/runner.cpp
  support/sample_image.cpp
  support/tree_compare.cpp
  support/workload_config.cpp
)
cordwood_warnings(cordwood_test_support)
target_include_directories(cordwood_test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(cordwood_test_support PUBLIC cordwood)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees overlaps in every concatenation of strings (its bug 105651).
  target_compile_options(cordwood_test_support PRIVATE -Wno-restrict)
endif()
target_compile_definitions(cordwood_test_support PUBLIC
  CORDWOOD_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
if(CORDWOOD_SANITIZE OR EMSCRIPTEN OR CMAKE_BUILD_TYPE STREQUAL "Debug")
  # Each test does a part of its work there; the release build does all of it.
  target_compile_definitions(cordwood_test_support PUBLIC CORDWOOD_SLOW_BUILD)
endif()

if(NOT EXISTS ${PROJECT_SOURCE_DIR}/core/volume/volume.cpp)
  return()  # its parts are tested apart until then
endif()

cordwood_test(unit_fs
  SOURCES
    unit/fs/extent_test.cpp
    unit/fs/inode_table_test.cpp
    unit/fs/xattr_list_test.cpp
  LIBS cordwood_test_support
  THREADS
)

cordwood_test(volume_api
  SOURCES unit/volume/volume_test.cpp
  LIBS cordwood_test_support
)

cordwood_test(volume_cases
  SOURCES
    unit/volume/cases_test.cpp
    unit/volume/limits_cases_test.cpp
    unit/volume/listing_cases_test.cpp
  LIBS cordwood_test_support
)

cordwood_test(volume_log
  SOURCES
    unit/volume/describe_log_test.cpp
    unit/volume/log_cases_test.cpp
  LIBS cordwood_test_support
)

cordwood_test(volume_log_threads
  SOURCES unit/volume/log_threads_test.cpp
  LIBS cordwood_test_support
  THREADS NATIVE_ONLY
  TIMEOUT 600
)

cordwood_test(model
  SOURCES model/model_test.cpp
  LIBS cordwood_test_support
  TIMEOUT 900
)

cordwood_test(replay
  SOURCES model/replay_test.cpp
  LIBS cordwood_test_support
  TIMEOUT 600
)

cordwood_test(regressions
  SOURCES model/regression_test.cpp
  LIBS cordwood_test_support
  NATIVE_ONLY
)

cordwood_test(threads
  SOURCES model/threads_test.cpp
  LIBS cordwood_test_support
  THREADS NATIVE_ONLY
  TIMEOUT 900
)

cordwood_test(crash
  SOURCES crash/crash_test.cpp
  LIBS cordwood_test_support
  TIMEOUT 900
)

cordwood_test(crash_exhaustive
  SOURCES
    crash/cases_test.cpp
    crash/exhaustive_test.cpp
  LIBS cordwood_test_support
  TIMEOUT 900
)

cordwood_test(fault
  SOURCES
    fault/bitflip_test.cpp
    fault/enospc_test.cpp
    fault/garbage_test.cpp
    fault/io_error_test.cpp
  LIBS cordwood_test_support
  SLOW
  TIMEOUT 900
)

if(NOT EMSCRIPTEN AND NOT CORDWOOD_SANITIZE MATCHES "thread")
  add_subdirectory(fuzz)
endif()
