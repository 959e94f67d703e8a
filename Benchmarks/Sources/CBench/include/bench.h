/**
 * What every benchmark client shares: its arguments, how it measures itself, and its report. The
 * Swift clients use the same code, so that no figure depends on who reads the clock.
 */
#ifndef BENCH_H
#define BENCH_H

#include <stdbool.h>
#include <stdint.h>

/* What SwiftAF adds to each request by default. The C clients send the same, so that none of them saves bytes. */
#define BENCH_USER_AGENT "bench-swift (Linux; Debian GNU/Linux 12 (bookworm)) SwiftAF/0.1.0"
#define BENCH_ACCEPT_LANGUAGE "en;q=1"
#define BENCH_ACCEPT_ENCODING "gzip, br, zstd"

/** What a client does with each request. */
typedef enum bench_kind {
    BENCH_MEMORY, /**< GET, the body collected in memory. */
    BENCH_FILE,   /**< GET, the body written to `path`. */
    BENCH_EVENTS, /**< GET, the body counted as it comes, not kept. */
    BENCH_UPLOAD, /**< PUT of the file `path`; the answer is collected in memory. */
    BENCH_JSON,   /**< GET, decoded as a typed value by a client that can; else like MEMORY. */
    BENCH_CLOSURES, /**< GET with a closure for the answer, by a client that has both; else like MEMORY. */
    /** Messages of `bytes` bytes over WebSockets, as many as are in flight, each awaited before the next. */
    BENCH_ECHO,
    BENCH_SOCKETS, /**< `in_flight` WebSockets are opened, and nothing is sent. */
    BENCH_CACHED, /**< GET, answered from an HTTP cache in memory by a client that has one; else like MEMORY. */
    BENCH_STORED /**< GET that asks the server, and stores the answer in such a cache; else like MEMORY. */
} bench_kind;

/** How the floor waits for its sockets; EXTERNAL: the core's session has no thread. */
typedef enum bench_loop { BENCH_LOOP_POLL, BENCH_LOOP_EPOLL, BENCH_LOOP_EXTERNAL } bench_loop;

/** WebSockets that a C client opens at once: more would measure the opening, not the open socket. */
enum { BENCH_OPENING = 64 };

/** Which easy handles the floor uses. */
typedef enum bench_handles {
    BENCH_HANDLES_RECYCLED, /**< One for each request in flight. */
    BENCH_HANDLES_FRESH     /**< A new one for each request. */
} bench_handles;

/** Where the Swift client's tasks run. */
typedef enum bench_executor {
    BENCH_EXECUTOR_POOL, /**< On Swift's own threads. */
    BENCH_EXECUTOR_LOOP  /**< On the manager's network thread. */
} bench_executor;

typedef struct bench_options {
    bench_kind kind;
    bench_loop loop;
    bench_handles handles;
    bench_executor executor;
    const char *url;
    const char *path; /**< FILE: where to; UPLOAD: where from. Otherwise NULL. */
    const char *ca;   /**< PEM file, trusted instead of the system store; NULL: the system store. */
    int64_t count;    /**< Requests measured; ECHO: messages. */
    int64_t warmup;   /**< Requests before that, on the same connections, not measured. */
    int64_t in_flight;   /**< Requests at the same time. */
    int64_t connections; /**< To one host at most; 0: no limit. Heeded by the core alone. */
    int64_t bytes;       /**< The exact size of every answer's body. */
} bench_options;

/** Read the command line, or explain it on stderr and exit with 2. */
bench_options bench_parse(int argc, char **argv);

/** Say on stderr what went wrong and exit with 1. */
_Noreturn void bench_fail(const char *what, const char *detail);

/** End the program unless an answer is a 200 with the body size that was announced. */
void bench_check(const bench_options *options, int64_t status, int64_t bytes);

/** End the program unless the file at `path` has the announced size. */
void bench_check_file(const bench_options *options);

/** Read a whole file; the caller frees the bytes. Ends the program if it can't. */
char *bench_read_file(const char *path, int64_t *size);

/** Call right before the first measured request. */
void bench_begin(void);

/** Call right after the last answer; prints the measures as one line of JSON on stdout. */
void bench_end(const bench_options *options, const char *client);

#endif
