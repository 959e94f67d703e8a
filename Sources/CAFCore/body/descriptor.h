/** Descriptors of the caller, such as pipes and sockets, read without waiting. */
#ifndef AFC_BODY_DESCRIPTOR_H
#define AFC_BODY_DESCRIPTOR_H

#include <afcore/error.h>
#include <stddef.h>

/** Duplicates a descriptor, so that the caller may close its own at once. AFC_EINVAL, AFC_EFILE. */
afc_status afc__descriptor_copy(int *out, int descriptor, const char *what, afc_failure *failure);

/**
 * Reads at most `size` bytes, also from a descriptor that blocks. Returns their number, 0 at the end, or
 * AFC_READ_AGAIN, AFC_READ_FAILED.
 */
ptrdiff_t afc__descriptor_read(int descriptor, void *buffer, size_t size, afc_failure *failure);

#endif
