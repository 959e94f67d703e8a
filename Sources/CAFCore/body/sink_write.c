/*
 * Writes a file, from its first byte to its final name. A small file is written directly. If
 * writing may be slow, the writer thread owns the file, a block at a time: bytes are gathered in
 * `memory` while the previous block is written, and the two buffers are then swapped.
 */
#include "base/alloc.h"
#include "base/failure.h"
#include "body/sink_internal.h"

#include <errno.h>
#include <stdatomic.h>

enum {
    /* Copying a block of this size would cost more than writing it directly. */
    LARGE_BLOCK = 8 * 1024,
    HASH_BLOCK = 16 * 1024,
    /*
     * Larger files are left to the writer; for smaller ones the thread switch would cost more than
     * writing.
     */
    IN_PLACE = 256 * 1024,
    /* What is gathered while it is busy until no more is taken, */
    FULL_BLOCK = 512 * 1024,
    /* and with the longest piece that may still come then. */
    LONGEST_BLOCK = 1024 * 1024,
    /* Between two pieces of this size the writer looks after other files: some milliseconds. */
    SETTLE_SIZE = 4 * 1024 * 1024
};

struct af__sink_work {
    /** The writer owns the file and `inflight`, and at the end the whole sink. */
    bool is_under_way;
    bool is_end;         /**< It is the last one, */
    bool has_ended;      /**< and has come back. */
    af_status verdict;   /**< What the task has come to, at the end. */
    atomic_int stop;     /**< AF_OK, or give up the end with that status. */
    af__buffer inflight; /**< The block that is being written. */
    af_failure failure;
};

/* ---- Digests ------------------------------------------------------------------------------- */

/** Hashes bytes by reading them back: those found in the file, or not hashed when written. */
static af_status hash_existing(af__sink *sink, int64_t size, af_failure *failure) {
    char block[HASH_BLOCK];
    int64_t limit = sink->hasher.position + size;
    if (limit > sink->file.size) limit = sink->file.size;
    while (sink->hasher.position < limit) {
        int64_t rest = limit - sink->hasher.position;
        size_t wanted = rest < HASH_BLOCK ? (size_t)rest : HASH_BLOCK;
        ssize_t count = af__file_read(&sink->file, block, wanted, sink->hasher.position);
        if (count <= 0) return af__file_failed(&sink->file, count < 0 ? errno : EIO, failure);
        af__hasher_take(&sink->hasher, block, (size_t)count);
    }
    return AF_OK;
}

/** `bytes` were just written. What comes before them is taken twice as fast as new ones come. */
static af_status note_written(af__sink *sink, const char *bytes, size_t size, af_failure *failure) {
    if (!af__hasher_is_active(&sink->hasher)) return AF_OK;
    if (sink->hasher.position == sink->file.size - (int64_t)size) {
        af__hasher_take(&sink->hasher, bytes, size);
        return AF_OK;
    }
    return hash_existing(sink, (int64_t)size * 2 + HASH_BLOCK, failure);
}

static bool is_behind(const af__sink *sink) {
    return af__hasher_is_active(&sink->hasher) && sink->hasher.position < sink->file.size;
}

/* ---- Writing ------------------------------------------------------------------------------- */

/** After a failure nothing more is written: it would be at the wrong position. */
static af_status write_out(af__sink *sink, af__buffer *block, af_failure *failure) {
    af_status status = AF_OK;
    if (block->size > 0 && !sink->is_broken) {
        status = af__file_write(&sink->file, block->bytes, block->size, failure);
        sink->is_broken = status != AF_OK;
        if (status == AF_OK) status = note_written(sink, block->bytes, block->size, failure);
    }
    block->size = 0;
    return status;
}

static af_status gather(af__sink *sink, af_slice bytes, af_failure *failure) {
    if (af__buffer_append(&sink->memory, bytes.bytes, bytes.size) == AF_OK) return AF_OK;
    return af__fail_memory(failure);
}

static af_status write_in_place(af__sink *sink, af_slice bytes, af_failure *failure) {
    bool is_large = bytes.size >= LARGE_BLOCK;
    if (is_large || sink->memory.size + bytes.size > AF__SINK_STAGE) {
        af_status status = write_out(sink, &sink->memory, failure);
        if (status != AF_OK) return status;
    }
    if (!is_large) return gather(sink, bytes, failure);
    af__buffer block = {.bytes = (char *)(uintptr_t)bytes.bytes, .size = bytes.size};
    return write_out(sink, &block, failure);
}

af_status af__sink_write_file(af__sink *sink, af_slice bytes, af_failure *failure) {
    uint64_t taken = (uint64_t)sink->offset + sink->written;
    if (sink->end != AF_LENGTH_UNKNOWN && bytes.size > (uint64_t)sink->end - taken) {
        sink->is_invalid = true;
        return af__fail(failure, AF_EPROTOCOL, "the body is longer than its Content-Length");
    }
    af_status status = AF_OK;
    if (sink->work == NULL)
        status = af__sink_attach_writer(sink, sink->written + bytes.size, failure);
    if (status != AF_OK) return status;
    return sink->work != NULL ? gather(sink, bytes, failure) : write_in_place(sink, bytes, failure);
}

/* ---- Ending -------------------------------------------------------------------------------- */

static bool has_body_in_file(const af__sink *sink) {
    return sink->kind == AF_SINK_FILE && sink->file.descriptor >= 0 && !sink->is_error_body;
}

static af_status check_length(const af__sink *sink, af_failure *failure) {
    if (sink->total == AF_LENGTH_UNKNOWN || sink->file.size == sink->total) return AF_OK;
    return af__fail(failure, AF_ETRUNCATED, "received only %lld of %lld bytes",
                    (long long)sink->file.size, (long long)sink->total);
}

static af_status check_digest(af__sink *sink, af_failure *failure) {
    if (!af__hasher_is_active(&sink->hasher)) return AF_OK;
    if (af__hasher_matches(&sink->hasher, &sink->digest)) return AF_OK;
    sink->is_invalid = true;
    return af__fail(failure, AF_EPROTOCOL, "the file doesn't match its %s digest",
                    af__digest_name(sink->digest.kind));
}

/** Does one piece of the work that completes a body; `*goes_on` if there are more. */
static af_status finish(af__sink *sink, bool *goes_on, af_failure *failure) {
    *goes_on = false;
    if (!has_body_in_file(sink)) return AF_OK;
    af_status status = write_out(sink, &sink->memory, failure);
    if (status == AF_OK) status = check_length(sink, failure);
    if (status == AF_OK && is_behind(sink)) {
        status = hash_existing(sink, SETTLE_SIZE, failure);
        *goes_on = status == AF_OK && is_behind(sink);
    }
    if (status != AF_OK || *goes_on) return status;
    status = check_digest(sink, failure);
    return status == AF_OK ? af__file_finish(&sink->file, failure) : status;
}

/** Keeps a file that can be resumed, if requested. */
static void abandon(af__sink *sink, af_status status) {
    if (sink->kind != AF_SINK_FILE || sink->file.descriptor < 0) return;
    sink->file.token.received = sink->file.size;
    if (!sink->file.is_touched) return;
    bool keeps = (sink->flags & AF_SINK_KEEP_PARTIAL) != 0 && status != AF_ETOOBIG &&
                 !sink->is_invalid;
    if (!keeps) {
        af__file_discard(&sink->file);
        return;
    }
    /* On a full disk, keeps the bytes that fit. */
    (void)write_out(sink, &sink->memory, NULL);
    (void)af__file_keep(&sink->file);
}

af_status af__sink_end(af__sink *sink, af_status verdict, af_failure *failure) {
    if (sink->work != NULL && sink->work->has_ended) return AF_OK;
    af_status status = verdict;
    for (bool goes_on = true; goes_on && status == AF_OK;) {
        status = finish(sink, &goes_on, failure);
        if (status == AF_OK && !goes_on) return AF_OK;
    }
    abandon(sink, status);
    return status;
}

/* ---- Handing over -------------------------------------------------------------------------- */

static bool may_take_long(const af__sink *sink, uint64_t expected) {
    bool must_hash_existing = af__hasher_is_active(&sink->hasher) && sink->offset > 0;
    return expected > IN_PLACE || must_hash_existing || sink->file.is_device ||
           (sink->flags & AF_SINK_SYNC) != 0;
}

af_status af__sink_attach_writer(af__sink *sink, uint64_t expected, af_failure *failure) {
    if (!has_body_in_file(sink) || !may_take_long(sink, expected)) return AF_OK;
    if (!sink->can_wait) return AF_OK;
    sink->work = af__zalloc(sizeof *sink->work);
    if (sink->work == NULL) return af__fail_memory(failure);
    atomic_init(&sink->work->stop, AF_OK);
    sink->memory.limit = LONGEST_BLOCK;
    af__buffer_init(&sink->work->inflight, LONGEST_BLOCK);
    return AF_OK;
}

void af__sink_detach_writer(af__sink *sink) {
    if (sink->work == NULL) return;
    af__buffer_clear(&sink->work->inflight);
    af_free(sink->work);
    sink->work = NULL;
}

bool af__sink_is_full(const af__sink *sink) {
    const af__sink_work *work = sink->work;
    return work != NULL && work->is_under_way && sink->memory.size >= FULL_BLOCK;
}

bool af__sink_has_block(const af__sink *sink) {
    const af__sink_work *work = sink->work;
    return work != NULL && !work->is_under_way && sink->memory.size >= AF__SINK_STAGE;
}

void af__sink_begin_block(af__sink *sink) {
    af__sink_work *work = sink->work;
    af__buffer empty = work->inflight;
    work->inflight = sink->memory;
    sink->memory = empty;
    work->is_under_way = true;
}

bool af__sink_begin_end(af__sink *sink, af_status verdict) {
    af__sink_work *work = sink->work;
    if (work == NULL || work->has_ended) return false;
    work->verdict = verdict;
    work->is_end = work->is_under_way = true;
    return true;
}

bool af__sink_is_under_way(const af__sink *sink) {
    return sink->work != NULL && sink->work->is_under_way;
}

bool af__sink_is_ending(const af__sink *sink) {
    return sink->work != NULL && sink->work->is_end;
}

void af__sink_stop(af__sink *sink, af_status status) {
    atomic_store(&sink->work->stop, (int)status);
}

bool af__sink_do(af__sink *sink) {
    af__sink_work *work = sink->work;
    if (!work->is_end) {
        (void)write_out(sink, &work->inflight, &work->failure);
        return false;
    }
    af_status status = work->verdict;
    bool goes_on = false;
    if (status == AF_OK) status = (af_status)atomic_load(&work->stop);
    if (status != AF_OK) {
        af__fail(&work->failure, status, "%s", af_status_text(status));
    } else {
        status = finish(sink, &goes_on, &work->failure);
    }
    if (status != AF_OK) abandon(sink, status);
    return goes_on;
}

af_status af__sink_return(af__sink *sink, af_failure *failure) {
    af__sink_work *work = sink->work;
    work->is_under_way = false;
    work->has_ended = work->is_end;
    *failure = work->failure;
    return failure->status;
}
