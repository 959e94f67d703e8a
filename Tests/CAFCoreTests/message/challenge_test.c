/* Challenges as servers write them, the choice among them, and answers to Digest. */
#include "base/alloc.h"
#include "message/challenge.h"
#include "message/credentials.h"
#include "support/check.h"
#include "support/torture.h"
#include "transfer/digest_auth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** A head with these values of WWW-Authenticate; the last is NULL. */
typedef struct fields {
    afc_header headers[8];
    afc_head head;
} fields;

static fields *head_of(fields *fields, const char *const *values) {
    size_t count = 0;
    for (; values[count] != NULL; count++) {
        fields->headers[count] = (afc_header){S("www-authenticate"), afc_slice_of(values[count]),
                                              0};
    }
    fields->head = (afc_head){401, AFC_HTTP_1_1, {NULL, 0}, fields->headers, count};
    return fields;
}

/** "Scheme(token68)" or "Scheme[params]", one after the other. */
static void write_all(const afc_head *head, char *out, size_t size) {
    afc__challenge_reader reader;
    afc__challenge challenge;
    size_t at = 0;
    out[0] = '\0';
    afc__challenge_reader_init(&reader, head, false);
    while (afc__challenge_next(&reader, &challenge) && at < size) {
        bool has_token = challenge.token68.size > 0;
        afc_slice rest = has_token ? challenge.token68 : challenge.params;
        int count = snprintf(out + at, size - at, "%.*s%c%.*s%c", (int)challenge.scheme.size,
                             challenge.scheme.bytes, has_token ? '(' : '[', (int)rest.size,
                             rest.size > 0 ? rest.bytes : "", has_token ? ')' : ']');
        at += (size_t)count;
    }
}

static void splits_lists_of_challenges(void **state) {
    (void)state;
    static const struct {
        const char *values[4];
        const char *expected;
    } rows[] = {
        {{NULL}, ""},
        {{""}, ""},
        {{"Basic"}, "Basic[]"},
        {{"Basic realm=\"a\""}, "Basic[realm=\"a\"]"},
        {{"Basic realm=a"}, "Basic[realm=a]"},
        {{"Basic realm = \"a\""}, "Basic[realm = \"a\"]"},
        {{"Negotiate, NTLM"}, "Negotiate[]NTLM[]"},
        {{" , ,Negotiate ,, NTLM , "}, "Negotiate[]NTLM[]"},
        {{"NTLM TlRMTVNTUAACAAAA=="}, "NTLM(TlRMTVNTUAACAAAA==)"},
        {{"Negotiate YII/+=, Basic realm=\"x\""}, "Negotiate(YII/+=)Basic[realm=\"x\"]"},
        {{"Digest realm=\"a\", nonce=\"b\", Basic realm=\"c\""},
         "Digest[realm=\"a\", nonce=\"b\"]Basic[realm=\"c\"]"},
        {{"Basic realm=\"a, Digest nonce=\\\"x\\\"\", NTLM"},
         "Basic[realm=\"a, Digest nonce=\\\"x\\\"\"]NTLM[]"},
        {{"Basic realm=\"a\"", "Digest nonce=b"}, "Basic[realm=\"a\"]Digest[nonce=b]"},
        {{"Newauth realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\", Basic "
          "realm=\"simple\""},
         "Newauth[realm=\"apps\", type=1, title=\"Login to \\\"apps\\\"\"]Basic[realm=\"simple\"]"},
        {{"Basic realm=\"\""}, "Basic[realm=\"\"]"},
        {{"Scheme a=b,,c=d , , Other"}, "Scheme[a=b,,c=d ]Other[]"},
        /* Malformed: what follows in the same field can't be told apart. */
        {{"Basic realm=\"open", "NTLM"}, "NTLM[]"},
        {{"Basic realm=\"open\\\"", "NTLM"}, "NTLM[]"},
        {{"Basic realm=a b, NTLM"}, ""},
        {{"Basic realm=\"a\"x"}, ""},
        {{"Basic a=1, A=2, NTLM", "Bearer"}, "Bearer[]"},
        {{"Basic a=1, b=, NTLM", "Bearer"}, "Bearer[]"},
        {{"=a, NTLM", "Bearer"}, "Bearer[]"},
        {{"Basic/x y", "Bearer"}, "Bearer[]"},
        {{"NTLM, Basic a==b"}, "NTLM[]"},
        {{"\"Basic\"", "Bearer"}, "Bearer[]"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fields fields;
        char found[512];
        write_all(&head_of(&fields, rows[i].values)->head, found, sizeof found);
        assert_string_equal(found, rows[i].expected);
    }
}

static void finds_and_unescapes_parameters(void **state) {
    (void)state;
    fields fields;
    static const char *const values[] = {"Digest REALM=\"a \\\"b\\\\\", nonce=n, x = \"\"", NULL};
    afc__challenge_reader reader;
    afc__challenge challenge;
    afc_slice value;
    afc__challenge_reader_init(&reader, &head_of(&fields, values)->head, false);
    assert_true(afc__challenge_next(&reader, &challenge));
    assert_true(afc__challenge_find(&challenge, "realm", &value));
    afc__buffer text;
    afc__buffer_init(&text, 100);
    check_status(afc__challenge_unescape(value, &text), AFC_OK);
    check_slice(((afc_slice){text.bytes, text.size}), "a \"b\\");
    afc_slice plain = {text.bytes, text.size};
    afc__buffer quoted;
    afc__buffer_init(&quoted, 100);
    check_status(afc__challenge_quote(plain, &quoted), AFC_OK);
    check_slice(((afc_slice){quoted.bytes, quoted.size}), "\"a \\\"b\\\\\"");
    afc__buffer_clear(&quoted);
    afc__buffer_clear(&text);
    assert_true(afc__challenge_find(&challenge, "Nonce", &value));
    check_slice(value, "n");
    assert_true(afc__challenge_find(&challenge, "x", &value));
    check_slice(value, "");
    assert_false(afc__challenge_find(&challenge, "y", &value));
}

static size_t count_challenges(const char *value) {
    const char *values[] = {value, NULL};
    fields fields;
    afc__challenge_reader reader;
    afc__challenge challenge;
    size_t count = 0;
    afc__challenge_reader_init(&reader, &head_of(&fields, values)->head, false);
    while (afc__challenge_next(&reader, &challenge)) count++;
    return count;
}

/** Add to a text of 400000 bytes at most. */
static void add(char *text, const char *format, int number) {
    size_t size = strlen(text);
    snprintf(text + size, 400000 - size, format, number);
}

static void limits_challenges_and_parameters(void **state) {
    (void)state;
    char *text = calloc(1, 400000);
    assert_non_null(text);
    for (int i = 0; i < 1000; i++) add(text, "a%d,", i);
    assert_int_equal(count_challenges(text), AFC__CHALLENGES_MAX);
    text[0] = '\0';
    add(text, "Basic a0=%d", 0);
    for (int i = 1; i < AFC__CHALLENGE_PARAMS_MAX; i++) add(text, ",a%d=0", i);
    assert_int_equal(count_challenges(text), 1);
    add(text, ",b=%d", 0);
    assert_int_equal(count_challenges(text), 0);
    memset(text, 0, 400000);
    memset(text, 'x', AFC__CHALLENGE_MAX + 5);
    memcpy(text, "Basic realm=\"", 13);
    text[strlen(text)] = '"';
    assert_int_equal(count_challenges(text), 1);
    add(text, ",a=%d", 0);
    assert_int_equal(count_challenges(text), 0);
    memset(text, 'x', 300000);
    memcpy(text, "NTLM ", 5);
    assert_int_equal(count_challenges(text), 0);
    free(text);
}

/* ---- Choosing ------------------------------------------------------------------------------ */

#define DIGEST_MD5 "Digest realm=r, nonce=n, qop=auth"
#define DIGEST_SHA DIGEST_MD5 ", algorithm=SHA-256"
#define BASIC "Basic realm=r"

#define ALL (~0u)
#define NO_CONNECTION (ALL & ~(unsigned)(AFC_AUTH_NTLM | AFC_AUTH_NEGOTIATE))

static void chooses_the_strongest_usable_scheme(void **state) {
    (void)state;
    static const afc_credentials user = {"u", "p", NULL, 0, false, {0}};
    static const afc_credentials ambient = {"", "", NULL, 0, false, {0}};
    static const afc_credentials token = {NULL, NULL, "t", 0, false, {0}};
    static const afc_credentials basic_only = {"u", "p", NULL, AFC_AUTH_BASIC, false, {0}};
    static const afc_credentials digest_only = {"u", "p", NULL, AFC_AUTH_DIGEST, false, {0}};
    static const afc_credentials negotiate_only = {"u", "p", NULL, AFC_AUTH_NEGOTIATE, false, {0}};
    static const afc_credentials with_colon = {"u:v", "p", NULL, 0, false, {0}};
    static const struct {
        const char *values[5];
        unsigned possible;
        const afc_credentials *credentials;
        unsigned expected;
        afc__access_hash hash;
    } rows[] = {
        {{BASIC}, ALL, &user, AFC_AUTH_BASIC, 0},
        {{"bAsIc"}, ALL, &user, AFC_AUTH_BASIC, 0},
        {{BASIC, DIGEST_MD5}, ALL, &user, AFC_AUTH_DIGEST, AFC__ACCESS_MD5},
        {{DIGEST_MD5, BASIC, DIGEST_SHA}, ALL, &user, AFC_AUTH_DIGEST, AFC__ACCESS_SHA_256},
        {{DIGEST_SHA ", " DIGEST_MD5 ", " BASIC}, ALL, &user, AFC_AUTH_DIGEST, AFC__ACCESS_SHA_256},
        {{"NTLM", DIGEST_SHA, BASIC}, ALL, &user, AFC_AUTH_NTLM, 0},
        {{"NTLM", DIGEST_SHA, BASIC}, NO_CONNECTION, &user, AFC_AUTH_DIGEST, AFC__ACCESS_SHA_256},
        {{"Negotiate", "NTLM", BASIC}, ALL, &user, AFC_AUTH_NTLM, 0},
        {{"Negotiate", "NTLM", BASIC}, ALL, &ambient, AFC_AUTH_NEGOTIATE, 0},
        {{"Negotiate", "NTLM", BASIC}, ALL, &negotiate_only, AFC_AUTH_NEGOTIATE, 0},
        {{"Negotiate"}, ALL, &user, 0, 0},
        {{BASIC, "Bearer"}, ALL, &token, AFC_AUTH_BEARER, 0},
        {{BASIC, "Bearer"}, ALL, &user, AFC_AUTH_BASIC, 0},
        {{BASIC}, ALL, &token, 0, 0},
        {{BASIC, DIGEST_MD5}, ALL, &basic_only, AFC_AUTH_BASIC, 0},
        {{BASIC}, ALL, &digest_only, 0, 0},
        {{BASIC}, ALL, &with_colon, 0, 0},
        {{DIGEST_MD5}, ALL, &with_colon, AFC_AUTH_DIGEST, AFC__ACCESS_MD5},
        /* Where Digest is offered Basic is not used, even if this Digest can't be answered. */
        {{BASIC, "Digest realm=r, nonce=n, algorithm=SHA-3"}, ALL, &user, 0, 0},
        {{BASIC, "Digest realm=r"}, ALL, &user, 0, 0},
        {{BASIC, "Digest nonce=n, qop=other"}, ALL, &user, 0, 0},
        {{"Unheard of=1"}, ALL, &user, 0, 0},
        {{BASIC, "Negotiate"}, ALL, NULL, AFC_AUTH_NEGOTIATE, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fields fields;
        afc__challenge_choice choice;
        afc__challenge_question question = {.head = &head_of(&fields, rows[i].values)->head,
                                            .possible = rows[i].possible,
                                            .credentials = rows[i].credentials};
        afc__challenge_choose(&question, &choice);
        if (choice.scheme != rows[i].expected) print_error("row %zu\n", i);
        assert_int_equal(choice.scheme, rows[i].expected);
        assert_int_equal(choice.terms.hash, rows[i].hash);
    }
}

static void ignores_challenges_of_the_other_side(void **state) {
    (void)state;
    afc_header headers[] = {{S_INIT("WWW-Authenticate"), S_INIT("Basic realm=s"), 0},
                            {S_INIT("Proxy-Authenticate"), S_INIT("Digest nonce=n"), 0}};
    afc_head head = {407, AFC_HTTP_1_1, {NULL, 0}, headers, 2};
    afc__challenge_choice choice;
    afc__challenge_question question = {.head = &head, .possible = ALL};
    afc__challenge_choose(&question, &choice);
    assert_int_equal(choice.scheme, AFC_AUTH_BASIC);
    question.is_proxy = true;
    afc__challenge_choose(&question, &choice);
    assert_int_equal(choice.scheme, AFC_AUTH_DIGEST);
}

/* ---- Digest -------------------------------------------------------------------------------- */

static char *answer_to(const char *value, afc__access_request request) {
    const char *values[] = {value, NULL};
    fields fields;
    afc__challenge_reader reader;
    afc__challenge challenge;
    afc__access_terms terms;
    afc__access access;
    char *answer;
    afc__challenge_reader_init(&reader, &head_of(&fields, values)->head, false);
    assert_true(afc__challenge_next(&reader, &challenge));
    assert_true(afc__access_terms_read(&challenge, true, &terms));
    check_status(afc__access_init(&access, &terms), AFC_OK);
    check_status(afc__access_answer(&access, &request, &answer, NULL), AFC_OK);
    afc__access_clear(&access);
    return answer;
}

/** The examples of RFC 7616 3.9 and RFC 2617 3.5, and what follows from the formulas. */
static void digest_matches_the_examples_of_the_rfc(void **state) {
    (void)state;
    static const char terms[] = "realm=\"http-auth@example.org\", qop=\"auth, auth-int\", "
                                "nonce=\"7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v\", "
                                "opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"";
    static const struct {
        const char *algorithm, *response;
    } rows[] = {{"MD5", "response=\"8ca523f5e9506fed4657c9700eebdbec\""},
                {"MD5-sess", "response=\"e783283f46242139c486a698fec7211d\""},
                {"SHA-256", "response=\"753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db585"
                            "6cb6c1\""},
                {"SHA-256-sess", "response=\"2fd51b3a77ad75bad6afad6003e818d767133c46d9e2749e7f5232"
                                 "ae1ea3efd7\""}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char value[512];
        snprintf(value, sizeof value, "Digest algorithm=%s, %s", rows[i].algorithm, terms);
        afc__access_request request = {
            "Mufasa",          "Circle of Life", "GET",
            "/dir/index.html", afc_slice_of(""), "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ"};
        char *answer = answer_to(value, request);
        check_contains(answer, rows[i].response);
        check_contains(answer, "Digest username=\"Mufasa\", realm=\"http-auth@example.org\", ");
        check_contains(answer, ", qop=auth, nc=00000001, ");
        check_contains(answer, ", opaque=\"FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS\"");
        afc_free(answer);
    }
    afc__access_request old = {"Mufasa",          "Circle Of Life", "GET",
                               "/dir/index.html", afc_slice_of(""), "0a4f113b"};
    char *answer = answer_to("Digest realm=\"testrealm@host.com\", qop=\"auth,auth-int\", "
                             "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"",
                             old);
    check_contains(answer, "response=\"6629fae49393a05397450978507c4ef1\"");
    assert_null(strstr(answer, "algorithm"));
    afc_free(answer);
    /* Without a quality of protection, as RFC 2069 had it. */
    answer = answer_to("Digest realm=\"testrealm@host.com\", "
                       "nonce=\"dcd98b7102dd2f0e8b11d0f600bfb0c093\"",
                       old);
    check_contains(answer, "response=\"670fd8c2df070c60b045671b8b24ff02\"");
    assert_null(strstr(answer, "cnonce"));
    afc_free(answer);
}

static void refuses_digest_values_with_control_characters(void **state) {
    (void)state;
    static const char *const values[] = {
        "Digest realm=\"r\", nonce=\"n\x01\"", "Digest realm=\"r\x7f\", nonce=\"n\"",
        "Digest realm=\"r\", nonce=\"n\", opaque=\"\x1b[0m\"", NULL};
    fields fields;
    afc__challenge_reader reader;
    afc__challenge challenge;
    afc__access_terms terms;
    int count = 0;
    afc__challenge_reader_init(&reader, &head_of(&fields, values)->head, false);
    while (afc__challenge_next(&reader, &challenge)) {
        assert_false(afc__access_terms_read(&challenge, true, &terms));
        count++;
    }
    assert_int_equal(count, 3);
}

static void quotes_and_hashes_user_names(void **state) {
    (void)state;
    afc__access_request request = {"a\"b\\c", "p", "GET", "/", afc_slice_of(""), "c"};
    char *answer = answer_to("Digest realm=\"r\\\"s\", nonce=\"n\\\\m\", qop=auth", request);
    check_contains(answer, "username=\"a\\\"b\\\\c\", realm=\"r\\\"s\", nonce=\"n\\\\m\"");
    afc_free(answer);
    /* RFC 7616 3.9.2. */
    afc__access_request hashed = {
        "J\303\244s\303\270n Doe",         "Secret, or not?", "GET", "/doe.json", afc_slice_of(""),
        "NTg6RKcb9boFIAS3KrFK9BGeh+niz/sm"};
    answer = answer_to("Digest realm=\"api@example.org\", qop=\"auth\", algorithm=SHA-512-256, "
                       "nonce=\"5TsQWLVdgBdmrQ0XsxbDODV+57QdFR34I9HAbC/RVvkK\", charset=UTF-8, "
                       "opaque=\"HRPCssKJSGjCrkzDg8OhwpzCiGPChXYjwrI2QmXDnsOS\", userhash=true",
                       hashed);
    check_contains(answer, "userhash=true");
    assert_null(strstr(answer, "Doe\""));
    afc_free(answer);
}

static void each_digest_response_has_a_new_count_and_nonce(void **state) {
    (void)state;
    afc__access_terms terms = {.hash = AFC__ACCESS_SHA_256, .qop = AFC__QOP_AUTH, .nonce = S("n")};
    afc__access access;
    check_status(afc__access_init(&access, &terms), AFC_OK);
    afc__access_request request = {"u", "p", "GET", "/", afc_slice_of(""), NULL};
    char *first, *second;
    check_status(afc__access_answer(&access, &request, &first, NULL), AFC_OK);
    check_status(afc__access_answer(&access, &request, &second, NULL), AFC_OK);
    check_contains(first, "nc=00000001");
    check_contains(second, "nc=00000002");
    assert_string_not_equal(strstr(first, "cnonce"), strstr(second, "cnonce"));
    afc_free(first);
    afc_free(second);
    afc__access_clear(&access);
}

/** Copies the value of a parameter of an answer. */
static char *copy_parameter(const char *answer, const char *name) {
    const char *value = strstr(answer, name);
    assert_non_null(value);
    value += strlen(name);
    return strndup(value, strcspn(value, "\""));
}

/** RFC 7616 3.4.2: its key is made with the first cnonce. */
static void digest_session_keeps_its_first_cnonce(void **state) {
    (void)state;
    afc__access_terms terms = {
        .hash = AFC__ACCESS_SHA_256, .qop = AFC__QOP_AUTH, .is_session = true, .nonce = S("n")};
    afc__access_request request = {"u", "p", "GET", "/", afc_slice_of(""), NULL};
    char *former = strdup("");
    for (size_t i = 0; i < 3; i++) {
        afc__access access;
        char *first, *second, *computed;
        check_status(afc__access_init(&access, &terms), AFC_OK);
        check_status(afc__access_answer(&access, &request, &first, NULL), AFC_OK);
        check_status(afc__access_answer(&access, &request, &second, NULL), AFC_OK);
        char *cnonce = copy_parameter(first, "cnonce=\"");
        char *next = copy_parameter(second, "cnonce=\"");
        assert_int_equal(strlen(cnonce), 32);
        assert_string_equal(cnonce, next);
        assert_string_not_equal(cnonce, former);
        check_contains(second, "nc=00000002");
        /* The second answer of another session with this cnonce. */
        request.cnonce = cnonce;
        access.count = 1;
        check_status(afc__access_answer(&access, &request, &computed, NULL), AFC_OK);
        assert_string_equal(computed, second);
        request.cnonce = NULL;
        free(former);
        free(next);
        former = cnonce;
        afc_free(first);
        afc_free(second);
        afc_free(computed);
        afc__access_clear(&access);
    }
    free(former);
}

/* ---- Whatever comes ------------------------------------------------------------------------ */

static void random_input_is_harmless(void **state) {
    (void)state;
    static const char seed[] = "Digest realm=\"a\\\"b\", nonce=n, qop=\"auth, auth-int\", "
                               "Negotiate YII=, , Basic realm=x,stale=true";
    static const char octets[] = " ,=\"\\\taB~\x80;";
    uint64_t random = 7;
    for (int round = 0; round < 200000; round++) {
        char text[sizeof seed];
        memcpy(text, seed, sizeof seed);
        for (int edits = 0; edits < 4; edits++) {
            size_t at = next_random(&random) % (sizeof seed - 1);
            text[at] = octets[next_random(&random) % (sizeof octets - 1)];
        }
        text[next_random(&random) % sizeof seed] = '\0';
        /* In memory of just its size, so that a byte too many is seen. */
        char *exact = malloc(strlen(text) + 1);
        assert_non_null(exact);
        memcpy(exact, text, strlen(text) + 1);
        const char *values[] = {exact, NULL};
        fields fields;
        afc__challenge_choice choice;
        afc__challenge_question question = {
            .head = &head_of(&fields, values)->head, .possible = ALL, .knows_body = true};
        afc__challenge_choose(&question, &choice);
        assert_true((choice.scheme & ~choice.offered) == 0);
        free(exact);
    }
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    afc__access_terms terms = {.hash = AFC__ACCESS_MD5,
                               .qop = AFC__QOP_AUTH,
                               .nonce = S("nonce"),
                               .realm = S("realm"),
                               .opaque = S("opaque")};
    afc__access_request request = {"u", "p", "GET", "/", afc_slice_of(""), NULL};
    afc_credentials credentials = {"user", NULL, "token", 0, false, {0}};
    TORTURE(n) {
        afc__access access;
        char *answer = NULL;
        afc__identity *identity;
        if (afc__access_init(&access, &terms) == AFC_OK) {
            (void)afc__access_answer(&access, &request, &answer, NULL);
            if (answer != NULL) afc__free_secret(answer, strlen(answer));
            afc__access_clear(&access);
        }
        if (afc__identity_new(&identity, &credentials, NULL, NULL) == AFC_OK) {
            assert_string_equal(identity->credentials.password, "");
            char *field = afc__basic_field("user", "password");
            if (field != NULL) assert_string_equal(field, "Basic dXNlcjpwYXNzd29yZA==");
            if (field != NULL) afc__free_secret(field, strlen(field));
        }
        afc__identity_free(identity);
        afc_credentials none = AFC_CREDENTIALS_INIT;
        if (afc__identity_new(&identity, &none, "a%40b:c%3Ad", NULL) == AFC_OK) {
            assert_string_equal(identity->credentials.user, "a@b");
            assert_string_equal(identity->credentials.password, "c:d");
        }
        afc__identity_free(identity);
    }
}

static void refuses_invalid_credentials(void **state) {
    (void)state;
    static const afc_credentials rows[] = {
        {"a\rb", NULL, NULL, 0, false, {0}},   {"a", "b\nc", NULL, 0, false, {0}},
        {NULL, NULL, "t\r\n", 0, false, {0}},  {NULL, NULL, "", 0, false, {0}},
        {"a", "b", NULL, 1u << 9, false, {0}},
    };
    afc__identity *identity;
    afc_failure failure;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_status(afc__identity_new(&identity, &rows[i], NULL, &failure), AFC_EINVAL);
        assert_null(identity);
    }
    afc_credentials none = AFC_CREDENTIALS_INIT;
    check_status(afc__identity_new(&identity, &none, "a%0Ab:c", &failure), AFC_EINVAL);
    check_status(afc__identity_new(&identity, &none, "a:c%00", &failure), AFC_EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(splits_lists_of_challenges),
        cmocka_unit_test(finds_and_unescapes_parameters),
        cmocka_unit_test(limits_challenges_and_parameters),
        cmocka_unit_test(chooses_the_strongest_usable_scheme),
        cmocka_unit_test(ignores_challenges_of_the_other_side),
        cmocka_unit_test(digest_matches_the_examples_of_the_rfc),
        cmocka_unit_test(refuses_digest_values_with_control_characters),
        cmocka_unit_test(quotes_and_hashes_user_names),
        cmocka_unit_test(each_digest_response_has_a_new_count_and_nonce),
        cmocka_unit_test(digest_session_keeps_its_first_cnonce),
        cmocka_unit_test(random_input_is_harmless),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(refuses_invalid_credentials),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
