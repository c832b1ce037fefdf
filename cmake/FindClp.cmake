# CLP, by its C interface -> target vicinal::clp; for a test program of its own.
#
# Never link it beside the serial OpenBLAS (vicinal_apps): it needs liblapack.so.3, hence Debian's
# alternative, which where it points to the threaded OpenBLAS meets the serial one's soname. Such a
# program does not start.
include("${CMAKE_CURRENT_LIST_DIR}/VicinalFindPackage.cmake")
vicinal_find_package(Clp Clp_C_Interface.h Clp coin coin-or)
