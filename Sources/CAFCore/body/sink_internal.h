/** Shared by the files of the sink. */
#ifndef AFC_BODY_SINK_INTERNAL_H
#define AFC_BODY_SINK_INTERNAL_H

#include "body/sink.h"

/** What small pieces are gathered to. */
enum { AFC__SINK_STAGE = 64 * 1024 };

/**
 * The file is open, and `expected` bytes are announced, 0 for unknown: leave writing to the writer
 * if it may take long. AFC_ENOMEM.
 */
afc_status afc__sink_attach_writer(afc__sink *sink, uint64_t expected, afc_failure *failure);

/** Free what that took. */
void afc__sink_detach_writer(afc__sink *sink);

/** The limits are kept. AFC_EFILE, AFC_EPROTOCOL, AFC_ENOMEM. */
afc_status afc__sink_write_file(afc__sink *sink, afc_slice bytes, afc_failure *failure);

/** The same to a descriptor. Keeps the bytes that it doesn't accept at once. AFC_EFILE, AFC_ENOMEM. */
afc_status afc__sink_write_polled(afc__sink *sink, afc_slice bytes, afc_failure *failure);

#endif
