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
    CCACHE_SLOPPINESS=pch_defines,time_macros ${STRACK_CCACHE})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options(-fpch-preprocess)  # else ccache could not see what a precompiled header holds
else()
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
endif()

# mold links in a fraction of the time of binutils' ld.
find_program(STRACK_MOLD mold)
if(STRACK_MOLD)
  add_link_options(-fuse-ld=mold)
endif()
