# `make packages`: .deb files by CPack, one per component of cmake/install.cmake. Included at its end.
set(STRACK_MAINTAINER "STrack maintainers <maintainers@strack.example>" CACHE STRING
  "who answers for the packages; whoever gives them to others says who he is")

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME strack)
set(CPACK_PACKAGE_CONTACT "${STRACK_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each package has its own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES OFF)  # strack_ship has done it
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

# strack_package(COMPONENT NAME SECTION DEPENDS SUMMARY [LINE...]): LINEs are the description.
set(CPACK_COMPONENTS_ALL "")
function(strack_package component name section depends summary)
  string(TOUPPER ${component} upper)
  string(JOIN "\n" description ${summary} ${ARGN})
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${section} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_COMPONENT_${upper}_DESCRIPTION "${description}" PARENT_SCOPE)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
  # What Debian wants of every package: its licence, and what changed in words of its own format.
  set(folder share/doc/${name})
  install(FILES packaging/copyright DESTINATION ${folder} COMPONENT ${component})
  install(CODE "
    execute_process(COMMAND \"${PROJECT_SOURCE_DIR}/packaging/changelog.py\" ${PROJECT_VERSION} \"${STRACK_MAINTAINER}\"
      \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${folder}/changelog.gz\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component})
endfunction()

set(same "(= ${PROJECT_VERSION})")
set(library libstrack${PROJECT_VERSION_MAJOR})
strack_package(strack strack net ""
  "reliable multipath transport for AI clusters, and its simulator"
  "STrack sends one connection's packets over many paths at once, steers them"
  "away from congested ones and recovers from loss without waiting for order."
  ""
  "This is the program: the protocol between hosts over UDP (measuring, copying"
  "files), a simulator of whole clusters with STrack and its peers, reports, and"
  "the experiments of the paper that describes it.")
strack_package(libstrack ${library} libs ""
  "reliable multipath transport over UDP, shared library"
  "For programs that send messages between hosts over many paths at once. It has"
  "a C interface.")
strack_package(libstrack-dev libstrack-dev libdevel "${library} ${same}, libsodium-dev"
  "reliable multipath transport over UDP, development files"
  "Headers of the C and C++ interfaces, an archive, and files for pkg-config and"
  "CMake.")
install(FILES packaging/libstrack-dev.overrides DESTINATION share/lintian/overrides RENAME libstrack-dev COMPONENT libstrack-dev)
# CPack would remove what a component of that name has.
strack_package(debug strack-dbgsym debug ""
  "debug symbols for strack"
  "For debuggers and profilers: the program, the library, the Python module, and"
  "what is loaded at run time.")
set(CPACK_DEBIAN_DEBUG_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEBUG_PACKAGE_RECOMMENDS "strack ${same}")
if(TARGET strack_python)
  strack_package(python3-strack python3-strack python "python3 (>= 3.11), python3 (<< 3.12), python3-numpy, python3-pandas"
    "simulator of AI clusters under STrack and its peers, for Python"
    "Scenarios as objects, runs and sweeps, results as DataFrames, pictures, and"
    "workloads from numpy arrays.")
  set(CPACK_DEBIAN_PYTHON3-STRACK_PACKAGE_RECOMMENDS "${library} ${same}, python3-matplotlib")  # strack.udp; plots
endif()
if(TARGET strack-fi)
  strack_package(strack-libfabric strack-libfabric libs ""
    "provider of STrack for libfabric"
    "Programs that use libfabric, and Open MPI above it, go over STrack without a"
    "change. 'strack mpirun' finds it.")
endif()
if(TARGET strack_mpi)
  strack_package(strack-mpi strack-mpi net "strack ${same}"
    "one simulation on several processes, for the simulator of STrack"
    "With it 'mpirun strack sim run' shares one simulated cluster among the ranks"
    "of MPI, on one machine or many, with the same results.")
endif()

# What programs that link the library will need, and that the linker's cache is renewed.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/packaging/shlibs
  CONTENT "libstrack ${PROJECT_VERSION_MAJOR} ${library} (>= ${PROJECT_VERSION})\n")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/packaging/triggers CONTENT "activate-noawait ldconfig\n")
set(CPACK_DEBIAN_LIBSTRACK_PACKAGE_CONTROL_EXTRA "${PROJECT_BINARY_DIR}/packaging/shlibs;${PROJECT_BINARY_DIR}/packaging/triggers")

include(CPack)
