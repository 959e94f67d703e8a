/** Descriptors of the caller, such as pipes and sockets, read and written without waiting. */
#ifndef AFC_BODY_DESCRIPTOR_H
#define AFC_BODY_DESCRIPTOR_H

#include <afcore/error.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * Duplicates a descriptor to read from, so that the caller may close its own at once. AFC_EINVAL: it isn't open for
 * reading. AFC_EFILE: no descriptor is left.
 */
afc_status afc__descriptor_open(int *out, int descriptor, afc_failure *failure);

/**
 * Reads at most `size` bytes, also from a descriptor that blocks. Returns their number, 0 at the end, or
 * AFC_READ_AGAIN, AFC_READ_FAILED.
 */
ptrdiff_t afc__descriptor_read(int descriptor, void *buffer, size_t size, afc_failure *failure);

/** How a descriptor is written to. */
typedef enum afc__output_kind {
    AFC__OUTPUT_NONE,
    AFC__OUTPUT_FILE,        /**< Never without room, but writing may take long. */
    AFC__OUTPUT_SOCKET,      /**< Sends without waiting. */
    AFC__OUTPUT_NONBLOCKING, /**< The descriptor itself doesn't wait. */
    AFC__OUTPUT_BLOCKING,    /**< In pieces that fit where poll() finds room. */
    AFC__OUTPUT_TERMINAL     /**< That blocks: byte by byte, as poll() finds room for no more. */
} afc__output_kind;

/** A duplicate of the caller's descriptor, for writing. Initialise it with AFC__OUTPUT_CLOSED. */
typedef struct afc__output {
    int descriptor;
    afc__output_kind kind;
} afc__output;

#define AFC__OUTPUT_CLOSED ((afc__output){.descriptor = -1})

/** AFC_EINVAL: it isn't open for writing. AFC_EFILE: no descriptor is left. */
afc_status afc__output_open(afc__output *output, int descriptor, afc_failure *failure);

void afc__output_close(afc__output *output);

/** Returns whether it can lack room: wait until it is writable, then. */
static inline bool afc__output_is_polled(const afc__output *output) {
    return output->kind > AFC__OUTPUT_FILE;
}

/**
 * Writes what there is room for, never waiting for more, and never raising SIGPIPE; to a FILE all. Returns the number
 * of bytes written, or -1 (AFC_EFILE).
 */
ptrdiff_t afc__output_write(const afc__output *output, const char *bytes, size_t size,
                            afc_failure *failure);

#endif
