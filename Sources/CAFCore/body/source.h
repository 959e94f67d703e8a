/** The source of a request body: memory, a file, a reader or a form, behind one interface. */
#ifndef AF_BODY_SOURCE_H
#define AF_BODY_SOURCE_H

#include <afcore/multipart.h>
#include <afcore/task.h>

typedef struct af__source {
    af_body body;     /**< BYTES: `bytes` are ours or borrowed; FILE: `path` is ours. */
    void *owned;      /**< Our copy of bytes or path. */
    int64_t length;   /**< AF_LENGTH_UNKNOWN with a reader that does not know. */
    int64_t position; /**< Bytes read since the last rewind. */
    int descriptor;   /**< FILE, once open. */
    bool has_started; /**< A byte was requested since the last rewind. */
    bool is_waiting;  /**< No bytes were available; resumed by af_task_wake(). */
    int64_t ready_us; /**< Waiting: when to ask again without a wake, af__now_us(); 0: never. */
} af__source;

/** Releases what `body` borrows, for a request that is refused before it has a source. */
void af__body_release(const af_body *body);

/**
 * Initialises a source. Takes ownership of what `body` borrows, even on failure. AF_EINVAL (unknown
 * kind, no path, no read function, no form, a negative length), AF_ENOMEM.
 */
af_status af__source_init(af__source *source, const af_body *body, af_failure *failure);
void af__source_clear(af__source *source);

/** Determines the length before the first byte is sent: opens a file. AF_EFILE. */
af_status af__source_open(af__source *source, af_failure *failure);

/** Returns whether there is a body. An empty one counts. */
bool af__source_exists(const af__source *source);

/** Returns all bytes, if they are in memory; NULL otherwise. */
const af_slice *af__source_in_memory(const af__source *source);

/**
 * Reads up to `size` bytes. Returns their number, or AF_READ_…. A source that is shorter or longer
 * than its length fails, with the reason in `failure`.
 */
ptrdiff_t af__source_read(af__source *source, void *buffer, size_t size, af_failure *failure);

/** Returns whether the body can be replayed. */
bool af__source_can_rewind(const af__source *source);

/** Rewinds to the first byte: AF_OK, AF_EREPLAY, AF_EFILE. */
af_status af__source_rewind(af__source *source, af_failure *failure);

#endif
