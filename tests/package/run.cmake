# Installs the build in BUILD_DIR into empty prefixes: all of it, each component alone, below a DESTDIR, and what there is
# before tests have been built. Then configures, builds and runs the project beside this file against it, and that of a
# policy and a driver with the tests that are installed for them. Fails when a public header or a dependency was forgotten.
cmake_policy(VERSION 3.22)
set(work "${BUILD_DIR}/tests/package")
set(sources "${CMAKE_CURRENT_LIST_DIR}/../..")
file(REMOVE_RECURSE "${work}")

function(step)
  execute_process(COMMAND ${ARGN} COMMAND_ECHO STDOUT RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "failed (${status}): ${ARGN}")
  endif()
endfunction()

# install_into(<prefix> [options of cmake --install])
function(install_into prefix)
  step("${CMAKE_COMMAND}" --install "${BUILD_DIR}" --config "${CONFIG}" --prefix "${prefix}" ${ARGN})
endfunction()

# expect(<folder> [THERE <end>...] [AWAY <end>...]): files whose paths below the folder end so, or none that does.
function(expect folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "THERE;AWAY")
  file(GLOB_RECURSE files RELATIVE "${folder}" "${folder}/*")
  foreach(end IN LISTS arg_THERE arg_AWAY)
    set(found ${files})
    string(REPLACE "." "\\." pattern "${end}")
    list(FILTER found INCLUDE REGEX "(^|/)${pattern}$")
    if(NOT found AND end IN_LIST arg_THERE)
      message(FATAL_ERROR "${folder} has no ${end}: ${files}")
    elseif(found AND end IN_LIST arg_AWAY)
      message(FATAL_ERROR "${folder} has ${found}")
    endif()
  endforeach()
endfunction()

set(prefix "${work}/prefix")
install_into("${prefix}")

# --- Components ---------------------------------------------------------------------------------
set(of_runtime vicinal/runtime.hpp extension/sched/policy.hpp vicinalConfig.cmake vicinalTargets.cmake
               vicinal.pc vicinal-tools.pc v100.toml)
set(modules "${BUILD_DIR}/libvicinal_openmpi.so" "${BUILD_DIR}/libvicinal_mpich.so")
file(GLOB library RELATIVE "${BUILD_DIR}" "${BUILD_DIR}/libvicinal.*"
     "${BUILD_DIR}/libvicinal_tools.*" ${modules})
list(APPEND of_runtime ${library})
set(of_documents README.md LICENSE user-guide.md loaded_light.svg first_program.cpp extension/CMakeLists.txt)
set(of_conformance libvicinal_conformance.a vicinal/conformance.hpp)
set(of_tools "")
if(EXISTS "${BUILD_DIR}/vicinal")
  set(of_tools bin/vicinal man1/vicinal.1 completions/vicinal _vicinal vicinal.fish)
endif()
set(components runtime documents conformance tools)
foreach(component IN LISTS components)
  install_into("${work}/${component}" --component ${component})
  set(others ${components})
  list(REMOVE_ITEM others ${component})
  set(away "")
  foreach(other IN LISTS others)
    list(APPEND away ${of_${other}})
  endforeach()
  expect("${work}/${component}" THERE ${of_${component}} AWAY ${away})
  expect("${prefix}" THERE ${of_${component}})
endforeach()

# What an installation writes lies below DESTDIR.
set(ENV{DESTDIR} "${work}/staged")
install_into("${work}/nowhere")
unset(ENV{DESTDIR})
file(GLOB_RECURSE plain RELATIVE "${prefix}" "${prefix}/*")
file(GLOB_RECURSE staged RELATIVE "${work}/staged/${work}/nowhere" "${work}/staged/${work}/nowhere/*")
if(EXISTS "${work}/nowhere" OR NOT plain STREQUAL staged)
  message(FATAL_ERROR "installed below DESTDIR: ${staged}; without: ${plain}")
endif()

# --- An executable without tests, though tests were configured -----------------------------------
# The libraries and the executable are copies of those that were built: nothing else has been.
set(young "${work}/young")
step("${CMAKE_COMMAND}" -S "${sources}" -B "${young}" -G "${GENERATOR}" "-DCMAKE_CXX_COMPILER=${CXX}"
     "-DCMAKE_BUILD_TYPE=${CONFIG}" -DVICINAL_BUILD_TESTS=ON -DVICINAL_BUILD_BENCH=OFF)
file(GLOB built "${BUILD_DIR}/libvicinal.*" "${BUILD_DIR}/libvicinal_tools.*" "${BUILD_DIR}/vicinal" ${modules})
file(COPY ${built} DESTINATION "${young}")
step("${CMAKE_COMMAND}" --install "${young}" --config "${CONFIG}" --prefix "${work}/without_tests")
expect("${work}/without_tests" THERE ${of_runtime} AWAY ${of_conformance})
file(REMOVE_RECURSE "${young}")
# Who asks for the tests then is told that they are not there.
execute_process(
  COMMAND "${CMAKE_COMMAND}" -S "${sources}/docs/examples/extension" -B "${work}/refused" -G "${GENERATOR}"
          "-DCMAKE_PREFIX_PATH=${work}/without_tests" "-DCMAKE_CXX_COMPILER=${CXX}"
  RESULT_VARIABLE status ERROR_VARIABLE message OUTPUT_QUIET)
if(status EQUAL 0 OR NOT message MATCHES "conformance")
  message(FATAL_ERROR "a package without conformance tests was found with them (${status}): ${message}")
endif()

# --- Projects that use it -----------------------------------------------------------------------
step("${CMAKE_COMMAND}" -S "${CMAKE_CURRENT_LIST_DIR}" -B "${work}/build" -G "${GENERATOR}"
     "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_BUILD_TYPE=${CONFIG}")
step("${CMAKE_COMMAND}" --build "${work}/build" --config "${CONFIG}")
step("${work}/build/uses_vicinal")

# A policy, one that plans, and a driver.
step("${CMAKE_COMMAND}" -S "${sources}/docs/examples/extension" -B "${work}/extension" -G "${GENERATOR}"
     "-DCMAKE_PREFIX_PATH=${prefix}" "-DCMAKE_CXX_COMPILER=${CXX}" "-DCMAKE_BUILD_TYPE=${CONFIG}")
step("${CMAKE_COMMAND}" --build "${work}/extension" --config "${CONFIG}")
step("${work}/extension/trial")
step("${work}/extension/comparison")
foreach(what policies device)
  execute_process(COMMAND "${work}/extension/conformance" ${what} --gtest_brief=1 COMMAND_ECHO STDOUT
                  RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the ${what} of docs/examples/extension do not conform")
  endif()
endforeach()

# The same as a shared object, made with the headers alone: it passes the tests, and is simulated beside other policies.
execute_process(COMMAND "${work}/extension/conformance" loaded "${work}/extension/my_policies.so" --gtest_brief=1
                COMMAND_ECHO STDOUT RESULT_VARIABLE status)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "the shared object of docs/examples/extension does not conform")
endif()
if(EXISTS "${prefix}/bin/vicinal")
  step("${prefix}/bin/vicinal" simulate cholesky --tiles 8 --memory 64MiB --policy nearest,in_order,lws
       --load "${work}/extension/my_policies.so")
endif()

# The same by pkg-config, without CMake, and the program of README.md as it is compiled there.
find_program(pkg_config NAMES pkgconf pkg-config)
if(pkg_config)
  file(GLOB_RECURSE description "${prefix}/*/vicinal.pc")
  get_filename_component(folder "${description}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} "${folder}")
  execute_process(COMMAND "${pkg_config}" --cflags --libs vicinal OUTPUT_VARIABLE flags
                  COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  step("${CXX}" -std=c++20 "${CMAKE_CURRENT_LIST_DIR}/main.cpp" ${flags} -o "${work}/by_pkg_config")
  step("${work}/by_pkg_config")
  if(EXISTS "${prefix}/bin/vicinal")
    execute_process(COMMAND "${pkg_config}" --cflags vicinal OUTPUT_VARIABLE headers COMMAND_ERROR_IS_FATAL ANY)
    separate_arguments(headers UNIX_COMMAND "${headers}")
    step("${CXX}" -std=c++20 -O2 -fPIC -shared "${sources}/docs/examples/extension/frugal.cpp" ${headers} -o "${work}/frugal.so")
    step("${prefix}/bin/vicinal" simulate cholesky --tiles 8 --memory 64MiB --policy frugal,darts
         --load "${work}/frugal.so")
  endif()
  execute_process(COMMAND "${pkg_config}" --cflags --libs vicinal-tools OUTPUT_VARIABLE tools COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(tools UNIX_COMMAND "${tools}")
  step("${CXX}" -std=c++20 "${sources}/docs/examples/extension/comparison.cpp"
       "${sources}/docs/examples/extension/nearest.cpp" ${tools} -o "${work}/comparison")
  step("${work}/comparison")
  step("${CXX}" -std=c++20 -O2 "${sources}/docs/examples/first_program.cpp" ${flags} -o "${work}/first_program")
  execute_process(COMMAND "${work}/first_program" WORKING_DIRECTORY "${work}" OUTPUT_VARIABLE printed
                  COMMAND_ERROR_IS_FATAL ANY)
  file(READ "${sources}/README.md" readme)
  string(FIND "${readme}" "$ ./program\n${printed}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "README.md does not say that its program prints:\n${printed}")
  endif()
endif()
