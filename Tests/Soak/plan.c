#include "plan.h"

#include <afcore/error.h>
#include <stdio.h>

void plan_write(const soak_plan *plan, char out[PLAN_TEXT_SIZE]) {
    snprintf(out, PLAN_TEXT_SIZE, "%x.%x.%x.%x", plan->id, (unsigned)plan->behaviour,
             plan->response_size, plan->request_size);
}

bool plan_read(soak_plan *plan, const char *text) {
    unsigned behaviour;
    if (sscanf(text, "%x.%x.%x.%x", &plan->id, &behaviour, &plan->response_size,
               &plan->request_size) != 4) {
        return false;
    }
    plan->behaviour = (enum behaviour)behaviour;
    return behaviour < BEHAVIOUR_COUNT;
}

/* ---- What each behaviour leads to ---------------------------------------------------------- */

#define LOST STATUS_BIT(AFC_ELOST)
#define TRUNCATED (STATUS_BIT(AFC_ETRUNCATED) | STATUS_BIT(AFC_ELOST))
#define PROTOCOL STATUS_BIT(AFC_EPROTOCOL)
/* A stream that dies with its connection, whatever another stream of it did. */
#define H2_FAILURES (TRUNCATED | PROTOCOL)

typedef struct row {
    const char *name;
    expectation expectation;
} row;

static const row rows[BEHAVIOUR_COUNT] = {
    [SENDS_LENGTH] = {"sends length", {MUST_SUCCEED, 0, 200, true}},
    [SENDS_CHUNKS] = {"sends chunks", {MUST_SUCCEED, 0, 200, true}},
    [SENDS_GZIP] = {"sends gzip", {MUST_SUCCEED, 0, 200, true}},
    [SENDS_SLOWLY] = {"sends slowly", {MUST_SUCCEED, 0, 200, true}},
    [SENDS_UNTIL_CLOSE] = {"sends until close", {MUST_SUCCEED, 0, 200, true}},
    [SENDS_CONNECTION_CLOSE] = {"sends connection close", {MUST_SUCCEED, 0, 200, true}},
    [SENDS_EARLY_HINTS] = {"sends early hints", {MUST_SUCCEED, 0, 200, true}},
    [SENDS_NO_CONTENT] = {"sends no content", {MUST_SUCCEED, 0, 204, false}},
    [CLOSES_SILENTLY] = {"closes silently", {MUST_SUCCEED, 0, 200, true}},
    [RESPONDS_EARLY] = {"responds early", {MUST_SUCCEED, 0, 200, true}},
    [REDIRECTS] = {"redirects", {MUST_SUCCEED, 0, 200, true}},
    [REDIRECTS_FOR_EVER] = {"redirects for ever", {MUST_FAIL, STATUS_BIT(AFC_EREDIRECT), 0, false}},
    [ASKS_FOR_PASSWORD] = {"asks for password", {MUST_SUCCEED, 0, 200, true}},
    [TRUNCATES_LENGTH] = {"truncates length", {MUST_FAIL, TRUNCATED, 0, false}},
    [TRUNCATES_CHUNKS] = {"truncates chunks", {MUST_FAIL, TRUNCATED, 0, false}},
    [RESETS_AT_ONCE] = {"resets at once", {MUST_FAIL, LOST, 0, false}},
    [RESETS_IN_BODY] = {"resets in body", {MUST_FAIL, TRUNCATED, 0, false}},
    [SENDS_NO_HTTP] = {"sends no HTTP", {MUST_FAIL, PROTOCOL, 0, false}},
    [SENDS_BROKEN_GZIP] = {"sends broken gzip", {MUST_FAIL, PROTOCOL, 0, false}},
    /* Its task has a time limit. */
    [STALLS] = {"stalls", {MUST_FAIL, STATUS_BIT(AFC_ETIMEOUT), 0, false}},
    [SENDS_SECOND_RESPONSE] = {"sends second response", {MUST_SUCCEED, 0, 200, true}},
    [SENDS_GARBAGE_AFTER] = {"sends garbage after", {MUST_SUCCEED, 0, 200, true}},
    [SENDS_FOLDED_LINE] = {"sends folded line", {MAY_FAIL, PROTOCOL, 200, true}},
    [H2_RESPONDS] = {"responds (HTTP/2)", {MAY_FAIL, H2_FAILURES, 200, true}},
    [H2_RESPONDS_WITHOUT_BODY] = {"responds without body (HTTP/2)",
                                  {MAY_FAIL, H2_FAILURES, 204, false}},
    [H2_SPLITS_BODY] = {"splits body (HTTP/2)", {MAY_FAIL, H2_FAILURES, 200, true}},
    [H2_RESETS_STREAM] = {"resets stream (HTTP/2)", {MUST_FAIL, H2_FAILURES, 0, false}},
    [H2_RESETS_IN_BODY] = {"resets in body (HTTP/2)", {MUST_FAIL, H2_FAILURES, 0, false}},
    [H2_REFUSES_STREAM] = {"refuses stream (HTTP/2)", {MUST_FAIL, H2_FAILURES, 0, false}},
    [H2_SENDS_GOAWAY] = {"sends GOAWAY (HTTP/2)", {MAY_FAIL, H2_FAILURES, 200, true}},
    [H2_CLOSES] = {"closes (HTTP/2)", {MUST_FAIL, H2_FAILURES, 0, false}},
};

const char *behaviour_name(behaviour behaviour) {
    return rows[behaviour].name;
}

expectation plan_expectation(const soak_plan *plan) {
    expectation expectation = rows[plan->behaviour].expectation;
    /*
     * A request with a body isn't idempotent here (POST): if the server closes a reused connection
     * meanwhile, the library may not send it again (RFC 9110 9.2.2).
     */
    if (plan->request_size > 0) {
        expectation.statuses |= LOST;
        if (expectation.outcome == MUST_SUCCEED) expectation.outcome = MAY_FAIL;
    }
    return expectation;
}

/* ---- Bodies -------------------------------------------------------------------------------- */

static unsigned char byte_at(uint32_t id, size_t index) {
    uint32_t word = (id ^ (uint32_t)(index >> 2)) * 2654435761u;
    return (unsigned char)(word >> (8 * (index & 3)));
}

void fill_body(void *out, uint32_t id, size_t offset, size_t size) {
    unsigned char *at = out;
    for (size_t i = 0; i < size; i++) at[i] = byte_at(id, offset + i);
}

bool is_body(const void *bytes, uint32_t id, size_t offset, size_t size) {
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        if (at[i] != byte_at(id, offset + i)) return false;
    }
    return true;
}
