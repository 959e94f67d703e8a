/* Which requests a stored response answers: Vary, RFC 9111 4.1. */
#include "base/alloc.h"
#include "http_cache/rules/identity.h"
#include "http_cache/rules/vary.h"
#include "support/head.h"
#include "support/torture.h"

#include <afcore/http_cache.h>
#include <stdio.h>
#include <string.h>

typedef struct selected {
    afc__fields fields;
    afc_status status;
} selected;

static afc__http_cache_request request_of(const parsed_head *fields) {
    return (afc__http_cache_request){.headers = fields->headers,
                                     .header_count = fields->head.header_count,
                                     .user_agent = "agent",
                                     .accept_encoding = "gzip",
                                     .identity = ""};
}

static void select_fields(selected *out, const char *vary, const afc__http_cache_request *request,
                          bool is_public) {
    parsed_head head;
    make_head(&head, 200, vary);
    afc__fields_init(&out->fields, AFC__SELECTING_MAX);
    out->status = afc__selecting_fields_add(&out->fields, &head.head, request, is_public);
    afc__fields_bind(&out->fields, 0);
}

/** Does a response to the first request answer the second? */
static bool answers(const char *vary, const char *first, const char *second) {
    parsed_head one, two;
    selected stored;
    make_head(&one, 200, first);
    make_head(&two, 200, second);
    afc__http_cache_request stored_request = request_of(&one), request = request_of(&two);
    select_fields(&stored, vary, &stored_request, false);
    check_status(stored.status, AFC_OK);
    bool matches = afc__selecting_fields_match(stored.fields.headers, stored.fields.count,
                                               &request);
    afc__fields_clear(&stored.fields);
    return matches;
}

/** What the session sends as Cookie, its jar's cookies behind the request's own, selects as a whole. */
static void cookies_of_the_jar_select_beside_those_of_the_request(void **state) {
    (void)state;
    static const char *const sent[] = {NULL, "own=1; jar=1", "own=1; jar=2", "jar=1"};
    parsed_head head;
    make_head(&head, 200, "Cookie: own=1");
    for (size_t i = 0; i < COUNT_OF(sent); i++) {
        selected stored;
        afc__http_cache_request request = request_of(&head);
        request.cookies = sent[i];
        select_fields(&stored, "Vary: Cookie", &request, false);
        check_status(stored.status, AFC_OK);
        for (size_t k = 0; k < COUNT_OF(sent); k++) {
            request.cookies = sent[k];
            assert_int_equal(
                afc__selecting_fields_match(stored.fields.headers, stored.fields.count, &request),
                i == k);
        }
        afc__fields_clear(&stored.fields);
    }
}

static void second_request_matches_as_its_row_says(void **state) {
    (void)state;
    static const struct {
        const char *vary, *first, *second;
        bool matches;
    } rows[] = {
        {"", "A: 1", "A: 2", true},
        {"Vary:", "A: 1", "A: 2", true},
        {"Vary: A", "A: 1", "A: 1", true},
        {"Vary: a", "A: 1", "A: 1", true},
        {"Vary: A", "a: 1", "A: 1", true},
        {"Vary: A", "A: 1", "A: 2", false},
        {"Vary: A", "A: 1", "", false},
        {"Vary: A", "", "A: 1", false},
        {"Vary: A", "", "", true},
        {"Vary: A", "A:", "", false},
        {"Vary: A", "A:", "A:", true},
        {"Vary: A", "A: x", "A: X", false},
        {"Vary: A", "A: 1\nB: 1", "A: 1\nB: 2", true},
        {"Vary: A, B", "A: 1\nB: 1", "A: 1\nB: 1", true},
        {"Vary: A, B", "A: 1\nB: 1", "B: 1\nA: 1", true},
        {"Vary: A, B", "A: 1\nB: 1", "A: 1\nB: 2", false},
        {"Vary: A, B", "A: 1\nB: 1", "A: 1", false},
        {"Vary: A,,B", "A: 1\nB: 1", "A: 1\nB: 2", false},
        {"Vary: A\nVary: B", "A: 1\nB: 1", "A: 1\nB: 2", false},
        {"Vary: A, B, C", "A: 1\nC: 3", "A: 1\nC: 3", true},
        {"Vary: A, a, A", "A: 1", "A: 1", true},
        /* Lines are joined, and blanks around commas mean nothing. */
        {"Vary: A", "A: 1, 2", "A: 1\nA: 2", true},
        {"Vary: A", "A: 1,2", "A: 1 ,\t2", true},
        {"Vary: A", "A: 1, 2", "A: 1,, 2,", true},
        {"Vary: A", "A: 1, 2", "A: 2, 1", false},
        {"Vary: A", "A: 12", "A: 1, 2", false},
        {"Vary: A", "A: 1 2", "A: 12", false},
        /* They may mean something in a quoted string, and in secrets: these needn't be lists. */
        {"Vary: A", "A: \"1, 2\"", "A: \"1,2\"", false},
        {"Vary: A", "A: \"1,,2\"", "A: \"1,2\"", false},
        {"Vary: A", "A: \"1,2\"", "A: \"1,2\"", true},
        {"Vary: Cookie", "Cookie: a=1,2", "Cookie: a=1,,2", false},
        {"Vary: Cookie", "Cookie: a=1,2", "Cookie: a=1, 2", false},
        {"Vary: Authorization", "Authorization: x,y", "Authorization: x, y", false},
        /* Languages. */
        {"Vary: Accept-Language", "Accept-Language: en, de", "Accept-Language: de, en", true},
        {"Vary: Accept-Language", "Accept-Language: en, de", "Accept-Language: eN,De", true},
        {"Vary: Accept-Language", "Accept-Language: en, de", "Accept-Language: en", false},
        {"Vary: Accept-Language", "Accept-Language: en;q=0.5, de", "Accept-Language: en, de",
         false},
        {"Vary: Accept-Language", "Accept-Language: en, de;q=0.5", "Accept-Language: DE;q=0.5,EN",
         true},
        /* What the session adds. */
        {"Vary: User-Agent", "", "User-Agent: agent", true},
        {"Vary: User-Agent", "", "User-Agent: other", false},
        {"Vary: Accept-Encoding", "", "Accept-Encoding: gzip", true},
        {"Vary: Accept-Encoding", "", "Accept-Encoding: br", false},
        {"Vary: Accept-Language, Accept", "Accept: a", "Accept: b", false},
        {"Vary: Accept, Accept", "Accept: a", "Accept: a", true},
        /* Secrets. */
        {"Vary: Cookie", "Cookie: a=1", "Cookie: a=1", true},
        {"Vary: Cookie", "Cookie: a=1", "Cookie: a=2", false},
        {"Vary: Authorization", "Authorization: x", "Authorization: x", true},
        {"Vary: Authorization", "Authorization: x", "Authorization: y", false},
        {"Vary: Authorization", "Authorization: x", "", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        if (answers(rows[i].vary, rows[i].first, rows[i].second) != rows[i].matches) {
            fail_msg("%s: %s / %s", rows[i].vary, rows[i].first, rows[i].second);
        }
    }
}

/** RFC 9110 12.5.4, 8.5: a response in the language that the request prefers to all others. */
static void response_in_the_preferred_language_fits_as_its_row_says(void **state) {
    (void)state;
    static const struct {
        const char *response, *asking;
        bool fits;
    } rows[] = {
        {"Content-Language: de", "fr;q=0.5, de;q=1.0", true},
        {"Content-Language: de", "fr;q=0.5, de", true},
        {"Content-Language: DE", "dE;q=0.501, fr;q=0.5, *;q=0.1", true},
        {"Content-Language: de", "de", true},
        {"Content-Language: de", "de;q=0.001", true},
        {"Content-Language: de", "de-at, de;q=0.5", false},
        {"Content-Language: de-at", "de", false},
        {"Content-Language: de-at", "DE-AT, de;q=0.9", true},
        {"Content-Language: de", "fr, de;q=0.9", false},
        {"Content-Language: de", "fr, de", false},
        {"Content-Language: de", "de;q=0", false},
        {"Content-Language: de", "de;q=1.1", false},
        {"Content-Language: de", "de;q=2", false},
        {"Content-Language: de", "de;q=", false},
        {"Content-Language: de", "de;q=0,5", false},
        {"Content-Language: de", "de;q=.5", false},
        {"Content-Language: de", "de;q=0x5", false},
        {"Content-Language: de", "de;q=0.5.", false},
        {"Content-Language: de", "de;q=0.0001", false},
        {"Content-Language: de", "de;q=0.5000", false},
        {"Content-Language: de", "de;x=1", false},
        {"Content-Language: de", "de;q=1, fr;q=x", false},
        {"Content-Language: *", "*", false},
        {"Content-Language: de, fr", "de", false},
        {"Content-Language: de\nContent-Language: de", "de", false},
        {"Content-Language:", "de", false},
        {"", "de", false},
        {"Content-Language: de", "", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head, asking;
        char line[128] = "";
        afc_header selecting = {S("accept-language"), S("=de, en"), 0};
        if (rows[i].asking[0] != '\0') {
            snprintf(line, sizeof line, "Accept-Language: %s", rows[i].asking);
        }
        make_head(&head, 200, rows[i].response);
        make_head(&asking, 200, line);
        afc__http_cache_request request = request_of(&asking);
        bool fits = afc__selecting_fields_match_language(&selecting, 1, &request, &head.head);
        if (fits != rows[i].fits) fail_msg("%s / %s", rows[i].response, rows[i].asking);
    }
}

static void language_decides_only_where_the_response_varies_by_it(void **state) {
    (void)state;
    parsed_head head, asking;
    afc_header selecting[] = {{S("a"), S("=1"), 0}, {S("accept-language"), S("=de, en"), 0}};
    make_head(&head, 200, "Content-Language: de");
    make_head(&asking, 200, "Accept-Language: de\nA: 1");
    afc__http_cache_request request = request_of(&asking);
    assert_true(afc__selecting_fields_match_language(selecting, 2, &request, &head.head));
    assert_false(afc__selecting_fields_match_language(selecting, 1, &request, &head.head));
    selecting[0].value = S("=2");
    assert_false(afc__selecting_fields_match_language(selecting, 2, &request, &head.head));
}

static void star_and_invalid_names_match_nothing(void **state) {
    (void)state;
    static const struct {
        const char *vary;
        bool is_any;
    } rows[] = {
        {"Vary: *", true},          {"Vary: A, *", true}, {"Vary: *, A", true},
        {"Vary: A\nVary: *", true}, {"Vary: , *", true},  {"Vary: A B", true},
        {"Vary: \"*\"", true},      {"Vary: A;B", true},  {"Vary: A", false},
        {"Vary: A, B", false},      {"Vary:", false},     {"", false},
        {"X-Vary: *", false},       {"Vary: ,,", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        parsed_head head;
        make_head(&head, 200, rows[i].vary);
        if (afc__vary_is_any(&head.head) != rows[i].is_any) fail_msg("%s", rows[i].vary);
    }
}

static void check_selecting(const afc_head *head, afc_status expected) {
    afc__http_cache_request request = {.identity = ""};
    afc__fields fields;
    afc__fields_init(&fields, AFC__SELECTING_MAX);
    check_status(afc__selecting_fields_add(&fields, head, &request, true), expected);
    afc__fields_clear(&fields);
}

static void too_many_names_match_nothing(void **state) {
    (void)state;
    char names[AFC__VARY_MAX * 2 + 4] = "";
    for (size_t i = 0; i <= AFC__VARY_MAX; i++) memcpy(names + 2 * i, "a,", 3);
    afc_header header = {S("Vary"), {names, AFC__VARY_MAX * 2}, 0};
    afc_head head = {.status = 200, .headers = &header, .header_count = 1};
    assert_false(afc__vary_is_any(&head));
    check_selecting(&head, AFC_OK);
    header.value.size += 2;
    assert_true(afc__vary_is_any(&head));
    check_selecting(&head, AFC_ETOOBIG);
}

static void identity_separates_users_unless_public(void **state) {
    (void)state;
    /* The session sends Authorization by itself, so the requests don't have it. */
    static const struct {
        const char *vary, *stored, *asking;
        bool is_public, matches;
    } rows[] = {
        {"", "", "", false, true},
        {"", "one", "one", false, true},
        {"", "one", "two", false, false},
        {"", "one", "", false, false},
        {"", "", "one", false, false},
        {"", "one", "two", true, true},
        {"", "one", "", true, true},
        {"Vary: Authorization", "one", "one", true, true},
        {"Vary: Authorization", "one", "two", true, false},
        {"Vary: Authorization", "one", "", true, false},
        {"Vary: Accept, authorization", "", "one", true, false},
        {"Vary: Accept", "one", "two", true, true},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        selected stored;
        afc__http_cache_request request = {.identity = rows[i].stored};
        select_fields(&stored, rows[i].vary, &request, rows[i].is_public);
        request.identity = rows[i].asking;
        bool matches = afc__selecting_fields_match(stored.fields.headers, stored.fields.count,
                                                   &request);
        if (matches != rows[i].matches) fail_msg("row %zu", i);
        afc__fields_clear(&stored.fields);
    }
}

static void requests_have_one_identity_if_their_secrets_are_the_same(void **state) {
    (void)state;
    static const afc_credentials user = {"u", "p", NULL, 0, false, {0}};
    static const afc_credentials other = {"u", "q", NULL, 0, false, {0}};
    static const afc_credentials divided = {"up", "", NULL, 0, false, {0}};
    static const afc_credentials bearer = {NULL, NULL, "p", 0, false, {0}};
    static const struct {
        int whose; /**< 0: anonymous. */
        const afc_credentials *credentials;
        bool replaces_field;
        afc_header headers[2];
    } rows[] = {
        {0, NULL, false, {{{NULL, 0}, {NULL, 0}, 0}}},
        {0, NULL, false, {{S_INIT("Plain"), S_INIT("x"), 0}}},
        {0, NULL, false, {{S_INIT("Cookie"), S_INIT("x"), AFC_HEADER_SECRET}}},
        {0, NULL, false, {{S_INIT("Authorization"), S_INIT("x"), AFC_HEADER_REMOVE}}},
        {0, NULL, true, {{S_INIT("Authorization"), S_INIT("x"), 0}}},
        {1, NULL, false, {{S_INIT("Authorization"), S_INIT("x"), 0}}},
        {1, &user, false, {{S_INIT("Authorization"), S_INIT("x"), AFC_HEADER_SECRET}}},
        {2, NULL, false, {{S_INIT("Authorization"), S_INIT("y"), 0}}},
        {3, &user, false, {{S_INIT("Plain"), S_INIT("x"), 0}}},
        {3, &user, true, {{S_INIT("Authorization"), S_INIT("x"), 0}}},
        {4, &other, false, {{{NULL, 0}, {NULL, 0}, 0}}},
        {5, &divided, false, {{{NULL, 0}, {NULL, 0}, 0}}},
        {6, &bearer, false, {{{NULL, 0}, {NULL, 0}, 0}}},
        {7, NULL, false, {{S_INIT("X-One"), S_INIT("x"), AFC_HEADER_SECRET}}},
        {8, NULL, false, {{S_INIT("X-Two"), S_INIT("x"), AFC_HEADER_SECRET}}},
        {9, NULL, false, {{S_INIT("X-One"), S_INIT("y"), AFC_HEADER_SECRET}}},
        {10,
         NULL,
         false,
         {{S_INIT("X-One"), S_INIT("x"), AFC_HEADER_SECRET},
          {S_INIT("X-Two"), S_INIT("x"), AFC_HEADER_SECRET}}},
        {11, &user, false, {{S_INIT("X-One"), S_INIT("x"), AFC_HEADER_SECRET}}},
    };
    char identities[COUNT_OF(rows)][AFC__FINGERPRINT_SIZE];
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__identity_question question = {rows[i].headers, 0, rows[i].credentials,
                                           rows[i].replaces_field};
        for (size_t k = 0; k < COUNT_OF(rows[i].headers); k++) {
            if (rows[i].headers[k].name.size > 0) question.header_count++;
        }
        assert_true(afc__identity_of(identities[i], &question));
        assert_int_equal(identities[i][0] == '\0', rows[i].whose == 0);
        for (size_t k = 0; k < i; k++) {
            bool is_same = strcmp(identities[i], identities[k]) == 0;
            if (is_same != (rows[i].whose == rows[k].whose)) fail_msg("rows %zu and %zu", k, i);
        }
    }
}

/** A buffer that grows would leave parts of the secrets behind. */
static void identity_is_made_in_one_block(void **state) {
    (void)state;
    char secret[1000], identity[AFC__FINGERPRINT_SIZE];
    memset(secret, 's', sizeof secret);
    const afc_header headers[] = {
        {S_INIT("X-One"), {secret, sizeof secret}, AFC_HEADER_SECRET},
        {S_INIT("X-Two"), {secret, sizeof secret}, AFC_HEADER_SECRET},
    };
    const afc_credentials user = {.user = "user", .password = "password"};
    afc__identity_question question = {headers, COUNT_OF(headers), &user, false};
    afc__alloc_fail_at(SIZE_MAX);
    assert_true(afc__identity_of(identity, &question));
    assert_int_equal(afc__alloc_fail_at(0), 1);
}

static void secret_values_are_read_in_one_block(void **state) {
    (void)state;
    char secret[1000];
    memset(secret, 's', sizeof secret);
    const afc_header headers[] = {
        {S_INIT("Cookie"), {secret, sizeof secret}, 0},
        {S_INIT("Cookie"), {secret, sizeof secret}, 0},
    };
    const afc__http_cache_request request = {
        .headers = headers, .header_count = COUNT_OF(headers), .identity = ""};
    selected stored;
    select_fields(&stored, "Vary: Cookie", &request, true);
    afc__alloc_fail_at(SIZE_MAX);
    assert_true(afc__selecting_fields_match(stored.fields.headers, stored.fields.count, &request));
    assert_int_equal(afc__alloc_fail_at(0), 1);
    afc__fields_clear(&stored.fields);
}

static void secrets_are_stored_as_fingerprints(void **state) {
    (void)state;
    static const afc_header headers[] = {
        {S_INIT("Cookie"), S_INIT("secret-one"), 0},
        {S_INIT("Authorization"), S_INIT("secret-two"), 0},
        {S_INIT("X-Key"), S_INIT("secret-three"), AFC_HEADER_SECRET},
        {S_INIT("Plain"), S_INIT("shown"), 0},
    };
    selected stored;
    afc__http_cache_request request = {
        .headers = headers, .header_count = COUNT_OF(headers), .identity = ""};
    select_fields(&stored, "Vary: Cookie, Authorization, X-Key, Plain", &request, true);
    check_status(stored.status, AFC_OK);
    /* The last one is the identity. */
    assert_int_equal(stored.fields.count, COUNT_OF(headers) + 1);
    for (size_t i = 0; i < stored.fields.count; i++) {
        afc_slice value = stored.fields.headers[i].value;
        if (i == 3) check_slice(value, "=shown");
        if (i < 3) assert_int_equal(value.size, 65);
        if (i == 4) assert_int_equal(value.size, 0);
    }
    assert_null(memmem(stored.fields.text.bytes, stored.fields.text.size, "secret", 6));
    afc__fields_clear(&stored.fields);
}

/* The stored partitions of programs must not change. */
static void fingerprint_is_sha_256_in_hexadecimal(void **state) {
    (void)state;
    char text[AFC_HTTP_CACHE_FINGERPRINT_SIZE];
    check_status(afc_http_cache_fingerprint(text, S("abc")), AFC_OK);
    assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_status(afc_http_cache_fingerprint(text, (afc_slice){NULL, 0}), AFC_OK);
    assert_string_equal(text, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

static void runs_out_of_memory_without_a_match(void **state) {
    (void)state;
    parsed_head asking;
    make_head(&asking, 200, "Accept-Language: de, en\nCookie: a=1");
    afc__http_cache_request request = request_of(&asking);
    TORTURE(n) {
        selected stored;
        select_fields(&stored, "Vary: Accept-Language, Cookie", &request, false);
        bool is_stored = stored.status == AFC_OK;
        bool matches = is_stored && afc__selecting_fields_match(stored.fields.headers,
                                                                stored.fields.count, &request);
        assert_true(is_stored || stored.status == AFC_ENOMEM);
        (void)matches;
        afc__fields_clear(&stored.fields);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(second_request_matches_as_its_row_says),
        cmocka_unit_test(cookies_of_the_jar_select_beside_those_of_the_request),
        cmocka_unit_test(response_in_the_preferred_language_fits_as_its_row_says),
        cmocka_unit_test(language_decides_only_where_the_response_varies_by_it),
        cmocka_unit_test(star_and_invalid_names_match_nothing),
        cmocka_unit_test(too_many_names_match_nothing),
        cmocka_unit_test(identity_separates_users_unless_public),
        cmocka_unit_test(requests_have_one_identity_if_their_secrets_are_the_same),
        cmocka_unit_test(identity_is_made_in_one_block),
        cmocka_unit_test(secret_values_are_read_in_one_block),
        cmocka_unit_test(secrets_are_stored_as_fingerprints),
        cmocka_unit_test(fingerprint_is_sha_256_in_hexadecimal),
        cmocka_unit_test(runs_out_of_memory_without_a_match),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
