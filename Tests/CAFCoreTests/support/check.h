/**
 * What every C test starts with: cmocka, and checks of the types that the core hands around.
 */
#ifndef AFC_TESTS_CHECK_H
#define AFC_TESTS_CHECK_H

/* cmocka.h needs these before it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <afcore/base.h>
#include <afcore/error.h>

/** Whether the tests are built with these sanitizers: gcc defines macros, clang has features. */
#if defined(__has_feature)
#define HAS_ADDRESS_SANITIZER __has_feature(address_sanitizer)
#define HAS_THREAD_SANITIZER __has_feature(thread_sanitizer)
#else
#if defined(__SANITIZE_ADDRESS__)
#define HAS_ADDRESS_SANITIZER 1
#else
#define HAS_ADDRESS_SANITIZER 0
#endif
#if defined(__SANITIZE_THREAD__)
#define HAS_THREAD_SANITIZER 1
#else
#define HAS_THREAD_SANITIZER 0
#endif
#endif

/** ThreadSanitizer supports no threads in a child of a process with threads. */
#define CAN_FORK (!HAS_THREAD_SANITIZER)

/** The view of a literal, NULs inside it included. ROW_S() is for tables, which need constants. */
#define S(literal) ((afc_slice)ROW_S(literal))
#define ROW_S(literal)                                                                             \
    { literal, sizeof(literal) - 1 }

/** The same in the initialiser of a static table, where C11 wants no compound literal. */
#define S_INIT(literal) AFC_SLICE_INIT(literal)

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/** The bytes are those of `expected`; a failure shows both. */
#define check_slice(actual, expected) check_slice_at((actual), (expected), __FILE__, __LINE__)
void check_slice_at(afc_slice actual, const char *expected, const char *file, int line);

/** The status is `expected`; a failure shows both names. */
#define check_status(actual, expected) check_status_at((actual), (expected), __FILE__, __LINE__)
void check_status_at(afc_status actual, afc_status expected, const char *file, int line);

/** The text has `part` in it; a failure shows both. */
#define check_contains(text, part) check_contains_at((text), (part), __FILE__, __LINE__)
void check_contains_at(const char *text, const char *part, const char *file, int line);

/** How often a test repeats something: `few` times under tools that make everything slow (they set AF_TEST_TASKS). */
size_t test_amount(size_t usual, size_t few);

/** The same for what takes minutes under valgrind only, which sets AF_TEST_BRIEF unless all must run. */
size_t test_amount_brief(size_t usual, size_t few);

/** The next number of a sequence that is the same in every run. `*state` must not be 0. */
uint64_t next_random(uint64_t *state);

#endif
