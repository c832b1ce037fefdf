# CLBlast -> target vicinal::clblast.
include("${CMAKE_CURRENT_LIST_DIR}/VicinalFindPackage.cmake")
vicinal_find_package(CLBlast clblast.h clblast)
