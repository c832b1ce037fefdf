# What `cpack` makes of a build: -G TGZ an archive of all that a plain installation has, -G DEB two packages for Debian,
# vicinal (tools, documents) and libvicinal-dev (runtime, conformance). scripts/make-packages builds for both.
set(CPACK_PACKAGE_NAME vicinal)
set(CPACK_PACKAGE_VENDOR "The Vicinal developers")
# Debian wants an address: whoever makes packages for others gives theirs as its tools expect it.
set(CPACK_PACKAGE_CONTACT "The Vicinal developers <vicinal@localhost>")
if(DEFINED ENV{DEBEMAIL})
  set(CPACK_PACKAGE_CONTACT "$ENV{DEBEMAIL}")
  if(DEFINED ENV{DEBFULLNAME})
    set(CPACK_PACKAGE_CONTACT "$ENV{DEBFULLNAME} <$ENV{DEBEMAIL}>")
  endif()
endif()
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "task runtime for data larger than memory") # the first line of both descriptions
set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")
set(CPACK_STRIP_FILES ON)
string(TOLOWER "vicinal-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR}" CPACK_PACKAGE_FILE_NAME)
set(CPACK_VERBATIM_VARIABLES ON)

set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
# What Debian asks of a package, in components that only its packages bring.
foreach(package vicinal libvicinal-dev)
  install(
    CODE "set(PACKAGE \"${package}\")
set(VERSION \"${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}\")
set(MAINTAINER \"${CPACK_PACKAGE_CONTACT}\")
set(DATA \"${CMAKE_INSTALL_DATADIR}\")
include(\"${PROJECT_SOURCE_DIR}/packaging/debian/install.cmake\")"
    COMPONENT debian_${package}
    EXCLUDE_FROM_ALL)
endforeach()

set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_COMPONENTS_ALL tools documents debian_vicinal runtime conformance debian_libvicinal-dev)
foreach(component tools documents debian_vicinal)
  string(TOUPPER "CPACK_COMPONENT_${component}_GROUP" group)
  set(${group} tools)
endforeach()
foreach(component runtime conformance debian_libvicinal-dev)
  string(TOUPPER "CPACK_COMPONENT_${component}_GROUP" group)
  set(${group} development)
endforeach()

set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME vicinal)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION science)
set(CPACK_DEBIAN_TOOLS_DESCRIPTION
    "The executable vicinal runs dense factorisations with a limit on memory,
simulates graphs of tasks on machines that one does not have, prints lower
bounds on time and bytes beside the results, and explains recorded runs.
.
The pages of its documentation and the sources of its examples are here, too.")
# Its file is named in the executable: another OpenBLAS of the same soname has threads of its own.
if(OpenBLASSerial_FOUND AND NOT VICINAL_PORTABLE)
  set(CPACK_DEBIAN_TOOLS_PACKAGE_DEPENDS libopenblas0-serial)
endif()
set(CPACK_DEBIAN_TOOLS_PACKAGE_RECOMMENDS python3-matplotlib)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libvicinal-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION
    "Vicinal runs tasks on cores and accelerators, with data larger than their
memory, and moves as few bytes as it can. This package holds its static
libraries, their headers, and what CMake and pkg-config need to find them.")
# The static libraries ask for them again when a program is linked.
list(JOIN vicinal_debian_packages ", " CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "g++, pkgconf")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "vicinal, cmake, libgtest-dev, libgmock-dev")

include(CPack)
