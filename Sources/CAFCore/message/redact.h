/**
 * Removes secrets from heads, for traces. Pure functions.
 */
#ifndef AFC_MESSAGE_REDACT_H
#define AFC_MESSAGE_REDACT_H

#include "base/buffer.h"

#include <afcore/message.h>

/** State between two lines of a head: whether a folded continuation line belongs to a secret. */
typedef enum afc__redaction { AFC__REDACT_NOTHING = 0, AFC__REDACT_FOLDED } afc__redaction;

/**
 * Appends a line of a head, with its line end. The values of credential fields, and of fields whose names are in `own`
 * with AFC_HEADER_SECRET, become "<hidden>"; userinfo is removed from URLs. `*state` must be AFC__REDACT_NOTHING before
 * the first line. Fails with AFC_ENOMEM or AFC_ETOOBIG.
 */
afc_status afc__redact_line(afc__buffer *out, afc__redaction *state, afc_slice line,
                            const afc_header *own, size_t own_count);

#endif
