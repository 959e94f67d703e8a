/**
 * Where the bytes of a response body go to: memory, a file or the caller, behind one face.
 */
#ifndef AF_NET_SINK_H
#define AF_NET_SINK_H

#include "base/buffer.h"

#include <afcore/task.h>

/** How much of an error's body is kept beside a file that it must not go to. */
#define AF__ERROR_BODY_LIMIT (1024u * 1024u)

typedef struct af__sink {
    af_sink_kind kind;
    char *path;         /**< FILE: the destination. */
    char *partial_path; /**< FILE: written until the end. */
    int descriptor;     /**< FILE, once open. */
    bool is_diverted;   /**< FILE: this answer is no success; its body goes to memory. */
    uint64_t limit;     /**< Of the decoded body. */
    uint64_t written;   /**< Bytes taken. */
    af__buffer memory;
} af__sink;

/** AF_EINVAL, AF_ENOMEM. `limit` 0: the kind's default. */
af_status af__sink_init(af__sink *sink, const af_sink *options, uint64_t limit,
                        af_failure *failure);

/** Frees all and removes what was begun but not finished. */
void af__sink_clear(af__sink *sink);

/**
 * Prepare for a body: `length` bytes as announced, or AF_LENGTH_UNKNOWN. Opens the file if the
 * status is 2xx. AF_ETOOBIG if the announced length passes the limit (with `is_encoded` it says
 * nothing of it), AF_EFILE, AF_ENOMEM.
 */
af_status af__sink_open(af__sink *sink, int status, int64_t length, bool is_encoded,
                        af_failure *failure);

/** MEMORY and FILE. AF_ETOOBIG, AF_EFILE, AF_ENOMEM. */
af_status af__sink_write(af__sink *sink, af_slice bytes, af_failure *failure);

/** EVENTS: count what the caller took. AF_ETOOBIG before it is given to him. */
af_status af__sink_admit(af__sink *sink, size_t size, af_failure *failure);

/** The body is complete: a file gets its name. AF_EFILE. */
af_status af__sink_finish(af__sink *sink, af_failure *failure);

#endif
