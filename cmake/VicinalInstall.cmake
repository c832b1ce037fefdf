# Installed: public headers, library, CMake package (`find_package(vicinal)`, target
# vicinal::vicinal), machine files. The executable is installed where it is defined.
include(CMakePackageConfigHelpers)

foreach(package fmt tomlplusplus)
  if(NOT ${package}_FOUND)
    set(${package}_FOUND FALSE) # header-only then, and not needed by users
  endif()
endforeach()

set(vicinal_cmake_dir "${CMAKE_INSTALL_LIBDIR}/cmake/vicinal")

install(TARGETS vicinal EXPORT vicinalTargets)
if(EXISTS "${PROJECT_SOURCE_DIR}/include/vicinal")
  install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/include/vicinal"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING
    PATTERN "*.hpp"
    PATTERN "policy.hpp" EXCLUDE
    PATTERN "driver.hpp" EXCLUDE)
  install(
    CODE "set(SOURCE_DIR \"${PROJECT_SOURCE_DIR}\")
set(DESTINATION \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")
include(\"${PROJECT_SOURCE_DIR}/cmake/InstallExtension.cmake\")")
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/machines")
  install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/machines"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/vicinal"
    FILES_MATCHING
    PATTERN "*.toml")
endif()

# The tests for who extends it: the component "conformance" of the package.
set(vicinal_has_conformance FALSE)
if(VICINAL_BUILD_TESTS AND GTest_FOUND AND NOT VICINAL_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  set(vicinal_has_conformance TRUE)
  add_library(vicinal_conformance STATIC "${PROJECT_SOURCE_DIR}/tests/installed/run_conformance.cpp"
                                         $<TARGET_OBJECTS:vicinal_conformance_tests>)
  target_include_directories(
    vicinal_conformance PRIVATE "${PROJECT_SOURCE_DIR}/tests" "${PROJECT_SOURCE_DIR}/tests/installed")
  target_link_libraries(vicinal_conformance PRIVATE $<BUILD_INTERFACE:vicinal_internal>
                                                    $<BUILD_INTERFACE:GTest::gtest>
                                                    $<BUILD_INTERFACE:GTest::gmock>)
  vicinal_warnings(vicinal_conformance RELAXED)
  set_target_properties(vicinal_conformance PROPERTIES EXPORT_NAME conformance_tests)
  install(TARGETS vicinal_conformance EXPORT vicinalConformance)
  install(EXPORT vicinalConformance NAMESPACE vicinal:: DESTINATION "${vicinal_cmake_dir}")
  install(FILES "${PROJECT_SOURCE_DIR}/tests/installed/vicinal/conformance.hpp"
          DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}/vicinal")
endif()

install(EXPORT vicinalTargets NAMESPACE vicinal:: DESTINATION "${vicinal_cmake_dir}")
configure_package_config_file(
  "${PROJECT_SOURCE_DIR}/cmake/vicinalConfig.cmake.in"
  "${PROJECT_BINARY_DIR}/vicinalConfig.cmake" INSTALL_DESTINATION "${vicinal_cmake_dir}")
write_basic_package_version_file("${PROJECT_BINARY_DIR}/vicinalConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(
  FILES "${PROJECT_BINARY_DIR}/vicinalConfig.cmake"
        "${PROJECT_BINARY_DIR}/vicinalConfigVersion.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/VicinalFindPackage.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindLiburing.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindHwloc.cmake"
        "${PROJECT_SOURCE_DIR}/cmake/FindOtf2.cmake"
  DESTINATION "${vicinal_cmake_dir}")

# The same for pkg-config. A static library needs what it was built with again when a program is linked.
set(vicinal_pc_requires Requires)
if(BUILD_SHARED_LIBS)
  set(vicinal_pc_requires Requires.private)
endif()
set(vicinal_pc_packages "")
foreach(found fmt_FOUND:fmt tomlplusplus_FOUND:tomlplusplus ZLIB_FOUND:zlib Liburing_FOUND:liburing
              OpenCL_FOUND:OpenCL Hwloc_FOUND:hwloc Otf2_FOUND:otf2)
  string(REPLACE ":" ";" found "${found}")
  list(GET found 0 condition)
  list(GET found 1 package)
  if(${condition})
    string(APPEND vicinal_pc_packages " ${package}")
  endif()
endforeach()
string(STRIP "${vicinal_pc_packages}" vicinal_pc_packages)
file(RELATIVE_PATH vicinal_pc_up "/${CMAKE_INSTALL_LIBDIR}/pkgconfig" "/")
configure_file("${PROJECT_SOURCE_DIR}/cmake/vicinal.pc.in" "${PROJECT_BINARY_DIR}/vicinal.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/vicinal.pc" DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig")
install(FILES LICENSE NOTICE DESTINATION "${CMAKE_INSTALL_DOCDIR}")
