/** Maps libcurl's result codes to ours, and collects the metrics of a hop. */
#ifndef AF_CURL_OUTCOME_H
#define AF_CURL_OUTCOME_H

#include "curl/driver_internal.h"

/** Maps a libcurl code to a status. */
void af__exchange_map_result(const af__exchange *exchange, CURLcode code, af_failure *failure);

/** Collects the metrics of the hop. */
void af__exchange_collect_timings(const af__exchange *exchange, af_hop *hop);

#endif
