#include "support/check.h"

#include <stdlib.h>

void check_slice_at(afc_slice actual, const char *expected, const char *file, int line) {
    size_t size = strlen(expected);
    if (actual.size == size && (size == 0 || memcmp(actual.bytes, expected, size) == 0)) return;
    print_error("\"%.*s\" is not \"%s\"\n", (int)actual.size,
                actual.bytes != NULL ? actual.bytes : "", expected);
    _fail(file, line);
}

void check_status_at(afc_status actual, afc_status expected, const char *file, int line) {
    if (actual == expected) return;
    print_error("status %s is not %s\n", afc_status_name(actual), afc_status_name(expected));
    _fail(file, line);
}

void check_contains_at(const char *text, const char *part, const char *file, int line) {
    if (strstr(text, part) != NULL) return;
    print_error("\"%s\" does not contain \"%s\"\n", text, part);
    _fail(file, line);
}

size_t test_amount(size_t usual, size_t few) {
    return getenv("AF_TEST_TASKS") != NULL ? few : usual;
}

size_t test_amount_brief(size_t usual, size_t few) {
    return getenv("AF_TEST_BRIEF") != NULL ? few : usual;
}

uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
