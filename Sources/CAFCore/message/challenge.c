#include "message/challenge.h"

#include "base/text.h"
#include "message/fields.h"

/* ---- Reading ------------------------------------------------------------------------------- */

static void skip(af_slice *text, size_t size) {
    text->bytes += size;
    text->size -= size;
}

static void skip_blanks(af_slice *text) {
    while (text->size > 0 && af__is_blank(text->bytes[0])) skip(text, 1);
}

/** Skips empty list members (RFC 9110 5.6.1.2). */
static void skip_commas(af_slice *text) {
    while (text->size > 0 && (af__is_blank(text->bytes[0]) || text->bytes[0] == ',')) skip(text, 1);
}

static bool is_at_member_end(af_slice text) {
    skip_blanks(&text);
    return text.size == 0 || text.bytes[0] == ',';
}

static bool is_token68_octet(char c) {
    return af__is_letter(c) || af__is_digit(c) || (c != '\0' && strchr("-._~+/", c) != NULL);
}

/** Returns the size of the token68 that makes up a whole member; 0 if there is none. */
static size_t token68_size(af_slice text) {
    size_t size = 0;
    while (size < text.size && is_token68_octet(text.bytes[size])) size++;
    if (size == 0) return 0;
    while (size < text.size && text.bytes[size] == '=') size++;
    return is_at_member_end((af_slice){text.bytes + size, text.size - size}) ? size : 0;
}

/** Takes a quoted string and returns its contents; false if it isn't closed. */
static bool take_quoted(af_slice *text, af_slice *out) {
    for (size_t i = 1; i < text->size; i++) {
        if (text->bytes[i] == '\\') {
            i++;
        } else if (text->bytes[i] == '"') {
            *out = (af_slice){text->bytes + 1, i - 1};
            skip(text, i + 1);
            return true;
        }
    }
    return false;
}

/** Takes name BWS "=" BWS ( token / quoted-string ) and the spaces after it. */
static bool take_param(af_slice *text, af_slice *name, af_slice *value) {
    af_slice rest = *text;
    size_t size = af_token_size(rest);
    if (size == 0) return false;
    *name = (af_slice){rest.bytes, size};
    skip(&rest, size);
    skip_blanks(&rest);
    if (rest.size == 0 || rest.bytes[0] != '=') return false;
    skip(&rest, 1);
    skip_blanks(&rest);
    if (rest.size > 0 && rest.bytes[0] == '"') {
        if (!take_quoted(&rest, value)) return false;
    } else {
        size = af_token_size(rest);
        if (size == 0) return false;
        *value = (af_slice){rest.bytes, size};
        skip(&rest, size);
    }
    if (!is_at_member_end(rest)) return false;
    skip_blanks(&rest);
    *text = rest;
    return true;
}

/** Returns whether the next member starts a new challenge and isn't a parameter of this one. */
static bool begins_challenge(af_slice text) {
    skip(&text, af_token_size(text));
    skip_blanks(&text);
    return text.size == 0 || text.bytes[0] != '=';
}

/** Takes the parameters at the start of `text`; false if they are malformed. */
static bool take_params(af_slice *text, af_slice *params) {
    af_slice names[AF__CHALLENGE_PARAMS_MOST], value;
    size_t count = 0;
    const char *start = text->bytes;
    for (;;) {
        const char *end = text->bytes;
        skip_commas(text);
        if (text->size == 0 || begins_challenge(*text)) {
            *params = (af_slice){start, (size_t)(end - start)};
            return params->size <= AF__CHALLENGE_LONGEST;
        }
        if (count == AF__CHALLENGE_PARAMS_MOST || !take_param(text, &names[count], &value)) {
            return false;
        }
        for (size_t i = 0; i < count; i++) {
            if (af__same_names(names[i], names[count])) return false;
        }
        count++;
    }
}

/** Takes a challenge with its parameters; false if there is none, or if it is malformed. */
static bool take_challenge(af_slice *text, af__challenge *out) {
    *out = (af__challenge){{NULL, 0}, {NULL, 0}, {NULL, 0}};
    size_t size = af_token_size(*text);
    if (size == 0) return false;
    out->scheme = (af_slice){text->bytes, size};
    skip(text, size);
    if (is_at_member_end(*text)) {
        skip_blanks(text);
        return true;
    }
    if (!af__is_blank(text->bytes[0])) return false;
    skip_blanks(text);
    size = token68_size(*text);
    if (size == 0) return !begins_challenge(*text) && take_params(text, &out->params);
    out->token68 = (af_slice){text->bytes, size};
    skip(text, size);
    skip_blanks(text);
    return size <= AF__CHALLENGE_LONGEST;
}

void af__challenge_reader_init(af__challenge_reader *reader, const af_head *head, bool is_proxy) {
    const char *name = is_proxy ? "Proxy-Authenticate" : "WWW-Authenticate";
    *reader = (af__challenge_reader){head, name, 0, {NULL, 0}, 0};
}

bool af__challenge_next(af__challenge_reader *reader, af__challenge *out) {
    for (;;) {
        skip_commas(&reader->rest);
        if (reader->count == AF__CHALLENGES_MOST) return false;
        if (reader->rest.size > 0) {
            reader->count++;
            if (take_challenge(&reader->rest, out)) return true;
            reader->rest.size = 0;
        } else {
            if (reader->next_field == reader->head->header_count) return false;
            const af_header *field = &reader->head->headers[reader->next_field++];
            if (af__same_name(field->name, reader->name)) reader->rest = field->value;
        }
    }
}

bool af__challenge_find(const af__challenge *challenge, const char *name, af_slice *value) {
    af_slice rest = challenge->params, found;
    for (;;) {
        skip_commas(&rest);
        if (rest.size == 0 || !take_param(&rest, &found, value)) break;
        if (af__same_name(found, name)) return true;
    }
    *value = (af_slice){NULL, 0};
    return false;
}

af_status af__challenge_unescape(af_slice value, af__buffer *out) {
    af_status status = AF_OK;
    for (size_t i = 0; i < value.size && status == AF_OK; i++) {
        if (value.bytes[i] == '\\' && i + 1 < value.size) i++;
        status = af__buffer_append(out, value.bytes + i, 1);
    }
    return status;
}

af_status af__challenge_quote(af_slice value, af__buffer *out) {
    af_status status = af__buffer_append(out, "\"", 1);
    for (size_t i = 0; i < value.size && status == AF_OK; i++) {
        bool is_special = value.bytes[i] == '"' || value.bytes[i] == '\\';
        if (is_special) status = af__buffer_append(out, "\\", 1);
        if (status == AF_OK) status = af__buffer_append(out, value.bytes + i, 1);
    }
    return status == AF_OK ? af__buffer_append(out, "\"", 1) : status;
}

/* ---- Digest -------------------------------------------------------------------------------- */

static bool read_algorithm(const af__challenge *challenge, af__access_terms *terms) {
    static const struct {
        const char *name;
        af__access_hash hash;
        bool is_session;
    } algorithms[] = {
        {"MD5", AF__ACCESS_MD5, false},
        {"MD5-sess", AF__ACCESS_MD5, true},
        {"SHA-256", AF__ACCESS_SHA_256, false},
        {"SHA-256-sess", AF__ACCESS_SHA_256, true},
        {"SHA-512-256", AF__ACCESS_SHA_512_256, false},
        {"SHA-512-256-sess", AF__ACCESS_SHA_512_256, true},
    };
    terms->hash = AF__ACCESS_MD5;
    if (!af__challenge_find(challenge, "algorithm", &terms->algorithm)) return true;
    for (size_t i = 0; i < sizeof algorithms / sizeof *algorithms; i++) {
        if (!af__same_name(terms->algorithm, algorithms[i].name)) continue;
        terms->hash = algorithms[i].hash;
        terms->is_session = algorithms[i].is_session;
        return true;
    }
    return false;
}

/** Prefers auth over auth-int, which adds nothing unless the response's body is protected too. */
static bool read_qop(const af__challenge *challenge, bool knows_body, af__access_terms *terms) {
    af_slice list, member;
    if (!af__challenge_find(challenge, "qop", &list)) return true;
    while (af__next_member(&list, &member)) {
        if (af__same_name(member, "auth")) terms->qop = AF__QOP_AUTH;
        bool protects_body = af__same_name(member, "auth-int");
        if (protects_body && knows_body && terms->qop == AF__QOP_NONE) {
            terms->qop = AF__QOP_AUTH_INT;
        }
    }
    return terms->qop != AF__QOP_NONE;
}

static bool says_true(const af__challenge *challenge, const char *name) {
    af_slice value;
    return af__challenge_find(challenge, name, &value) && af__same_name(value, "true");
}

bool af__access_terms_read(const af__challenge *challenge, bool knows_body, af__access_terms *out) {
    *out = (af__access_terms){.hash = AF__ACCESS_UNKNOWN};
    if (!af__same_name(challenge->scheme, "Digest")) return false;
    /* Realm, nonce and opaque are sent back, and request fields must not contain control characters. */
    if (!af__may_be_sent(challenge->params)) return false;
    if (!af__challenge_find(challenge, "nonce", &out->nonce)) return false;
    if (!read_algorithm(challenge, out) || !read_qop(challenge, knows_body, out)) return false;
    af__challenge_find(challenge, "realm", &out->realm);
    af__challenge_find(challenge, "opaque", &out->opaque);
    out->is_stale = says_true(challenge, "stale");
    out->hashes_user = says_true(challenge, "userhash");
    return true;
}

/* ---- Choosing ------------------------------------------------------------------------------ */

unsigned af__auth_scheme(af_slice name) {
    static const struct {
        const char *name;
        unsigned scheme;
    } schemes[] = {{"Basic", AF_AUTH_BASIC},
                   {"Bearer", AF_AUTH_BEARER},
                   {"Digest", AF_AUTH_DIGEST},
                   {"NTLM", AF_AUTH_NTLM},
                   {"Negotiate", AF_AUTH_NEGOTIATE}};
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        if (af__same_name(name, schemes[i].name)) return schemes[i].scheme;
    }
    return 0;
}

unsigned af__credentials_fit(const af_credentials *credentials) {
    const char *user = credentials->user;
    unsigned allowed = credentials->schemes != 0 ? credentials->schemes : ~0u;
    unsigned fit = 0;
    if (credentials->token != NULL) fit |= AF_AUTH_BEARER;
    if (user != NULL) {
        fit |= AF_AUTH_DIGEST | AF_AUTH_NTLM;
        /* A user name must not contain a colon (RFC 7617 2). */
        if (strchr(user, ':') == NULL) fit |= AF_AUTH_BASIC;
    }
    bool has_name = user != NULL && user[0] != '\0';
    bool is_asked_for = credentials->schemes == AF_AUTH_NEGOTIATE;
    bool is_ambient = credentials->token == NULL && !has_name;
    if (is_asked_for || is_ambient) fit |= AF_AUTH_NEGOTIATE;
    return fit & allowed;
}

/** Ranks challenges: the schemes are numbered by strength; for Digest the stronger hash ranks higher. */
static unsigned strength(unsigned scheme, const af__access_terms *terms) {
    return scheme * 8 + (scheme == AF_AUTH_DIGEST ? (unsigned)terms->hash : 0);
}

void af__challenge_choose(const af__challenge_question *question, af__challenge_choice *out) {
    af__challenge_reader reader;
    af__challenge challenge;
    const af_credentials *credentials = question->credentials;
    unsigned fit = credentials != NULL ? af__credentials_fit(credentials) : ~0u;
    bool has_digest = false;
    *out = (af__challenge_choice){.scheme = 0};
    af__challenge_reader_init(&reader, question->head, question->is_proxy);
    while (af__challenge_next(&reader, &challenge)) {
        af__access_terms terms = {.hash = AF__ACCESS_UNKNOWN};
        unsigned scheme = af__auth_scheme(challenge.scheme);
        if (scheme == AF_AUTH_DIGEST) {
            has_digest = true;
            if (!af__access_terms_read(&challenge, question->knows_body, &terms)) continue;
        }
        if ((scheme & question->possible) == 0) continue;
        out->offered |= scheme;
        bool is_stronger = strength(scheme, &terms) > strength(out->scheme, &out->terms);
        if ((scheme & fit) == 0 || !is_stronger) continue;
        out->scheme = scheme;
        out->challenge = challenge;
        out->terms = terms;
    }
    bool allows_digest = credentials == NULL || credentials->schemes == 0 ||
                         (credentials->schemes & AF_AUTH_DIGEST) != 0;
    if (out->scheme == AF_AUTH_BASIC && has_digest && allows_digest) out->scheme = 0;
}
