/** The source of a request body: memory, a file, a reader or a form, behind one interface. */
#ifndef AFC_BODY_SOURCE_H
#define AFC_BODY_SOURCE_H

#include <afcore/multipart.h>
#include <afcore/request.h>

/** Lends bytes of a reader that the caller may send from where they are, which saves a copy of long ones. */
typedef struct afc__lender {
    /** Returns the next bytes, valid until `took`. None: they are read as usual, if there are any. */
    afc_slice (*lend)(void *context);
    /** Takes back what was lent; this many bytes of it were sent. */
    void (*took)(void *context, size_t count);
} afc__lender;

/** How far a source was used since its last rewind. */
typedef enum afc__source_use {
    AFC__SOURCE_UNTOUCHED,
    AFC__SOURCE_ASKED, /**< It had nothing yet, so that nothing of it is missing. */
    AFC__SOURCE_READ   /**< It gave bytes, ended or failed. */
} afc__source_use;

typedef struct afc__source {
    afc_body body; /**< BYTES: `bytes` are ours or borrowed; FILE: `path` is ours. */
    union {
        void *owned;               /**< Our copy of bytes or path, or */
        const afc__lender *lender; /**< READER: with its context; NULL: it only copies. */
    };
    int64_t length;   /**< AFC_LENGTH_UNKNOWN with a reader or file that does not know. */
    int64_t position; /**< Bytes read since the last rewind. */
    int descriptor;   /**< FILE, once open; FD: ours. */
    uint8_t use;      /**< afc__source_use */
    bool is_waiting;  /**< No bytes were available; resumed by afc_task_wake(). */
    int64_t ready_us; /**< Waiting: when to ask again without a wake, afc__now_us(); 0: never. */
} afc__source;

/** Releases what `body` borrows, for a request that is refused before it has a source. */
void afc__body_release(const afc_body *body);

/**
 * Initialises a source. Takes ownership of what `body` borrows, even on failure. AFC_EINVAL (unknown
 * kind, no path, no read function, no form, a negative length, a descriptor without a length, a body without its
 * kind), AFC_ENOMEM.
 */
afc_status afc__source_init(afc__source *source, const afc_body *body, afc_failure *failure);
void afc__source_clear(afc__source *source);

/**
 * Determines the length before the first byte is sent: opens a file, and asks a reader whose length is 0 whether it has
 * bytes. AFC_EFILE, AFC_ESOURCE.
 */
afc_status afc__source_open(afc__source *source, afc_failure *failure);

/** Returns whether there is a body. An empty one counts. */
bool afc__source_exists(const afc__source *source);

/** Returns all bytes, if they are in memory; NULL otherwise. */
const afc_slice *afc__source_in_memory(const afc__source *source);

/**
 * Reads up to `size` bytes. Returns their number, or AFC_READ_…. A source that is shorter
 * than its length fails, and so does a reader that is longer, with the reason in `failure`.
 */
ptrdiff_t afc__source_read(afc__source *source, void *buffer, size_t size, afc_failure *failure);

/**
 * Returns bytes that needn't be copied; none if there are none, or if they must be read. afc__source_took() follows.
 */
afc_slice afc__source_lend(const afc__source *source);
void afc__source_took(afc__source *source, size_t count);

/** Returns whether the body can be replayed. */
bool afc__source_can_rewind(const afc__source *source);

/** Rewinds to the first byte: AFC_OK, AFC_EREPLAY, AFC_EFILE. */
afc_status afc__source_rewind(afc__source *source, afc_failure *failure);

#endif
