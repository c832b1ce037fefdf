# The modules that connect processes over MPI, one for each MPI that is found: libvicinal_openmpi.so, libvicinal_mpich.so.
# The library opens the one of the launcher that has started a program (src/comm/launch.hpp), and needs none on one node.

# vicinal_find_mpi(<name> <a question> <wrappers>...): sets <name>_FOUND, and makes the target vicinal::<name in small
# letters>, by that wrapper of the C compiler which answers the question: the other MPI's does not. The wrapper is what each
# MPI has, wherever it is installed; CMake's own module finds one MPI only.
function(vicinal_find_mpi name question)
  string(TOUPPER "VICINAL_${name}_CC" variable)
  string(TOLOWER "vicinal::${name}" target)
  set(${name}_FOUND FALSE PARENT_SCOPE)
  foreach(wrapper IN LISTS ARGN)
    find_program(${variable} "${wrapper}")
    mark_as_advanced(${variable})
    if(NOT ${variable})
      continue()
    endif()
    execute_process(COMMAND "${${variable}}" ${question} RESULT_VARIABLE status OUTPUT_QUIET ERROR_QUIET)
    execute_process(COMMAND "${${variable}}" -show OUTPUT_VARIABLE command ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT status EQUAL 0)
      unset(${variable} CACHE) # the wrapper of another MPI
      continue()
    endif()
    separate_arguments(command UNIX_COMMAND "${command}")
    add_library(${target} INTERFACE IMPORTED GLOBAL)
    foreach(word IN LISTS command)
      if(word MATCHES "^-I(.+)")
        target_include_directories(${target} SYSTEM INTERFACE "${CMAKE_MATCH_1}")
      elseif(word MATCHES "^-L(.+)")
        target_link_directories(${target} INTERFACE "${CMAKE_MATCH_1}")
      elseif(word MATCHES "^-l(.+)")
        target_link_libraries(${target} INTERFACE "${CMAKE_MATCH_1}")
      endif()
    endforeach()
    set(${name}_FOUND TRUE PARENT_SCOPE)
    get_filename_component(folder "${${variable}}" DIRECTORY)
    string(REPLACE "mpicc" "mpirun" launcher "${wrapper}")
    find_program(VICINAL_${name}_MPIRUN NAMES "${launcher}" HINTS "${folder}")
    mark_as_advanced(VICINAL_${name}_MPIRUN)
    return()
  endforeach()
endfunction()

set(vicinal_mpis "")
if(VICINAL_BUILD_MPI AND NOT VICINAL_PORTABLE AND NOT CMAKE_CROSSCOMPILING)
  vicinal_find_mpi(OpenMPI -showme:version mpicc.openmpi mpicc)
  vicinal_find_mpi(MPICH -compile_info mpicc.mpich mpicc)
  if(NOT OpenMPI_FOUND)
    vicinal_missing("Open MPI (Debian: libopenmpi-dev, openmpi-bin)" "Programs that its mpirun starts do not work together")
  endif()
  if(NOT MPICH_FOUND)
    vicinal_missing("MPICH (Debian: libmpich-dev, mpich)" "Programs that its mpirun starts do not work together")
  endif()
endif()

file(GLOB mpi_sources CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/src/comm/mpi/*.cpp")
foreach(mpi OpenMPI MPICH)
  if(NOT ${mpi}_FOUND)
    continue()
  endif()
  list(APPEND vicinal_mpis ${mpi})
  string(TOLOWER ${mpi} name)
  set(module vicinal_${name})
  add_library(${module} MODULE ${mpi_sources})
  target_compile_features(${module} PRIVATE cxx_std_20)
  target_include_directories(${module} PRIVATE "${PROJECT_SOURCE_DIR}/src" "${PROJECT_SOURCE_DIR}/include")
  # What is in libvicinal is not in a module: it would be there twice.
  target_link_options(${module} PRIVATE "LINKER:--no-undefined")
  target_link_libraries(${module} PRIVATE vicinal::${name})
  # Macros of their C++ interfaces, which MPI 3.1 no longer has.
  target_compile_definitions(${module} PRIVATE OMPI_SKIP_MPICXX=1 MPICH_SKIP_MPICXX=1)
  # The folder of an MPI that is not the system's; the same before and after installation.
  set_target_properties(${module} PROPERTIES BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
  set_target_properties(${module} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
                                             UNITY_BUILD "${VICINAL_UNITY}" UNITY_BUILD_BATCH_SIZE 0)
  vicinal_warnings(${module})
  install(
    TARGETS ${module}
    LIBRARY DESTINATION "${CMAKE_INSTALL_LIBDIR}"
            COMPONENT runtime
            OPTIONAL)
endforeach()
