// Policies and devices in a shared object, which a program opens while it runs: `vicinal simulate --load mine.so`, or
// load_extension() of one's own program. docs/write-a-policy.md shows one.
//
//   #include <vicinal/policy.hpp>
//   ...
//   extern "C" void vicinal_register() {
//     vicinal::sched::register_policy({"mine", "first in, first out", make_mine});
//   }
//
//   g++ -std=c++20 -O2 -fPIC -shared mine.cpp $(pkg-config --cflags vicinal) -o mine.so
//
// The shared object is not linked with the library, because the program that opens it has a library already. So a
// program of one's own exports the symbols of its library, or is linked with the shared library.
#pragma once

#include <string>

extern "C" {
// Defined by the shared object: called once it is open. An exception from it is the reason in load_extension's error.
void vicinal_register();
// Defined by the library, as a mark of the version that a shared object was compiled for: a library of another version
// has another name. A new minor version changes the name, here and below (src/base/version.cpp sees to it).
extern const char vicinal_extension_0_2;
}

namespace vicinal {

// Opens the file and calls its vicinal_register(); what it registers is known by name from then on, to the end of the
// process. Throws UsageError that begins with the name of the file: it is not there, no shared object, made for
// another version, lacks a symbol, has a library of its own, registers nothing, or a name that is taken. What an
// initialiser of it throws ends the program (std::terminate).
void load_extension(const std::string& file);

namespace internals {
// A use of the name in all that includes this: a shared object of another version cannot be opened.
[[gnu::used]] inline const char* const compiled_for = &vicinal_extension_0_2;
}  // namespace internals

}  // namespace vicinal
