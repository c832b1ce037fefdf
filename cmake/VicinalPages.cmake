# The man page and the completion of shells, which the executable writes of itself.
set(vicinal_pages "")

# Installs what `vicinal ARGN` prints as FILE in the folder DESTINATION.
function(vicinal_page destination file)
  set(output "${PROJECT_BINARY_DIR}/pages/${file}")
  add_custom_command(
    OUTPUT "${output}"
    COMMAND vicinal_cli ${ARGN} > "${output}"
    DEPENDS vicinal_cli
    COMMENT "Writing pages/${file}"
    VERBATIM)
  install(FILES "${output}" DESTINATION "${destination}")
  set(vicinal_pages ${vicinal_pages} "${output}" PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/pages")
vicinal_page("${CMAKE_INSTALL_MANDIR}/man1" vicinal.1 man)
vicinal_page("${CMAKE_INSTALL_DATADIR}/bash-completion/completions" vicinal completion bash)
vicinal_page("${CMAKE_INSTALL_DATADIR}/zsh/site-functions" _vicinal completion zsh)
vicinal_page("${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" vicinal.fish completion fish)
add_custom_target(vicinal_pages ALL DEPENDS ${vicinal_pages})
