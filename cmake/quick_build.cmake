# Tools that make a build quicker where they are installed; none is needed, and none changes the result.
# Included by cmake/strack.cmake, before any target.

# ccache: what any clone has compiled before comes out of the cache, since names inside the clone count as
# relative to it. Precompiled headers are cached too, which it has to be allowed.
find_program(STRACK_CCACHE ccache)
if(STRACK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Where it may not write its cache, it compiles nothing.
  file(WRITE ${PROJECT_BINARY_DIR}/ccache_probe.cpp "")
  execute_process(COMMAND ${STRACK_CCACHE} ${CMAKE_CXX_COMPILER} -c ccache_probe.cpp -o ccache_probe.o
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR} RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
  if(failed)
    message(STATUS "ccache is not used: ${said}")
  endif()
endif()
if(STRACK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER AND NOT failed)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
    CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${STRACK_CCACHE})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)  # else ccache could not see what a precompiled header holds
else()
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
  # CMake's own words name the header by a path that ccache cannot take for relative.
  set(CMAKE_CXX_COMPILE_OPTIONS_USE_PCH -include-pch <PCH_FILE>)
endif()

# What Clang precompiles has the clone's path in it, so that ccache would take what was compiled with it for another in each clone.
# It goes by a file beside it, if there is one: here a hash of what the headers say.
function(strack_share_precompiled target)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  list(TRANSFORM ARGN PREPEND "#include ")
  list(JOIN ARGN "\n" text)
  file(WRITE ${PROJECT_BINARY_DIR}/${target}.h "${text}\n")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -P -x c++ ${target}.h
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(SHA256 sum "${text}")
  file(WRITE ${PROJECT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.pch.sum "${sum}\n")
endfunction()

# mold links in a fraction of the time of binutils' ld.
find_program(STRACK_MOLD mold)
if(STRACK_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
