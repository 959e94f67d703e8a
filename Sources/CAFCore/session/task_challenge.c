/* Passes answers to challenges from any thread to the loop. */
#include "base/alloc.h"
#include "session/lifetime.h"

static afc_status make_reply(afc__reply **out, uint32_t number, afc_challenge_decision answer,
                             const afc_credentials *credentials) {
    *out = NULL;
    bool has_credentials = credentials != NULL || answer != AFC_CHALLENGE_USE;
    if ((unsigned)answer >= AFC_CHALLENGE_LATER || !has_credentials) return AFC_EINVAL;
    afc__reply *new = afc__zalloc(sizeof *new);
    if (new == NULL) return AFC_ENOMEM;
    new->number = number;
    new->answer = answer;
    afc_status status = AFC_OK;
    if (answer == AFC_CHALLENGE_USE) {
        status = afc__identity_new(&new->identity, credentials, NULL, NULL);
    }
    if (status == AFC_OK) {
        *out = new;
    } else {
        afc__reply_free(new);
    }
    return status;
}

afc_status afc_task_answer_challenge(afc_task *task, uint32_t number, afc_challenge_decision answer,
                                     const afc_credentials *credentials) {
    afc__reply *reply;
    afc_status status = make_reply(&reply, number, answer, credentials);
    if (status != AFC_OK) return status;
    unsigned expected = number;
    if (number == 0 || !atomic_compare_exchange_strong(&task->transfer.awaited, &expected, 0)) {
        afc__reply_free(reply);
        return AFC_EINVAL;
    }
    /* Replaces an answer to an earlier challenge, which isn't needed any more. */
    afc__reply_free(atomic_exchange(&task->reply, reply));
    afc__task_post(task, AFC__TASK_ANSWERED);
    return AFC_OK;
}
