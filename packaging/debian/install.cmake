# Run when a package for Debian is put together (cmake/VicinalPackages.cmake), with PACKAGE, VERSION, MAINTAINER and
# DATA (share of the prefix): what Debian asks of a package beside what Vicinal installs anywhere.
set(data "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/${DATA}")
set(documents "${data}/doc/${PACKAGE}")
configure_file("${CMAKE_CURRENT_LIST_DIR}/copyright" "${documents}/copyright" COPYONLY)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${documents}/changelog.Debian"
     "vicinal (${VERSION}) unstable; urgency=medium\n\n  * Version ${VERSION} of Vicinal, as its CHANGELOG.md describes it.\n
 -- ${MAINTAINER}  ${date}\n")
set(compressed "${documents}/changelog.Debian")
if(PACKAGE STREQUAL "vicinal")
  list(APPEND compressed "${data}/man/man1/vicinal.1")
  file(RENAME "${data}/zsh/site-functions" "${data}/zsh/vendor-completions") # where Debian's zsh looks
endif()
execute_process(COMMAND gzip -9nf ${compressed} COMMAND_ERROR_IS_FATAL ANY)
