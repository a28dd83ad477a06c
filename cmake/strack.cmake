# How every target of this project is built: warnings, instrumentation, and one function for each
# kind of target. Included once, by the root CMakeLists.txt.
#
#   strack_library(NAME [PURE] [SOURCES ...] [LINKS ...])
#   strack_program(NAME SOURCES ... [LINKS ...])
#   strack_ship(NAME)
#   strack_test(NAME SOURCES ... [LINKS ...] [SHARDS n] [LABELS ...] [TIMEOUT seconds] [FIGURES cases])
#   strack_fuzz(NAME SOURCE file [LINKS ...] [CORPUS folder] [RUNS n] [MAX_LEN bytes])
#   strack_registry(NAME DESCRIPTORS ...)
#   strack_check_transport(FOLDER OTHERS)

include(cmake/quick_build.cmake)

# --- Warnings: all of them errors, the same for GCC 12 and Clang 14 -------------------------------

add_library(strack_warnings INTERFACE)
target_compile_options(strack_warnings INTERFACE
  -Werror
  -Wall
  -Wextra
  -Wpedantic
  -Wshadow
  -Wconversion
  -Wsign-conversion
  -Wdouble-promotion
  -Wold-style-cast
  -Wcast-align
  -Wcast-qual
  -Wformat=2
  -Wimplicit-fallthrough
  -Wnon-virtual-dtor
  -Woverloaded-virtual
  -Wextra-semi
  -Wunused)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 sees overlapping copies in ordinary std::string concatenation (GCC bug 105651).
  target_compile_options(strack_warnings INTERFACE
    -Wduplicated-cond -Wlogical-op -Wno-restrict)
  if(STRACK_SANITIZE)
    # Instrumented code takes paths that these warnings cannot follow.
    target_compile_options(strack_warnings INTERFACE -Wno-array-bounds -Wno-maybe-uninitialized)
  endif()
else()
  # C++20 allows an empty variadic macro argument, as GoogleTest's macros use; Clang 14 still warns.
  target_compile_options(strack_warnings INTERFACE -Wno-gnu-zero-variadic-macro-arguments)
endif()

# --- Instrumentation: for the whole build tree ----------------------------------------------------

# What __FILE__ says is relative to the repository, on every machine; also where ccache has made the
# name of the source relative to the build.
file(RELATIVE_PATH up ${PROJECT_BINARY_DIR} ${PROJECT_SOURCE_DIR})
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${up}=)

if(STRACK_DCHECK)
  add_compile_definitions(STRACK_DCHECK_ENABLED=1 _GLIBCXX_ASSERTIONS)
endif()

set(sanitizers ${STRACK_SANITIZE})
if(STRACK_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "libFuzzer comes with clang: cmake --preset fuzz")
  endif()
  string(JOIN "," sanitizers fuzzer-no-link ${sanitizers})
endif()
if(sanitizers)
  add_compile_options(-fsanitize=${sanitizers} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${sanitizers})
endif()

# Clang counts in its front end, so that optimised code tells of lines too and one build serves both as second opinion and for
# coverage. Options for cc1 rather than for the driver, whose -fprofile- would make ccache take every clone for another.
if(STRACK_COVERAGE)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    message(FATAL_ERROR "coverage is counted by clang: cmake --preset clang")
  endif()
  add_compile_options("SHELL:-Xclang -fprofile-instrument=clang -Xclang -fcoverage-mapping"
    -fcoverage-compilation-dir=. -fcoverage-prefix-map=${up}=)
  add_link_options(-fprofile-instr-generate)
endif()

# True where the object code does what users get, at that speed: nothing in it but counters that only a kind of test put there.
if(STRACK_SANITIZE OR STRACK_FUZZ OR STRACK_DCHECK)
  set(STRACK_PLAIN_BUILD FALSE)
else()
  set(STRACK_PLAIN_BUILD TRUE)
endif()

# --- Targets --------------------------------------------------------------------------------------

# Stops on a misspelt keyword or a forgotten one, instead of dropping what followed it.
macro(strack_check_arguments)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: no keyword for: ${arg_UNPARSED_ARGUMENTS}")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "${name}: nothing follows ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
endmacro()

# A folder's library. Headers are found from src/: #include "core/packet.h". Without a .cpp among
# SOURCES it is header-only. PURE is for code that may run anywhere, a NIC or a GPU: no exceptions
# and no run-time type information.
function(strack_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "PURE" "" "SOURCES;LINKS")
  strack_check_arguments()
  set(compiled ${arg_SOURCES})
  list(FILTER compiled INCLUDE REGEX "\\.cpp$")
  if(NOT compiled)
    add_library(${name} INTERFACE)
    target_sources(${name} PRIVATE ${arg_SOURCES})
    target_include_directories(${name} INTERFACE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(${name} INTERFACE ${arg_LINKS})
    return()
  endif()
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE strack_warnings)
  if(arg_PURE)
    target_compile_options(${name} PRIVATE -fno-exceptions -fno-rtti)
  endif()
endfunction()

# Stops where a folder cannot be a transport, or where another one of `others` has its name.
function(strack_check_transport folder others)
  cmake_path(GET folder FILENAME transport)
  if(NOT transport MATCHES "^[a-z][a-z0-9_]*$")
    message(FATAL_ERROR "${folder}: ${transport} is no name for a transport. it becomes a part of C++ names: small letters, digits "
                        "and _, such as my_transport")
  endif()
  foreach(file descriptor.cpp core.cpp)
    if(NOT EXISTS ${folder}/${file})
      message(FATAL_ERROR "${folder}: a transport's folder has a ${file}, and this one has not. docs/add-a-transport.md lists "
                          "the files")
    endif()
  endforeach()
  file(READ ${folder}/descriptor.cpp text)
  if(NOT text MATCHES "descriptor_of_${transport}[^a-z0-9_]")
    message(FATAL_ERROR "${folder}/descriptor.cpp: no descriptor_of_${transport}. the descriptor has the folder's name in its own")
  endif()
  foreach(other IN LISTS others)
    cmake_path(GET other FILENAME name)
    if(name STREQUAL transport)
      message(FATAL_ERROR "${folder}: there is a transport ${transport} already, ${other}. call one of them something else")
    endif()
  endforeach()
endfunction()

# The transports whose descriptors these are, and the list of them. What links it is a program: it
# decides which transports there are, the libraries below it only ask (src/transports/registry.h).
function(strack_registry name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "DESCRIPTORS")
  strack_check_arguments()
  set(objects "")
  set(declarations "")
  set(entries "")
  set(folders "")
  foreach(descriptor IN LISTS arg_DESCRIPTORS)
    cmake_path(GET descriptor PARENT_PATH folder)
    cmake_path(GET folder FILENAME transport)
    strack_check_transport(${folder} "${folders}")
    list(APPEND folders ${folder})
    set(part strack_transport_${transport})
    if(NOT TARGET ${part})
      file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
      list(FILTER sources EXCLUDE REGEX "/(core|(udp|vectors)[a-z0-9_]*|[a-z0-9_]*_(test|fuzz|bench))\\.cpp$")
      add_library(${part} OBJECT ${sources})
      target_link_libraries(${part} PRIVATE strack_scenario strack_sim strack_duet strack_transports strack_warnings)
    endif()
    list(APPEND objects $<TARGET_OBJECTS:${part}>)
    string(APPEND declarations "extern const Descriptor descriptor_of_${transport};\n")
    list(APPEND entries "&descriptor_of_${transport}")
  endforeach()
  list(JOIN entries ", " entries)
  set(list ${CMAKE_CURRENT_BINARY_DIR}/${name}.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/src/transports/registry.cpp.in ${list} @ONLY)
  add_library(${name}_list OBJECT ${list} ${PROJECT_SOURCE_DIR}/src/transports/registry.cpp)
  target_link_libraries(${name}_list PRIVATE strack_scenario strack_warnings)
  add_library(${name} INTERFACE)
  target_sources(${name} INTERFACE $<TARGET_OBJECTS:${name}_list> ${objects})
  target_link_libraries(${name} INTERFACE strack_scenario strack_sim strack_transports)
endfunction()

# What a library and all it links are made of, compiled once: as position independent code with hidden names, for
# shared libraries, archives and programs. Sets OBJECTS to the objects, OUTSIDE to what they link that is not ours.
function(strack_shareable name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OBJECTS;OUTSIDE" "")
  strack_check_arguments()
  set(objects "")
  set(outside "")
  set(todo ${name})
  set(seen "")
  while(todo)
    list(POP_FRONT todo target)
    if(target IN_LIST seen)
      continue()
    endif()
    list(APPEND seen ${target})
    set(ours FALSE)
    if(TARGET ${target})
      get_target_property(imported ${target} IMPORTED)
      get_target_property(type ${target} TYPE)
      if(NOT imported AND type MATCHES "^(STATIC|INTERFACE|OBJECT)_LIBRARY$")
        set(ours TRUE)
      endif()
    endif()
    if(NOT ours)
      list(APPEND outside ${target})
      continue()
    endif()
    # The protocols' library is only there to be looked at by core_purity_test: they are headers.
    if(NOT type STREQUAL "INTERFACE_LIBRARY" AND NOT target STREQUAL "strack_transports")
      set_target_properties(${target} PROPERTIES
        POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
      list(APPEND objects $<TARGET_OBJECTS:${target}>)
    endif()
    get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
    if(links)
      list(FILTER links EXCLUDE REGEX "LINK_ONLY")  # the warnings
      list(APPEND todo ${links})
    endif()
    get_target_property(sources ${target} INTERFACE_SOURCES)  # a registry has its transports there
    if(sources)
      string(REGEX MATCHALL "TARGET_OBJECTS:[^>]+" parts "${sources}")
      list(TRANSFORM parts REPLACE "TARGET_OBJECTS:" "")
      list(APPEND todo ${parts})
    endif()
  endwhile()
  foreach(result OBJECTS OUTSIDE)
    if(arg_${result})
      string(TOLOWER ${result} value)
      set(${arg_${result}} ${${value}} PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# An executable that is not a test: the command line, a benchmark.
function(strack_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINKS")
  strack_check_arguments()
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE ${arg_LINKS} strack_warnings)
endfunction()

# What users get is small: a program or shared library without debug data, which lies beside it as FILE.debug, where debuggers
# and profilers look for it.
function(strack_ship name)
  if(NOT STRACK_PLAIN_BUILD)
    return()
  endif()
  set(file $<TARGET_FILE:${name}>)
  add_custom_command(TARGET ${name} POST_BUILD
    COMMAND ${CMAKE_OBJCOPY} --only-keep-debug --compress-debug-sections ${file} ${file}.debug
    COMMAND ${CMAKE_STRIP} --strip-unneeded ${file}
    COMMAND ${CMAKE_OBJCOPY} --add-gnu-debuglink=${file}.debug ${file}
    VERBATIM)
endfunction()

# Where what has run is counted, the counts of unit tests and swarms are kept, each program's in a few files that its runs add to; what other
# tests run has counters too, and nobody asks for them (CMakePresets.json).
set(STRACK_COUNTS)
if(STRACK_COVERAGE)
  set(STRACK_COUNTS LLVM_PROFILE_FILE=${PROJECT_BINARY_DIR}/profiles/%4m.profraw)
endif()

# GoogleTest cases: one process for all of them, or SHARDS processes that take every SHARDS-th case.
# As ctest tests they are called NAME or NAME/SHARD. What each case did is left in cases/NAME-SHARD.xml
# of the build tree, where tools/ctest_report.py finds it. A test of more than some seconds has the label
# "long", and then only the release build runs it. One case alone: NAME --gtest_filter=Suite.Case
# FIGURES are patterns of cases that measure over long runs; builds with sanitizers, ten times as slow, leave them out.
function(strack_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SHARDS;TIMEOUT" "SOURCES;LINKS;LABELS;FIGURES")
  if(NOT arg_SOURCES)
    message(WARNING "${name}: no sources, so nothing is tested")  # a pattern that matched no file
    return()
  endif()
  strack_check_arguments()
  if(STRACK_FUZZ)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 600)
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  strack_program(${name} SOURCES ${arg_SOURCES} LINKS ${arg_LINKS} GTest::gtest_main)
  target_compile_options(${name} PRIVATE ${test_options})
  add_dependencies(units ${name})
  target_precompile_headers(${name} REUSE_FROM strack_test_headers)
  set(filter)
  if(STRACK_SANITIZE AND arg_FIGURES)
    list(JOIN arg_FIGURES ":" filter)
    set(filter GTEST_FILTER=-${filter})
  endif()
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(shard RANGE ${last})
    set(test ${name})
    if(last GREATER 0)
      set(test ${name}/${shard})
    endif()
    add_test(NAME ${test} COMMAND ${name} --gtest_output=xml:${PROJECT_BINARY_DIR}/cases/${name}-${shard}.xml)
    set_tests_properties(${test} PROPERTIES LABELS "unit;${arg_LABELS}" TIMEOUT ${arg_TIMEOUT}
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${shard};${STRACK_COUNTS};${filter}")
  endforeach()
endfunction()

# A harness with LLVMFuzzerTestOneInput, and a ctest test of the same name that runs it: in a
# libFuzzer build for STRACK_FUZZ_SECONDS, in every other on the corpus and RUNS inputs of its own.
# The corpus is the folder NAME_corpus beside the harness, where there is one.
function(strack_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SOURCE;CORPUS;RUNS;MAX_LEN" "LINKS")
  strack_check_arguments()
  if(NOT arg_RUNS)
    set(arg_RUNS 2000)
  endif()
  if(NOT arg_MAX_LEN)
    set(arg_MAX_LEN 4096)
  endif()
  if(NOT arg_CORPUS)
    set(arg_CORPUS ${name}_corpus)
  endif()
  cmake_path(ABSOLUTE_PATH arg_CORPUS BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  if(NOT EXISTS ${arg_CORPUS})
    set(arg_CORPUS "")
  endif()

  strack_program(${name} SOURCES ${arg_SOURCE} LINKS ${arg_LINKS})
  add_dependencies(fuzzers ${name})
  if(STRACK_FUZZ)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    set(found ${PROJECT_BINARY_DIR}/corpus/${name})
    set(artifacts ${PROJECT_BINARY_DIR}/artifacts)
    file(MAKE_DIRECTORY ${found} ${artifacts})
    add_test(NAME ${name} COMMAND ${name}
      -seed=${STRACK_FUZZ_SEED} -max_total_time=${STRACK_FUZZ_SECONDS} -max_len=${arg_MAX_LEN} -timeout=10
      -print_final_stats=1 -artifact_prefix=${artifacts}/${name}- ${found} ${arg_CORPUS})
    math(EXPR timeout "${STRACK_FUZZ_SECONDS} + 120")
  else()
    target_compile_options(${name} PRIVATE ${test_options})
    target_link_libraries(${name} PRIVATE strack_fuzz_driver)
    add_test(NAME ${name} COMMAND ${name}
      --runs=${arg_RUNS} --max-len=${arg_MAX_LEN} ${arg_CORPUS})
    set(timeout 300)
  endif()
  set_tests_properties(${name} PROPERTIES LABELS fuzz TIMEOUT ${timeout})
endfunction()

# Test code runs once and is compiled often: full optimisation would double the time of a build. What most
# tests include is read once, for all of them: a third of the time a test takes to compile.
set(test_options $<$<CONFIG:Release>:-Og>)
if(NOT STRACK_FUZZ)
  file(WRITE ${PROJECT_BINARY_DIR}/test_headers.cpp "")
  strack_library(strack_test_headers SOURCES ${PROJECT_BINARY_DIR}/test_headers.cpp)
  target_link_libraries(strack_test_headers PRIVATE GTest::gtest)
  target_compile_options(strack_test_headers PRIVATE ${test_options})
  set(test_headers <gmock/gmock.h> <gtest/gtest.h>
    <algorithm> <array> <chrono> <cstdint> <deque> <filesystem> <fstream> <functional> <map> <memory> <optional>
    <random> <set> <span> <sstream> <string> <string_view> <thread> <utility> <vector>)
  target_precompile_headers(strack_test_headers PRIVATE ${test_headers})
  strack_share_precompiled(strack_test_headers ${test_headers})
endif()

add_custom_target(fuzzers)  # all harnesses
add_custom_target(units)  # all GoogleTest programs and swarms
if(NOT STRACK_FUZZ)
  strack_library(strack_fuzz_driver SOURCES ${PROJECT_SOURCE_DIR}/tests/support/fuzz_driver.cpp)
endif()
