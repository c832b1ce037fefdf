// The conformance tests of the library, for policies and drivers that are not the library's:
//
//   find_package(vicinal REQUIRED COMPONENTS conformance)
//   target_link_libraries(my_tests PRIVATE vicinal::conformance)
//
//   int main(int argc, char** argv) {
//     vicinal::sched::register_policy({"nearest", "fewest missing bytes first", make_nearest});
//     return vicinal::run_conformance(argc, argv);
//   }
//
// The tests run over the policies and the kinds of devices that are registered, and over nothing else. A kind of device
// whose kernels are not those of cores (DeviceKind::processor) is given no tasks.
#pragma once

namespace vicinal {

// Takes the arguments of GoogleTest (--gtest_filter, --gtest_list_tests ...). The status of the program: 0 if all
// tests have passed; 2, with a message, if nothing is registered.
int run_conformance(int argc, char** argv);

}  // namespace vicinal
