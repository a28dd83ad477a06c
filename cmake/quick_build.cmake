# Tools that make a build quicker where they are installed; none is needed, and none changes the result.
# Included by cmake/strack.cmake, before any target.

# ccache: what any clone has compiled before comes out of the cache, since names inside the clone count as
# relative to it. Precompiled headers are cached too, which it has to be allowed.
find_program(STRACK_CCACHE ccache)
if(STRACK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
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
