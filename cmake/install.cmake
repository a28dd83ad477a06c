# `cmake --install`: the program, the libraries and how others find them, documents and scenarios.
# Everything lies relative to the prefix and finds the rest from its own place, so that the whole can be
# moved. Included once, at the end of the root CMakeLists.txt.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

if(NOT STRACK_PLAIN_BUILD)
  install(CODE "message(FATAL_ERROR \"this build is instrumented, for tests only. \
install the release build: cmake --preset release\")")
  return()
endif()

install(TARGETS strack RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
# Debuggers look beside the program, and in .debug there.
install(FILES $<TARGET_FILE:strack>.debug DESTINATION ${CMAKE_INSTALL_BINDIR}/.debug)
install(FILES $<TARGET_FILE:libstrack>.debug DESTINATION ${CMAKE_INSTALL_LIBDIR}/.debug)

# Libraries and headers. Two exports, since a program that links the shared library needs no libsodium to
# build.
install(FILES src/capi/strack.h src/udp/endpoint.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/strack)
install(TARGETS libstrack EXPORT strackTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS libstrack_static EXPORT strackStaticTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

# find_package(strack)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/strack)
foreach(export strackTargets strackStaticTargets)
  install(EXPORT ${export} NAMESPACE strack:: DESTINATION ${package_folder})
endforeach()
configure_package_config_file(cmake/strackConfig.cmake.in ${PROJECT_BINARY_DIR}/strackConfig.cmake
  INSTALL_DESTINATION ${package_folder} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/strackConfigVersion.cmake
  VERSION ${PROJECT_VERSION} COMPATIBILITY SameMajorVersion)
install(FILES ${PROJECT_BINARY_DIR}/strackConfig.cmake ${PROJECT_BINARY_DIR}/strackConfigVersion.cmake
  DESTINATION ${package_folder})

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
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pc_folder})
endforeach()

# To read, and to start from.
install(FILES README.md CHANGELOG.md LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/docs)
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR}
  USE_SOURCE_PERMISSIONS PATTERN __pycache__ EXCLUDE PATTERN build EXCLUDE)
install(DIRECTORY scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/strack)
