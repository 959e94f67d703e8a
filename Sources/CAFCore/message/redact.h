/**
 * Removes secrets from heads, for traces. Pure functions.
 */
#ifndef AF_MESSAGE_REDACT_H
#define AF_MESSAGE_REDACT_H

#include "base/buffer.h"

#include <afcore/message.h>

/** State between two lines of a head: whether a folded continuation line belongs to a secret. */
typedef enum af__redaction { AF__REDACT_NOTHING = 0, AF__REDACT_FOLDED } af__redaction;

/**
 * Appends a line of a head, with its line end. The values of credential fields, and of fields whose names are in
 * `own` with AF_HEADER_SECRET, become "<hidden>"; userinfo is removed from URLs. `*state` starts as
 * AF__REDACT_NOTHING. AF_ENOMEM, AF_ETOOBIG.
 */
af_status af__redact_line(af__buffer *out, af__redaction *state, af_slice line,
                          const af_header *own, size_t own_count);

#endif
