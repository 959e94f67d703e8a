/** Easy handles by themselves: which may carry another hop, and what is switched and read while libcurl runs one. */
#ifndef AF_CURL_HANDLE_H
#define AF_CURL_HANDLE_H

#include "curl/driver_internal.h"

/** May the handle carry another hop? Before af__exchange_reset(). */
bool af__exchange_may_serve_again(const af__exchange *exchange);

/** Does this libcurl use freed memory if a handle is freed while its host's name is looked up over HTTPS? */
bool af__must_park_handles(void);

/** Must the handle, whose hop is over, not be freed before the multi handle? Before af__exchange_reset(). */
bool af__exchange_must_be_parked(const af__exchange *exchange);

/** May another name be looked up, although its handle might have to be parked? */
bool af__driver_may_look_up_over_https(const af__driver *driver);

/** Would this libcurl append a folded first field line to a field that it has freed? See handle.c. */
bool af__must_guard_fields(void);

/** After the transfer has accepted a line of a head, of a tunnel's too. */
void af__exchange_guard_fields(af__exchange *exchange, af_slice line);

/** Before libcurl stores a line of a head: make it one that is refused if it would be appended to a freed field. */
void af__exchange_guard_line(const af__exchange *exchange, char *line);

/** CURLOPT_FORBID_REUSE, for the connection of this hop. */
void af__exchange_set_reuse(af__exchange *exchange, bool is_forbidden);

/** CURLOPT_VERBOSE. */
void af__exchange_set_verbose(af__exchange *exchange, bool is_on);

/** A line of the final head was the last one: libcurl may drop what comes right behind the response. */
void af__exchange_watch_excess(af__exchange *exchange);

/** A text of libcurl's. Has it dropped something? */
void af__exchange_heed_excess(af__exchange *exchange, af_slice text);

#endif
