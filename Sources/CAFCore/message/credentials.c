#include "message/credentials.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/sized.h"
#include "message/encoding.h"

#include <string.h>
#include <strings.h>

enum { MAX_TEXT = 64 * 1024 };

/** Refuses control characters (RFC 7617 2, RFC 9110 5.5). `text` need not be NUL-terminated. */
static afc_status check_text(const char *text, size_t size, const char *what,
                             afc_failure *failure) {
    if (size > MAX_TEXT)
        return afc__fail(failure, AFC_EINVAL, "the %s is longer than 64 KiB", what);
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c < ' ' || c == 0x7f) {
            return afc__fail(failure, AFC_EINVAL, "the %s contains a control character", what);
        }
    }
    return AFC_OK;
}

/** Checks "user:password" after decoding. The first colon ends the user, as a user can't contain one. */
static afc_status check_userinfo(const unsigned char *plain, size_t size, afc_failure *failure) {
    const char *user = (const char *)plain, *colon = memchr(plain, ':', size);
    size_t user_size = (size_t)(colon - user);
    afc_status status = check_text(user, user_size, "URL's user name", failure);
    if (status != AFC_OK) return status;
    return check_text(colon + 1, size - user_size - 1, "URL's password", failure);
}

/** Returns the field value "Basic …" for `size` bytes. */
static char *basic(const unsigned char *plain, size_t size) {
    static const char scheme[] = "Basic ";
    char *field = afc__alloc(sizeof scheme + AFC__BASE64_SIZE(size));
    if (field == NULL) return NULL;
    memcpy(field, scheme, sizeof scheme - 1);
    afc__base64_encode(field + sizeof scheme - 1, plain, size);
    return field;
}

/** Refuses a colon: the server would read what follows it as a part of the password (RFC 7617 2). */
static afc_status refuse_colon(const char *whose, afc_failure *failure) {
    return afc__fail(failure, AFC_EINVAL,
                     "%s user name contains a colon, which Basic doesn't allow (RFC 7617 2)",
                     whose);
}

/** Returns whether the user has no colon once it is decoded (RFC 7617 2). */
static bool allows_basic(const char *userinfo) {
    for (const char *at = userinfo; *at != '\0' && *at != ':'; at++) {
        if (strncasecmp(at, "%3a", 3) == 0) return false;
    }
    return true;
}

afc_status afc__basic_credentials(char **out, const char *userinfo, afc_failure *failure) {
    *out = NULL;
    if (!allows_basic(userinfo)) return refuse_colon("the URL's", failure);
    size_t capacity = strlen(userinfo) + 2;
    unsigned char *plain = afc__alloc(capacity);
    if (plain == NULL) return afc__fail_memory(failure);
    size_t size = afc__percent_decode(plain, userinfo);
    if (strchr(userinfo, ':') == NULL) plain[size++] = ':';
    afc_status status = check_userinfo(plain, size, failure);
    if (status == AFC_OK) {
        *out = basic(plain, size);
        if (*out == NULL) status = afc__fail_memory(failure);
    }
    afc__free_secret(plain, capacity);
    return status;
}

static char *join(const char *first, const char *second, const char *third) {
    size_t sizes[] = {strlen(first), strlen(second), strlen(third)};
    char *text = afc__alloc(sizes[0] + sizes[1] + sizes[2] + 1);
    if (text == NULL) return NULL;
    memcpy(text, first, sizes[0]);
    memcpy(text + sizes[0], second, sizes[1]);
    memcpy(text + sizes[0] + sizes[1], third, sizes[2] + 1);
    return text;
}

char *afc__basic_field(const char *user, const char *password) {
    char *plain = join(user, ":", password);
    if (plain == NULL) return NULL;
    size_t size = strlen(plain);
    char *field = basic((const unsigned char *)plain, size);
    afc__free_secret(plain, size);
    return field;
}

char *afc__bearer_field(const char *token) {
    return join("Bearer ", token, "");
}

/* ---- Identities ---------------------------------------------------------------------------- */

enum {
    ALL_SCHEMES = AFC_AUTH_BASIC | AFC_AUTH_BEARER | AFC_AUTH_DIGEST | AFC_AUTH_NTLM |
                  AFC_AUTH_NEGOTIATE
};

static char *put_text(char **storage, const char *text) {
    if (text == NULL) return NULL;
    size_t size = strlen(text) + 1;
    char *copy = memcpy(*storage, text, size);
    *storage += size;
    return copy;
}

static size_t size_of(const char *text) {
    return text != NULL ? strlen(text) + 1 : 0;
}

/** Refuses a user with a colon if Basic, which can't send it, is the only scheme allowed for users. */
static afc_status check_basic(const afc_credentials *credentials, const char *whose,
                              afc_failure *failure) {
    unsigned for_users = credentials->schemes & (AFC_AUTH_BASIC | AFC_AUTH_DIGEST | AFC_AUTH_NTLM);
    bool has_colon = credentials->user != NULL && strchr(credentials->user, ':') != NULL;
    bool is_refused = has_colon && for_users == AFC_AUTH_BASIC;
    return is_refused ? refuse_colon(whose, failure) : AFC_OK;
}

static afc_status copy_identity(afc__identity **out, const afc_credentials *from,
                                afc_failure *failure) {
    const char *password = from->user != NULL && from->password == NULL ? "" : from->password;
    size_t size = sizeof **out + size_of(from->user) + size_of(password) + size_of(from->token);
    afc__identity *identity = *out = afc__alloc(size);
    if (identity == NULL) return afc__fail_memory(failure);
    char *storage = identity->texts;
    identity->size = size;
    identity->credentials = *from;
    identity->credentials.user = put_text(&storage, from->user);
    identity->credentials.password = put_text(&storage, password);
    identity->credentials.token = put_text(&storage, from->token);
    return AFC_OK;
}

/** Copies user and password of a URL. They are split at the first colon before they are decoded. */
static afc_status copy_userinfo(afc__identity **out, const afc_credentials *credentials,
                                const char *userinfo, afc_failure *failure) {
    size_t capacity = 2 * strlen(userinfo) + 3;
    char *user = afc__alloc(capacity);
    if (user == NULL) return afc__fail_memory(failure);
    const char *colon = strchr(userinfo, ':');
    size_t size = colon != NULL ? (size_t)(colon - userinfo) : strlen(userinfo);
    memcpy(user, userinfo, size);
    user[size] = '\0';
    size = afc__percent_decode((unsigned char *)user, user);
    char *password = user + size + 1;
    size_t password_size = colon != NULL ? afc__percent_decode((unsigned char *)password, colon + 1)
                                         : 0;
    user[size] = password[password_size] = '\0';
    afc_credentials found = *credentials;
    found.user = user;
    found.password = password;
    afc_status status = check_text(user, size, "URL's user name", failure);
    if (status == AFC_OK) {
        status = check_text(password, password_size, "URL's password", failure);
    }
    if (status == AFC_OK) status = check_basic(&found, "the URL's", failure);
    if (status == AFC_OK) status = copy_identity(out, &found, failure);
    afc__free_secret(user, capacity);
    return status;
}

static afc_status check_given(const char *text, const char *what, afc_failure *failure) {
    return text != NULL ? check_text(text, strlen(text), what, failure) : AFC_OK;
}

afc_status afc__identity_new(afc__identity **out, const afc_credentials *credentials,
                             const char *userinfo, afc_failure *failure) {
    *out = NULL;
    afc_status status = AFC__CHECK_RESERVED(credentials, "afc_credentials", failure);
    if (status != AFC_OK) return status;
    if ((credentials->schemes & ~(unsigned)ALL_SCHEMES) != 0) {
        return afc__fail(failure, AFC_EINVAL,
                         "invalid authentication schemes: expected AFC_AUTH_… bits");
    }
    if (credentials->token != NULL && credentials->token[0] == '\0') {
        return afc__fail(failure, AFC_EINVAL, "the token is empty");
    }
    if (credentials->user == NULL && credentials->token == NULL && userinfo != NULL) {
        return copy_userinfo(out, credentials, userinfo, failure);
    }
    status = check_given(credentials->user, "user name", failure);
    if (status == AFC_OK) status = check_given(credentials->password, "password", failure);
    if (status == AFC_OK) status = check_given(credentials->token, "token", failure);
    if (status == AFC_OK) status = check_basic(credentials, "the", failure);
    return status == AFC_OK ? copy_identity(out, credentials, failure) : status;
}

void afc__identity_free(afc__identity *identity) {
    if (identity != NULL) afc__free_secret(identity, identity->size);
}
