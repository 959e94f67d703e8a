/**
 * What the targets share: a check that doesn't hold ends the program, and an input is taken apart from its front.
 */
#ifndef AFC_FUZZ_INPUT_H
#define AFC_FUZZ_INPUT_H

#include <afcore/base.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void require(bool holds) {
    if (!holds) abort();
}

/** The part of an input that was not taken yet. */
typedef struct input {
    const uint8_t *at;
    size_t size;
} input;

/** 0 at the end. */
static inline unsigned take_octet(input *input) {
    if (input->size == 0) return 0;
    input->size--;
    return *input->at++;
}

/** Up to `size` bytes. */
static inline afc_slice take_bytes(input *input, size_t size) {
    if (size > input->size) size = input->size;
    afc_slice bytes = {(const char *)input->at, size};
    input->at += size;
    input->size -= size;
    return bytes;
}

/** What stands before `mark`, which is taken as well, or all that is left. */
static inline afc_slice take_until(input *input, const char *mark) {
    size_t mark_size = strlen(mark);
    const uint8_t *found = input->size != 0 ? memmem(input->at, input->size, mark, mark_size)
                                            : NULL;
    afc_slice bytes = take_bytes(input, found != NULL ? (size_t)(found - input->at) : input->size);
    if (found != NULL) take_bytes(input, mark_size);
    return bytes;
}

/** The next line with its line feed. */
static inline afc_slice take_line(input *input) {
    const uint8_t *end = input->size != 0 ? memchr(input->at, '\n', input->size) : NULL;
    return take_bytes(input, end != NULL ? (size_t)(end - input->at) + 1 : input->size);
}

#endif
