#include "http_cache/identity.h"

#include "base/buffer.h"
#include "base/text.h"

#include <string.h>

static bool identify_credentials(char out[AFC__FINGERPRINT_SIZE],
                                 const afc_credentials *credentials) {
    const char *const parts[] = {credentials->user, credentials->password, credentials->token};
    afc__buffer text;
    afc__buffer_init(&text, UINT64_MAX);
    afc_status status = AFC_OK;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == AFC_OK; i++) {
        /* With the NUL, so that no two users have the same text. */
        const char *part = parts[i] != NULL ? parts[i] : "";
        status = afc__buffer_append(&text, part, strlen(part) + 1);
    }
    bool is_made = status == AFC_OK && afc__fingerprint(out, (afc_slice){text.bytes, text.size});
    if (text.bytes != NULL) explicit_bzero(text.bytes, text.size);
    afc__buffer_clear(&text);
    return is_made;
}

bool afc__identity_of(char out[AFC__FINGERPRINT_SIZE], const afc_header *headers, size_t count,
                      const afc_credentials *credentials) {
    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        bool is_sent = (headers[i].flags & AFC_HEADER_REMOVE) == 0;
        if (is_sent && afc__same_name(headers[i].name, "Authorization")) {
            return afc__fingerprint(out, headers[i].value);
        }
    }
    return credentials == NULL || identify_credentials(out, credentials);
}
