/**
 * What one request of the soak asks a server to do. The client writes the plan into the request (the path over
 * HTTP/1.1, the first line of the body over HTTP/2), so both sides agree on it without shared memory.
 */
#ifndef AFC_SOAK_PLAN_H
#define AFC_SOAK_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum protocol { PROTOCOL_PLAIN, PROTOCOL_TLS, PROTOCOL_H2, PROTOCOL_COUNT } protocol;

typedef enum behaviour {
    /* HTTP/1.1, with or without TLS. */
    SENDS_LENGTH,           /**< Content-Length, the connection stays open. */
    SENDS_CHUNKS,           /**< Chunked, with a trailer. */
    SENDS_GZIP,             /**< Content-Encoding: gzip. */
    SENDS_SLOWLY,           /**< Small pieces, a millisecond apart. */
    SENDS_UNTIL_CLOSE,      /**< No length: the end of the connection ends the body. */
    SENDS_CONNECTION_CLOSE, /**< Content-Length and Connection: close. */
    SENDS_EARLY_HINTS,      /**< A 103 before the response. */
    SENDS_NO_CONTENT,       /**< 204. */
    CLOSES_SILENTLY,        /**< A complete response, then an unannounced close. */
    RESPONDS_EARLY,         /**< Responds before it reads the request's body. */
    REDIRECTS,              /**< 307 or 303 to SENDS_LENGTH. */
    REDIRECTS_FOR_EVER,     /**< 302 to itself. */
    ASKS_FOR_PASSWORD,      /**< 401 until the request has credentials. */
    TRUNCATES_LENGTH,       /**< Closes before Content-Length is reached. */
    TRUNCATES_CHUNKS,       /**< Closes between two chunks. */
    RESETS_AT_ONCE,         /**< RST instead of a response. */
    RESETS_IN_BODY,         /**< RST inside the response's body. */
    SENDS_NO_HTTP,          /**< Bytes that are no response. */
    SENDS_BROKEN_GZIP,      /**< Content-Encoding: gzip, and a body that isn't. */
    STALLS,                 /**< Never responds. */
    SENDS_SECOND_RESPONSE, /**< A second response behind the first one, on a connection that stays open. */
    SENDS_GARBAGE_AFTER, /**< Arbitrary bytes behind the response, on a connection that stays open. */
    SENDS_FOLDED_LINE,   /**< The first header line begins with a blank. */
    /* HTTP/2. */
    H2_RESPONDS,
    H2_RESPONDS_WITHOUT_BODY,
    H2_SPLITS_BODY,   /**< DATA frames of a few bytes. */
    H2_RESETS_STREAM, /**< RST_STREAM instead of a response. */
    H2_RESETS_IN_BODY,
    H2_REFUSES_STREAM, /**< RST_STREAM with REFUSED_STREAM. */
    H2_SENDS_GOAWAY,   /**< Responds, then GOAWAY, and closes when all streams are done. */
    H2_CLOSES,         /**< Closes the connection instead of responding. */
    BEHAVIOUR_COUNT
} behaviour;

enum { H1_FIRST = SENDS_LENGTH, H1_COUNT = H2_RESPONDS, H2_COUNT = BEHAVIOUR_COUNT - H2_RESPONDS };

typedef struct soak_plan {
    uint32_t id; /**< Unique within the run; what both bodies are made of. */
    behaviour behaviour;
    uint32_t response_size, request_size; /**< Bytes of the two bodies. */
} soak_plan;

enum { PLAN_TEXT_SIZE = 64 };

/** The longest body of a response that more bytes follow: one TLS record holds all of it. */
enum { TOO_MUCH_MOST = 8192 };

/** The plan as text, without blanks. */
void plan_write(const soak_plan *plan, char out[PLAN_TEXT_SIZE]);

/** The reverse; false if the text isn't a plan. */
bool plan_read(soak_plan *plan, const char *text);

const char *behaviour_name(behaviour behaviour);

/** What the result has to be if neither the caller nor a time limit ended the task. */
typedef enum outcome { MUST_SUCCEED, MUST_FAIL, MAY_FAIL } outcome;

typedef struct expectation {
    outcome outcome;
    uint32_t statuses; /**< STATUS_BIT() of each failure that is right. */
    int http_status;   /**< On success. */
    bool has_body;     /**< On success: the plan's response body, otherwise an empty one. */
} expectation;

#define STATUS_BIT(status) (1u << -(status))

expectation plan_expectation(const soak_plan *plan);

/** `size` bytes, from `offset`, of the body of number `id`. */
void fill_body(void *out, uint32_t id, size_t offset, size_t size);
bool is_body(const void *bytes, uint32_t id, size_t offset, size_t size);

/** The body of a request is another one than that of its response. */
static inline uint32_t request_body_id(const soak_plan *plan) {
    return ~plan->id;
}

#endif
