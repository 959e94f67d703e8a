/** What a task has come to; filled in by its transfer, then given away. */
#ifndef AF_NET_RESULT_H
#define AF_NET_RESULT_H

#include "message/head.h"

#include <afcore/task.h>

struct af_result {
    af_failure failure;
    bool has_head;
    af__head_reader reader; /**< Owns the head and the trailers. */
    af_hop first_hop;       /**< The only hop in the common case, without memory of its own. */
    af_hop *hops;           /**< Own the texts that they point to. */
    size_t hop_count, hop_capacity;
    uint64_t body_size;
    af_bytes body;
};

af_result *af__result_new(void);

/** Add a hop; takes its texts, also when it fails. AF_ENOMEM. */
af_status af__result_add_hop(af_result *result, const af_hop *hop);

#endif
