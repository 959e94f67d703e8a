/**
 * Writes what a sink has received to a file or a descriptor, on the loop or on the writer thread, up to the end of the
 * body.
 *
 * Slow work is done on the writer thread instead of the loop's. After starting such work, run afc__sink_do() there,
 * then call afc__sink_return() on the loop. Until then, only afc__sink_is_…(), afc__sink_has_block() and
 * afc__sink_stop() may be called, and afc__sink_write() unless the sink is being ended.
 */
#ifndef AFC_BODY_SINK_WRITE_H
#define AFC_BODY_SINK_WRITE_H

#include "body/sink.h"

/** Size in bytes up to which small pieces are gathered. */
enum { AFC__SINK_STAGE = 64 * 1024 };

/* ---- For the sink: writing ----------------------------------------------------------------- */

/**
 * Lets the writer thread write an open file if that may take long. `expected` bytes are announced, 0 if unknown. Fails
 * with AFC_ENOMEM.
 */
afc_status afc__sink_attach_writer(afc__sink *sink, uint64_t expected, afc_failure *failure);

/** Frees what afc__sink_attach_writer() has allocated. */
void afc__sink_detach_writer(afc__sink *sink);

/** Writes bytes, which are within the limits, to a file. Fails with AFC_EFILE, AFC_EPROTOCOL or AFC_ENOMEM. */
afc_status afc__sink_write_file(afc__sink *sink, afc_slice bytes, afc_failure *failure);

/** Writes bytes to a descriptor, and keeps those that it doesn't accept at once. Fails with AFC_EFILE or AFC_ENOMEM. */
afc_status afc__sink_write_polled(afc__sink *sink, afc_slice bytes, afc_failure *failure);

/* ---- For tasks: ending, and work for the writer --------------------------------------------- */

/**
 * Allows the next afc__sink_write() to have this size, which may exceed the usual limit of gathered bytes. Call it
 * while the sink isn't full.
 */
void afc__sink_reserve(afc__sink *sink, size_t size);

/**
 * Ends the body: it is complete, or the task has failed with `verdict`. A complete file is checked and renamed; a
 * resumable one is kept, if requested. Fails with AFC_EFILE, AFC_ETRUNCATED, AFC_EPROTOCOL, or returns `verdict`. Does
 * nothing if the writer has already ended the body.
 */
afc_status afc__sink_end(afc__sink *sink, afc_status verdict, afc_failure *failure);

/**
 * Returns whether the sink writes to a descriptor that may have no room. Then the loop, not the writer thread, runs
 * afc__sink_do(), when the descriptor is writable.
 */
static inline bool afc__sink_is_polled(const afc__sink *sink) {
    return sink->kind == AFC_SINK_FD && afc__output_is_polled(&sink->output);
}

/** Returns whether a polled sink gathers bytes until the end of the loop's turn: then call afc__sink_flush(). */
bool afc__sink_gathers(const afc__sink *sink);

/**
 * Writes what a polled sink has gathered. What doesn't fit becomes a block; see afc__sink_has_block(). Fails with
 * AFC_EFILE.
 */
afc_status afc__sink_flush(afc__sink *sink, afc_failure *failure);

/** Drops the bytes that a polled sink hasn't written yet, because writing or the task has failed. */
void afc__sink_give_up(afc__sink *sink, const afc_failure *failure);

/** Returns whether the sink accepts no more bytes until the writer returns. */
bool afc__sink_is_full(const afc__sink *sink);

/** Returns whether a block is ready for the writer, and none is in flight. */
bool afc__sink_has_block(const afc__sink *sink);

/** Passes the block that is ready to the writer. */
void afc__sink_begin_block(afc__sink *sink);

/**
 * Starts afc__sink_end() on the writer; no block may be in flight. Returns false if the caller should call
 * afc__sink_end() itself, because that is fast.
 */
bool afc__sink_begin_end(afc__sink *sink, afc_status verdict);

/** Returns whether the writer is working on a block, or on the end. */
bool afc__sink_is_under_way(const afc__sink *sink);

/** Returns whether the end was started, whether or not the writer has returned. */
bool afc__sink_is_ending(const afc__sink *sink);

/** Cancels the end with `status`, unless it is too late for that. */
void afc__sink_stop(afc__sink *sink, afc_status status);

/** Does the work on the writer thread. Returns true if it must be called again, after other work. */
bool afc__sink_do(afc__sink *sink);

/**
 * Takes the work back from the writer, on the loop. Returns its result, as afc__sink_write() and afc__sink_end() would.
 */
afc_status afc__sink_return(afc__sink *sink, afc_failure *failure);

#endif
