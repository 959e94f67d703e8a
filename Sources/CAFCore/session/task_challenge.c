/* Answers to challenges, from any thread to the loop. */
#include "base/alloc.h"
#include "base/failure.h"
#include "session/session_internal.h"
#include "transfer/auth.h"

static af_status make_reply(af__reply **out, uint32_t number, af_challenge_answer answer,
                            const af_credentials *credentials) {
    *out = NULL;
    bool has_credentials = credentials != NULL || answer != AF_CHALLENGE_USE;
    if ((unsigned)answer >= AF_CHALLENGE_LATER || !has_credentials) return AF_EINVAL;
    af__reply *new = af__zalloc(sizeof *new);
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
        af__reply_free(new);
    }
    return status;
}

af_status af_task_answer_challenge(af_task *task, uint32_t number, af_challenge_answer answer,
                                   const af_credentials *credentials) {
    af__reply *reply;
    af_status status = make_reply(&reply, number, answer, credentials);
    if (status != AF_OK) return status;
    unsigned expected = number;
    if (number == 0 || !atomic_compare_exchange_strong(&task->transfer.awaited, &expected, 0)) {
        af__reply_free(reply);
        return AF_EINVAL;
    }
    /* Of an earlier challenge, which the callback then answered itself. */
    af__reply_free(atomic_exchange(&task->reply, reply));
    af__task_post(task, AF__TASK_ANSWERED);
    return AF_OK;
}

bool af__task_take_answer(af_task *task) {
    af__reply *reply = atomic_exchange(&task->reply, NULL);
    if (reply == NULL) return false;
    bool was_awaited = af__transfer_on_answer(&task->transfer, reply->number, reply->answer,
                                              reply->identity);
    reply->identity = NULL;
    af__reply_free(reply);
    return was_awaited;
}
