#include "message/challenge.h"

#include "base/text.h"
#include "message/fields.h"

/* ---- Reading ------------------------------------------------------------------------------- */

static void skip(afc_slice *text, size_t size) {
    text->bytes += size;
    text->size -= size;
}

static void skip_blanks(afc_slice *text) {
    while (text->size > 0 && afc__is_blank(text->bytes[0])) skip(text, 1);
}

/** Skips empty list members (RFC 9110 5.6.1.2). */
static void skip_commas(afc_slice *text) {
    while (text->size > 0 && (afc__is_blank(text->bytes[0]) || text->bytes[0] == ','))
        skip(text, 1);
}

static bool is_at_member_end(afc_slice text) {
    skip_blanks(&text);
    return text.size == 0 || text.bytes[0] == ',';
}

static bool is_token68_octet(char c) {
    return afc__is_letter(c) || afc__is_digit(c) || (c != '\0' && strchr("-._~+/", c) != NULL);
}

/** Returns the size of a token68 that makes up a whole member; 0 if there is none. */
static size_t token68_size(afc_slice text) {
    size_t size = 0;
    while (size < text.size && is_token68_octet(text.bytes[size])) size++;
    if (size == 0) return 0;
    while (size < text.size && text.bytes[size] == '=') size++;
    return is_at_member_end((afc_slice){text.bytes + size, text.size - size}) ? size : 0;
}

/** Takes name BWS "=" BWS ( token / quoted-string ) and the spaces after it. */
static bool take_param(afc_slice *text, afc_slice *name, afc_slice *value) {
    afc_slice rest = *text;
    size_t size = afc_token_size(rest);
    if (size == 0) return false;
    *name = (afc_slice){rest.bytes, size};
    skip(&rest, size);
    skip_blanks(&rest);
    if (rest.size == 0 || rest.bytes[0] != '=') return false;
    skip(&rest, 1);
    skip_blanks(&rest);
    bool is_quoted = rest.size > 0 && rest.bytes[0] == '"';
    size = is_quoted ? afc__quoted_size(rest) : afc_token_size(rest);
    if (size == 0) return false;
    *value = afc__without_quotes((afc_slice){rest.bytes, size});
    skip(&rest, size);
    if (!is_at_member_end(rest)) return false;
    skip_blanks(&rest);
    *text = rest;
    return true;
}

/** Returns whether the next member starts a new challenge and isn't a parameter of this one. */
static bool begins_challenge(afc_slice text) {
    skip(&text, afc_token_size(text));
    skip_blanks(&text);
    return text.size == 0 || text.bytes[0] != '=';
}

/** Takes the parameters at the start of `text`. Returns false if they are malformed. */
static bool take_params(afc_slice *text, afc_slice *params) {
    afc_slice names[AFC__CHALLENGE_PARAMS_MAX], value;
    size_t count = 0;
    const char *start = text->bytes;
    for (;;) {
        const char *end = text->bytes;
        skip_commas(text);
        if (text->size == 0 || begins_challenge(*text)) {
            *params = (afc_slice){start, (size_t)(end - start)};
            return params->size <= AFC__CHALLENGE_MAX;
        }
        if (count == AFC__CHALLENGE_PARAMS_MAX || !take_param(text, &names[count], &value)) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            if (afc__same_names(names[i], names[count])) return false;
        }
        count++;
    }
}

/** Takes a challenge with its parameters. Returns false if there is none, or if it is malformed. */
static bool take_challenge(afc_slice *text, afc__challenge *out) {
    *out = (afc__challenge){{NULL, 0}, {NULL, 0}, {NULL, 0}};
    size_t size = afc_token_size(*text);
    if (size == 0) return false;
    out->scheme = (afc_slice){text->bytes, size};
    skip(text, size);
    if (is_at_member_end(*text)) {
        skip_blanks(text);
        return true;
    }
    if (!afc__is_blank(text->bytes[0])) return false;
    skip_blanks(text);
    size = token68_size(*text);
    if (size == 0) return !begins_challenge(*text) && take_params(text, &out->params);
    out->token68 = (afc_slice){text->bytes, size};
    skip(text, size);
    skip_blanks(text);
    return size <= AFC__CHALLENGE_MAX;
}

void afc__challenge_reader_init(afc__challenge_reader *reader, const afc_head *head,
                                bool is_proxy) {
    const char *name = is_proxy ? "Proxy-Authenticate" : "WWW-Authenticate";
    *reader = (afc__challenge_reader){head, name, 0, {NULL, 0}, 0};
}

bool afc__challenge_next(afc__challenge_reader *reader, afc__challenge *out) {
    for (;;) {
        skip_commas(&reader->rest);
        if (reader->count == AFC__CHALLENGES_MAX) return false;
        if (reader->rest.size > 0) {
            reader->count++;
            if (take_challenge(&reader->rest, out)) return true;
            reader->rest.size = 0;
        } else {
            if (reader->next_field == reader->head->header_count) return false;
            const afc_header *field = &reader->head->headers[reader->next_field++];
            if (afc__same_name(field->name, reader->name)) reader->rest = field->value;
        }
    }
}

bool afc__challenge_find(const afc__challenge *challenge, const char *name, afc_slice *value) {
    afc_slice rest = challenge->params, found;
    for (;;) {
        skip_commas(&rest);
        if (rest.size == 0 || !take_param(&rest, &found, value)) break;
        if (afc__same_name(found, name)) return true;
    }
    *value = (afc_slice){NULL, 0};
    return false;
}

afc_status afc__challenge_unescape(afc_slice value, afc__buffer *out) {
    afc_status status = AFC_OK;
    for (size_t i = 0; i < value.size && status == AFC_OK; i++) {
        if (value.bytes[i] == '\\' && i + 1 < value.size) i++;
        status = afc__buffer_append(out, value.bytes + i, 1);
    }
    return status;
}

afc_status afc__challenge_quote(afc_slice value, afc__buffer *out) {
    afc_status status = afc__buffer_append(out, "\"", 1);
    for (size_t i = 0; i < value.size && status == AFC_OK; i++) {
        bool is_special = value.bytes[i] == '"' || value.bytes[i] == '\\';
        if (is_special) status = afc__buffer_append(out, "\\", 1);
        if (status == AFC_OK) status = afc__buffer_append(out, value.bytes + i, 1);
    }
    return status == AFC_OK ? afc__buffer_append(out, "\"", 1) : status;
}

/* ---- Digest -------------------------------------------------------------------------------- */

static bool read_algorithm(const afc__challenge *challenge, afc__access_terms *terms) {
    static const struct {
        const char *name;
        afc__access_hash hash;
        bool is_session;
    } algorithms[] = {
        {"MD5", AFC__ACCESS_MD5, false},
        {"MD5-sess", AFC__ACCESS_MD5, true},
        {"SHA-256", AFC__ACCESS_SHA_256, false},
        {"SHA-256-sess", AFC__ACCESS_SHA_256, true},
        {"SHA-512-256", AFC__ACCESS_SHA_512_256, false},
        {"SHA-512-256-sess", AFC__ACCESS_SHA_512_256, true},
    };
    terms->hash = AFC__ACCESS_MD5;
    if (!afc__challenge_find(challenge, "algorithm", &terms->algorithm)) return true;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        if (!afc__same_name(terms->algorithm, algorithms[i].name)) continue;
        terms->hash = algorithms[i].hash;
        terms->is_session = algorithms[i].is_session;
        return true;
    }
    return false;
}

/** Prefers auth over auth-int, which adds nothing unless the response's body is protected too. */
static bool read_qop(const afc__challenge *challenge, bool knows_body, afc__access_terms *terms) {
    afc_slice list, member;
    if (!afc__challenge_find(challenge, "qop", &list)) return true;
    while (afc__next_member(&list, &member)) {
        if (afc__same_name(member, "auth")) terms->qop = AFC__QOP_AUTH;
        bool protects_body = afc__same_name(member, "auth-int");
        if (protects_body && knows_body && terms->qop == AFC__QOP_NONE) {
            terms->qop = AFC__QOP_AUTH_INT;
        }
    }
    return terms->qop != AFC__QOP_NONE;
}

static bool says_true(const afc__challenge *challenge, const char *name) {
    afc_slice value;
    return afc__challenge_find(challenge, name, &value) && afc__same_name(value, "true");
}

bool afc__access_terms_read(const afc__challenge *challenge, bool knows_body,
                            afc__access_terms *out) {
    *out = (afc__access_terms){.hash = AFC__ACCESS_UNKNOWN};
    if (!afc__same_name(challenge->scheme, "Digest")) return false;
    /* Realm, nonce and opaque are sent back, and request fields must not contain control characters. */
    if (!afc__may_be_sent(challenge->params)) return false;
    if (!afc__challenge_find(challenge, "nonce", &out->nonce)) return false;
    if (!read_algorithm(challenge, out) || !read_qop(challenge, knows_body, out)) return false;
    afc__challenge_find(challenge, "realm", &out->realm);
    afc__challenge_find(challenge, "opaque", &out->opaque);
    out->is_stale = says_true(challenge, "stale");
    out->hashes_user = says_true(challenge, "userhash");
    return true;
}

/* ---- Choosing ------------------------------------------------------------------------------ */

/** Returns the AFC_AUTH_… of a scheme; 0 if it isn't supported. */
static unsigned scheme_of(afc_slice name) {
    static const struct {
        const char *name;
        unsigned scheme;
    } schemes[] = {{"Basic", AFC_AUTH_BASIC},
                   {"Bearer", AFC_AUTH_BEARER},
                   {"Digest", AFC_AUTH_DIGEST},
                   {"NTLM", AFC_AUTH_NTLM},
                   {"Negotiate", AFC_AUTH_NEGOTIATE}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (afc__same_name(name, schemes[i].name)) return schemes[i].scheme;
    }
    return 0;
}

unsigned afc__credentials_fit(const afc_credentials *credentials) {
    const char *user = credentials->user;
    unsigned allowed = credentials->schemes != 0 ? credentials->schemes : ~0u;
    unsigned fit = 0;
    if (credentials->token != NULL) fit |= AFC_AUTH_BEARER;
    if (user != NULL) {
        fit |= AFC_AUTH_DIGEST | AFC_AUTH_NTLM;
        /* A user name must not contain a colon (RFC 7617 2). */
        if (strchr(user, ':') == NULL) fit |= AFC_AUTH_BASIC;
    }
    bool has_name = user != NULL && user[0] != '\0';
    bool is_asked_for = credentials->schemes == AFC_AUTH_NEGOTIATE;
    bool is_ambient = credentials->token == NULL && !has_name;
    if (is_asked_for || is_ambient) fit |= AFC_AUTH_NEGOTIATE;
    return fit & allowed;
}

bool afc__credentials_lack_basic(const afc_credentials *credentials) {
    bool is_allowed = credentials->schemes == 0 || (credentials->schemes & AFC_AUTH_BASIC) != 0;
    return is_allowed && credentials->user != NULL && strchr(credentials->user, ':') != NULL;
}

/** Ranks challenges: AFC_AUTH_… bits increase with strength, and for Digest a stronger hash ranks higher. */
static unsigned strength(unsigned scheme, const afc__access_terms *terms) {
    return scheme * 8 + (scheme == AFC_AUTH_DIGEST ? (unsigned)terms->hash : 0);
}

void afc__challenge_choose(const afc__challenge_question *question, afc__challenge_choice *out) {
    afc__challenge_reader reader;
    afc__challenge challenge;
    const afc_credentials *credentials = question->credentials;
    unsigned fit = credentials != NULL ? afc__credentials_fit(credentials) : ~0u;
    bool has_digest = false;
    *out = (afc__challenge_choice){.scheme = 0};
    afc__challenge_reader_init(&reader, question->head, question->is_proxy);
    while (afc__challenge_next(&reader, &challenge)) {
        afc__access_terms terms = {.hash = AFC__ACCESS_UNKNOWN};
        unsigned scheme = scheme_of(challenge.scheme);
        if (scheme == AFC_AUTH_DIGEST) {
            has_digest = true;
            if (!afc__access_terms_read(&challenge, question->knows_body, &terms)) continue;
        }
        if ((scheme & question->possible) == 0) continue;
        out->offered |= scheme;
        bool is_stronger = strength(scheme, &terms) > strength(out->scheme, &out->terms);
        if ((scheme & fit) == 0 || !is_stronger) continue;
        out->scheme = scheme;
        out->challenge = challenge;
        out->terms = terms;
    }
    /*
     * Basic isn't used if the server offers Digest too, even if that challenge can't be answered; see afc_credentials.
     */
    bool allows_digest = credentials == NULL || credentials->schemes == 0 ||
                         (credentials->schemes & AFC_AUTH_DIGEST) != 0;
    if (out->scheme == AFC_AUTH_BASIC && has_digest && allows_digest) out->scheme = 0;
}
