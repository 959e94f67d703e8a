/** The result of a task: its transfer sets the members, then the caller owns it. */
#ifndef AFC_TRANSFER_RESULT_H
#define AFC_TRANSFER_RESULT_H

#include "message/head.h"
#include "trust/verification.h"

#include <afcore/task.h>

/** Number of fields and bytes of a head that fit into afc__response_storage. */
enum { AFC__RESULT_HEADERS = 24, AFC__RESULT_TEXT = 1024 };

/** Maximum number of freed results that are kept for reuse. */
enum { AFC__RESULTS_KEPT = 64 };

/**
 * The part of a result that is needed from the first hop on. Separate, as many tasks may be waiting for their first
 * hop.
 */
typedef struct afc__response_block {
    afc__head_reader reader; /**< Owns the head and the trailers. */
    /** The first hop, in most cases the only one, which so needs no allocation. */
    afc_hop first_hop;
    struct afc__response_storage *storage; /**< NULL before the first line. */
} afc__response_block;

/**
 * Memory for a small response, as most are: one block holds its fields and body. It is allocated at the first line: of
 * the requests in flight only those whose response is being received have one, so these few stay in the processor's
 * caches.
 */
typedef struct afc__response_storage {
    afc_header headers[AFC__RESULT_HEADERS];
    char text[AFC__RESULT_TEXT];
    char body[AFC_BODY_SHORT];
} afc__response_storage;

struct afc_result {
    afc_failure failure;
    bool has_head;
    afc__response_block *block; /**< NULL before the first hop. */
    afc_hop *hops;              /**< They own the texts that they point to. */
    size_t hop_count, hop_capacity;
    /** Why the last hop's response wasn't cached, or NULL; see afc_result_get_not_stored(). */
    const char *not_stored;
    uint64_t body_size;
    afc__buffer body;
    afc_download *download; /**< Owns `path`; NULL if the body wasn't written to a file. */
    char *resume_token;
    afc__verification *verification; /**< The verification of the last hop's server, or NULL. */
    afc_trust_report *report;        /**< Made from `verification` when it is first requested. */
};

/** Makes an empty result. Returns NULL when out of memory. Any thread. */
afc_result *afc__result_new(void);

/** Frees the memory that is kept for later results. Any thread. */
void afc__result_free_kept(void);

/** Makes `block`, with an empty reader, unless it exists. Fails with AFC_ENOMEM. */
afc_status afc__result_make_block(afc_result *result);

/** Makes `storage` unless it exists. Fails with AFC_ENOMEM. */
afc_status afc__result_make_storage(afc_result *result);

/** Makes the head reader use `storage` for the next head, if it exists. */
void afc__result_lend_head(afc_result *result);

/** Adds a hop. Takes its texts, even on failure. Fails with AFC_ENOMEM. */
afc_status afc__result_add_hop(afc_result *result, const afc_hop *hop);

/** Sets the verification of the last hop's server. Takes the reference, which may be NULL. */
void afc__result_set_verification(afc_result *result, afc__verification *verification);

#endif
