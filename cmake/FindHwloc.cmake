# hwloc -> target vicinal::hwloc. Also installed: a static vicinal asks for it again.
find_path(Hwloc_INCLUDE_DIR hwloc.h)
find_library(Hwloc_LIBRARY hwloc)
mark_as_advanced(Hwloc_INCLUDE_DIR Hwloc_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Hwloc REQUIRED_VARS Hwloc_LIBRARY Hwloc_INCLUDE_DIR)

if(Hwloc_FOUND AND NOT TARGET vicinal::hwloc)
  add_library(vicinal::hwloc UNKNOWN IMPORTED)
  set_target_properties(
    vicinal::hwloc PROPERTIES IMPORTED_LOCATION "${Hwloc_LIBRARY}"
                              INTERFACE_INCLUDE_DIRECTORIES "${Hwloc_INCLUDE_DIR}")
endif()
