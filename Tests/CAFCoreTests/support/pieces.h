/**
 * Whatever takes a stream of bytes must not care how it is cut.
 */
#ifndef AFC_TESTS_PIECES_H
#define AFC_TESTS_PIECES_H

#include <afcore/base.h>

static const size_t piece_sizes[] = {1, 7, 4096, 1 << 20, 0};

/** CHOPPED(size) { … }: once with pieces of 1, 7, 4096 bytes and 1 MiB each. */
#define FOR_EACH_PIECE_SIZE(size)                                                                  \
    for (size_t piece_at = 0, size = piece_sizes[0]; size != 0; size = piece_sizes[++piece_at])

/** Cut at most `size` bytes off the front of `rest`. */
static inline afc_slice take_piece(afc_slice *rest, size_t size) {
    afc_slice piece = {rest->bytes, rest->size < size ? rest->size : size};
    rest->bytes += piece.size;
    rest->size -= piece.size;
    return piece;
}

#endif
