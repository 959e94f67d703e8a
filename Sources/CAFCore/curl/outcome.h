/** What became of a hop: libcurl's codes in our words, and its numbers. */
#ifndef AF_CURL_OUTCOME_H
#define AF_CURL_OUTCOME_H

#include "curl/driver_internal.h"

/** What a libcurl code means to us. */
void af__exchange_map_result(const af__exchange *exchange, CURLcode code, af_failure *failure);

/** The numbers of the hop. */
void af__exchange_collect_timings(const af__exchange *exchange, af_hop *hop);

#endif
