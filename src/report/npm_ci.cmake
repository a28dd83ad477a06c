# Installs what package-lock.json asks for into WEB/node_modules, unless it is there. Build trees that
# come at the same time wait for each other.
#   cmake -D WEB=folder -D NPM=program -P npm_ci.cmake
set(stamp ${WEB}/node_modules/.strack-stamp)
file(LOCK ${WEB}/.npm-ci.lock GUARD PROCESS TIMEOUT 600)
file(SHA256 ${WEB}/package-lock.json wanted)
if(EXISTS ${stamp})
  file(READ ${stamp} found)
  if(found STREQUAL wanted)
    return()
  endif()
endif()
execute_process(
  COMMAND ${NPM} ci --no-audit --no-fund --no-progress --ignore-scripts
  WORKING_DIRECTORY ${WEB}
  RESULT_VARIABLE failed
  OUTPUT_VARIABLE said
  ERROR_VARIABLE said)
if(failed)
  message(FATAL_ERROR "npm could not install what the report's page is built with (in ${WEB}):\n${said}")
endif()
file(WRITE ${stamp} ${wanted})
