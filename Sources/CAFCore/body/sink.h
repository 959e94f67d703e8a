/**
 * Where the bytes of a response body go to: memory, a file or the caller, behind one face.
 */
#ifndef AF_BODY_SINK_H
#define AF_BODY_SINK_H

#include "base/buffer.h"
#include "body/download_file.h"
#include "body/hasher.h"

#include <afcore/task.h>

/** How much of an error's body is kept beside a file that it must not go to. */
#define AF__ERROR_BODY_LIMIT (1024u * 1024u)

/** What is under way on the writer; see af__sink_do(). */
typedef struct af__sink_work af__sink_work;

typedef struct af__sink {
    af_sink_kind kind;
    unsigned flags;       /**< AF_SINK_… */
    bool may_resume;      /**< The request allows it. */
    bool is_resumable;    /**< And the flags ask for it. */
    bool is_error_body;   /**< FILE: this answer is no success; its body goes to memory. */
    bool is_complete;     /**< FILE: everything was there; the body goes nowhere. */
    bool can_wait;        /**< Nobody else waits while the sink is full. */
    bool is_invalid;      /**< FILE: what was written is worth nothing. */
    bool is_broken;       /**< FILE: a write failed, so nothing may follow. */
    uint64_t asked_limit; /**< 0: the kind's default. */
    uint64_t limit;       /**< Of the decoded body, what was there before included. */
    uint64_t written;     /**< Bytes taken. */
    af__buffer memory;

    /* FILE. */
    af__file file;
    af__resume_token *given; /**< NULL: none. */
    af_resumption resumption;
    int64_t offset;     /**< Bytes that were there before. */
    int64_t end;        /**< Bytes in the file after the body, or AF_LENGTH_UNKNOWN. */
    int64_t total;      /**< Of the whole, or AF_LENGTH_UNKNOWN. */
    const char *reason; /**< Why it was restarted or can't be resumed. */
    af__digest digest;
    af__hasher hasher;
    af__sink_work *work; /**< NULL: the file is small, and written in place. */
} af__sink;

/** What a sink has to know of the request. */
typedef struct af__sink_config {
    const af_sink *options;
    uint64_t limit;     /**< 0: the kind's default. */
    bool may_resume;    /**< The request is one whose answer can be continued. */
    bool is_named_late; /**< A path may come with the answer. */
} af__sink_config;

/** What a sink has to know of the answer. */
typedef struct af__sink_start {
    const af_head *head;
    const af__framing *framing;
    af_slice url;                    /**< That was asked for first. */
    int64_t length;                  /**< As announced, or AF_LENGTH_UNKNOWN. */
    bool is_encoded;                 /**< And will be decoded: `length` says nothing of it. */
    bool asks_for_range;             /**< The request has a Range field of its own. */
    bool can_wait;                   /**< Nobody else waits while its bytes aren't taken. */
    const af__resume_answer *answer; /**< NULL: no range was asked for. */
} af__sink_start;

/** Zeroed but for what means "none". */
void af__sink_zero(af__sink *sink);

/** AF_EINVAL, AF_ENOMEM. */
af_status af__sink_init(af__sink *sink, const af__sink_config *config, af_failure *failure);

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

/** May so many bytes follow? AF_ETOOBIG. */
af_status af__sink_admit(af__sink *sink, size_t size, af_failure *failure);

/**
 * The body is complete, or the task has failed with `verdict`: a file is checked and gets its name, or
 * what can be gone on with is kept, if that was asked for. AF_EFILE, AF_ETRUNCATED, AF_EPROTOCOL;
 * `verdict` otherwise. Does nothing if the writer has ended it.
 */
af_status af__sink_end(af__sink *sink, af_status verdict, af_failure *failure);

/*
 * Work that may take long, for another thread than the loop's: the writer. Whoever begins some lets
 * af__sink_do() run there, and tells af__sink_return() afterwards. Until then only what is here may
 * be called, and af__sink_write() but at the end.
 */

/** Nothing more can be taken until the writer comes back. */
bool af__sink_is_full(const af__sink *sink);

/** There is a block to be written, and none under way. */
bool af__sink_has_block(const af__sink *sink);
void af__sink_begin_block(af__sink *sink);

/** Nothing is under way: what af__sink_end() does. false: af__sink_end() itself takes no time. */
bool af__sink_begin_end(af__sink *sink, af_status verdict);

bool af__sink_is_under_way(const af__sink *sink);
bool af__sink_is_ending(const af__sink *sink);

/** At the end: give up with `status`, unless it is too late for that. */
void af__sink_stop(af__sink *sink, af_status status);

/** On the writer. true: once more, when others had their turn. */
bool af__sink_do(af__sink *sink);

/** It has come back. What became of it, as af__sink_write() and af__sink_end(). */
af_status af__sink_return(af__sink *sink, af_failure *failure);

/** The token of what is kept, ending in NUL; NULL if nothing is, or without memory for it. */
char *af__sink_copy_token(const af__sink *sink);

#endif
