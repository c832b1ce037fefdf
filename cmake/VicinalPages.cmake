# The man page and the completion of shells, which the executable writes of itself whenever it is linked:
# whoever has built the executable has them.
function(vicinal_page destination file)
  set(output "${PROJECT_BINARY_DIR}/pages/${file}")
  add_custom_command(
    TARGET vicinal_cli POST_BUILD
    COMMAND vicinal_cli ${ARGN} > "${output}"
    BYPRODUCTS "${output}"
    VERBATIM)
  install(FILES "${output}" DESTINATION "${destination}" COMPONENT tools OPTIONAL)
endfunction()

file(MAKE_DIRECTORY "${PROJECT_BINARY_DIR}/pages")
vicinal_page("${CMAKE_INSTALL_MANDIR}/man1" vicinal.1 man)
vicinal_page("${CMAKE_INSTALL_DATADIR}/bash-completion/completions" vicinal completion bash)
vicinal_page("${CMAKE_INSTALL_DATADIR}/zsh/site-functions" _vicinal completion zsh)
vicinal_page("${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d" vicinal.fish completion fish)
# Tests of the command line depend on it.
add_custom_target(vicinal_pages DEPENDS vicinal_cli)
