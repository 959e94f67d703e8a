/**
 * Writing what a sink has received to a file or a descriptor, on the loop or on the writer, up to its end.
 *
 * Slow work is done on the writer thread instead of the loop's. After starting some, run afc__sink_do() there, then
 * call afc__sink_return() on the loop. Until then, only afc__sink_is_…(), afc__sink_has_block() and afc__sink_stop()
 * may be called, and afc__sink_write() unless the sink is being ended.
 */
#ifndef AFC_BODY_SINK_WRITE_H
#define AFC_BODY_SINK_WRITE_H

#include "body/sink.h"

/** What small pieces are gathered to. */
enum { AFC__SINK_STAGE = 64 * 1024 };

/* ---- For the sink: writing ----------------------------------------------------------------- */

/**
 * Leaves writing an open file to the writer if it may take long. `expected` bytes are announced, 0 for unknown.
 * AFC_ENOMEM.
 */
afc_status afc__sink_attach_writer(afc__sink *sink, uint64_t expected, afc_failure *failure);

/** Frees what that took. */
void afc__sink_detach_writer(afc__sink *sink);

/** Writes bytes, within the limits, to a file. AFC_EFILE, AFC_EPROTOCOL, AFC_ENOMEM. */
afc_status afc__sink_write_file(afc__sink *sink, afc_slice bytes, afc_failure *failure);

/** Writes bytes to a descriptor. Keeps those that it doesn't accept at once. AFC_EFILE, AFC_ENOMEM. */
afc_status afc__sink_write_polled(afc__sink *sink, afc_slice bytes, afc_failure *failure);

/* ---- For tasks: ending, and work for the writer --------------------------------------------- */

/**
 * Allows the next afc__sink_write() to be of this size, which may be larger than what is gathered otherwise. Call it
 * while the sink isn't full.
 */
void afc__sink_reserve(afc__sink *sink, size_t size);

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

/**
 * Returns whether a polled sink holds back what it has, for the end of the loop's turn: then call afc__sink_flush().
 */
bool afc__sink_gathers(const afc__sink *sink);

/** Writes what a polled sink has gathered. What there is no room for is a block then. AFC_EFILE. */
afc_status afc__sink_flush(afc__sink *sink, afc_failure *failure);

/** Drops what a polled sink has left to write, as it can't be written, or as the task has failed. */
void afc__sink_give_up(afc__sink *sink, const afc_failure *failure);

/** Returns whether the sink accepts no more bytes until the writer returns. */
bool afc__sink_is_full(const afc__sink *sink);

/** Returns whether a block is ready for the writer, and none is in flight. */
bool afc__sink_has_block(const afc__sink *sink);

/** Hands the block that is ready to the writer. */
void afc__sink_begin_block(afc__sink *sink);

/**
 * Starts afc__sink_end() on the writer; nothing may be in flight. false: call afc__sink_end() itself,
 * which is fast.
 */
bool afc__sink_begin_end(afc__sink *sink, afc_status verdict);

/** Returns whether the writer has a block, or the end. */
bool afc__sink_is_under_way(const afc__sink *sink);

/** Returns whether the end was started, whether or not the writer has returned. */
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

#endif
