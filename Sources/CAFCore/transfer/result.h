/** The result of a task: its transfer fills it in, then the caller owns it. */
#ifndef AF_TRANSFER_RESULT_H
#define AF_TRANSFER_RESULT_H

#include "message/head.h"
#include "trust/verification.h"

#include <afcore/task.h>

/** Fields and bytes of a head that need no memory of their own. */
enum { AF__RESULT_HEADERS = 24, AF__RESULT_TEXT = 1024 };

/** Results that are kept for later ones. */
enum { AF__RESULT_SPARES = 64 };

/** What only a result with a hop needs: tasks that wait for their first one are many. */
typedef struct af__response_block {
    af__head_reader reader; /**< Owns the head and the trailers. */
    af_hop first_hop;       /**< The only hop in the common case, without memory of its own. */
    struct af__response_room *room; /**< NULL before the first line. */
} af__response_block;

/**
 * For what is small, which is most: one block of memory then holds all of a response. Taken at its first line: of the
 * requests in flight only those whose response is being read have one, so these few stay in the processor's caches.
 */
typedef struct af__response_room {
    af_header headers[AF__RESULT_HEADERS];
    char text[AF__RESULT_TEXT];
    char body[AF_BODY_SHORT];
} af__response_room;

struct af_result {
    af_failure failure;
    bool has_head;
    af__response_block *block; /**< NULL before the first hop. */
    af_hop *hops;              /**< Own the texts that they point to. */
    size_t hop_count, hop_capacity;
    uint64_t body_size;
    af__buffer body;
    af_download *download; /**< Owns `path`; NULL: the body went to no file. */
    char *resume_token;
    af__verification *verification; /**< Of the last hop. */
    af_trust_report *report;        /**< Made of it on the first request. */
};

af_result *af__result_new(void);

/** Free what is kept for later results. */
void af__result_free_kept(void);

/** Make `block`, with an empty reader, if there is none yet. AF_ENOMEM. */
af_status af__result_make_block(af_result *result);

/** Make `room` if there is none yet. AF_ENOMEM. */
af_status af__result_make_room(af_result *result);

/** Let the reader's head begin in `room`, if there is one. */
void af__result_lend_head(af_result *result);

/** Add a hop; takes its texts, also when it fails. AF_ENOMEM. */
af_status af__result_add_hop(af_result *result, const af_hop *hop);

/** What the last hop's server has shown; takes the reference, which may be NULL. */
void af__result_set_verification(af_result *result, af__verification *verification);

#endif
