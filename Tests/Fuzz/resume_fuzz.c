/* A token's text, then the lines of an answer. Whatever they are, a token that is read is written as it
   was, and nothing is appended but what begins where the file ends. */
#include "message/resume.h"

#include <afcore/resume.h>
#include <afcore/task.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static void check_token(const afc__resume_token *token, afc_slice text) {
    require(afc__resume_exists(token) && afc__is_field_value(token->validator));
    require(token->total >= AFC_LENGTH_UNKNOWN && token->received >= 0);
    afc__buffer out;
    afc__buffer_init(&out, AFC__RESUME_MAX);
    require(afc__resume_write(token, &out) == AFC_OK);
    /* Numbers may have leading zeros and digests no padding; a second round changes nothing more. */
    afc__resume_token again;
    require(afc__resume_read(&again, (afc_slice){out.bytes, out.size}, NULL) == AFC_OK);
    require(again.total == token->total && again.received == token->received);
    require(again.digest.kind == token->digest.kind);
    require(out.size <= text.size + 128);
    afc__resume_clear(&again);
    afc__buffer_clear(&out);
}

static void judge(const afc__resume_token *token, const afc_head *head) {
    afc__framing framing;
    if (afc__head_framing(head, false, &framing, NULL) != AFC_OK) return;
    int64_t offset = token->received;
    afc__resume_decision decision = afc__resume_decide(token, offset, head, &framing);
    switch (decision.verdict) {
    case AFC__RESUME_APPEND:
        require(head->status == 206 && !framing.is_encoded);
        require(decision.end > offset && decision.end <= decision.total);
        require(token->total == AFC_LENGTH_UNKNOWN || token->total == decision.total);
        break;
    case AFC__RESUME_COMPLETE:
        require(head->status == 416 && decision.total == offset);
        break;
    case AFC__RESUME_RESTART:
        require(head->status == 200 || head->status == 203);
        break;
    case AFC__RESUME_REFUSE:
    case AFC__RESUME_KEEP:
    case AFC__RESUME_FAIL:
    case AFC__RESUME_GONE:
        require(decision.reason != NULL);
        break;
    }
    afc__resume_token made;
    const char *reason;
    require(afc__resume_make(&made, token->url, head, &framing, 0, &reason) == AFC_OK);
    require(afc__resume_exists(&made) == (reason == NULL));
    afc__resume_clear(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char mark[] = "\nend\n";
    const char *text = (const char *)data;
    const char *end = size != 0 ? memmem(text, size, mark, sizeof mark - 1) : NULL;
    size_t token_size = end != NULL ? (size_t)(end - text) + sizeof mark - 1 : size;
    afc__resume_token token;
    afc_failure failure;
    afc_slice token_text = {text, token_size};
    if (afc__resume_read(&token, token_text, &failure) != AFC_OK) {
        require(failure.status == AFC_EINVAL && !afc__resume_exists(&token));
        return 0;
    }
    check_token(&token, token_text);
    afc__head_reader reader;
    afc__head_reader_init(&reader, (afc__head_limits){4096, 32, 4});
    text += token_size;
    size -= token_size;
    while (size != 0) {
        const char *stop = memchr(text, '\n', size);
        afc_slice line = {text, stop != NULL ? (size_t)(stop - text) + 1 : size};
        afc__head_step step;
        if (afc__head_reader_feed(&reader, line, &step, NULL) != AFC_OK) break;
        if (step == AFC__HEAD_FINAL) judge(&token, &reader.head);
        text += line.size;
        size -= line.size;
    }
    afc__head_reader_clear(&reader);
    afc__resume_clear(&token);
    return 0;
}
