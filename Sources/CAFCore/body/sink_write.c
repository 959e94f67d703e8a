/*
 * Writes a file from its first byte until it has its final name. A small file is written directly. If writing may be
 * slow, the writer thread owns the file, a block at a time: bytes are gathered in `memory` while the previous block is
 * written, and the two buffers are then swapped.
 *
 * Bytes for a pipe or socket are gathered for at most one turn of the loop, because each write wakes the reader. Bytes
 * for which it has no room become a block, too, which the loop writes when there is room again; until then the sink is
 * full.
 */
#include "body/sink_write.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/text.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

enum {
    /* Copying a block of this size would cost more than writing it directly. */
    LARGE_BLOCK = 8 * 1024,
    HASH_BLOCK = 16 * 1024,
    /*
     * Larger files are written on the writer thread; for smaller ones switching threads would cost more than writing.
     */
    IN_PLACE = 256 * 1024,
    /* While the writer is busy, the sink is full from this size on. */
    FULL_BLOCK = 512 * 1024,
    /* Limit of the buffer: FULL_BLOCK and the longest piece that may still follow. */
    MAX_BLOCK = 1024 * 1024,
    /* Bytes that are hashed at once, which takes some milliseconds. In between, the writer does other work. */
    SETTLE_SIZE = 4 * 1024 * 1024
};

/**
 * The state of the work, changed on the loop: from IDLE by afc__sink_begin_block() and afc__sink_begin_end(), and back
 * or to ENDED by afc__sink_return().
 */
typedef enum work_phase {
    WORK_IDLE,
    WORK_BLOCK,  /**< The writer owns the file and `inflight`. IDLE follows. */
    WORK_ENDING, /**< The writer owns the whole sink. ENDED follows. */
    WORK_ENDED
} work_phase;

struct afc__sink_work {
    work_phase phase;
    afc_status verdict;   /**< The result of the task, for the end. */
    atomic_int stop;      /**< AFC_OK, or the status with which the end is cancelled. */
    bool is_blocked;      /**< Polled: the last write has left bytes in `memory`. */
    afc__buffer inflight; /**< The block that is being written. */
    /** Polled: bytes that are written of `inflight` or, at the end, of `memory`. */
    size_t written;
    afc_failure failure;
};

/* ---- Digests ------------------------------------------------------------------------------- */

/**
 * Hashes up to `size` bytes by reading them from the file: bytes that were found there, or weren't hashed when they
 * were written.
 */
static afc_status hash_existing(afc__sink *sink, int64_t size, afc_failure *failure) {
    char block[HASH_BLOCK];
    int64_t limit = sink->hasher.position + size;
    if (limit > sink->file.size) limit = sink->file.size;
    while (sink->hasher.position < limit) {
        int64_t rest = limit - sink->hasher.position;
        size_t wanted = rest < HASH_BLOCK ? (size_t)rest : HASH_BLOCK;
        ssize_t count = afc__file_read(&sink->file, block, wanted, sink->hasher.position);
        if (count <= 0) return afc__file_failed(&sink->file, count < 0 ? errno : EIO, failure);
        afc__hasher_take(&sink->hasher, block, (size_t)count);
    }
    return AFC_OK;
}

/**
 * Hashes `bytes`, which were just written. If earlier bytes aren't hashed yet, hashes twice as many of these instead,
 * so that hashing catches up.
 */
static afc_status note_written(afc__sink *sink, const char *bytes, size_t size,
                               afc_failure *failure) {
    if (!afc__hasher_is_active(&sink->hasher)) return AFC_OK;
    if (sink->hasher.position == sink->file.size - (int64_t)size) {
        afc__hasher_take(&sink->hasher, bytes, size);
        return AFC_OK;
    }
    return hash_existing(sink, (int64_t)size * 2 + HASH_BLOCK, failure);
}

static bool is_behind(const afc__sink *sink) {
    return afc__hasher_is_active(&sink->hasher) && sink->hasher.position < sink->file.size;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static afc_status write_block(afc__sink *sink, const afc__buffer *block, afc_failure *failure) {
    if (sink->kind == AFC_SINK_FILE) {
        return afc__file_write(&sink->file, block->bytes, block->size, failure);
    }
    bool is_written = afc__output_write(&sink->output, block->bytes, block->size, failure) >= 0;
    return is_written ? AFC_OK : AFC_EFILE;
}

/** Writes a block and empties it. After a failure nothing more is written, as it would be at the wrong position. */
static afc_status write_out(afc__sink *sink, afc__buffer *block, afc_failure *failure) {
    afc_status status = AFC_OK;
    if (block->size > 0 && !sink->is_broken) {
        status = write_block(sink, block, failure);
        sink->is_broken = status != AFC_OK;
        if (status == AFC_OK) status = note_written(sink, block->bytes, block->size, failure);
    }
    block->size = 0;
    return status;
}

static afc_status gather(afc__sink *sink, afc_slice bytes, afc_failure *failure) {
    if (afc__buffer_append(&sink->memory, bytes.bytes, bytes.size) == AFC_OK) return AFC_OK;
    return afc__fail_memory(failure);
}

void afc__sink_reserve(afc__sink *sink, size_t size) {
    uint64_t needed = (uint64_t)sink->memory.size + size;
    if (sink->work != NULL && sink->memory.limit < needed) sink->memory.limit = needed;
}

static afc_status write_in_place(afc__sink *sink, afc_slice bytes, afc_failure *failure) {
    bool is_large = bytes.size >= LARGE_BLOCK;
    if (is_large || sink->memory.size + bytes.size > AFC__SINK_STAGE) {
        afc_status status = write_out(sink, &sink->memory, failure);
        if (status != AFC_OK) return status;
    }
    if (!is_large) return gather(sink, bytes, failure);
    afc__buffer block = {.bytes = (char *)(uintptr_t)bytes.bytes, .size = bytes.size};
    return write_out(sink, &block, failure);
}

afc_status afc__sink_write_file(afc__sink *sink, afc_slice bytes, afc_failure *failure) {
    uint64_t taken = (uint64_t)sink->offset + sink->written;
    if (sink->end != AFC_LENGTH_UNKNOWN && bytes.size > (uint64_t)sink->end - taken) {
        sink->is_invalid = true;
        return afc__fail(failure, AFC_EPROTOCOL, "the body is longer than its Content-Length");
    }
    afc_status status = AFC_OK;
    if (sink->work == NULL)
        status = afc__sink_attach_writer(sink, sink->written + bytes.size, failure);
    if (status != AFC_OK) return status;
    return sink->work != NULL ? gather(sink, bytes, failure) : write_in_place(sink, bytes, failure);
}

/* ---- Ending -------------------------------------------------------------------------------- */

static bool has_body_in_file(const afc__sink *sink) {
    if (sink->kind == AFC_SINK_FD) return true;
    return sink->kind == AFC_SINK_FILE && sink->file.descriptor >= 0 &&
           sink->target != AFC__SINK_TO_MEMORY;
}

static afc_status check_length(const afc__sink *sink, afc_failure *failure) {
    if (sink->total == AFC_LENGTH_UNKNOWN || sink->file.size == sink->total) return AFC_OK;
    return afc__fail(failure, AFC_ETRUNCATED, "received only %lld of %lld bytes",
                     (long long)sink->file.size, (long long)sink->total);
}

/** Fails with the digest of the file. Up to 256 bits, the text has room for the expected one as well. */
static afc_status fail_digest(const afc__digest *expected, const afc__digest *found,
                              afc_failure *failure) {
    char has[2 * AFC__DIGEST_MAX + 1], wants[2 * AFC__DIGEST_MAX + 1];
    const char *name = afc__digest_name(found->kind);
    size_t size = afc__digest_size(found->kind);
    afc_status status;
    afc__hex_write(has, found->bytes, size);
    afc__hex_write(wants, expected->bytes, size);
    if (size <= 32) {
        status = afc__fail(failure, AFC_EPROTOCOL, "the file's %s digest is %s, expected %s", name,
                           has, wants);
    } else {
        status = afc__fail(failure, AFC_EPROTOCOL,
                           "the file's %s digest isn't the expected one: %s", name, has);
    }
    return afc__give_reason(failure, AFC_REASON_DIGEST, status);
}

static afc_status check_digest(afc__sink *sink, afc_failure *failure) {
    afc__digest found;
    if (!afc__hasher_is_active(&sink->hasher)) return AFC_OK;
    if (afc__hasher_matches(&sink->hasher, &sink->digest, &found)) return AFC_OK;
    sink->is_invalid = true;
    if (sink->expects_digest) return fail_digest(&sink->digest, &found, failure);
    return afc__give_reason(failure, AFC_REASON_DECLARED_DIGEST,
                            afc__fail(failure, AFC_EPROTOCOL,
                                      "the file doesn't match its %s digest",
                                      afc__digest_name(sink->digest.kind)));
}

static afc_status put_in_place(afc__sink *sink, bool *has_more, afc_failure *failure) {
    /* Without the writer, overwriting a large file would block the loop. */
    bool may_overwrite = sink->work != NULL || sink->file.size <= IN_PLACE;
    return afc__file_finish(&sink->file, may_overwrite, has_more, failure);
}

/** Does one piece of the work that completes a body. `*has_more` becomes true if there is more. */
static afc_status finish(afc__sink *sink, bool *has_more, afc_failure *failure) {
    *has_more = false;
    if (!has_body_in_file(sink)) return AFC_OK;
    if (afc__file_is_overwriting(&sink->file)) return put_in_place(sink, has_more, failure);
    afc_status status = write_out(sink, &sink->memory, failure);
    if (status == AFC_OK) status = check_length(sink, failure);
    if (status == AFC_OK && is_behind(sink)) {
        status = hash_existing(sink, SETTLE_SIZE, failure);
        *has_more = status == AFC_OK && is_behind(sink);
    }
    if (status != AFC_OK || *has_more) return status;
    status = check_digest(sink, failure);
    if (status != AFC_OK || sink->kind == AFC_SINK_FD) return status;
    return put_in_place(sink, has_more, failure);
}

/** Ends a body that has failed: keeps a file that can be resumed, if requested, and removes others. */
static void abandon(afc__sink *sink, afc_status status) {
    if (sink->kind == AFC_SINK_FD && !afc__sink_is_polled(sink)) {
        (void)write_out(sink, &sink->memory, NULL);
    }
    if (sink->kind != AFC_SINK_FILE || sink->file.descriptor < 0) return;
    sink->file.token.received = sink->file.size;
    if (!sink->file.is_touched) return;
    bool keeps = (sink->flags & AFC_FILE_KEEP_PARTIAL) != 0 && status != AFC_ETOOBIG &&
                 !sink->is_invalid;
    if (!keeps) {
        /* Gathered bytes count as received in the result, too. */
        sink->file.size += (int64_t)sink->memory.size;
        afc__file_discard(&sink->file);
        return;
    }
    /* On a full disk, keeps the bytes that fit. */
    (void)write_out(sink, &sink->memory, NULL);
    (void)afc__file_keep(&sink->file);
}

afc_status afc__sink_end(afc__sink *sink, afc_status verdict, afc_failure *failure) {
    if (sink->work != NULL && sink->work->phase == WORK_ENDED) return AFC_OK;
    afc_status status = verdict;
    for (bool has_more = true; has_more && status == AFC_OK;) {
        status = finish(sink, &has_more, failure);
        if (status == AFC_OK && !has_more) return AFC_OK;
    }
    abandon(sink, status);
    return status;
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

/** Writes the gathered bytes, and keeps those for which there is no room. */
static afc_status write_gathered(afc__sink *sink, afc_failure *failure) {
    afc__buffer *memory = &sink->memory;
    ptrdiff_t count = afc__output_write(&sink->output, memory->bytes, memory->size, failure);
    if (count < 0) return AFC_EFILE;
    memory->size -= (size_t)count;
    if (memory->size > 0) memmove(memory->bytes, memory->bytes + count, memory->size);
    sink->work->is_blocked = memory->size > 0;
    return AFC_OK;
}

afc_status afc__sink_write_polled(afc__sink *sink, afc_slice bytes, afc_failure *failure) {
    if (afc__sink_is_full(sink)) return gather(sink, bytes, failure);
    afc_status status = gather(sink, bytes, failure);
    if (status != AFC_OK || afc__sink_gathers(sink)) return status;
    return write_gathered(sink, failure);
}

bool afc__sink_gathers(const afc__sink *sink) {
    return afc__sink_is_polled(sink) && !afc__sink_is_full(sink) &&
           sink->memory.size < AFC__SINK_STAGE;
}

afc_status afc__sink_flush(afc__sink *sink, afc_failure *failure) {
    if (sink->memory.size == 0 || afc__sink_is_full(sink)) return AFC_OK;
    return write_gathered(sink, failure);
}

/* ---- The writer thread --------------------------------------------------------------------- */

static bool is_with_writer(const afc__sink_work *work) {
    return work->phase == WORK_BLOCK || work->phase == WORK_ENDING;
}

static bool may_take_long(const afc__sink *sink, uint64_t expected) {
    bool must_hash_existing = afc__hasher_is_active(&sink->hasher) && sink->offset > 0;
    return expected > IN_PLACE || must_hash_existing || sink->file.is_device ||
           (sink->flags & AFC_FILE_SYNC) != 0;
}

afc_status afc__sink_attach_writer(afc__sink *sink, uint64_t expected, afc_failure *failure) {
    bool is_polled = afc__sink_is_polled(sink);
    if (!has_body_in_file(sink) || !(is_polled || may_take_long(sink, expected))) return AFC_OK;
    if (!is_polled && !sink->can_wait) return AFC_OK;
    sink->work = afc__zalloc(sizeof *sink->work);
    if (sink->work == NULL) return afc__fail_memory(failure);
    atomic_init(&sink->work->stop, AFC_OK);
    sink->memory.limit = MAX_BLOCK;
    afc__buffer_init(&sink->work->inflight, MAX_BLOCK);
    return AFC_OK;
}

void afc__sink_detach_writer(afc__sink *sink) {
    if (sink->work == NULL) return;
    afc__buffer_clear(&sink->work->inflight);
    afc_free(sink->work);
    sink->work = NULL;
}

bool afc__sink_is_full(const afc__sink *sink) {
    const afc__sink_work *work = sink->work;
    if (work == NULL) return false;
    if (afc__sink_is_polled(sink)) return is_with_writer(work) || work->is_blocked;
    return is_with_writer(work) && sink->memory.size >= FULL_BLOCK;
}

bool afc__sink_has_block(const afc__sink *sink) {
    const afc__sink_work *work = sink->work;
    size_t least = afc__sink_is_polled(sink) ? 1 : AFC__SINK_STAGE;
    return work != NULL && !is_with_writer(work) && sink->memory.size >= least;
}

void afc__sink_begin_block(afc__sink *sink) {
    afc__sink_work *work = sink->work;
    afc__buffer empty = work->inflight;
    work->inflight = sink->memory;
    sink->memory = empty;
    work->phase = WORK_BLOCK;
}

bool afc__sink_begin_end(afc__sink *sink, afc_status verdict) {
    afc__sink_work *work = sink->work;
    if (work == NULL || work->phase == WORK_ENDED) return false;
    /* For a descriptor, writing the gathered bytes is all that the end has to do. */
    bool is_written = sink->memory.size == 0 || verdict != AFC_OK;
    if (afc__sink_is_polled(sink) && is_written) return false;
    work->verdict = verdict;
    work->phase = WORK_ENDING;
    return true;
}

bool afc__sink_is_under_way(const afc__sink *sink) {
    return sink->work != NULL && is_with_writer(sink->work);
}

bool afc__sink_is_ending(const afc__sink *sink) {
    return sink->work != NULL && sink->work->phase >= WORK_ENDING;
}

void afc__sink_stop(afc__sink *sink, afc_status status) {
    atomic_store(&sink->work->stop, (int)status);
}

/** Writes as much of a block as there is room for. Returns whether more is left. */
static bool write_some(afc__sink *sink, afc__buffer *block) {
    afc__sink_work *work = sink->work;
    ptrdiff_t count = afc__output_write(&sink->output, block->bytes + work->written,
                                        block->size - work->written, &work->failure);
    if (count >= 0) work->written += (size_t)count;
    if (count >= 0 && work->written < block->size) return true;
    block->size = work->written = 0;
    return false;
}

static bool do_polled(afc__sink *sink) {
    afc__sink_work *work = sink->work;
    bool is_end = work->phase == WORK_ENDING;
    afc_status stopped = is_end ? (afc_status)atomic_load(&work->stop) : AFC_OK;
    if (stopped == AFC_OK) return write_some(sink, is_end ? &sink->memory : &work->inflight);
    afc__fail(&work->failure, stopped, "%s", afc_status_text(stopped));
    return false;
}

void afc__sink_give_up(afc__sink *sink, const afc_failure *failure) {
    afc__sink_work *work = sink->work;
    sink->memory.size = work->inflight.size = work->written = 0;
    work->failure = *failure;
}

bool afc__sink_do(afc__sink *sink) {
    afc__sink_work *work = sink->work;
    if (afc__sink_is_polled(sink)) return do_polled(sink);
    if (work->phase != WORK_ENDING) {
        (void)write_out(sink, &work->inflight, &work->failure);
        return false;
    }
    afc_status status = work->verdict;
    bool has_more = false;
    if (status == AFC_OK) status = (afc_status)atomic_load(&work->stop);
    if (status != AFC_OK) {
        afc__fail(&work->failure, status, "%s", afc_status_text(status));
    } else {
        status = finish(sink, &has_more, &work->failure);
    }
    if (status != AFC_OK) abandon(sink, status);
    return has_more;
}

afc_status afc__sink_return(afc__sink *sink, afc_failure *failure) {
    afc__sink_work *work = sink->work;
    work->phase = work->phase == WORK_ENDING ? WORK_ENDED : WORK_IDLE;
    work->is_blocked = false;
    *failure = work->failure;
    return failure->status;
}
