/** Shared by the files of the sink. */
#ifndef AF_BODY_SINK_INTERNAL_H
#define AF_BODY_SINK_INTERNAL_H

#include "body/sink.h"

/** What small pieces are gathered to. */
enum { AF__SINK_STAGE = 64 * 1024 };

/**
 * The file is open, and `expected` bytes are announced, 0 for unknown: leave writing to the writer
 * if it may take long. AF_ENOMEM.
 */
af_status af__sink_attach_writer(af__sink *sink, uint64_t expected, af_failure *failure);

/** Free what that took. */
void af__sink_detach_writer(af__sink *sink);

/** The limits are kept. AF_EFILE, AF_EPROTOCOL, AF_ENOMEM. */
af_status af__sink_write_file(af__sink *sink, af_slice bytes, af_failure *failure);

#endif
