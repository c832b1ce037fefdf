# Puts share/report/, the library of its charts, and the script of pictures into a source file, so that an installed program and the tests find
# them: vicinal_embed_page(<variable for the path of the file>).
function(vicinal_embed_page out)
  set(folder "${PROJECT_SOURCE_DIR}/share/report")
  file(GLOB files CONFIGURE_DEPENDS "${folder}/*.html" "${folder}/*.css" "${folder}/*.js" "${folder}/vendor/*.css"
       "${folder}/vendor/*.js" "${PROJECT_SOURCE_DIR}/share/draw_figure.py")
  list(SORT files)
  set(VICINAL_PAGE_ENTRIES "")
  foreach(file IN LISTS files)
    set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${file}")
    get_filename_component(name "${file}" NAME)
    file(READ "${file}" text)
    string(APPEND VICINAL_PAGE_ENTRIES "    {\"${name}\", R\"vicinal_page(${text})vicinal_page\"},\n")
  endforeach()
  set(path "${PROJECT_BINARY_DIR}/page/assets.cpp")
  configure_file("${PROJECT_SOURCE_DIR}/cmake/page_assets.cpp.in" "${path}" @ONLY)
  set(${out} "${path}" PARENT_SCOPE)
endfunction()
