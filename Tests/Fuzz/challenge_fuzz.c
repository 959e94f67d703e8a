/* The value of a WWW-Authenticate. Whatever comes, every challenge lies within it, what is chosen is
   among what is offered, and a Digest challenge is answered in a line. */
#include "base/alloc.h"
#include "message/fields.h"
#include "transfer/digest_auth.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static void check_within(af_slice part, af_slice whole) {
    if (part.size == 0) return;
    require(part.bytes >= whole.bytes && part.bytes + part.size <= whole.bytes + whole.size);
}

static void check_answer(const af__access_terms *terms) {
    af__access access;
    char *answer;
    af__access_request request = {"a\"b", "c", "GET", "/d?e", af_slice_of("f"), NULL};
    require(af__access_init(&access, terms) == AF_OK);
    if (af__access_answer(&access, &request, &answer, NULL) == AF_OK) {
        af_header header = {af_slice_of("WWW-Authenticate"), af_slice_of(answer), 0};
        af_head head = {.status = 401, .headers = &header, .header_count = 1};
        af__challenge_reader reader;
        af__challenge given;
        af__challenge_reader_init(&reader, &head, false);
        require(af__may_be_sent(head.headers->value));
        require(af__challenge_next(&reader, &given) || strlen(answer) > AF__CHALLENGE_LONGEST);
        af__free_secret(answer, strlen(answer));
    }
    af__access_clear(&access);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    af_slice value = {(const char *)data, size};
    af_header header = {af_slice_of("WWW-Authenticate"), value, 0};
    af_head head = {.status = 401, .headers = &header, .header_count = 1};
    af__challenge_reader reader;
    af__challenge challenge;
    size_t count = 0;
    af__challenge_reader_init(&reader, &head, false);
    while (af__challenge_next(&reader, &challenge)) {
        require(++count <= AF__CHALLENGES_MOST && challenge.scheme.size > 0);
        check_within(challenge.scheme, value);
        check_within(challenge.token68, value);
        check_within(challenge.params, value);
    }
    static const af_credentials user = {"u", "p", NULL, 0, false};
    af__challenge_question question = {
        .head = &head, .knows_body = true, .possible = ~0u, .credentials = &user};
    af__challenge_choice choice;
    af__challenge_choose(&question, &choice);
    require((choice.scheme & ~choice.offered) == 0);
    if (choice.scheme == AF_AUTH_DIGEST) check_answer(&choice.terms);
    return 0;
}
