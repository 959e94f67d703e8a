/** The result of a task: its transfer fills it in, then the caller owns it. */
#ifndef AFC_TRANSFER_RESULT_H
#define AFC_TRANSFER_RESULT_H

#include "message/head.h"
#include "trust/verification.h"

#include <afcore/task.h>

/** Fields and bytes of a head that need no memory of their own. */
enum { AFC__RESULT_HEADERS = 24, AFC__RESULT_TEXT = 1024 };

/** Results that are kept for later ones. */
enum { AFC__RESULTS_KEPT = 64 };

/** What only a result with a hop needs: tasks that wait for their first one are many. */
typedef struct afc__response_block {
    afc__head_reader reader; /**< Owns the head and the trailers. */
    afc_hop first_hop;       /**< The only hop in the common case, without memory of its own. */
    struct afc__response_storage *storage; /**< NULL before the first line. */
} afc__response_block;

/**
 * For what is small, which is most: one block of memory then holds all of a response. Taken at its first line: of the
 * requests in flight only those whose response is being read have one, so these few stay in the processor's caches.
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
    afc_hop *hops;              /**< Own the texts that they point to. */
    size_t hop_count, hop_capacity;
    const char
        *not_stored; /**< Why the last hop wasn't stored; NULL: see afc_result_get_not_stored(). */
    uint64_t body_size;
    afc__buffer body;
    afc_download *download; /**< Owns `path`; NULL: the body went to no file. */
    char *resume_token;
    afc__verification *verification; /**< Verification of the last hop's peer. */
    afc_trust_report *report;        /**< Made of it on the first request. */
};

afc_result *afc__result_new(void);

/** Frees what is kept for later results. */
void afc__result_free_kept(void);

/** Makes `block`, with an empty reader, unless it exists. Fails with AFC_ENOMEM. */
afc_status afc__result_make_block(afc_result *result);

/** Makes `storage` unless it exists. Fails with AFC_ENOMEM. */
afc_status afc__result_make_storage(afc_result *result);

/** Lets the reader's head begin in `storage`, if there is one. */
void afc__result_lend_head(afc_result *result);

/** Adds a hop; takes its texts, also when it fails. AFC_ENOMEM. */
afc_status afc__result_add_hop(afc_result *result, const afc_hop *hop);

/** Sets what the last hop's server has shown; takes the reference, which may be NULL. */
void afc__result_set_verification(afc_result *result, afc__verification *verification);

#endif
