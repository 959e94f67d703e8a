/** The destination of a response body: memory, a file or the caller, behind one interface. */
#ifndef AF_BODY_SINK_H
#define AF_BODY_SINK_H

#include "base/buffer.h"
#include "body/download_file.h"
#include "body/hasher.h"

#include <afcore/task.h>

/** How much of an error body is kept in memory, instead of the file. */
#define AF__ERROR_BODY_LIMIT (1024u * 1024u)

/** Work in progress on the writer thread; see af__sink_do(). */
typedef struct af__sink_work af__sink_work;

typedef struct af__sink {
    af_sink_kind kind;
    unsigned flags;       /**< AF_SINK_… */
    bool may_resume;      /**< The request allows it. */
    bool is_resumable;    /**< It does, and the flags ask for it. */
    bool is_error_body;   /**< FILE: the status isn't a success; the body goes to memory. */
    bool is_complete;     /**< FILE: the file was complete already; the body is discarded. */
    bool can_wait;        /**< A full sink delays no other exchange. */
    bool is_invalid;      /**< FILE: the bytes written are unusable. */
    bool is_broken;       /**< FILE: a write failed, so nothing may follow. */
    uint64_t asked_limit; /**< 0: the kind's default. */
    uint64_t limit;       /**< Of the decoded body, including bytes found. */
    uint64_t written;     /**< Bytes consumed. */
    af__buffer memory;

    /* FILE. */
    af__file file;
    af__resume_token *given; /**< NULL: none. */
    af_resumption resumption;
    int64_t offset;     /**< Bytes found in the file. */
    int64_t end;        /**< The file's size after the body, or AF_LENGTH_UNKNOWN. */
    int64_t total;      /**< The size of the whole, or AF_LENGTH_UNKNOWN. */
    const char *reason; /**< Why it was restarted or can't be resumed. */
    af__digest digest;
    af__hasher hasher;
    af__sink_work *work; /**< NULL: the file is small, and written directly. */
} af__sink;

/** The settings of the request. */
typedef struct af__sink_config {
    const af_sink *options;
    uint64_t limit;     /**< 0: the kind's default. */
    bool may_resume;    /**< The request's response can be resumed. */
    bool is_named_late; /**< The path may be set after the response head. */
} af__sink_config;

/** The properties of the response. */
typedef struct af__sink_start {
    const af_head *head;
    const af__framing *framing;
    af_slice url;                    /**< The URL of the first request. */
    int64_t length;                  /**< As announced, or AF_LENGTH_UNKNOWN. */
    bool is_encoded;                 /**< It will be decoded, so `length` doesn't apply. */
    bool asks_for_range;             /**< The caller set a Range field. */
    bool can_wait;                   /**< A paused body delays no other exchange. */
    const af__resume_answer *answer; /**< NULL: no range was requested. */
} af__sink_start;

/** Zeroes a sink, except for the members where another value means "none". */
void af__sink_zero(af__sink *sink);

/** Initialises a sink. AF_EINVAL, AF_ENOMEM. */
af_status af__sink_init(af__sink *sink, const af__sink_config *config, af_failure *failure);

/** Frees everything. Removes a file that was neither finished nor kept. */
void af__sink_clear(af__sink *sink);

/**
 * Looks for the file of an earlier task. If it can be resumed, `file.token` exists. AF_EFILE,
 * AF_ENOMEM.
 */
af_status af__sink_find_partial(af__sink *sink, af_slice url, af_failure *failure);

/**
 * Changes the sink to a file at `path` with these AF_SINK_… flags, whatever its kind. Call it
 * before af__sink_open(). AF_EINVAL, AF_ENOMEM.
 */
af_status af__sink_set_path(af__sink *sink, const char *path, unsigned flags, af_failure *failure);

/**
 * Prepares for a body. Opens the file if the status is 2xx. AF_ETOOBIG if the announced length
 * exceeds the limit, AF_EFILE, AF_EINVAL, AF_EPROTOCOL, AF_ENOMEM.
 */
af_status af__sink_open(af__sink *sink, const af__sink_start *start, af_failure *failure);

/** Writes bytes to MEMORY and FILE. AF_ETOOBIG, AF_EFILE, AF_EPROTOCOL, AF_ENOMEM. */
af_status af__sink_write(af__sink *sink, af_slice bytes, af_failure *failure);

/** Checks whether this many more bytes are within the limit. AF_ETOOBIG. */
af_status af__sink_admit(af__sink *sink, size_t size, af_failure *failure);

/**
 * Ends the body: it is complete, or the task has failed with `verdict`. A complete file is checked
 * and renamed; a resumable one is kept, if requested. AF_EFILE, AF_ETRUNCATED, AF_EPROTOCOL;
 * `verdict` otherwise. Does nothing if the writer has ended it.
 */
af_status af__sink_end(af__sink *sink, af_status verdict, af_failure *failure);

/*
 * Slow work is done on the writer thread instead of the loop's. After starting some, run
 * af__sink_do() there, then call af__sink_return() on the loop. Until then, only the functions
 * below may be called, and af__sink_write() unless the sink is being ended.
 */

/** Returns whether the sink accepts no more bytes until the writer returns. */
bool af__sink_is_full(const af__sink *sink);

/** Returns whether a block is ready for the writer, and none is in flight. */
bool af__sink_has_block(const af__sink *sink);
void af__sink_begin_block(af__sink *sink);

/**
 * Starts af__sink_end() on the writer; nothing may be in flight. false: call af__sink_end() itself,
 * which is fast.
 */
bool af__sink_begin_end(af__sink *sink, af_status verdict);

bool af__sink_is_under_way(const af__sink *sink);
bool af__sink_is_ending(const af__sink *sink);

/** Cancels the end with `status`, unless it is too late. */
void af__sink_stop(af__sink *sink, af_status status);

/** Runs on the writer. true: call it again, after other work. */
bool af__sink_do(af__sink *sink);

/**
 * Takes the work back from the writer. Returns the result as af__sink_write() and af__sink_end()
 * do.
 */
af_status af__sink_return(af__sink *sink, af_failure *failure);

/** Returns the token of the kept file, NUL-terminated; NULL if none is kept, or out of memory. */
char *af__sink_copy_token(const af__sink *sink);

#endif
