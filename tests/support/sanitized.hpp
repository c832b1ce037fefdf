// Which sanitizer the tests run under: GCC says it by a macro, Clang by a feature.
#pragma once

#if defined(__SANITIZE_ADDRESS__)
#define TEST_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define TEST_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TEST_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define TEST_THREAD_SANITIZER 1
#endif
#endif

#ifndef TEST_ADDRESS_SANITIZER
#define TEST_ADDRESS_SANITIZER 0
#endif
#ifndef TEST_THREAD_SANITIZER
#define TEST_THREAD_SANITIZER 0
#endif
