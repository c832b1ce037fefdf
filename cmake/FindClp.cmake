# CLP, by its C interface -> target vicinal::clp; for a test program of its own.
#
# Never link it beside the serial OpenBLAS (vicinal_apps): it needs liblapack.so.3, hence Debian's
# alternative, which where it points to the threaded OpenBLAS meets the serial one's soname. Such a
# program does not start.
find_path(Clp_INCLUDE_DIR Clp_C_Interface.h PATH_SUFFIXES coin coin-or)
find_library(Clp_LIBRARY Clp)
mark_as_advanced(Clp_INCLUDE_DIR Clp_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Clp REQUIRED_VARS Clp_LIBRARY Clp_INCLUDE_DIR)

if(Clp_FOUND AND NOT TARGET vicinal::clp)
  add_library(vicinal::clp UNKNOWN IMPORTED)
  set_target_properties(vicinal::clp PROPERTIES IMPORTED_LOCATION "${Clp_LIBRARY}"
                                                INTERFACE_INCLUDE_DIRECTORIES "${Clp_INCLUDE_DIR}")
endif()
