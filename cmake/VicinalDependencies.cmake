# Packages. Required ones stop the configuration with the name of the package to install; optional
# ones are named, with what is lost, and the core builds without them.

set(vicinal_hint "scripts/setup installs everything on Debian and Ubuntu")

# Of these only what is linked statically, or headers alone, may be left in programs that are carried elsewhere.
if(VICINAL_PORTABLE)
  foreach(package fmt tomlplusplus ZLIB Liburing OpenCL CLBlast Hwloc Otf2 Sqlite Clp benchmark)
    set(CMAKE_DISABLE_FIND_PACKAGE_${package} ON)
  endforeach()
endif()

# vicinal_require(<target> <package for find_package> <header> <Debian package>)
# Defines <target> from the package's own CMake files (then <package>_FOUND is true), or from its
# header where it brings none. A macro: <package>_FOUND is used by cmake/VicinalInstall.cmake.
macro(vicinal_require target package header debian)
  find_package(${package} CONFIG QUIET)
  if(NOT ${package}_FOUND)
    find_path(${package}_INCLUDE_DIR "${header}")
    mark_as_advanced(${package}_INCLUDE_DIR)
    if(NOT ${package}_INCLUDE_DIR)
      message(FATAL_ERROR "Missing: ${header} (Debian: ${debian}). ${vicinal_hint}.")
    endif()
    add_library(${target} INTERFACE IMPORTED)
    target_include_directories(${target} INTERFACE "${${package}_INCLUDE_DIR}")
  endif()
endmacro()

find_package(Threads REQUIRED)
vicinal_require(fmt::fmt fmt fmt/format.h libfmt-dev)
if(NOT fmt_FOUND)
  target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY=1)
endif()
vicinal_require(tomlplusplus::tomlplusplus tomlplusplus toml++/toml.h libtomlplusplus-dev)
vicinal_require(nlohmann_json::nlohmann_json nlohmann_json nlohmann/json.hpp nlohmann-json3-dev)
if(VICINAL_BUILD_CLI)
  vicinal_require(CLI11::CLI11 CLI11 CLI/CLI.hpp libcli11-dev)
endif()

function(vicinal_missing what loss)
  message(STATUS "Not found: ${what}. ${loss}. ${vicinal_hint}.")
endfunction()

find_package(ZLIB QUIET)
if(NOT ZLIB_FOUND)
  vicinal_missing("zlib (Debian: zlib1g-dev)" "Pages of runs are not compressed, and about three times as large")
endif()

find_package(Liburing QUIET)
if(NOT Liburing_FOUND)
  vicinal_missing("liburing (Debian: liburing-dev)" "The disk driver uses threads and pread/pwrite")
endif()

find_package(OpenCL QUIET)
if(NOT OpenCL_FOUND)
  vicinal_missing("an OpenCL loader (Debian: ocl-icd-opencl-dev)" "There are no OpenCL devices")
endif()

find_package(CLBlast MODULE QUIET)
if(OpenCL_FOUND AND NOT CLBlast_FOUND)
  vicinal_missing("CLBlast (Debian: libclblast-dev)"
                  "The dense applications have no kernels for OpenCL devices")
endif()

find_package(Hwloc QUIET)
if(NOT Hwloc_FOUND)
  vicinal_missing("hwloc (Debian: libhwloc-dev)" "Workers are neither placed nor bound by topology")
endif()

find_package(Otf2 QUIET)
if(NOT Otf2_FOUND)
  vicinal_missing("OTF2 (Debian: libopen-trace-format2-dev)" "`vicinal export --format otf2` is left out")
endif()

find_package(Sqlite QUIET)
if(NOT Sqlite_FOUND)
  vicinal_missing("SQLite (Debian: libsqlite3-dev)" "`vicinal export --format sqlite` is left out")
endif()

find_package(OpenBLASSerial QUIET)
if(NOT OpenBLASSerial_FOUND)
  vicinal_missing("a serial OpenBLAS (Debian: libopenblas-serial-dev)"
                  "apps/linalg, and with it `vicinal run cholesky`, is left out")
endif()

if(VICINAL_BUILD_TESTS)
  find_package(Clp QUIET)
  if(NOT Clp_FOUND)
    vicinal_missing("CLP (Debian: coinor-libclp-dev)"
                    "The test of the area bound against a solver is left out")
  endif()
  # Run, never linked: Debian's SimGrid (LGPL) brings ns-3, which is under the GPL.
  find_program(VICINAL_SMPIRUN smpirun)
  find_program(VICINAL_SMPICC smpicc)
  mark_as_advanced(VICINAL_SMPIRUN VICINAL_SMPICC)
  if(NOT VICINAL_SMPIRUN OR NOT VICINAL_SMPICC)
    vicinal_missing("SimGrid's smpirun and smpicc (Debian: libsimgrid-dev)"
                    "The tests of simulated copies and broadcasts against SimGrid are left out")
  endif()
  find_package(GTest CONFIG QUIET)
  if(NOT GTest_FOUND)
    vicinal_missing("GoogleTest (Debian: libgtest-dev)" "Only the examples are built as tests")
  endif()
endif()

if(VICINAL_BUILD_BENCH)
  find_package(benchmark CONFIG QUIET)
  if(NOT benchmark_FOUND)
    vicinal_missing("Google Benchmark (Debian: libbenchmark-dev)"
                    "Benchmarks that use it are left out")
  endif()
endif()
