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

/** Where the bytes of the body go, decided when the sink is opened. */
typedef enum afc__sink_target {
    AFC__SINK_TO_KIND, /**< Where `kind` says. */
    AFC__SINK_TO_MEMORY, /**< FILE: the status isn't a success; the rest of a long body is discarded. */
    AFC__SINK_TO_NOTHING /**< FILE: the file was complete already. */
} afc__sink_target;

typedef struct afc__sink {
    afc_sink_kind kind;
    unsigned flags;  /**< AFC_FILE_… */
    bool may_resume; /**< The request allows it; see afc__sink_is_resumable(). */
    bool can_wait;   /**< A full sink delays no other exchange. */
    /* FILE and FD. Two flags, as the writer may find one while the loop finds the other. */
    bool is_invalid;     /**< The bytes written are unusable. */
    bool is_broken;      /**< A write failed, so nothing may follow. */
    bool expects_digest; /**< FILE: `digest` is the caller's. */
    afc__sink_target target : 8;
    uint64_t asked_limit; /**< 0: the kind's default. */
    uint64_t limit;       /**< Maximum size of the decoded body, including bytes found. */
    uint64_t written;     /**< Bytes consumed, and those of an error body that were discarded. */
    afc__buffer memory;

    /* FILE. */
    afc__file file;
    afc__resume_token *given; /**< NULL: none. */
    int64_t offset;           /**< Bytes found in the file. */
    int64_t end;              /**< The file's size after the body, or AFC_LENGTH_UNKNOWN. */
    int64_t total;            /**< The size of the whole, or AFC_LENGTH_UNKNOWN. */
    const char *reason;       /**< Why it was restarted or can't be resumed. */
    afc_resumption resumption;
    /** What the file is checked against: by the caller, else by the response. */
    afc__digest digest;
    afc__hasher hasher;
    afc__sink_work *work; /**< NULL: the file is small, and written directly. */

    /* FD. A file is written like that of FILE; for others see afc__sink_is_polled(). */
    afc__output output;
} afc__sink;

/** The settings of the request. */
typedef struct afc__sink_config {
    const afc_sink *options;
    uint64_t limit;        /**< 0: the kind's default. */
    uint64_t memory_limit; /**< The default of MEMORY; 0: 64 MiB. */
    bool may_resume;       /**< The request's response can be resumed. */
    bool is_named_late;    /**< The path may be set after the response head. */
} afc__sink_config;

/** The properties of the response. */
typedef struct afc__sink_start {
    const afc_head *head;
    const afc__framing *framing;
    afc_slice url;                        /**< The URL of the first request. */
    int64_t length;                       /**< As announced, or AFC_LENGTH_UNKNOWN. */
    bool is_encoded;                      /**< It will be decoded, so `length` doesn't apply. */
    bool asks_for_range;                  /**< The caller set a Range field. */
    bool is_head;                         /**< The method is HEAD: there is nothing to save. */
    bool can_wait;                        /**< A paused body delays no other exchange. */
    const afc__resume_decision *decision; /**< NULL: no range was requested. */
} afc__sink_start;

/** Returns whether the file can be resumed later: the request allows it, and the flags ask for it. */
static inline bool afc__sink_is_resumable(const afc__sink *sink) {
    return sink->may_resume && (sink->flags & AFC_FILE_KEEP_PARTIAL) != 0;
}

/** Zeroes a sink, except for the members where another value means "none". */
void afc__sink_zero(afc__sink *sink);

/** Initialises a sink. AFC_EINVAL, AFC_ENOMEM. */
afc_status afc__sink_init(afc__sink *sink, const afc__sink_config *config, afc_failure *failure);

/** Frees everything. Removes a file that was neither finished nor kept. */
void afc__sink_clear(afc__sink *sink);

/**
 * Looks for the file of an earlier task. If it can be resumed, `file.token` exists. AFC_EFILE,
 * AFC_ENOMEM.
 */
afc_status afc__sink_find_partial(afc__sink *sink, afc_slice url, afc_failure *failure);

/**
 * Changes the sink to a file at `path` with these AFC_FILE_… flags, whatever its kind. Call it
 * before afc__sink_open(). AFC_EINVAL, AFC_ENOMEM.
 */
afc_status afc__sink_set_path(afc__sink *sink, const char *path, unsigned flags,
                              afc_failure *failure);

/**
 * With AFC_FILE_NO_REPLACE, for a name that the response may have chosen: fails if PATH.part exists, unless it is
 * of an earlier task for `url`. AFC_EFILE, AFC_ENOMEM.
 */
afc_status afc__sink_spare_partial(afc__sink *sink, afc_slice url, afc_failure *failure);

/**
 * Changes the sink to a descriptor, which is duplicated, whatever its kind. Call it before afc__sink_open().
 * AFC_EINVAL,
 * AFC_EFILE: nothing is changed.
 */
afc_status afc__sink_set_descriptor(afc__sink *sink, int descriptor);

/**
 * Prepares for a body. Opens the file if the status is 2xx. AFC_ETOOBIG if the announced length
 * exceeds the limit, AFC_EFILE, AFC_EINVAL, AFC_EPROTOCOL, AFC_ENOMEM.
 */
afc_status afc__sink_open(afc__sink *sink, const afc__sink_start *start, afc_failure *failure);

/** Writes bytes to MEMORY, FILE and FD. AFC_ETOOBIG, AFC_EFILE, AFC_EPROTOCOL, AFC_ENOMEM. */
afc_status afc__sink_write(afc__sink *sink, afc_slice bytes, afc_failure *failure);

/** Returns the size of the body that was kept: in the file, or in memory. */
static inline uint64_t afc__sink_body_size(const afc__sink *sink) {
    return sink->target == AFC__SINK_TO_KIND ? sink->written : sink->memory.size;
}

/** Checks whether this many more bytes are within the limit. AFC_ETOOBIG. */
afc_status afc__sink_admit(afc__sink *sink, size_t size, afc_failure *failure);

/** Returns the token of the kept file, NUL-terminated; NULL if none is kept, or out of memory. */
char *afc__sink_copy_token(const afc__sink *sink);

#endif
