#include "http_cache/rules/identity.h"

#include "base/buffer.h"
#include "base/text.h"
#include "message/fields.h"

#include <string.h>

/** Appends a part and a NUL, so that no two identities have the same text. */
static afc_status add(afc__buffer *text, afc_slice part) {
    return afc__buffer_append_two(text, part, (afc_slice){"", 1});
}

static size_t size_of_part(const char *text) {
    return afc_slice_of(text).size + 1;
}

static afc_status add_credentials(afc__buffer *text, const afc_credentials *credentials) {
    const char *const parts[] = {credentials->user, credentials->password, credentials->token};
    afc_status status = AFC_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == AFC_OK; i++) {
        status = add(text, afc_slice_of(parts[i]));
    }
    return status;
}

static afc_status add_all(afc__buffer *text, const afc__identity_question *question) {
    afc_status status = AFC_OK;
    bool has_field = false;
    for (size_t i = 0; i < question->header_count && status == AFC_OK; i++) {
        const afc_header *header = &question->headers[i];
        if ((header->flags & AFC_HEADER_REMOVE) != 0) continue;
        bool is_field = afc__same_name(header->name, "Authorization");
        bool is_secret = afc__header_is_key(header->name) ||
                         ((header->flags & AFC_HEADER_SECRET) != 0 &&
                          !afc_header_is_credential(header->name));
        if (is_field ? question->replaces_field : !is_secret) continue;
        has_field = has_field || is_field;
        status = add(text, header->name);
        if (status == AFC_OK) status = add(text, header->value);
    }
    if (status != AFC_OK || has_field || question->credentials == NULL) return status;
    return add_credentials(text, question->credentials);
}

/** Returns the most bytes that add_all() adds. */
static size_t most_bytes(const afc__identity_question *question) {
    size_t most = 0;
    for (size_t i = 0; i < question->header_count; i++) {
        most += question->headers[i].name.size + question->headers[i].value.size + 2;
    }
    const afc_credentials *credentials = question->credentials;
    if (credentials == NULL) return most;
    return most + size_of_part(credentials->user) + size_of_part(credentials->password) +
           size_of_part(credentials->token);
}

bool afc__identity_of(char out[AFC__FINGERPRINT_SIZE], const afc__identity_question *question) {
    afc__buffer text;
    size_t most = most_bytes(question);
    afc__buffer_init(&text, most);
    out[0] = '\0';
    /* Reserved at once: a buffer that grows would leave copies of secrets in freed memory. */
    afc_status status = afc__buffer_reserve(&text, most);
    if (status == AFC_OK) status = add_all(&text, question);
    bool is_made = status == AFC_OK &&
                   (text.size == 0 || afc__fingerprint(out, afc__buffer_slice(&text)));
    afc__buffer_wipe(&text);
    afc__buffer_clear(&text);
    return is_made;
}
