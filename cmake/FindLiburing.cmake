# liburing -> target vicinal::liburing. Also installed: a static vicinal asks for it again.
include("${CMAKE_CURRENT_LIST_DIR}/VicinalFindPackage.cmake")
vicinal_find_package(Liburing liburing.h uring)
