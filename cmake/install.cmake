# `cmake --install`: the program, the libraries and how others find them, documents and scenarios.
# Everything lies relative to the prefix and finds the rest from its own place, so that the whole can be
# moved. Included once, at the end of the root CMakeLists.txt.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(NOT STRACK_PLAIN_BUILD OR STRACK_COVERAGE)
  install(CODE "message(FATAL_ERROR \"this build is instrumented, for tests only. \
install the release build: cmake --preset release\")")
  return()
endif()

# What is built is installed, and no more is built for it: whoever installs has built what he wants.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)

install(TARGETS strack RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT strack)

# Debuggers look in .debug beside a program; of the system's own, by the identity of the build, in one place for all.
function(strack_install_debug target folder)
  install(CODE "
    set(file \"$<TARGET_FILE:${target}>\")
    if(EXISTS \"\${file}.debug\" AND CMAKE_INSTALL_PREFIX STREQUAL \"/usr\")
      execute_process(COMMAND ${CMAKE_READELF} -n \${file} OUTPUT_VARIABLE notes)
      string(REGEX MATCH \"Build ID: ([0-9a-f][0-9a-f])([0-9a-f]+)\" found \"\${notes}\")
      file(INSTALL \"\${file}.debug\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/lib/debug/.build-id/\${CMAKE_MATCH_1}\"
        RENAME \"\${CMAKE_MATCH_2}.debug\")
    elseif(EXISTS \"\${file}.debug\")
      file(INSTALL \"\${file}.debug\" DESTINATION \"\${CMAKE_INSTALL_PREFIX}/${folder}/.debug\")
    endif()" COMPONENT debug)
endfunction()
strack_install_debug(strack ${CMAKE_INSTALL_BINDIR})
strack_install_debug(libstrack ${CMAKE_INSTALL_LIBDIR})

# What is loaded at run time: the provider for libfabric, ranks of MPI. Where they were built.
foreach(module strack-fi=strack-libfabric strack_mpi=strack-mpi)
  string(REPLACE "=" ";" module ${module})
  list(GET module 0 target)
  list(GET module 1 component)
  if(TARGET ${target})
    install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/strack COMPONENT ${component} OPTIONAL)
    strack_install_debug(${target} ${CMAKE_INSTALL_LIBDIR}/strack)
  endif()
endforeach()

# Libraries and headers. Two exports, since a program that links the shared library needs no libsodium to
# build.
install(FILES src/capi/strack.h src/udp/endpoint.h src/udp/endpoint_statistics.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strack COMPONENT libstrack-dev)
install(TARGETS libstrack EXPORT strackTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libstrack NAMELINK_COMPONENT libstrack-dev)
install(TARGETS libstrack_static EXPORT strackStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libstrack-dev)

# find_package(strack)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/strack)
foreach(export strackTargets strackStaticTargets)
  install(EXPORT ${export} NAMESPACE strack:: DESTINATION ${package_folder} COMPONENT libstrack-dev)
endforeach()
configure_package_config_file(cmake/strackConfig.cmake.in ${PROJECT_BINARY_DIR}/strackConfig.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/strackConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/strackConfig.cmake ${PROJECT_BINARY_DIR}/strackConfigVersion.cmake
  DESTINATION ${package_folder} COMPONENT libstrack-dev)

# pkg-config: strack for C, strack-static for C++ and for C without the shared library.
set(pc_folder ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
if(IS_ABSOLUTE ${CMAKE_INSTALL_LIBDIR} OR IS_ABSOLUTE ${CMAKE_INSTALL_INCLUDEDIR})
  # Somebody wants certain places; then nothing is meant to be moved.
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
  set(pc_libdir ${CMAKE_INSTALL_FULL_LIBDIR})
  set(pc_includedir ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  file(RELATIVE_PATH up /${pc_folder} /)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
  set(pc_libdir "\${prefix}/${CMAKE_INSTALL_LIBDIR}")
  set(pc_includedir "\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}")
endif()
foreach(name strack strack-static)
  configure_file(cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_folder} COMPONENT libstrack-dev)
endforeach()

# To read, and to start from.
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT strack)
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs COMPONENT strack PATTERN site EXCLUDE PATTERN *.py EXCLUDE)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT strack
  USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE PATTERN build EXCLUDE)
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/strack COMPONENT strack)

# For shells, readers of manuals and systemd; the former are made of the program's help (packaging/pages.py).
set(made ${PROJECT_BINARY_DIR}/packaging/made)
install(DIRECTORY ${made}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT strack FILES_MATCHING PATTERN *.1.gz)
install(DIRECTORY ${made}/man/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man5 COMPONENT strack FILES_MATCHING PATTERN *.5.gz)
install(FILES ${made}/completion/strack DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT strack)
install(FILES ${made}/completion/_strack DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT strack)
install(FILES ${made}/completion/strack.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT strack)
install(FILES packaging/strack-recv.service packaging/strack-perf.service DESTINATION lib/systemd/system COMPONENT strack)

# `import strack`, where Debian's python3 looks for it.
if(TARGET strack_python)
  set(python_folder lib/python3/dist-packages/strack)
  install(DIRECTORY ${PROJECT_BINARY_DIR}/python/strack/ DESTINATION ${python_folder} COMPONENT python3-strack
    FILES_MATCHING PATTERN *.py PATTERN *.pyi PATTERN py.typed PATTERN palette.json PATTERN __pycache__ EXCLUDE)
  install(TARGETS strack_python LIBRARY DESTINATION ${python_folder} COMPONENT python3-strack)
  strack_install_debug(strack_python ${python_folder})
endif()

include(cmake/packages.cmake)
