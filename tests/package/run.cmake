# Installs the build in BUILD_DIR into an empty prefix, then configures, builds and runs the project
# beside this file against it, and that of a policy and a driver with the tests that are installed for them. Fails when
# a public header or a dependency was forgotten.
set(work "${BUILD_DIR}/tests/package")
file(REMOVE_RECURSE "${work}")

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}")
  endif()
endfunction()

step("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --config "${CONFIG}" --prefix "${work}/prefix")
step("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}/build" -G "${GENERATOR}"
     "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_COMPILER=${CXX}"
     "-DCMAKE_BUILD_TYPE=${CONFIG}")
step("${CMAKE_COMMAND}" --build "${work}/build" --config "${CONFIG}")
step("${work}/build/uses_vicinal")

# A policy, one that plans, and a driver.
step("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}/../../docs/examples/extension" -B "${work}/extension"
     -G "${GENERATOR}" "-DCMAKE_PREFIX_PATH=${work}/prefix" "-DCMAKE_CXX_COMPILER=${CXX}"
     "-DCMAKE_BUILD_TYPE=${CONFIG}")
step("${CMAKE_COMMAND}" --build "${work}/extension" --config "${CONFIG}")
step("${work}/extension/trial")
foreach(what policies device)
  execute_process(COMMAND "${work}/extension/conformance" ${what} --gtest_brief=1 COMMAND_ECHO STDOUT
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the ${what} of docs/examples/extension do not conform")
  endif()
endforeach()

# The same by pkg-config, without CMake.
find_program(pkg_config NAMES pkgconf pkg-config)
if(pkg_config)
  file(GLOB_RECURSE description "${work}/prefix/*/vicinal.pc")
  get_filename_component(folder "${description}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} "${folder}")
  execute_process(COMMAND "${pkg_config}" --cflags --libs vicinal OUTPUT_VARIABLE flags
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  step("${CXX}" -std=c++20 "${CMAKE_CURRENT_LIST_DIR}/main.cpp" ${flags} -o "${work}/by_pkg_config")
  step("${work}/by_pkg_config")
endif()
