/**
 * The file of one stored response.
 *
 *     head    64 bytes: sizes, offset of the meta, the number of the body, and checksums
 *     body    blocks of 64 KiB, the last one shorter, each followed by its checksum
 *     meta    status, fields, times and the key, encoded as in memory
 *
 * All numbers are little-endian. Checksums depend on the body's number, which is random: a block that another response
 * left in the file, after a power loss, isn't mistaken for one of this response. A changed meta is written behind the
 * body without overwriting the valid one, and then the head that refers to it: a reader sees either the old or the new
 * one.
 */
#ifndef AFC_HTTP_CACHE_DISK_ENTRY_FILE_H
#define AFC_HTTP_CACHE_DISK_ENTRY_FILE_H

#include "http_cache/memory/stored.h"

enum {
    AFC__ENTRY_HEAD_SIZE = 64,
    AFC__ENTRY_BLOCK = 64 * 1024,
    AFC__ENTRY_CHECKSUM = 8,
    /** Larger bodies aren't loaded into memory, but read from the file block by block. */
    AFC__ENTRY_LOADED = 256 * 1024
};

typedef struct afc__entry_head {
    uint64_t content; /**< The body's number. */
    uint64_t body_size;
    uint64_t meta_offset; /**< Behind the body, perhaps behind a previous meta. */
    uint32_t meta_size;
    uint64_t meta_checksum;
} afc__entry_head;

/**
 * Maximum size of a body in bytes: the size of its file, in units of 512 bytes, must fit the 32 bits of a journal
 * record.
 */
#define AFC__ENTRY_BODY_MAX (UINT64_C(1) << 40)

/** Returns the size in bytes of a new file. */
uint64_t afc__entry_size(uint64_t body_size, size_t meta_size);

/** Writes the head of a file. Declared for tests. */
void afc__entry_head_write(char out[AFC__ENTRY_HEAD_SIZE], const afc__entry_head *head);

/* ---- Files ---------------------------------------------------------------------------------- */

/**
 * Writes blocks of a body with their checksums. All blocks but the last of a body must be whole. Returns 0 or an errno.
 */
int afc__entry_write_blocks(int descriptor, uint64_t content, uint64_t first_block,
                            afc_slice bytes);

/** Writes meta and head of a file whose body is written. Returns 0 or an errno. */
int afc__entry_finish(int descriptor, const afc__http_cache_stored *stored);

/** Reads one block into `out` and verifies it. Returns its size in bytes, or -1. */
int64_t afc__entry_read_block(int descriptor, uint64_t content, uint64_t body_size, uint64_t block,
                              char out[AFC__ENTRY_BLOCK]);

/** Reads the head and verifies it. Returns false if it can't be read or is invalid. */
bool afc__entry_read_head(int descriptor, afc__entry_head *out);

/** The result of reading a response. */
typedef enum afc__entry_reading {
    AFC__ENTRY_READ,
    AFC__ENTRY_DAMAGED,  /**< Not a file of a response, or a damaged one. */
    AFC__ENTRY_NO_MEMORY /**< The file may be valid: it must stay. */
} afc__entry_reading;

/** Reads a response without its body; `*out` is NULL unless it was read. */
afc__entry_reading afc__entry_read_meta(afc__http_cache_stored **out, int descriptor);

/**
 * Reads a response with its body, unless that is larger than AFC__ENTRY_LOADED: then the body isn't verified, and the
 * caller gives the response the descriptor. The caller also sets the ids other than `content`. `*out` is NULL unless it
 * was read.
 */
afc__entry_reading afc__entry_read(afc__http_cache_stored **out, int descriptor);

/**
 * Writes a new meta for the body with this number; `*size` becomes the size of the file in bytes. Returns false if the
 * file has another body or is damaged, on an error, or if many changes have wasted too much space in it.
 */
bool afc__entry_change(int descriptor, uint64_t content, afc_slice meta, uint64_t *size);

#endif
