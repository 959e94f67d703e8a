/** The destination of a response body: memory, a file, a descriptor or the caller, behind one interface. */
#ifndef AFC_BODY_SINK_H
#define AFC_BODY_SINK_H

#include "base/buffer.h"
#include "body/descriptor.h"
#include "body/download_file.h"
#include "body/hasher.h"

#include <afcore/task.h>

/** Work in progress on the writer thread; see afc__sink_do(). */
typedef struct afc__sink_work afc__sink_work;

/** The destination of the body's bytes, decided when the sink is opened. */
typedef enum afc__sink_target {
    AFC__SINK_TO_KIND, /**< As `kind` says. */
    /** With FILE: the status isn't a success. The rest of a long body is discarded. */
    AFC__SINK_TO_MEMORY,
    /** With FILE: the file was already complete. */
    AFC__SINK_TO_NOTHING
} afc__sink_target;

typedef struct afc__sink {
    afc_sink_kind kind;
    unsigned flags;  /**< AFC_FILE_… */
    bool may_resume; /**< The request allows it; see afc__sink_is_resumable(). */
    bool can_wait;   /**< A full sink doesn't delay another exchange. */
    /* FILE and FD. Two flags, as the writer thread may set one while the loop sets the other. */
    bool is_invalid;     /**< The bytes written are unusable. */
    bool is_broken;      /**< A write has failed, so nothing more may be written. */
    bool expects_digest; /**< FILE: `digest` was given by the caller. */
    afc__sink_target target : 8;
    uint64_t asked_limit; /**< The configured limit in bytes; 0 for the kind's default. */
    /** Maximum size of the decoded body in bytes, including bytes found in a partial file. */
    uint64_t limit;
    uint64_t written; /**< Bytes consumed, including those of an error body that were discarded. */
    afc__buffer memory;

    /* FILE. */
    afc__file file;
    afc__resume_token *given; /**< The token that the caller has given; NULL if none. */
    int64_t offset;           /**< Bytes found in the file. */
    int64_t end;              /**< The file's size after the body, or AFC_LENGTH_UNKNOWN. */
    int64_t total;            /**< The size of the whole, or AFC_LENGTH_UNKNOWN. */
    const char *reason;       /**< Why the download was restarted or can't be resumed. */
    afc_resumption resumption;
    /** The digest that the file is checked against: the caller's, else the response's. */
    afc__digest digest;
    afc__hasher hasher;
    afc__sink_work *work; /**< NULL if the file is small and written directly. */

    /* FD. A regular file is written like that of FILE; for others see afc__sink_is_polled(). */
    afc__output output;
} afc__sink;

/** The settings of the request. */
typedef struct afc__sink_config {
    const afc_sink *options;
    uint64_t limit;        /**< 0 for the kind's default. */
    uint64_t memory_limit; /**< The default for MEMORY; 0 for 64 MiB. */
    bool may_resume;       /**< The request's response can be resumed. */
    bool is_named_late;    /**< The path may be set after the response head. */
} afc__sink_config;

/** The properties of the response. */
typedef struct afc__sink_start {
    const afc_head *head;
    const afc__framing *framing;
    afc_slice url;  /**< The URL of the first request. */
    int64_t length; /**< Announced length of the body, or AFC_LENGTH_UNKNOWN. */
    /** The body will be decoded, so `length` isn't the number of bytes to store. */
    bool is_encoded;
    bool asks_for_range;                  /**< The caller set a Range field. */
    bool is_head;                         /**< The method is HEAD: there is nothing to save. */
    bool can_wait;                        /**< Pausing the body doesn't delay another exchange. */
    const afc__resume_decision *decision; /**< NULL if no range was requested to resume. */
} afc__sink_start;

/** Returns whether the file may be resumed later: the request allows it, and the flags ask for it. */
static inline bool afc__sink_is_resumable(const afc__sink *sink) {
    return sink->may_resume && (sink->flags & AFC_FILE_KEEP_PARTIAL) != 0;
}

/** Zeroes a sink, except for the members where another value means "none". */
void afc__sink_zero(afc__sink *sink);

/** Initialises a sink. Fails with AFC_EINVAL or AFC_ENOMEM. */
afc_status afc__sink_init(afc__sink *sink, const afc__sink_config *config, afc_failure *failure);

/** Frees everything. Removes a file that was neither finished nor kept. */
void afc__sink_clear(afc__sink *sink);

/**
 * Looks for the file of an earlier task. If it can be resumed, `file.token` exists afterwards. Fails with AFC_EFILE or
 * AFC_ENOMEM.
 */
afc_status afc__sink_find_partial(afc__sink *sink, afc_slice url, afc_failure *failure);

/**
 * Changes the sink to a file at `path` with these AFC_FILE_… flags, whatever its kind was. Call it before
 * afc__sink_open(). Fails with AFC_EINVAL or AFC_ENOMEM.
 */
afc_status afc__sink_set_path(afc__sink *sink, const char *path, unsigned flags,
                              afc_failure *failure);

/**
 * With AFC_FILE_NO_REPLACE, for a name that the response may have chosen: fails with AFC_EFILE if PATH.part exists and
 * isn't the file of an earlier task for `url`. Also fails with AFC_ENOMEM.
 */
afc_status afc__sink_check_partial(afc__sink *sink, afc_slice url, afc_failure *failure);

/**
 * Changes the sink to a descriptor, which is duplicated, whatever its kind was. Call it before afc__sink_open(). Fails
 * with AFC_EINVAL or AFC_EFILE; nothing is changed then.
 */
afc_status afc__sink_set_descriptor(afc__sink *sink, int descriptor);

/**
 * Prepares for a body, and opens the file if the status is 2xx. Fails with AFC_ETOOBIG if the announced length exceeds
 * the limit, AFC_EFILE, AFC_EINVAL, AFC_EPROTOCOL or AFC_ENOMEM.
 */
afc_status afc__sink_open(afc__sink *sink, const afc__sink_start *start, afc_failure *failure);

/** Writes bytes to MEMORY, FILE or FD. Fails with AFC_ETOOBIG, AFC_EFILE, AFC_EPROTOCOL or AFC_ENOMEM. */
afc_status afc__sink_write(afc__sink *sink, afc_slice bytes, afc_failure *failure);

/** Returns the size of the body that was kept: in the file, or in memory. */
static inline uint64_t afc__sink_body_size(const afc__sink *sink) {
    return sink->target == AFC__SINK_TO_KIND ? sink->written : sink->memory.size;
}

/** Fails with AFC_ETOOBIG if this many more bytes would exceed the limit. */
afc_status afc__sink_admit(afc__sink *sink, size_t size, afc_failure *failure);

/** Returns the token of the kept file, NUL-terminated; NULL if none is kept, or out of memory. */
char *afc__sink_copy_token(const afc__sink *sink);

#endif
