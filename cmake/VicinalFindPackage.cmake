# vicinal_find_package(<name> <header> <library> [<path suffix of the header>...])
# For Find<name>.cmake: of a package that is one header and one library it makes <name>_FOUND and the
# target vicinal::<name in small letters>. Installed with those that a static vicinal asks for again.
include(FindPackageHandleStandardArgs)

macro(vicinal_find_package name header library)
  find_path(${name}_INCLUDE_DIR ${header} PATH_SUFFIXES ${ARGN})
  find_library(${name}_LIBRARY ${library})
  mark_as_advanced(${name}_INCLUDE_DIR ${name}_LIBRARY)
  find_package_handle_standard_args(${name} REQUIRED_VARS ${name}_LIBRARY ${name}_INCLUDE_DIR)

  string(TOLOWER "vicinal::${name}" vicinal_target)
  if(${name}_FOUND AND NOT TARGET ${vicinal_target})
    add_library(${vicinal_target} UNKNOWN IMPORTED)
    set_target_properties(
      ${vicinal_target} PROPERTIES IMPORTED_LOCATION "${${name}_LIBRARY}"
                                   INTERFACE_INCLUDE_DIRECTORIES "${${name}_INCLUDE_DIR}")
  endif()
endmacro()
