/**
 * Where the bytes of a response body go to: memory, a file or the caller, behind one face.
 */
#ifndef AF_NET_SINK_H
#define AF_NET_SINK_H

#include "base/buffer.h"
#include "net/digest.h"
#include "net/sink_file.h"

#include <afcore/task.h>

/** How much of an error's body is kept beside a file that it must not go to. */
#define AF__ERROR_BODY_LIMIT (1024u * 1024u)

typedef struct af__sink {
    af_sink_kind kind;
    unsigned flags;       /**< AF_SINK_… */
    bool may_resume;      /**< The request allows it. */
    bool is_resumable;    /**< And the flags ask for it. */
    bool is_diverted;     /**< FILE: this answer is no success; its body goes to memory. */
    bool is_complete;     /**< FILE: everything was there; the body goes nowhere. */
    bool is_void;         /**< FILE: what was written is worth nothing. */
    uint64_t asked_limit; /**< 0: the kind's default. */
    uint64_t limit;       /**< Of the decoded body, what was there before included. */
    uint64_t written;     /**< Bytes taken. */
    af__buffer memory;

    /* FILE. */
    af__file file;
    af__resume_token given;
    af_resumption resumption;
    int64_t offset;     /**< Bytes that were there before. */
    int64_t end;        /**< Bytes in the file after the body, or AF_LENGTH_UNKNOWN. */
    int64_t total;      /**< Of the whole, or AF_LENGTH_UNKNOWN. */
    const char *reason; /**< Why it was restarted or can't be resumed. */
    af__digest digest;
    af__hasher hasher;
} af__sink;

/** What a sink has to know of the request. */
typedef struct af__sink_wish {
    const af_sink *options;
    uint64_t limit;     /**< 0: the kind's default. */
    bool may_resume;    /**< The request is one whose answer can be continued. */
    bool is_named_late; /**< A path may come with the answer. */
} af__sink_wish;

/** What a sink has to know of the answer. */
typedef struct af__sink_start {
    const af_head *head;
    const af__framing *framing;
    af_slice url;                    /**< That was asked for first. */
    int64_t length;                  /**< As announced, or AF_LENGTH_UNKNOWN. */
    bool is_encoded;                 /**< And will be decoded: `length` says nothing of it. */
    const af__resume_answer *answer; /**< NULL: no range was asked for. */
} af__sink_start;

/** Zeroed but for what means "none". */
void af__sink_zero(af__sink *sink);

/** AF_EINVAL, AF_ENOMEM. */
af_status af__sink_init(af__sink *sink, const af__sink_wish *wish, af_failure *failure);

/** Frees all and removes what was begun but neither finished nor kept. */
void af__sink_clear(af__sink *sink);

/**
 * Look for what an earlier task left. If there is something to go on with, `file.token` exists.
 * AF_EFILE, AF_ENOMEM.
 */
af_status af__sink_find_partial(af__sink *sink, af_slice url, af_failure *failure);

/**
 * Make it a file at `path`, with these AF_SINK_…, whatever it was. Before it is opened. AF_EINVAL,
 * AF_ENOMEM.
 */
af_status af__sink_set_path(af__sink *sink, const char *path, unsigned flags, af_failure *failure);

/**
 * Prepare for a body. Opens the file if the status is 2xx. AF_ETOOBIG if the announced length passes
 * the limit, AF_EFILE, AF_EINVAL, AF_EPROTOCOL, AF_ENOMEM.
 */
af_status af__sink_open(af__sink *sink, const af__sink_start *start, af_failure *failure);

/** MEMORY and FILE. AF_ETOOBIG, AF_EFILE, AF_EPROTOCOL, AF_ENOMEM. */
af_status af__sink_write(af__sink *sink, af_slice bytes, af_failure *failure);

/** EVENTS: count what the caller took. AF_ETOOBIG before it is given to him. */
af_status af__sink_admit(af__sink *sink, size_t size, af_failure *failure);

/** Is there work left that is done in pieces, before af__sink_finish()? */
bool af__sink_must_settle(const af__sink *sink);

/** One piece of it. AF_EFILE. */
af_status af__sink_settle(af__sink *sink, af_failure *failure);

/** The body is complete: a file is checked and gets its name. AF_EFILE, AF_ETRUNCATED, AF_EPROTOCOL. */
af_status af__sink_finish(af__sink *sink, af_failure *failure);

/** The task failed with `status`: keep what can be gone on with, if that was asked for. */
void af__sink_abandon(af__sink *sink, af_status status);

/** The token of what is kept, ending in NUL; NULL if nothing is, or without memory for it. */
char *af__sink_copy_token(const af__sink *sink);

#endif
