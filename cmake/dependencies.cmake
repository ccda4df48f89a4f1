# What comes from Debian. Core uses headers only: Boost (System, JSON) and xxHash.

set(CORDWOOD_HOST_INCLUDE /usr/include CACHE PATH "where the host's header-only libraries are")

function(cordwood_require_header header package)
  if(NOT EXISTS ${CORDWOOD_HOST_INCLUDE}/${header})
    message(FATAL_ERROR "${CORDWOOD_HOST_INCLUDE}/${header} is missing: apt install ${package}")
  endif()
endfunction()

cordwood_require_header(boost/system/result.hpp libboost1.81-dev)
cordwood_require_header(boost/json/src.hpp libboost1.81-dev)
cordwood_require_header(xxhash.h libxxhash-dev)

# The headers that core/ may use.
add_library(cordwood_headers INTERFACE)
target_compile_definitions(cordwood_headers INTERFACE BOOST_ALL_NO_LIB)

add_library(cordwood_catch2 INTERFACE)
if(CORDWOOD_TESTS)
  cordwood_require_header(catch2/catch.hpp catch2)
  if(EMSCRIPTEN)
    target_compile_definitions(cordwood_catch2 INTERFACE CATCH_CONFIG_NO_POSIX_SIGNALS)
  else()
    find_package(Catch2 2.13 REQUIRED)
    target_link_libraries(cordwood_catch2 INTERFACE Catch2::Catch2WithMain)
  endif()
endif()

if(EMSCRIPTEN)
  # All of /usr/include would shadow Emscripten's own C library, so it sees links to what it needs.
  set(linked ${PROJECT_BINARY_DIR}/host-headers)
  file(MAKE_DIRECTORY ${linked})
  foreach(entry boost xxhash.h catch2)
    file(CREATE_LINK ${CORDWOOD_HOST_INCLUDE}/${entry} ${linked}/${entry} SYMBOLIC)
  endforeach()
  target_compile_options(cordwood_headers INTERFACE "SHELL:-isystem ${linked}")
  target_compile_options(cordwood_catch2 INTERFACE "SHELL:-isystem ${linked}")
else()
  set(THREADS_PREFER_PTHREAD_FLAG ON)
  find_package(Threads REQUIRED)
  target_link_libraries(cordwood_headers INTERFACE Threads::Threads)
endif()
