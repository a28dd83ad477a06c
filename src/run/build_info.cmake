# Writes build_info.cpp, when what it says has changed. Run by every build, with -D ROOT, VERSION
# and OUT.
cmake_minimum_required(VERSION 3.25)

set(commit "")
find_program(git git)
if(git)
  execute_process(COMMAND ${git} rev-parse --short=12 HEAD WORKING_DIRECTORY ${ROOT}
    OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(commit "")
  else()
    execute_process(COMMAND ${git} status --porcelain -- src WORKING_DIRECTORY ${ROOT}
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      string(APPEND commit "+")
    endif()
  endif()
endif()

set(all "")
foreach(folder base core transports workload sim metrics run)
  file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/src/${folder}/*.h ${ROOT}/src/${folder}/*.cpp)
  list(FILTER files EXCLUDE REGEX "_(test|fuzz|bench)\\.cpp$")
  list(SORT files)
  foreach(file IN LISTS files)
    file(SHA256 ${ROOT}/${file} hash)
    string(APPEND all "${file} ${hash}\n")
  endforeach()
endforeach()
string(SHA256 source "${all}")
string(SUBSTRING ${source} 0 12 source)

set(text "#include \"run/build_info.h\"

namespace strack::run {
const BuildInfo kBuildInfo{\"${VERSION}\", \"${commit}\", \"${source}\"};
}
")
set(old "")
if(EXISTS ${OUT})
  file(READ ${OUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUT} "${text}")
endif()
