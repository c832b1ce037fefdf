# Puts machines/*.toml into a source file of the library, so that an installed program, the build
# tree and the tests all find them: vicinal_embed_machines(<variable for the path of the file>).
function(vicinal_embed_machines out)
  file(GLOB files CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/machines/*.toml")
  list(TRANSFORM files REPLACE "\\.toml$" "")
  list(SORT files)
  set(VICINAL_MACHINE_ENTRIES "")
  foreach(stem IN LISTS files)
    set(file "${stem}.toml")
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    get_filename_component(name "${file}" NAME_WE)
    file(READ "${file}" text)
    string(APPEND VICINAL_MACHINE_ENTRIES
           "    ShippedText{\"${name}\", R\"vicinal_toml(${text})vicinal_toml\"},\n")
  endforeach()
  set(path "${PROJECT_BINARY_DIR}/machines/shipped.cpp")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/shipped.cpp.in" "${path}" @ONLY)
  set(${out} "${path}" PARENT_SCOPE)
endfunction()
