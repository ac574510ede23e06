# Shared by every folder: one folder is one library, and its DEPENDS is all that it may include
# (tools/check_includes.py reads the same lines).

# A third and more of compiling went into reading the same headers. What a compiler cache keeps would no longer be found
# from other trees, for precompiled headers have their tree's path in them: with one, there are none.
if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
  option(LOCKSTEP_PRECOMPILED_HEADERS "read headers that all folders use once" OFF)
else()
  option(LOCKSTEP_PRECOMPILED_HEADERS "read headers that all folders use once" ON)
endif()
# For the same reason the sources of some folders are compiled as one, which takes half the time: the whole build is faster,
# the next one after a change is slower.
option(LOCKSTEP_UNITY "compile folders whose sources share most headers as one source" ${LOCKSTEP_PRECOMPILED_HEADERS})
set(LOCKSTEP_COMMON_HEADERS
  <algorithm> <array> <atomic> <bit> <cstdint> <cstdio> <cstdlib> <cstring> <functional> <map> <memory> <mutex> <optional> <span>
  <stdexcept> <string> <string_view> <utility> <vector>)

# lockstep_precompiled_headers(lockstep_api [<chrono>]): for a target of many sources. Its own, since clang wants the same
# options for them as for what reads them.
function(lockstep_precompiled_headers target)
  if(NOT LOCKSTEP_PRECOMPILED_HEADERS)
    return()
  endif()
  set(headers)
  foreach(header IN LISTS LOCKSTEP_COMMON_HEADERS ARGN)
    if(NOT header MATCHES "^<")
      set(header ${PROJECT_SOURCE_DIR}/${header})
    endif()
    string(REPLACE ">" "$<ANGLE-R>" header ${header})
    list(APPEND headers "$<$<COMPILE_LANGUAGE:CXX>:${header}>")
  endforeach()
  target_precompile_headers(${target} PRIVATE ${headers})
endfunction()

# lockstep_as_one(lockstep_machine)
function(lockstep_as_one target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${LOCKSTEP_UNITY} UNITY_BUILD_BATCH_SIZE 0)
endfunction()

# lockstep_unoptimized_with_sanitizers(lockstep_api): of what tests reach in milliseconds. Half of a sanitized build was
# the optimizer's work on the sanitizers' own checks.
function(lockstep_unoptimized_with_sanitizers target)
  if(LOCKSTEP_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# lockstep_rarely_runs(lockstep_loader): what reads files and arguments, or calls compilers, and needs little optimizing in
# the product, too.
function(lockstep_rarely_runs target)
  lockstep_unoptimized_with_sanitizers(${target})
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# lockstep_library(isa SOURCES a.cpp b.cpp [DEPENDS numeric] [LIBRARIES fmt::fmt])
function(lockstep_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;DEPENDS;LIBRARIES" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  if(arg_SOURCES)
    add_library(lockstep_${target} STATIC ${arg_SOURCES})
    set(scope PUBLIC)
  else()
    add_library(lockstep_${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(lockstep_${target} ${scope} ${PROJECT_SOURCE_DIR})
  foreach(dependency IN LISTS arg_DEPENDS)
    string(REPLACE "/" "_" dependency_target ${dependency})
    target_link_libraries(lockstep_${target} ${scope} lockstep_${dependency_target})
  endforeach()
  target_link_libraries(lockstep_${target} ${scope} ${arg_LIBRARIES})
endfunction()

# lockstep_take(TARGET FILE): a file that LOCKSTEP_TAKE_FROM has, to the same place in this build tree.
function(lockstep_take target file)
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/${file}
    COMMAND ${CMAKE_COMMAND} -E copy ${LOCKSTEP_TAKE_FROM}/${file} ${PROJECT_BINARY_DIR}/${file}
    DEPENDS ${LOCKSTEP_TAKE_FROM}/${file} VERBATIM)
  add_custom_target(${target} DEPENDS ${PROJECT_BINARY_DIR}/${file})
endfunction()

find_package(GTest REQUIRED)

# Where tests leave the rows of isa/ that they executed (engine/coverage.h), a file each.
set(LOCKSTEP_COVERAGE_FOLDER ${PROJECT_BINARY_DIR}/coverage)
file(MAKE_DIRECTORY ${LOCKSTEP_COVERAGE_FOLDER})

# Of an executable with test code that computes little itself: half of its compiling went into headers, most of the
# rest into optimizing assertions that run once. Another target's headers can take the place of those that all use.
function(lockstep_plain_test_code target)
  if(ARGC GREATER 1)
    target_compile_options(${target} PRIVATE -O0 "SHELL:-Xclang -fno-pch-timestamp")
    target_precompile_headers(${target} REUSE_FROM ${ARGV1})
    return()
  endif()
  if(NOT TARGET lockstep_test_headers)
    file(WRITE ${PROJECT_BINARY_DIR}/test_headers.cpp "int main() {}\n")
    add_executable(lockstep_test_headers ${PROJECT_BINARY_DIR}/test_headers.cpp)
    target_link_libraries(lockstep_test_headers PRIVATE GTest::gtest)
    # Without a time stamp in it equal headers make equal files, which compiler caches want.
    target_compile_options(lockstep_test_headers PRIVATE -O0 "SHELL:-Xclang -fno-pch-timestamp")
    target_precompile_headers(lockstep_test_headers PRIVATE
      <algorithm> <array> <atomic> <cstdint> <cstring> <functional> <map> <memory> <optional> <random> <string> <string_view>
      <thread> <vector> <gtest/gtest.h>)
  endif()
  target_compile_options(${target} PRIVATE -O0 "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${target} REUSE_FROM lockstep_test_headers)
endfunction()

# lockstep_test(isa SOURCES a_test.cpp [DEPENDS isa] [LIBRARIES ...] [TIMEOUT seconds] [COST seconds] [SWEEP] [PARTS count]
# [HEADERS target] [OPTIMIZED a_test.cpp] [SWEEPS Suite.*] [SWEEP_SOURCES b_test.cpp]): one GoogleTest executable, one ctest entry, or one
# for each of so many PARTS of its tests. Those of high COST begin first, so that none is left alone at the end. A SWEEP computes much itself, and is compiled as the product is; of others only the
# sources that are OPTIMIZED do. SWEEPS are tests (patterns of GoogleTest's filter) that compare values, measure what
# something costs, or wait for compilers, which are not instrumented: sanitizers would find nothing that the others do not.
# SWEEP_SOURCES hold nothing else, and are compiled only where sweeps run.
function(lockstep_test name)
  cmake_parse_arguments(arg "SWEEP" "TIMEOUT;COST;HEADERS;PARTS" "SOURCES;DEPENDS;LIBRARIES;OPTIMIZED;SWEEPS;SWEEP_SOURCES" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  if(LOCKSTEP_SWEEPS)
    list(APPEND arg_SOURCES ${arg_SWEEP_SOURCES})
  endif()
  add_executable(test_${target} ${arg_SOURCES})
  foreach(dependency IN LISTS arg_DEPENDS)
    string(REPLACE "/" "_" dependency_target ${dependency})
    target_link_libraries(test_${target} PRIVATE lockstep_${dependency_target})
  endforeach()
  target_link_libraries(test_${target} PRIVATE ${arg_LIBRARIES} GTest::gtest GTest::gtest_main)
  if(NOT arg_SWEEP)
    lockstep_plain_test_code(test_${target} ${arg_HEADERS})
  endif()
  if(arg_OPTIMIZED)
    set_source_files_properties(${arg_OPTIMIZED} PROPERTIES SKIP_PRECOMPILE_HEADERS ON COMPILE_OPTIONS -O1)
  endif()
  set(filter)
  if(arg_SWEEPS AND NOT LOCKSTEP_SWEEPS)
    list(JOIN arg_SWEEPS ":" filter)
    set(filter --gtest_filter=-${filter})
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 1200)
  endif()
  if(NOT arg_PARTS)
    set(arg_PARTS 1)
  endif()
  set(coverages)
  foreach(part RANGE 1 ${arg_PARTS})
    set(suffix)
    if(part GREATER 1)
      set(suffix _part${part})
    endif()
    set(test ${name}${suffix})
    add_test(NAME ${test} COMMAND test_${target} ${filter})
    if(arg_COST)
      set_tests_properties(${test} PROPERTIES COST ${arg_COST})
    endif()
    # Nothing that an earlier run left behind takes part in it.
    set(coverage ${LOCKSTEP_COVERAGE_FOLDER}/${target}${suffix}.txt)
    math(EXPR index "${part} - 1")
    set_tests_properties(${test} PROPERTIES TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT "LOCKSTEP_COVERAGE=${coverage};LOCKSTEP_CACHE_MEGABYTES=0;GTEST_TOTAL_SHARDS=${arg_PARTS};GTEST_SHARD_INDEX=${index}")
    list(APPEND coverages ${coverage})
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_TESTS ${test})
  endforeach()
  # What an older build of the test executed proves nothing.
  add_custom_command(TARGET test_${target} POST_BUILD COMMAND ${CMAKE_COMMAND} -E rm -f ${coverages})
endfunction()

# Runs the test `name` once more as `name`_SUFFIX, in that environment; `FILTER`: of its cases.
function(lockstep_test_again name suffix environment)
  cmake_parse_arguments(arg "" "FILTER;COST" "" ${ARGN})
  string(REPLACE "/" "_" target ${name})
  add_test(NAME ${name}_${suffix} COMMAND test_${target} --gtest_filter=${arg_FILTER})
  set_tests_properties(${name}_${suffix} PROPERTIES TIMEOUT 1200 COST ${arg_COST}
                       ENVIRONMENT "${environment};LOCKSTEP_CACHE_MEGABYTES=0")
endfunction()

# As on a processor without AVX-512. On one that has none it is the same once more.
function(lockstep_test_without_avx512 name)
  lockstep_test_again(${name} avx2 LOCKSTEP_HOST_LEVEL=x86-64-v3 ${ARGN})
endfunction()

# With waves on the translator instead of the interpreter.
function(lockstep_test_translated name)
  lockstep_test_again(${name} translated LOCKSTEP_TEST_ENGINE=translator ${ARGN})
endfunction()

# LLVM's libraries are C++ headers of another project: system headers, so that our warnings stay ours.
find_package(LLVM 19.1 REQUIRED CONFIG HINTS /usr/lib/llvm-19)
add_library(lockstep_llvm INTERFACE)
target_include_directories(lockstep_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
target_compile_definitions(lockstep_llvm INTERFACE ${LLVM_DEFINITIONS_LIST})
target_link_libraries(lockstep_llvm INTERFACE LLVM)
target_link_directories(lockstep_llvm INTERFACE ${LLVM_LIBRARY_DIRS})
add_library(lockstep::llvm ALIAS lockstep_llvm)

find_package(fmt REQUIRED)
find_package(TBB REQUIRED)
find_package(nlohmann_json REQUIRED)
