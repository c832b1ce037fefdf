# OpenBLAS, serial -> target vicinal::openblas_serial; threaded, for a benchmark's peer, -> cache
# variable VICINAL_OPENBLAS_THREADED and target vicinal::openblas_threaded.
#
# Debian installs both side by side, with one soname, behind an alternative that usually points to
# the threaded one. So the file is linked by its full path and CMake keeps that path in the binary
# (RUNPATH). The serial file holds BLAS, CBLAS and LAPACK (dpotrf_, dgeqrt_, dtpqrt_, ...) but not
# LAPACKE: apps/linalg declares the Fortran routines that it calls. Do not add liblapacke, which
# pulls liblapack.so.3 and libblas.so.3, hence the alternative, hence the threaded library. Link the
# shared file: apps/linalg/openblas.cpp replaces two of its functions. VICINAL_PORTABLE links the archive, and
# says which of the two definitions the linker takes.
#
# Other systems: -DVICINAL_OPENBLAS_SERIAL=/path/to/libopenblas.so (and _INCLUDE_DIR).
set(vicinal_openblas_file openblas)
set(vicinal_openblas_beside "") # what the archive needs that the shared file brings with it
if(VICINAL_PORTABLE)
  set(vicinal_openblas_file libopenblas.a)
  foreach(file libgfortran.a libquadmath.a)
    execute_process(COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=${file}
                    OUTPUT_VARIABLE vicinal_path OUTPUT_STRIP_TRAILING_WHITESPACE)
    list(APPEND vicinal_openblas_beside "${vicinal_path}")
  endforeach()
  list(APPEND vicinal_openblas_beside m)
endif()
find_library(VICINAL_OPENBLAS_SERIAL ${vicinal_openblas_file} PATH_SUFFIXES openblas-serial)
find_path(VICINAL_OPENBLAS_SERIAL_INCLUDE_DIR cblas.h PATH_SUFFIXES
          "${CMAKE_LIBRARY_ARCHITECTURE}/openblas-serial" openblas-serial openblas)
find_library(VICINAL_OPENBLAS_THREADED openblas PATH_SUFFIXES openblas-pthread)
find_path(VICINAL_OPENBLAS_THREADED_INCLUDE_DIR cblas.h PATH_SUFFIXES
          "${CMAKE_LIBRARY_ARCHITECTURE}/openblas-pthread" openblas-pthread openblas)
mark_as_advanced(VICINAL_OPENBLAS_SERIAL VICINAL_OPENBLAS_SERIAL_INCLUDE_DIR
                 VICINAL_OPENBLAS_THREADED VICINAL_OPENBLAS_THREADED_INCLUDE_DIR)

function(vicinal_import_openblas target library include_dir)
  if(NOT TARGET ${target})
    add_library(${target} UNKNOWN IMPORTED GLOBAL)
    set_target_properties(${target} PROPERTIES IMPORTED_LOCATION "${library}"
                                               INTERFACE_INCLUDE_DIRECTORIES "${include_dir}")
  endif()
endfunction()

# vicinal_openblas_parallel(<result> <library>): runs openblas_get_parallel() of that very file:
# 0 sequential, 1 threads, 2 OpenMP; FAILED_TO_RUN or empty when it cannot be linked or started.
function(vicinal_openblas_parallel result library)
  if(NOT "${library}" STREQUAL "${${result}_FOR}")
    unset(${result} CACHE)
    unset(${result}_COMPILED CACHE)
  endif()
  if(NOT DEFINED ${result})
    get_filename_component(folder "${library}" DIRECTORY)
    set(source "${CMAKE_CURRENT_BINARY_DIR}/openblas_parallel.cpp")
    file(WRITE "${source}" "extern \"C\" int openblas_get_parallel(void);
int main() { return openblas_get_parallel(); }\n")
    try_run(${result} ${result}_COMPILED "${CMAKE_CURRENT_BINARY_DIR}" "${source}"
            LINK_LIBRARIES "${library}" ${vicinal_openblas_beside} LINK_OPTIONS "-Wl,-rpath,${folder}")
    set(${result}_FOR "${library}" CACHE INTERNAL "the library that ${result} speaks of")
  endif()
endfunction()

if(VICINAL_OPENBLAS_SERIAL)
  vicinal_openblas_parallel(VICINAL_OPENBLAS_SERIAL_PARALLEL "${VICINAL_OPENBLAS_SERIAL}")
  if(NOT VICINAL_OPENBLAS_SERIAL_PARALLEL STREQUAL "0")
    message(STATUS "${VICINAL_OPENBLAS_SERIAL} is not a serial OpenBLAS: not used inside tasks")
    set(vicinal_openblas_serial_ok FALSE)
  else()
    set(vicinal_openblas_serial_ok TRUE)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  OpenBLASSerial REQUIRED_VARS VICINAL_OPENBLAS_SERIAL VICINAL_OPENBLAS_SERIAL_INCLUDE_DIR
                               vicinal_openblas_serial_ok)

if(OpenBLASSerial_FOUND)
  vicinal_import_openblas(vicinal::openblas_serial "${VICINAL_OPENBLAS_SERIAL}"
                          "${VICINAL_OPENBLAS_SERIAL_INCLUDE_DIR}")
  if(VICINAL_PORTABLE)
    # Of the two functions twice there the first is taken, that of apps/linalg; those that choose kernels are looked
    # up by name. Kernels of other processors, 20 MB in each program, give way to those of older ones.
    set(options -Wl,-z,muldefs)
    foreach(name quit init)
      list(APPEND options -Wl,--export-dynamic-symbol=gotoblas_dynamic_${name})
    endforeach()
    foreach(core CORE2 PENRYN DUNNINGTON NEHALEM OPTERON OPTERON_SSE3 BARCELONA BOBCAT ATOM NANO
                 BULLDOZER PILEDRIVER STEAMROLLER EXCAVATOR SANDYBRIDGE)
      list(APPEND options -Wl,--defsym=gotoblas_${core}=gotoblas_PRESCOTT)
    endforeach()
    list(APPEND options -Wl,--defsym=gotoblas_ZEN=gotoblas_HASWELL
         -Wl,--defsym=gotoblas_COOPERLAKE=gotoblas_SKYLAKEX)
    set_target_properties(
      vicinal::openblas_serial PROPERTIES INTERFACE_LINK_LIBRARIES "${vicinal_openblas_beside}"
                                          INTERFACE_LINK_OPTIONS "${options}")
  endif()
endif()

if(VICINAL_OPENBLAS_THREADED AND VICINAL_OPENBLAS_THREADED_INCLUDE_DIR)
  vicinal_openblas_parallel(VICINAL_OPENBLAS_THREADED_PARALLEL "${VICINAL_OPENBLAS_THREADED}")
  if(VICINAL_OPENBLAS_THREADED_PARALLEL MATCHES "^[12]$")
    vicinal_import_openblas(vicinal::openblas_threaded "${VICINAL_OPENBLAS_THREADED}"
                            "${VICINAL_OPENBLAS_THREADED_INCLUDE_DIR}")
  endif()
endif()
