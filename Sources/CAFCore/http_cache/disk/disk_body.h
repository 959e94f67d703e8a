/** Writes bodies that are too large for memory to the disk, and reads them from it, piece by piece. */
#ifndef AFC_HTTP_CACHE_DISK_DISK_BODY_H
#define AFC_HTTP_CACHE_DISK_DISK_BODY_H

#include "http_cache/disk/disk_state.h"

/* ---- Writing ------------------------------------------------------------------------------- */

typedef struct afc__disk_stream afc__disk_stream;

/** Makes a stream for a body with this number. Returns NULL if out of memory. */
afc__disk_stream *afc__disk_stream_new(afc__disk *disk, uint64_t content);

/**
 * Orders the writing of a piece, and takes ownership of `bytes`, even on failure. All pieces but the last consist of
 * whole blocks. Fails with AFC_EFILE if the disk is full or broken, if too many bytes wait for it and `pace` doesn't
 * allow to wait, or without a thread; AFC_ENOMEM.
 */
afc_status afc__disk_stream_append(afc__disk_stream *stream, afc_bytes bytes,
                                   afc__http_cache_pace pace);

/** Stores the response in place of its variant, and frees the stream. Under the cache's lock. */
void afc__disk_stream_commit(afc__disk_stream *stream, afc__http_cache_stored *stored);

/** Removes the file and frees the stream. */
void afc__disk_stream_abandon(afc__disk_stream *stream);

/* ---- Reading ------------------------------------------------------------------------------- */

typedef struct afc__disk_reader afc__disk_reader;

/** Makes a reader of the body of `stored`, which has a file, from byte `offset` on. Returns NULL if out of memory. */
afc__disk_reader *afc__disk_reader_new(afc__disk *disk, afc__http_cache_stored *stored,
                                       uint64_t offset, afc__http_cache_wake wake);
/** Does the work of afc__http_cache_read(). */
afc__http_cache_step afc__disk_reader_read(afc__disk_reader *reader, afc_slice *piece);
/** Closes a reader. If a block is being read, the disk's thread frees the reader later. */
void afc__disk_reader_close(afc__disk_reader *reader);

#endif
