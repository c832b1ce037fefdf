# What is installed, in four components; each installs alone (`cmake --install <build> --component <name>`), and all of
# them leave out what has not been built.
#   runtime      the libraries, public headers, the CMake package (`find_package(vicinal)`, targets vicinal::vicinal and
#                vicinal::tools), the files for pkg-config, machine files
#   tools        the executable; its man page and completions are in cmake/VicinalPages.cmake
#   documents    pages, licences, the sources of examples
#   conformance  the tests for who extends the library: the component "conformance" of the CMake package
include(CMakePackageConfigHelpers)

foreach(package fmt tomlplusplus ZLIB Liburing OpenCL Hwloc Otf2 Sqlite)
  if(NOT ${package}_FOUND)
    set(${package}_FOUND FALSE) # header-only, or left out: not needed by users
  endif()
endforeach()

# --- runtime ------------------------------------------------------------------------------------
set_target_properties(vicinal_tools PROPERTIES INSTALL_RPATH "$ORIGIN") # of a shared one: the library lies beside it
set(vicinal_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/vicinal")

install(
  TARGETS vicinal vicinal_tools
  EXPORT vicinalTargets
  ARCHIVE COMPONENT runtime
  LIBRARY COMPONENT runtime)
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/include/vicinal"
  DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
  COMPONENT runtime
  FILES_MATCHING
  PATTERN "*.hpp"
  PATTERN "policy.hpp" EXCLUDE
  PATTERN "driver.hpp" EXCLUDE
  PATTERN "comparison.hpp" EXCLUDE)
install(
  CODE "set(SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")
set(INCLUDE_DIR \"${CMAKE_INSTALL_INCLUDEDIR}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/InstallExtension.cmake\")"
  COMPONENT runtime)
install(
  DIRECTORY "${PROJECT_SOURCE_DIR}/machines"
  DESTINATION "${CMAKE_INSTALL_DATADIR}/vicinal"
  COMPONENT runtime
  FILES_MATCHING
  PATTERN "*.toml"
  PATTERN "*.csv")
install(
  EXPORT vicinalTargets
  NAMESPACE vicinal::
  DESTINATION "${vicinal_cmake_dir}"
  COMPONENT runtime)
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/vicinalConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/vicinalConfig.cmake" INSTALL_DESTINATION "${vicinal_cmake_dir}"
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/vicinalConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/vicinalConfig.cmake"
        "${PROJECT_BINARY_DIR}/vicinalConfigVersion.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/VicinalFindPackage.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindLiburing.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindHwloc.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindOtf2.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindSqlite.cmake"
  DESTINATION "${vicinal_cmake_dir}"
  COMPONENT runtime)

# The same for pkg-config. A static library needs what it was built with again when a program is linked.
set(vicinal_pc_packages "")
set(vicinal_tools_pc_packages "")
set(vicinal_debian_packages "") # the same by Debian's names, for cmake/VicinalPackages.cmake
foreach(found fmt:vicinal:fmt:libfmt-dev tomlplusplus:vicinal:tomlplusplus:libtomlplusplus-dev
              Liburing:vicinal:liburing:liburing-dev OpenCL:vicinal:OpenCL:ocl-icd-opencl-dev
              Hwloc:vicinal:hwloc:libhwloc-dev ZLIB:vicinal_tools:zlib:zlib1g-dev
              Otf2:vicinal_tools:otf2:libopen-trace-format2-dev Sqlite:vicinal_tools:sqlite3:libsqlite3-dev)
  string(REPLACE ":" ";" found "${found}")
  list(POP_FRONT found condition library package debian)
  if(${condition}_FOUND)
    string(APPEND ${library}_pc_packages " ${package}")
    list(APPEND vicinal_debian_packages ${debian})
  endif()
endforeach()
set(vicinal_pc_requires Requires)
if(BUILD_SHARED_LIBS)
  set(vicinal_pc_requires Requires.private)
  set(vicinal_tools_pc_packages "")
endif()
file(RELATIVE_PATH vicinal_pc_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
foreach(description vicinal vicinal-tools)
  configure_file("${PROJECT_SOURCE_DIR}/cmake/${description}.pc.in" "${PROJECT_BINARY_DIR}/${description}.pc" @ONLY)
  install(
    FILES "${PROJECT_BINARY_DIR}/${description}.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig"
    COMPONENT runtime)
endforeach()

# --- tools --------------------------------------------------------------------------------------
if(TARGET vicinal_cli)
  if(BUILD_SHARED_LIBS) # the libraries are found beside the executable, wherever all were installed
    file(RELATIVE_PATH vicinal_to_library "/${CMAKE_INSTALL_BINDIR}" "/${CMAKE_INSTALL_LIBDIR}")
    set_target_properties(vicinal_cli PROPERTIES INSTALL_RPATH "$ORIGIN/${vicinal_to_library}")
  endif()
  install(
    TARGETS vicinal_cli
    RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}"
            COMPONENT tools
            OPTIONAL)
endif()

# --- documents ----------------------------------------------------------------------------------
# Beside each other as in the sources, so that links lead where they should.
install(
  FILES README.md CHANGELOG.md CONTRIBUTING.md CITATION.cff LICENSE NOTICE share/report/vendor/LICENSE.uPlot
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT documents)
install(
  DIRECTORY docs
  DESTINATION "${CMAKE_INSTALL_DOCDIR}"
  COMPONENT documents
  FILES_MATCHING
  REGEX "\\.(md|svg|cpp|hpp|toml)$"
  PATTERN "CMakeLists.txt")

# --- conformance --------------------------------------------------------------------------------
if(VICINAL_BUILD_TESTS AND GTest_FOUND AND NOT VICINAL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  add_library(vicinal_conformance STATIC "${PROJECT_SOURCE_DIR}/tests/installed/run_conformance.cpp"
                                         $<TARGET_OBJECTS:vicinal_conformance_tests>)
  add_dependencies(vicinal_tests vicinal_conformance) # package/find_package installs it
  target_include_directories(
    vicinal_conformance PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/tests/installed")
  target_link_libraries(vicinal_conformance PRIVATE vicinal_internal GTest::gtest GTest::gmock)
  vicinal_warnings(vicinal_conformance RELAXED)
  # The header lies beside the library once that is built, and is installed with it or not at all.
  set(header "${PROJECT_BINARY_DIR}/conformance/vicinal/conformance.hpp")
  add_custom_command(
    TARGET vicinal_conformance POST_BUILD
    COMMAND "${CMAKE_COMMAND}" -E copy "${PROJECT_SOURCE_DIR}/tests/installed/vicinal/conformance.hpp" "${header}"
    BYPRODUCTS "${header}"
    VERBATIM)
  install(
    TARGETS vicinal_conformance
    ARCHIVE COMPONENT conformance
            OPTIONAL)
  install(
    FILES "${header}"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/vicinal"
    COMPONENT conformance
    OPTIONAL)
endif()
