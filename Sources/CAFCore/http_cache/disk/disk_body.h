/** Bodies that are too large for memory: written to the disk and read from it piece by piece. */
#ifndef AFC_HTTP_CACHE_DISK_DISK_BODY_H
#define AFC_HTTP_CACHE_DISK_DISK_BODY_H

#include "http_cache/disk/disk_state.h"

/* ---- Writing ------------------------------------------------------------------------------- */

typedef struct afc__disk_stream afc__disk_stream;

/** Begins the file of a body with this number. NULL: out of memory. */
afc__disk_stream *afc__disk_stream_new(afc__disk *disk, uint64_t content);

/**
 * Appends; takes `bytes`, also on failure. All but the last ones are whole blocks. Fails: AFC_EFILE (the disk is full,
 * broken, or too slow for one that doesn't wait; or it has no thread), AFC_ENOMEM.
 */
afc_status afc__disk_stream_append(afc__disk_stream *stream, afc_bytes bytes,
                                   afc__http_cache_pace pace);

/** Stores the response in place of its variant, and frees the stream. Under the cache's lock. */
void afc__disk_stream_commit(afc__disk_stream *stream, afc__http_cache_stored *stored);

/** Removes the file and frees the stream. */
void afc__disk_stream_abandon(afc__disk_stream *stream);

/* ---- Reading ------------------------------------------------------------------------------- */

typedef struct afc__disk_reader afc__disk_reader;

/** Reads the body of `stored`, which has a file, from `offset` on. NULL: out of memory. */
afc__disk_reader *afc__disk_reader_new(afc__disk *disk, afc__http_cache_stored *stored,
                                       uint64_t offset, afc__http_cache_wake wake);
afc__http_cache_step afc__disk_reader_read(afc__disk_reader *reader, afc_slice *piece);
void afc__disk_reader_close(afc__disk_reader *reader);

#endif
