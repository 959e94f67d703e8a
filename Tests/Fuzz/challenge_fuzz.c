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

static void check_within(afc_slice part, afc_slice whole) {
    if (part.size == 0) return;
    require(part.bytes >= whole.bytes && part.bytes + part.size <= whole.bytes + whole.size);
}

static void check_answer(const afc__access_terms *terms) {
    afc__access access;
    char *answer;
    afc__access_request request = {"a\"b", "c", "GET", "/d?e", afc_slice_of("f"), NULL};
    require(afc__access_init(&access, terms) == AFC_OK);
    if (afc__access_answer(&access, &request, &answer, NULL) == AFC_OK) {
        afc_header header = {afc_slice_of("WWW-Authenticate"), afc_slice_of(answer), 0};
        afc_head head = {.status = 401, .headers = &header, .header_count = 1};
        afc__challenge_reader reader;
        afc__challenge given;
        afc__challenge_reader_init(&reader, &head, false);
        require(afc__may_be_sent(head.headers->value));
        require(afc__challenge_next(&reader, &given) || strlen(answer) > AFC__CHALLENGE_MAX);
        afc__free_secret(answer, strlen(answer));
    }
    afc__access_clear(&access);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    afc_slice value = {(const char *)data, size};
    afc_header header = {afc_slice_of("WWW-Authenticate"), value, 0};
    afc_head head = {.status = 401, .headers = &header, .header_count = 1};
    afc__challenge_reader reader;
    afc__challenge challenge;
    size_t count = 0;
    afc__challenge_reader_init(&reader, &head, false);
    while (afc__challenge_next(&reader, &challenge)) {
        require(++count <= AFC__CHALLENGES_MAX && challenge.scheme.size > 0);
        check_within(challenge.scheme, value);
        check_within(challenge.token68, value);
        check_within(challenge.params, value);
    }
    static const afc_credentials user = {"u", "p", NULL, 0, false, {0}};
    afc__challenge_question question = {
        .head = &head, .knows_body = true, .possible = ~0u, .credentials = &user};
    afc__challenge_choice choice;
    afc__challenge_choose(&question, &choice);
    require((choice.scheme & ~choice.offered) == 0);
    if (choice.scheme == AFC_AUTH_DIGEST) check_answer(&choice.terms);
    return 0;
}
