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
    PATTERN "*.h")
endif()
if(EXISTS "${PROJECT_SOURCE_DIR}/machines")
  install(
    DIRECTORY "${PROJECT_SOURCE_DIR}/machines"
    DESTINATION "${CMAKE_INSTALL_DATADIR}/vicinal"
    FILES_MATCHING
    PATTERN "*.toml")
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
