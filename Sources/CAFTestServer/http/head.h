/** Parsing of request heads. */
#ifndef AFTS_HTTP_HEAD_H
#define AFTS_HTTP_HEAD_H

#include "server/records.h"

typedef enum afts__framing { AFTS__NO_BODY, AFTS__BY_LENGTH, AFTS__BY_CHUNKS } afts__framing;

/** Cuts record->head into record->seen: AFTS_EINVAL, for which `*why` is the reason; AFTS_ENOMEM. */
afts_status afts__parse_head(afts__request_record *record, const char **why);
/** How the body is framed; for AFTS__BY_LENGTH also its length. AFTS_EINVAL, for which `*why` is the reason. */
afts_status afts__parse_framing(const afts_request *request, afts__framing *framing,
                                uint64_t *length, const char **why);
/** Why the number of Host fields is invalid (RFC 9112 3.2); NULL if it isn't. */
const char *afts__fault_of_hosts(const afts_request *request);
/** Parses `size` digits of `base` (10 or 16); false if it isn't a number or is too large. */
bool afts__parse_number(const char *digits, size_t size, unsigned base, uint64_t *number);
/** Does a field's comma-separated list contain `token`, ignoring case? */
bool afts__has_token(const char *value, size_t size, const char *token);
bool afts__keeps_alive(const afts_request *request);

#endif
