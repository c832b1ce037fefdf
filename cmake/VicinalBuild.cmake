# How everything is compiled: language level, build type, warnings, sanitizers, ccache.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON) # for clang-tidy and editors
set(CMAKE_POSITION_INDEPENDENT_CODE ON) # the static library also ends up in shared ones

get_property(vicinal_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT CMAKE_BUILD_TYPE AND NOT vicinal_multi_config)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE) # -O2 -g -DNDEBUG
endif()

# GCC frees what it no longer needs after every third of growth, which takes an eighth of its time.
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  add_compile_options("SHELL:--param ggc-min-expand=1000" "SHELL:--param ggc-min-heapsize=1000000")
endif()

# Nobody replaces functions of the library at load time: with -fPIC GCC would inline none of them.
if(CMAKE_CXX_COMPILER_ID MATCHES "GNU|Clang")
  add_compile_options(-fno-semantic-interposition)
endif()

if(NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(VICINAL_CCACHE ccache)
  mark_as_advanced(VICINAL_CCACHE)
  if(VICINAL_CCACHE)
    # What its manual asks for where headers are precompiled (those of the tests).
    set(CMAKE_CXX_COMPILER_LAUNCHER "${CMAKE_COMMAND}" -E env
                                    "CCACHE_SLOPPINESS=pch_defines,time_macros" "${VICINAL_CCACHE}")
  endif()
endif()

# Ninja swallows the colours of compilers otherwise.
if(CMAKE_GENERATOR MATCHES "Ninja" AND NOT DEFINED ENV{CI})
  add_compile_options(-fdiagnostics-color=always)
endif()

if(VICINAL_SANITIZE)
  if(NOT VICINAL_SANITIZE MATCHES "^(thread|address|undefined|address,undefined)$")
    message(FATAL_ERROR "VICINAL_SANITIZE=${VICINAL_SANITIZE}: use thread or address,undefined")
  endif()
  add_compile_options(-fsanitize=${VICINAL_SANITIZE} -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${VICINAL_SANITIZE})
  if(VICINAL_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=undefined) # a finding fails its test
    if(VICINAL_SANITIZE MATCHES "address") # finds the same; a fifth of the compiler's time
      add_compile_options(-fno-sanitize=null,object-size)
      if(CMAKE_CXX_COMPILER_ID MATCHES "Clang") # looked up in libraries at run time, functions have types of their own
        add_compile_options(-fno-sanitize=function)
      endif()
    endif()
  endif()
endif()

if(VICINAL_PORTABLE)
  add_link_options(-static-libstdc++ -static-libgcc -s)
  set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
endif()

# vicinal_warnings(<target> [RELAXED]): RELAXED leaves out -Wconversion (tests and benchmarks, where
# literals of all kinds meet).
function(vicinal_warnings target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "RELAXED" "" "")
  target_compile_options(${target} PRIVATE -Wall -Wextra -Wshadow)
  if(NOT arg_RELAXED)
    target_compile_options(${target} PRIVATE -Wconversion)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_GREATER_EQUAL 12
     AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # False in `"a" + text`, GCC bug 105651, and in an optional that is empty, GCC bug 80635.
    target_compile_options(${target} PRIVATE -Wno-restrict -Wno-array-bounds -Wno-stringop-overflow
                                             -Wno-stringop-overread -Wno-maybe-uninitialized)
  endif()
  if(VICINAL_WERROR)
    target_compile_options(${target} PRIVATE -Werror)
  endif()
endfunction()

# vicinal_unity(<target>): the target's sources of one UNITY_GROUP are compiled as one file, so that each header is read
# once.
function(vicinal_unity target)
  if(VICINAL_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  endif()
endfunction()
