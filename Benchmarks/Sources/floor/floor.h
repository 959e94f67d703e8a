/**
 * The floor: raw libcurl, one multi handle and recycled easy handles, with as little around it as
 * an honest client can have. It has two loops, since which of them is cheaper depends on the row. With
 * libcurl 7.84.0 to 8.0.1 a recycled handle lets servers corrupt memory (the core prevents that, see
 * Sources/CAFCore/curl/handle.c), so it can make a fresh handle for each request as well.
 */
#ifndef FLOOR_H
#define FLOOR_H

#include <curl/curl.h>
#include <stdint.h>

#include "bench.h"

/** End the program if a call of libcurl failed. */
void floor_check_easy(CURLcode code);
void floor_check_multi(CURLMcode code);

/** Take finished transfers off the multi handle and start the next ones; how many are under way. */
int64_t floor_harvest(CURLM *multi);

/** Drive `multi` with curl_multi_perform and curl_multi_poll until nothing is under way. */
void floor_run_poll(CURLM *multi);

/** Echoes over WebSockets without libcurl: plain sockets, one buffer each, and epoll. Prints the report. */
void floor_echo(const bench_options *options);

/** Once, before the first transfer, for the loop below. */
void floor_prepare_epoll(CURLM *multi);

/** Drive `multi` with curl_multi_socket_action over epoll until nothing is under way. */
void floor_run_epoll(CURLM *multi);

#endif
