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

static void check_token(const af__resume_token *token, af_slice text) {
    require(af__resume_exists(token) && af__is_field_value(token->validator));
    require(token->total >= AF_LENGTH_UNKNOWN && token->received >= 0);
    af__buffer out;
    af__buffer_init(&out, AF__RESUME_LONGEST);
    require(af__resume_write(token, &out) == AF_OK);
    /* Numbers may have leading zeros and digests no padding; a second round changes nothing more. */
    af__resume_token again;
    require(af__resume_read(&again, (af_slice){out.bytes, out.size}, NULL) == AF_OK);
    require(again.total == token->total && again.received == token->received);
    require(again.digest.kind == token->digest.kind);
    require(out.size <= text.size + 128);
    af__resume_clear(&again);
    af__buffer_clear(&out);
}

static void judge(const af__resume_token *token, const af_head *head) {
    af__framing framing;
    if (af__head_framing(head, false, &framing, NULL) != AF_OK) return;
    int64_t offset = token->received;
    af__resume_answer answer = af__resume_judge(token, offset, head, &framing);
    switch (answer.verdict) {
    case AF__RESUME_APPEND:
        require(head->status == 206 && !framing.is_encoded);
        require(answer.end > offset && answer.end <= answer.total);
        require(token->total == AF_LENGTH_UNKNOWN || token->total == answer.total);
        break;
    case AF__RESUME_COMPLETE:
        require(head->status == 416 && answer.total == offset);
        break;
    case AF__RESUME_RESTART:
        require(head->status >= 200 && head->status <= 299 && head->status != 206);
        break;
    case AF__RESUME_REFUSE:
    case AF__RESUME_KEEP:
    case AF__RESUME_GONE:
        require(answer.reason != NULL);
        break;
    }
    af__resume_token made;
    const char *reason;
    require(af__resume_make(&made, token->url, head, &framing, 0, &reason) == AF_OK);
    require(af__resume_exists(&made) == (reason == NULL));
    af__resume_clear(&made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char mark[] = "\nend\n";
    const char *text = (const char *)data;
    const char *end = size != 0 ? memmem(text, size, mark, sizeof mark - 1) : NULL;
    size_t token_size = end != NULL ? (size_t)(end - text) + sizeof mark - 1 : size;
    af__resume_token token;
    af_failure failure;
    af_slice token_text = {text, token_size};
    if (af__resume_read(&token, token_text, &failure) != AF_OK) {
        require(failure.status == AF_EINVAL && !af__resume_exists(&token));
        return 0;
    }
    check_token(&token, token_text);
    af__head_reader reader;
    af__head_reader_init(&reader, (af__head_limits){4096, 32, 4});
    text += token_size;
    size -= token_size;
    while (size != 0) {
        const char *stop = memchr(text, '\n', size);
        af_slice line = {text, stop != NULL ? (size_t)(stop - text) + 1 : size};
        af__head_step step;
        if (af__head_reader_feed(&reader, line, &step, NULL) != AF_OK) break;
        if (step == AF__HEAD_FINAL) judge(&token, &reader.head);
        text += line.size;
        size -= line.size;
    }
    af__head_reader_clear(&reader);
    af__resume_clear(&token);
    return 0;
}
