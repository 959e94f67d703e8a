/* Answers to challenges, from any thread to the loop. */
#include "base/alloc.h"
#include "base/failure.h"
#include "session/session_internal.h"
#include "transfer/auth.h"

typedef struct af__reply {
    uint32_t number;
    af_challenge_answer answer;
    af__identity *identity;
} reply;

static void free_reply(reply *reply) {
    if (reply == NULL) return;
    af__identity_free(reply->identity);
    af_free(reply);
}

static af_status make_reply(reply **out, uint32_t number, af_challenge_answer answer,
                            const af_credentials *credentials) {
    *out = NULL;
    bool has_credentials = credentials != NULL || answer != AF_CHALLENGE_USE;
    if ((unsigned)answer >= AF_CHALLENGE_LATER || !has_credentials) return AF_EINVAL;
    reply *new = af__zalloc(sizeof *new);
    if (new == NULL) return AF_ENOMEM;
    new->number = number;
    new->answer = answer;
    af_status status = AF_OK;
    if (answer == AF_CHALLENGE_USE) {
        status = af__identity_new(&new->identity, credentials, NULL, NULL);
    }
    if (status == AF_OK) {
        *out = new;
    } else {
        free_reply(new);
    }
    return status;
}

af_status af_task_answer_challenge(af_task *task, uint32_t number, af_challenge_answer answer,
                                   const af_credentials *credentials) {
    reply *reply;
    af_status status = make_reply(&reply, number, answer, credentials);
    if (status != AF_OK) return status;
    unsigned expected = number;
    if (number == 0 || !atomic_compare_exchange_strong(&task->transfer.awaited, &expected, 0)) {
        free_reply(reply);
        return AF_EINVAL;
    }
    /* Of an earlier challenge, which the callback answered itself after all. */
    free_reply(atomic_exchange(&task->reply, reply));
    af__task_post(task, AF__TASK_ANSWERED);
    return AF_OK;
}

void af__task_drop_answer(af_task *task) {
    free_reply(atomic_exchange(&task->reply, NULL));
}

void af__task_take_answer(af_task *task) {
    reply *reply = atomic_exchange(&task->reply, NULL);
    if (reply == NULL) return;
    af__transfer *transfer = &task->transfer;
    bool was_wanted = af__transfer_on_answer(transfer, reply->number, reply->answer,
                                             reply->identity);
    reply->identity = NULL;
    free_reply(reply);
    if (!was_wanted) return;
    if (transfer->result->failure.status != AF_OK) {
        af__task_abort(task, &transfer->result->failure);
    } else if (task->exchange != NULL) {
        af__task_go_on(task);
    } else {
        af__task_proceed(task, af__transfer_resume_hop(transfer));
    }
}
