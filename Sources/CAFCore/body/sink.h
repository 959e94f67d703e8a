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
    unsigned flags;    /**< AFC_SINK_… */
    bool may_resume;   /**< The request allows it. */
    bool is_resumable; /**< It does, and the flags ask for it. */
    bool can_wait;     /**< A full sink delays no other exchange. */
    /* FILE and FD. Two flags, as the writer may find one while the loop finds the other. */
    bool is_invalid;     /**< The bytes written are unusable. */
    bool is_broken;      /**< A write failed, so nothing may follow. */
    bool expects_digest; /**< FILE: `digest` is the caller's. */
    afc__sink_target target : 8;
    uint64_t asked_limit; /**< 0: the kind's default. */
    uint64_t limit;       /**< Of the decoded body, including bytes found. */
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
    bool can_wait;                        /**< A paused body delays no other exchange. */
    const afc__resume_decision *decision; /**< NULL: no range was requested. */
} afc__sink_start;

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
 * Changes the sink to a file at `path` with these AFC_SINK_… flags, whatever its kind. Call it
 * before afc__sink_open(). AFC_EINVAL, AFC_ENOMEM.
 */
afc_status afc__sink_set_path(afc__sink *sink, const char *path, unsigned flags,
                              afc_failure *failure);

/**
 * Changes the sink to a descriptor, which is duplicated, whatever its kind. Call it before afc__sink_open(). AFC_EINVAL,
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

/**
 * Allows the next afc__sink_write() to be of this size, which may be larger than what is gathered otherwise. Call it
 * while the sink isn't full.
 */
void afc__sink_reserve(afc__sink *sink, size_t size);

/** Returns the size of the body that was kept: in the file, or in memory. */
static inline uint64_t afc__sink_body_size(const afc__sink *sink) {
    return sink->target == AFC__SINK_TO_KIND ? sink->written : sink->memory.size;
}

/** Checks whether this many more bytes are within the limit. AFC_ETOOBIG. */
afc_status afc__sink_admit(afc__sink *sink, size_t size, afc_failure *failure);

/**
 * Ends the body: it is complete, or the task has failed with `verdict`. A complete file is checked
 * and renamed; a resumable one is kept, if requested. AFC_EFILE, AFC_ETRUNCATED, AFC_EPROTOCOL;
 * `verdict` otherwise. Does nothing if the writer has ended it.
 */
afc_status afc__sink_end(afc__sink *sink, afc_status verdict, afc_failure *failure);

/**
 * Returns whether the work below is waiting for a descriptor to have room. Then the loop waits for it, and runs
 * afc__sink_do() when it is writable, instead of the writer thread.
 */
static inline bool afc__sink_is_polled(const afc__sink *sink) {
    return sink->kind == AFC_SINK_FD && afc__output_is_polled(&sink->output);
}

/** Returns whether a polled sink holds back what it has, for the end of the loop's turn: then call afc__sink_flush(). */
bool afc__sink_gathers(const afc__sink *sink);

/** Writes what a polled sink has gathered. What there is no room for is a block then. AFC_EFILE. */
afc_status afc__sink_flush(afc__sink *sink, afc_failure *failure);

/** The block under way can't be written, or the task has failed: nothing more is written. Polled sinks. */
void afc__sink_give_up(afc__sink *sink, const afc_failure *failure);

/*
 * Slow work is done on the writer thread instead of the loop's. After starting some, run
 * afc__sink_do() there, then call afc__sink_return() on the loop. Until then, only the functions
 * below may be called, and afc__sink_write() unless the sink is being ended.
 */

/** Returns whether the sink accepts no more bytes until the writer returns. */
bool afc__sink_is_full(const afc__sink *sink);

/** Returns whether a block is ready for the writer, and none is in flight. */
bool afc__sink_has_block(const afc__sink *sink);
void afc__sink_begin_block(afc__sink *sink);

/**
 * Starts afc__sink_end() on the writer; nothing may be in flight. false: call afc__sink_end() itself,
 * which is fast.
 */
bool afc__sink_begin_end(afc__sink *sink, afc_status verdict);

bool afc__sink_is_under_way(const afc__sink *sink);
bool afc__sink_is_ending(const afc__sink *sink);

/** Cancels the end with `status`, unless it is too late. */
void afc__sink_stop(afc__sink *sink, afc_status status);

/** Runs on the writer. true: call it again, after other work. */
bool afc__sink_do(afc__sink *sink);

/**
 * Takes the work back from the writer. Returns the result as afc__sink_write() and afc__sink_end()
 * do.
 */
afc_status afc__sink_return(afc__sink *sink, afc_failure *failure);

/** Returns the token of the kept file, NUL-terminated; NULL if none is kept, or out of memory. */
char *afc__sink_copy_token(const afc__sink *sink);

#endif
