/** Reads and writes descriptors of the caller, such as pipes and sockets, without waiting. */
#ifndef AFC_BODY_DESCRIPTOR_H
#define AFC_BODY_DESCRIPTOR_H

#include <afcore/error.h>
#include <stdbool.h>
#include <stddef.h>

/**
 * Duplicates a descriptor for reading, so that the caller may close its own at once. Fails with AFC_EINVAL if it isn't
 * open for reading, or AFC_EFILE if there is no free descriptor.
 */
afc_status afc__descriptor_open(int *out, int descriptor, afc_failure *failure);

/**
 * Reads at most `size` bytes without waiting, even from a blocking descriptor. Returns their number, 0 at the end,
 * AFC_READ_AGAIN or AFC_READ_FAILED.
 */
ptrdiff_t afc__descriptor_read(int descriptor, void *buffer, size_t size, afc_failure *failure);

/** How a descriptor is written to. */
typedef enum afc__output_kind {
    AFC__OUTPUT_NONE,
    /** A file or block device: always accepts bytes, but writing may take long. */
    AFC__OUTPUT_FILE,
    AFC__OUTPUT_SOCKET,      /**< Sends with MSG_DONTWAIT. */
    AFC__OUTPUT_NONBLOCKING, /**< The descriptor has O_NONBLOCK. */
    /** A blocking descriptor: written in pieces that fit if poll() reports room. */
    AFC__OUTPUT_BLOCKING,
    /** A blocking terminal: written byte by byte, as poll() promises room for no more. */
    AFC__OUTPUT_TERMINAL
} afc__output_kind;

/** A duplicate of the caller's descriptor, for writing. Initialise it with AFC__OUTPUT_CLOSED. */
typedef struct afc__output {
    int descriptor;
    afc__output_kind kind;
} afc__output;

#define AFC__OUTPUT_CLOSED ((afc__output){.descriptor = -1})

/**
 * Duplicates a descriptor for writing. Fails with AFC_EINVAL if it isn't open for writing, or AFC_EFILE if there is no
 * free descriptor.
 */
afc_status afc__output_open(afc__output *output, int descriptor, afc_failure *failure);

void afc__output_close(afc__output *output);

/** Returns whether it may have no room; then wait until it is writable. */
static inline bool afc__output_is_polled(const afc__output *output) {
    return output->kind > AFC__OUTPUT_FILE;
}

/**
 * Writes as much as there is room for, without waiting for more and without raising SIGPIPE. To a FILE it writes
 * everything. Returns the number of bytes written, or -1 (AFC_EFILE).
 */
ptrdiff_t afc__output_write(const afc__output *output, const char *bytes, size_t size,
                            afc_failure *failure);

#endif
