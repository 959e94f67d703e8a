/** Shared by the files of the sink. */
#ifndef AFC_BODY_SINK_INTERNAL_H
#define AFC_BODY_SINK_INTERNAL_H

#include "body/sink.h"

/** What small pieces are gathered to. */
enum { AFC__SINK_STAGE = 64 * 1024 };

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

#endif
