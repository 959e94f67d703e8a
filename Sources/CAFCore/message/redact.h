/**
 * Heads without their secrets, for people who look at what is sent and received. Pure.
 */
#ifndef AF_MESSAGE_REDACT_H
#define AF_MESSAGE_REDACT_H

#include "base/buffer.h"

#include <afcore/message.h>

/** Between two lines of a head: does a line that is folded onto the one before belong to a secret? */
typedef enum af__redaction { AF__REDACT_NOTHING = 0, AF__REDACT_FOLDED } af__redaction;

/**
 * Append a line of a head, with its end. The value of a credential's field becomes "<hidden>", as does that
 * of a field whose name is among `own` with AF_HEADER_SECRET; of URLs the userinfo is left out. `*state`
 * begins as AF__REDACT_NOTHING. AF_ENOMEM, AF_ETOOBIG.
 */
af_status af__redact_line(af__buffer *out, af__redaction *state, af_slice line,
                          const af_header *own, size_t own_count);

#endif
