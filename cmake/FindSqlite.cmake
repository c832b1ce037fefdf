# SQLite -> target vicinal::sqlite. Also installed: a static vicinal asks for it again.
include("${CMAKE_CURRENT_LIST_DIR}/VicinalFindPackage.cmake")
vicinal_find_package(Sqlite sqlite3.h sqlite3)
