/** The metrics of a hop: times, bytes, addresses. */
#ifndef AFC_CURL_METRICS_H
#define AFC_CURL_METRICS_H

#include "curl/driver.h"

/**
 * Sets the metrics of the hop that libcurl knows. Call it once, when the hop has ended: it also counts the connections
 * that the hop opened.
 */
void afc__exchange_collect_timings(const afc__exchange *exchange, afc_hop *hop);

#endif
