# Tests: one executable per folder of tests/, and every example of docs/examples.
# Labels: unit, conformance, golden, stress, allocation, which scripts/run-tests runs; oracle, example, cli, compile, mpi,
# package, which ctest runs; huge and network, which are run when somebody asks for them.

enable_testing()

# Seconds. A test that needs more says so; a hang must not eat the whole budget.
set(VICINAL_TEST_TIMEOUT 300)

add_custom_target(vicinal_tests) # every test executable
add_custom_target(vicinal_sanitizer_tests) # those that run under sanitizers

# vicinal_sources_with_threads(<variable>): keeps those that start threads or use what does. The others have
# nothing to show the thread sanitizer.
function(vicinal_sources_with_threads variable)
  set(header "<(thread|atomic|mutex|condition_variable)>")
  set(room "\"(vicinal/runtime|linalg/|drivers/|engine/|runtime/|play/|calibration/|support/(small_runs|watchdog))")
  foreach(source IN LISTS ${variable})
    file(STRINGS "${source}" includes REGEX "^#include (${header}|${room})")
    if(includes)
      list(APPEND kept "${source}")
    endif()
  endforeach()
  set(${variable} ${kept} PARENT_SCOPE)
endfunction()

# All code of tests is compiled with the same flags, so that one precompiled header serves all tests.
function(vicinal_test_code target)
  target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${target} PRIVATE vicinal_apps vicinal_sparse GTest::gtest GTest::gmock)
  # Where tests find expected outputs and machine files: the root of the source tree. The library that stands in for CUDA
  # by its name alone: the programs look for it beside themselves, wherever the tests have been carried.
  target_compile_definitions(
    ${target} PRIVATE VICINAL_SOURCE_DIR="${PROJECT_SOURCE_DIR}"
                      VICINAL_CUDA_STAND_IN="$<TARGET_FILE_NAME:vicinal_cuda_stand_in>")
  vicinal_warnings(${target} RELAXED)
  # What takes time to run is the library; what takes time to build is the tests.
  target_compile_options(${target} PRIVATE -O0)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "OBJECT_LIBRARY") # they end up in executables, whose code is of another kind
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIE)
  endif()
  if(target STREQUAL "vicinal_precompiled_tests")
    target_precompile_headers(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/precompiled.hpp")
  else()
    target_precompile_headers(${target} REUSE_FROM vicinal_precompiled_tests)
  endif()
endfunction()

# Tests in some files, each of many: what they instantiate of the standard library and of GoogleTest takes more time
# than they do.
set(VICINAL_TEST_BATCH 14 CACHE STRING "Files of tests that are compiled as one: more are quicker from nothing, fewer after a change")
mark_as_advanced(VICINAL_TEST_BATCH)
function(vicinal_unity_of_tests target)
  if(VICINAL_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${VICINAL_TEST_BATCH})
    foreach(separate application_names tile_bounds) # they give names of ours to other things
      set_source_files_properties("${PROJECT_SOURCE_DIR}/tests/unit/${separate}_test.cpp"
                                  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endforeach()
  endif()
endfunction()

function(vicinal_add_test_folder folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp")
  if(folder STREQUAL "conformance")
    list(REMOVE_ITEM sources ${vicinal_installed_tests})
  endif()
  if(VICINAL_SANITIZE STREQUAL "thread" AND folder STREQUAL "unit")
    vicinal_sources_with_threads(sources)
    # The first simulates, the other records in one thread, and draws the page.
    list(FILTER sources EXCLUDE REGEX "reproduction_test|ranks_of_file_test")
  endif()
  if(NOT sources)
    return()
  endif()
  set(target vicinal_tests_${folder})
  add_executable(${target} ${sources})
  if(folder MATCHES "unit|golden|conformance")
    vicinal_unity_of_tests(${target})
  endif()
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${folder} RUNTIME_OUTPUT_DIRECTORY
                                             "${PROJECT_BINARY_DIR}/tests")
  vicinal_test_code(${target})
  target_link_libraries(${target} PRIVATE GTest::gtest_main)
  if(folder STREQUAL "unit" AND NOT VICINAL_SANITIZE STREQUAL "thread")
    target_link_libraries(${target} PRIVATE vicinal_reproduction)
  endif()
  if(folder MATCHES "conformance|stress")
    target_sources(${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests/support/stand_in.cpp")
    # It is loaded when the program runs, from the folder above the program.
    add_dependencies(${target} vicinal_cuda_stand_in)
    set_property(TARGET ${target} APPEND PROPERTY BUILD_RPATH "$ORIGIN/..")
    target_link_libraries(${target} PRIVATE ${CMAKE_DL_LIBS})
    if(VICINAL_SANITIZE)
      # There from the start, as no other CUDA is used: LeakSanitizer looks into what threads have of their own, which a
      # library that comes later keeps elsewhere.
      target_link_options(${target} PRIVATE -Wl,--no-as-needed)
      target_link_libraries(${target} PRIVATE vicinal_cuda_stand_in)
    endif()
  endif()
  if(folder STREQUAL "conformance")
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:vicinal_conformance_tests>)
  endif()
  # scripts/run-tests asks the programs, and ctest should it be called.
  set(discovery POST_BUILD)
  if(VICINAL_SANITIZE)
    set(discovery PRE_TEST)
  endif()
  gtest_discover_tests(
    ${target}
    TEST_PREFIX "${folder}/"
    WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/tests"
    DISCOVERY_TIMEOUT 60
    DISCOVERY_MODE ${discovery}
    # Run times that a policy learns are not to land in the cache of whoever runs the tests.
    PROPERTIES LABELS ${folder} TIMEOUT ${VICINAL_TEST_TIMEOUT}
               ENVIRONMENT "XDG_CACHE_HOME=${PROJECT_BINARY_DIR}/tests/cache")
  add_dependencies(vicinal_tests ${target})
  if(NOT folder STREQUAL "golden")
    add_dependencies(vicinal_sanitizer_tests ${target})
  endif()
endfunction()

# Stands in for CUDA's driver API, cuBLAS and cuSOLVER: loaded by the library as those are.
file(GLOB stand_in_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/tests/cuda_stand_in/*.cpp")
if(VICINAL_PORTABLE)
  list(APPEND stand_in_sources "${PROJECT_SOURCE_DIR}/cmake/arc4random.cpp")
endif()
add_library(vicinal_cuda_stand_in SHARED EXCLUDE_FROM_ALL ${stand_in_sources})
target_include_directories(vicinal_cuda_stand_in PUBLIC "${PROJECT_SOURCE_DIR}/tests")
target_include_directories(vicinal_cuda_stand_in PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
target_compile_features(vicinal_cuda_stand_in PRIVATE cxx_std_20)
target_link_libraries(vicinal_cuda_stand_in PRIVATE Threads::Threads)
# A copy of it under another name, in place of CUDA, is another library with devices of its own.
target_link_options(vicinal_cuda_stand_in PRIVATE -Wl,-Bsymbolic)
set_target_properties(vicinal_cuda_stand_in PROPERTIES CXX_VISIBILITY_PRESET hidden)

# The tests of policies and devices that are installed for who extends the library (cmake/VicinalInstall.cmake): they are
# compiled once, for that library and for our own program.
set(vicinal_installed_tests "")
foreach(test commute_test data_test every_way mixed_speeds_test mixed_workers_test partition_test policy_test
             progress_test recursion_test reduction_test submission_test task_test typed_data_test typed_task_test
             waiting_test)
  list(APPEND vicinal_installed_tests "${PROJECT_SOURCE_DIR}/tests/conformance/${test}.cpp")
endforeach()
if(GTest_FOUND)
  file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/precompiled_tests.cpp" CONTENT "")
  add_library(vicinal_precompiled_tests OBJECT "${PROJECT_BINARY_DIR}/precompiled_tests.cpp")
  vicinal_test_code(vicinal_precompiled_tests)
  add_library(vicinal_conformance_tests OBJECT ${vicinal_installed_tests})
  vicinal_unity_of_tests(vicinal_conformance_tests)
  vicinal_test_code(vicinal_conformance_tests)
endif()

if(GTest_FOUND)
  include(GoogleTest)
  foreach(folder unit conformance golden stress allocation)
    vicinal_add_test_folder(${folder})
  endforeach()
endif()

# The area bound against a solver: a program of its own, since CLP and the serial OpenBLAS cannot live
# in one (cmake/FindClp.cmake says why).
if(GTest_FOUND AND Clp_FOUND AND NOT VICINAL_SANITIZE)
  add_executable(vicinal_tests_clp "${PROJECT_SOURCE_DIR}/tests/clp/area_oracle_test.cpp")
  set_target_properties(vicinal_tests_clp PROPERTIES OUTPUT_NAME clp RUNTIME_OUTPUT_DIRECTORY
                                                     "${PROJECT_BINARY_DIR}/tests")
  target_include_directories(vicinal_tests_clp PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(vicinal_tests_clp PRIVATE vicinal_internal vicinal::clp GTest::gtest
                                                  GTest::gtest_main)
  vicinal_warnings(vicinal_tests_clp RELAXED)
  gtest_discover_tests(vicinal_tests_clp TEST_PREFIX "clp/" DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS oracle TIMEOUT ${VICINAL_TEST_TIMEOUT})
  add_dependencies(vicinal_tests vicinal_tests_clp)
endif()

# Simulated copies and broadcasts against SimGrid, programs that the tests start. The program that broadcasts is compiled by
# the test.
if(GTest_FOUND AND VICINAL_SMPIRUN AND VICINAL_SMPICC AND NOT VICINAL_SANITIZE)
  add_executable(vicinal_tests_simgrid "${PROJECT_SOURCE_DIR}/tests/simgrid/fluid_oracle_test.cpp"
                                       "${PROJECT_SOURCE_DIR}/tests/simgrid/broadcast_oracle_test.cpp")
  set_target_properties(vicinal_tests_simgrid PROPERTIES OUTPUT_NAME simgrid RUNTIME_OUTPUT_DIRECTORY
                                                         "${PROJECT_BINARY_DIR}/tests")
  target_include_directories(vicinal_tests_simgrid PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_compile_definitions(
    vicinal_tests_simgrid PRIVATE VICINAL_SMPIRUN="${VICINAL_SMPIRUN}" VICINAL_SMPICC="${VICINAL_SMPICC}"
                                  VICINAL_SMPI_BROADCAST="${PROJECT_SOURCE_DIR}/tests/simgrid/broadcast.c")
  target_link_libraries(vicinal_tests_simgrid PRIVATE vicinal_internal GTest::gtest
                                                      GTest::gtest_main)
  vicinal_warnings(vicinal_tests_simgrid RELAXED)
  gtest_discover_tests(vicinal_tests_simgrid TEST_PREFIX "simgrid/"
                       WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/tests" DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS oracle TIMEOUT ${VICINAL_TEST_TIMEOUT})
  add_dependencies(vicinal_tests vicinal_tests_simgrid)
endif()

# Several processes over each MPI that was found. Those that send 2^31 bytes are called by `ctest -L huge`.
if(vicinal_mpis AND NOT VICINAL_SANITIZE)
  add_executable(vicinal_tests_mpi "${PROJECT_SOURCE_DIR}/tests/mpi/transport_test.cpp")
  set_target_properties(vicinal_tests_mpi PROPERTIES OUTPUT_NAME mpi_transport RUNTIME_OUTPUT_DIRECTORY
                                                     "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(vicinal_tests_mpi PRIVATE vicinal_internal)
  vicinal_warnings(vicinal_tests_mpi RELAXED)
  add_dependencies(vicinal_tests vicinal_tests_mpi)
  # Of which something goes wrong.
  add_executable(vicinal_tests_mpi_faults "${PROJECT_SOURCE_DIR}/tests/mpi/faults_program.cpp")
  set_target_properties(vicinal_tests_mpi_faults PROPERTIES OUTPUT_NAME mpi_faults RUNTIME_OUTPUT_DIRECTORY
                                                            "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(vicinal_tests_mpi_faults PRIVATE vicinal::vicinal)
  vicinal_warnings(vicinal_tests_mpi_faults RELAXED)
  add_dependencies(vicinal_tests vicinal_tests_mpi_faults)
  # In which order versions come.
  add_executable(vicinal_tests_mpi_order "${PROJECT_SOURCE_DIR}/tests/mpi/order_program.cpp")
  set_target_properties(vicinal_tests_mpi_order PROPERTIES OUTPUT_NAME mpi_order RUNTIME_OUTPUT_DIRECTORY
                                                           "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(vicinal_tests_mpi_order PRIVATE vicinal::vicinal)
  vicinal_warnings(vicinal_tests_mpi_order RELAXED)
  add_dependencies(vicinal_tests vicinal_tests_mpi_order)
  # Memory of a rank that reads slowly.
  add_executable(vicinal_tests_mpi_slow_reader "${PROJECT_SOURCE_DIR}/tests/mpi/slow_reader.cpp")
  set_target_properties(vicinal_tests_mpi_slow_reader PROPERTIES OUTPUT_NAME mpi_slow_reader RUNTIME_OUTPUT_DIRECTORY
                                                                 "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(vicinal_tests_mpi_slow_reader PRIVATE vicinal::vicinal)
  vicinal_warnings(vicinal_tests_mpi_slow_reader RELAXED)
  add_dependencies(vicinal_tests vicinal_tests_mpi_slow_reader)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  # Tests may run as root in a container, and on fewer cores than there are ranks.
  set(vicinal_mpi_environment OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
                              OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1)

  # vicinal_mpi_test(<MPI> <name> <ranks> <label> <arguments of the program>...): of the target ${program}.
  function(vicinal_mpi_test mpi name ranks label)
    string(TOLOWER "mpi/${mpi}/${name}" test)
    add_test(NAME ${test} COMMAND "${VICINAL_${mpi}_MPIRUN}" -n ${ranks} $<TARGET_FILE:${program}> ${ARGN}
             WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
    # Its ranks want all cores.
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 120 RUN_SERIAL ON
                                            ENVIRONMENT "${vicinal_mpi_environment}")
  endfunction()
  foreach(mpi IN LISTS vicinal_mpis)
    string(TOLOWER ${mpi} module)
    add_dependencies(vicinal_tests_mpi vicinal_${module})
    set(linked vicinal_tests_linked_${module})
    add_executable(${linked} "${PROJECT_SOURCE_DIR}/tests/mpi/linked_test.cpp")
    set_target_properties(${linked} PROPERTIES OUTPUT_NAME linked_${module} RUNTIME_OUTPUT_DIRECTORY
                                                           "${PROJECT_BINARY_DIR}/tests")
    target_link_libraries(${linked} PRIVATE vicinal_internal vicinal::${module})
    target_compile_definitions(${linked} PRIVATE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
    vicinal_warnings(${linked} RELAXED)
    add_dependencies(${linked} vicinal_${module})
    add_dependencies(vicinal_tests ${linked})
    add_dependencies(vicinal_tests_mpi_faults vicinal_${module})
    add_dependencies(vicinal_tests_mpi_order vicinal_${module})
    add_dependencies(vicinal_tests_mpi_slow_reader vicinal_${module})
    if(NOT VICINAL_${mpi}_MPIRUN)
      continue()
    endif()
    set(program ${linked})
    foreach(level multiple funneled)
      vicinal_mpi_test(${mpi} linked_${level} 2 mpi ${level})
    endforeach()
    set(program vicinal_tests_mpi)
    vicinal_mpi_test(${mpi} twice 2 mpi twice)
    foreach(ranks 1 2 4 7)
      foreach(mode order payloads)
        vicinal_mpi_test(${mpi} ${mode}_${ranks} ${ranks} mpi ${mode})
      endforeach()
    endforeach()
    vicinal_mpi_test(${mpi} pieces 4 mpi pieces 61)
    # As between hosts: some MPIs end otherwise over TCP.
    foreach(mode order payloads cancel)
      vicinal_mpi_test(${mpi} ${mode}_over_tcp 4 mpi ${mode})
      string(TOLOWER "mpi/${mpi}/${mode}_over_tcp" test)
      set_tests_properties(${test} PROPERTIES ENVIRONMENT
                                              "${vicinal_mpi_environment};UCX_TLS=tcp,self;OMPI_MCA_btl=tcp,self")
    endforeach()
    vicinal_mpi_test(${mpi} thousands 2 mpi thousands)
    vicinal_mpi_test(${mpi} cancel 4 mpi cancel)
    vicinal_mpi_test(${mpi} silent 3 mpi silent)
    string(TOLOWER "mpi/${mpi}/silent" silent)
    set_tests_properties(${silent} PROPERTIES PASS_REGULAR_EXPRESSION "ended without the silent rank")
    set(program vicinal_tests_conformance)
    add_dependencies(vicinal_tests_conformance vicinal_${module})
    foreach(ranks 2 4)
      vicinal_mpi_test(${mpi} random_${ranks} ${ranks} mpi "--gtest_filter=Ranks.*:RanksParts.*:RanksBroadcasts.Random*:RanksReductions.Random*" --gtest_brief=1)
      string(TOLOWER "mpi/${mpi}/random_${ranks}" test)
      set_tests_properties(${test} PROPERTIES ENVIRONMENT "${vicinal_mpi_environment};RANKS_PROGRAMS=10")
    endforeach()
    set(program vicinal_tests_mpi)
    vicinal_mpi_test(${mpi} large 2 huge large)
    set(program vicinal_tests_mpi_slow_reader)
    vicinal_mpi_test(${mpi} slow_reader 2 mpi 2000)
    vicinal_mpi_test(${mpi} slow_reader_long 2 huge 100000)
    # MPICH looks at the machine with a hwloc that loads OpenCL where it is installed, and with it a compiler of 60 MiB.
    foreach(test slow_reader slow_reader_long)
      string(TOLOWER "mpi/${mpi}/${test}" test)
      set_tests_properties(${test} PROPERTIES ENVIRONMENT "${vicinal_mpi_environment};HWLOC_COMPONENTS=-opencl")
    endforeach()
    if(Python3_FOUND)
      string(TOLOWER "mpi/${mpi}/faults" faults)
      add_test(NAME ${faults} COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/mpi/faults.py"
               $<TARGET_FILE:vicinal_tests_mpi_faults> "${VICINAL_${mpi}_MPIRUN}"
               WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
      # Times of its own: a rank that starves is silent.
      set_tests_properties(${faults} PROPERTIES LABELS mpi TIMEOUT 600 RUN_SERIAL ON)
      if(TARGET vicinal_cli)
        string(TOLOWER "mpi/${mpi}/order_of_arrival" order)
        add_test(NAME ${order} COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/mpi/order.py"
                 $<TARGET_FILE:vicinal_cli> $<TARGET_FILE:vicinal_tests_mpi_order> "${VICINAL_${mpi}_MPIRUN}" -n
                 WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
        # As between hosts: in shared memory a rank that copies large content answers nobody meanwhile.
        set_tests_properties(${order} PROPERTIES LABELS mpi TIMEOUT 300 RUN_SERIAL ON ENVIRONMENT
                                                 "${vicinal_mpi_environment};UCX_TLS=tcp,self;OMPI_MCA_btl=tcp,self")
        string(TOLOWER "mpi/${mpi}/network" network)
        add_test(NAME ${network} COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/mpi/network.py"
                 $<TARGET_FILE:vicinal_cli> $<TARGET_FILE:vicinal_tests_mpi_faults> ${module}
                 WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/tests")
        set_tests_properties(${network} PROPERTIES LABELS network TIMEOUT ${VICINAL_TEST_TIMEOUT} RUN_SERIAL ON
                                                   SKIP_RETURN_CODE 77)
      endif()
    endif()
    string(TOLOWER "mpi/${mpi}/large" large)
    set_tests_properties(${large} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${VICINAL_TEST_TIMEOUT})
  endforeach()
  # Another MPI than the launcher's: each process is alone in it.
  set(program vicinal_tests_mpi)
  list(LENGTH vicinal_mpis count)
  if(count EQUAL 2)
    foreach(pair OpenMPI:mpich MPICH:openmpi)
      string(REPLACE ":" ";" pair ${pair})
      list(GET pair 0 mpi)
      list(GET pair 1 other)
      if(VICINAL_${mpi}_MPIRUN)
        vicinal_mpi_test(${mpi} as_${other} 2 mpi error)
        string(TOLOWER "mpi/${mpi}/as_${other}" test)
        set_tests_properties(${test} PROPERTIES PASS_REGULAR_EXPRESSION "2 processes of size 1"
                                                ENVIRONMENT "${vicinal_mpi_environment};VICINAL_MPI=${other}")
      endif()
    endforeach()
  endif()
endif()

# Examples see what a user sees: the public headers and the library. They must exit with 0. Those of typed tasks have
# namesakes in the folder codelets, which do the same with codelets. Those of policies and a driver, docs/examples/extension,
# are a project of their own, which package/find_package builds.
file(GLOB example_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/docs/examples/*.cpp"
     "${PROJECT_SOURCE_DIR}/docs/examples/codelets/*.cpp")
foreach(source IN LISTS example_sources)
  get_filename_component(name "${source}" NAME_WE)
  if(source MATCHES "/codelets/")
    set(name codelets_${name})
  endif()
  set(target vicinal_example_${name})
  add_executable(${target} "${source}")
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY
                                             "${PROJECT_BINARY_DIR}/examples")
  target_link_libraries(${target} PRIVATE vicinal::vicinal)
  vicinal_warnings(${target})
  add_test(NAME example/${name} COMMAND ${target}
           WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
  set_tests_properties(example/${name} PROPERTIES LABELS example TIMEOUT ${VICINAL_TEST_TIMEOUT})
  add_dependencies(vicinal_tests ${target})
endforeach()

# Three programs of typed tasks that look at their own results, where memory is short, on emulated accelerators, and
# simulated; and the tutorial's program of steps 2 and 4.
function(vicinal_example_ways name)
  set(out_of_core VICINAL_MEMORY=384KiB VICINAL_DISK=.)
  set(emulated VICINAL_ACCELERATORS=2 VICINAL_ACCELERATOR_MEMORY=384KiB)
  set(simulated VICINAL_MACHINE=v100,gpus=2,memory=384KiB)
  foreach(way IN ITEMS out_of_core emulated simulated)
    add_test(NAME example/${name}/${way} COMMAND vicinal_example_${name}
             WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
    set_tests_properties(example/${name}/${way} PROPERTIES LABELS example ENVIRONMENT "${${way}}"
                                                           TIMEOUT ${VICINAL_TEST_TIMEOUT})
  endforeach()
endfunction()
foreach(name IN ITEMS k_means heat_3d blocked_inverse tutorial_2_tasks)
  vicinal_example_ways(${name})
endforeach()

# What does not fit in a typed task does not compile, and the compiler says so in a few words. Programs of typed tasks
# are shorter than the same with codelets.
if(NOT VICINAL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND)
    add_test(NAME compile/mistakes
             COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/compile/mistakes.py"
                     "${CMAKE_CXX_COMPILER}" -std=c++20 "-I${PROJECT_SOURCE_DIR}/include")
    add_test(NAME compile/shorter
             COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/compile/shorter.py")
    set_tests_properties(compile/mistakes compile/shorter PROPERTIES LABELS compile
                                                                     TIMEOUT ${VICINAL_TEST_TIMEOUT})
  endif()
endif()

# A task that uses a local variable behind its end: no compiler sees it, the address sanitizer of a program does, also
# where the library was built without.
if(NOT VICINAL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_executable(vicinal_tests_dead_local "${PROJECT_SOURCE_DIR}/tests/compile/dead_local.cpp")
  set_target_properties(vicinal_tests_dead_local PROPERTIES OUTPUT_NAME dead_local RUNTIME_OUTPUT_DIRECTORY
                                                            "${PROJECT_BINARY_DIR}/tests")
  target_link_libraries(vicinal_tests_dead_local PRIVATE vicinal::vicinal)
  target_compile_options(vicinal_tests_dead_local PRIVATE -fsanitize=address -g)
  target_link_options(vicinal_tests_dead_local PRIVATE -fsanitize=address)
  add_test(NAME compile/dead_local COMMAND vicinal_tests_dead_local)
  set_tests_properties(compile/dead_local PROPERTIES LABELS compile TIMEOUT ${VICINAL_TEST_TIMEOUT}
                                                     PASS_REGULAR_EXPRESSION "stack-use-after-scope")
  add_dependencies(vicinal_tests vicinal_tests_dead_local)
endif()

# The command line as a user sees it: bad input, JSON, files, the progress bar, signals.
if(TARGET vicinal_cli AND NOT VICINAL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_dependencies(vicinal_tests vicinal_cuda_stand_in vicinal_pages)
  find_package(Python3 COMPONENTS Interpreter QUIET)
  if(Python3_FOUND)
    foreach(script against_real answers bad_input cg completion contention explain export export_graph export_sqlite files
            graph_files hostile interference load modes no_room own_files plan rank_recordings recordings report_page
            replay reports reproduce signals simulated_ranks sweep verdicts)
      add_test(NAME cli/${script} COMMAND "${Python3_EXECUTABLE}" -B
               "${PROJECT_SOURCE_DIR}/tests/cli/${script}.py" $<TARGET_FILE:vicinal_cli>
               $<TARGET_FILE:vicinal_cuda_stand_in> ${CMAKE_CXX_COMPILER})
      set_tests_properties(cli/${script} PROPERTIES LABELS cli TIMEOUT ${VICINAL_TEST_TIMEOUT})
    endforeach()
    # Ranks, over each MPI that has been found; the example of the tutorial on several, too.
    set(mpiruns "")
    foreach(mpi IN LISTS vicinal_mpis)
      if(VICINAL_${mpi}_MPIRUN)
        list(APPEND mpiruns "${VICINAL_${mpi}_MPIRUN}")
        string(TOLOWER ${mpi} module)
        add_dependencies(vicinal_tests vicinal_${module})
        add_test(NAME example/tutorial_5_ranks/${module}
                 COMMAND "${VICINAL_${mpi}_MPIRUN}" -n 4 $<TARGET_FILE:vicinal_example_tutorial_5_ranks>
                 WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
        set_tests_properties(example/tutorial_5_ranks/${module} PROPERTIES
                             LABELS example TIMEOUT 120 RUN_SERIAL ON ENVIRONMENT "${vicinal_mpi_environment}"
                             PASS_REGULAR_EXPRESSION "4 ranks")
        foreach(name external_sort stencil)
          foreach(ranks 2 4)
            add_test(NAME example/${name}/${module}_${ranks}
                     COMMAND "${VICINAL_${mpi}_MPIRUN}" -n ${ranks} $<TARGET_FILE:vicinal_example_${name}>
                     WORKING_DIRECTORY "${PROJECT_BINARY_DIR}/examples")
            set_tests_properties(example/${name}/${module}_${ranks} PROPERTIES
                                 LABELS "example;mpi" TIMEOUT 120 RUN_SERIAL ON
                                 ENVIRONMENT "${vicinal_mpi_environment}")
          endforeach()
        endforeach()
      endif()
    endforeach()
    if(mpiruns)
      list(JOIN mpiruns "," mpiruns)
      add_test(NAME cli/ranks COMMAND "${Python3_EXECUTABLE}" -B "${PROJECT_SOURCE_DIR}/tests/cli/ranks.py"
                                      $<TARGET_FILE:vicinal_cli>)
      set_tests_properties(cli/ranks PROPERTIES LABELS cli TIMEOUT ${VICINAL_TEST_TIMEOUT} RUN_SERIAL ON
                                                ENVIRONMENT "MPIRUNS=${mpiruns}")
    endif()
    # It needs a browser, and is skipped without.
    set_tests_properties(cli/report_page PROPERTIES SKIP_RETURN_CODE 77)
  endif()
endif()

# A stranger's project: installs what was built into an empty prefix and builds against it.
if(NOT VICINAL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_test(
    NAME package/find_package
    COMMAND
      "${CMAKE_COMMAND}" -D BUILD_DIR=${PROJECT_BINARY_DIR} -D CONFIG=$<CONFIG>
      -D CXX=${CMAKE_CXX_COMPILER} -D GENERATOR=${CMAKE_GENERATOR}
      -P "${PROJECT_SOURCE_DIR}/tests/package/run.cmake")
  set_tests_properties(package/find_package PROPERTIES LABELS package
                                                       TIMEOUT ${VICINAL_TEST_TIMEOUT})
endif()
