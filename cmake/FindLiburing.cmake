# liburing -> target vicinal::liburing. Also installed: a static vicinal asks for it again.
find_path(Liburing_INCLUDE_DIR liburing.h)
find_library(Liburing_LIBRARY uring)
mark_as_advanced(Liburing_INCLUDE_DIR Liburing_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Liburing REQUIRED_VARS Liburing_LIBRARY Liburing_INCLUDE_DIR)

if(Liburing_FOUND AND NOT TARGET vicinal::liburing)
  add_library(vicinal::liburing UNKNOWN IMPORTED)
  set_target_properties(
    vicinal::liburing PROPERTIES IMPORTED_LOCATION "${Liburing_LIBRARY}"
                                 INTERFACE_INCLUDE_DIRECTORIES "${Liburing_INCLUDE_DIR}")
endif()
