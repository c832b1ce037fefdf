# OTF2 -> target vicinal::otf2. Also installed: a static vicinal asks for it again.
include("${CMAKE_CURRENT_LIST_DIR}/VicinalFindPackage.cmake")
# Debian names the library otherwise.
vicinal_find_package(Otf2 otf2/otf2.h "NAMES;otf2;open-trace-format2")
