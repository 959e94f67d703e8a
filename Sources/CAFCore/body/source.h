/** The source of a request body: memory, a file, a reader or a form, behind one interface. */
#ifndef AFC_BODY_SOURCE_H
#define AFC_BODY_SOURCE_H

#include <afcore/multipart.h>
#include <afcore/request.h>

/**
 * Functions of a reader that lends its bytes: the caller sends them from where they are, which saves a copy of long
 * ones.
 */
typedef struct afc__lender {
    /** Returns the next bytes, which are valid until `took` is called. If it returns none, bytes are read as usual. */
    afc_slice (*lend)(void *context);
    /** Returns the bytes that were lent; `count` of them were sent. */
    void (*took)(void *context, size_t count);
} afc__lender;

/** How far a source was used since its last rewind. */
typedef enum afc__source_use {
    AFC__SOURCE_UNTOUCHED,
    AFC__SOURCE_ASKED, /**< It was read from, but had no bytes yet: nothing has to be read again. */
    AFC__SOURCE_READ   /**< It has returned bytes, ended or failed. */
} afc__source_use;

typedef struct afc__source {
    /** BYTES: `bytes` are the source's or borrowed. FILE: `path` is the source's. */
    afc_body body;
    union {
        void *owned; /**< The source's copy of bytes or path. */
        /** With READER, called with its context; NULL if the reader can't lend. */
        const afc__lender *lender;
    };
    int64_t length;   /**< AFC_LENGTH_UNKNOWN if a reader or file doesn't know its length. */
    int64_t position; /**< Bytes read since the last rewind. */
    int descriptor;   /**< FILE: the open file; FD: the source's duplicate; else -1. */
    uint8_t use;      /**< afc__source_use */
    bool is_waiting;  /**< The last read returned AFC_READ_AGAIN; afc_task_wake() resumes it. */
    /** While waiting: when to read again without a wake, in the clock of afc__now_us(); 0 if never. */
    int64_t ready_us;
} afc__source;

/** Releases what `body` borrows. For a request that is refused before it has a source. */
void afc__body_release(const afc_body *body);

/**
 * Initialises a source. Takes ownership of what `body` borrows, even on failure. Fails with AFC_EINVAL (unknown kind,
 * no path, no read function, no form, a negative length, a descriptor without a length, a body without its kind) or
 * AFC_ENOMEM.
 */
afc_status afc__source_init(afc__source *source, const afc_body *body, afc_failure *failure);
void afc__source_clear(afc__source *source);

/**
 * Determines the length before the first byte is sent: opens a file, and reads from a reader whose length is 0, to see
 * whether it has bytes. Fails with AFC_EFILE or AFC_ESOURCE.
 */
afc_status afc__source_open(afc__source *source, afc_failure *failure);

/** Returns whether there is a body. An empty one counts. */
bool afc__source_exists(const afc__source *source);

/** Returns all bytes, if they are in memory; NULL otherwise. */
const afc_slice *afc__source_in_memory(const afc__source *source);

/**
 * Reads up to `size` bytes. Returns their number, or AFC_READ_…. Fails, with the reason in `failure`, if a source is
 * shorter than its length, or a reader is longer.
 */
ptrdiff_t afc__source_read(afc__source *source, void *buffer, size_t size, afc_failure *failure);

/**
 * Returns bytes that needn't be copied. Empty if there are none, or if they must be read with afc__source_read(). Call
 * afc__source_took() afterwards.
 */
afc_slice afc__source_lend(const afc__source *source);
void afc__source_took(afc__source *source, size_t count);

/** Returns whether the body can be replayed. */
bool afc__source_can_rewind(const afc__source *source);

/** Rewinds to the first byte. Fails with AFC_EREPLAY or AFC_EFILE. */
afc_status afc__source_rewind(afc__source *source, afc_failure *failure);

#endif
