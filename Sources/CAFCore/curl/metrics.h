/** The metrics of a hop: times, bytes, addresses. */
#ifndef AFC_CURL_METRICS_H
#define AFC_CURL_METRICS_H

#include "curl/driver.h"

/** Collects the metrics of the hop. */
void afc__exchange_collect_timings(const afc__exchange *exchange, afc_hop *hop);

#endif
