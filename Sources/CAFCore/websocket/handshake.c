#include "websocket/handshake.h"

#include "base/failure.h"
#include "base/random.h"
#include "base/text.h"
#include "message/encoding.h"
#include "message/fields.h"

#include <openssl/evp.h>

enum { SWITCHING_PROTOCOLS = 101, KEY_BYTES = 16, SHA1_BYTES = 20, MAX_PROTOCOLS_SIZE = 16 * 1024 };

/** The GUID that the server appends to the key to compute Sec-WebSocket-Accept (RFC 6455 1.3). */
static const char guid[] = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/* ---- The request --------------------------------------------------------------------------- */

static bool is_among(afc_slice list, afc_slice wanted) {
    afc_slice member;
    while (afc__next_member(&list, &member)) {
        if (afc__is_same(member, wanted)) return true;
    }
    return false;
}

static afc_status add_protocol(afc__buffer *list, const char *name, afc_failure *failure) {
    afc_slice protocol = afc_slice_of(name);
    if (!afc__is_token(protocol)) {
        return afc__fail(failure, AFC_EINVAL, "a WebSocket subprotocol is not a token");
    }
    if (is_among(afc__buffer_slice(list), protocol)) {
        return afc__fail(failure, AFC_EINVAL, "the WebSocket subprotocol \"%.64s\" is there twice",
                         name);
    }
    const char *mark = list->size > 0 ? ", " : "";
    afc_status status = afc__buffer_append_two(list, afc_slice_of(mark), protocol);
    if (status == AFC_ETOOBIG) {
        return afc__fail(failure, AFC_EINVAL, "the WebSocket subprotocols exceed %d bytes",
                         (int)MAX_PROTOCOLS_SIZE);
    }
    return status == AFC_OK ? AFC_OK : afc__fail_memory(failure);
}

static afc_status make_key(afc__handshake *handshake, afc_failure *failure) {
    unsigned char key[KEY_BYTES];
    if (!afc__random(key, sizeof key)) {
        return afc__fail(failure, AFC_EINTERNAL, "the system has no random bytes");
    }
    afc__base64_encode(handshake->key, key, sizeof key);
    return AFC_OK;
}

afc_status afc__handshake_renew(afc__handshake *handshake, afc_header *headers, size_t count,
                                afc_failure *failure) {
    afc_status status = make_key(handshake, failure);
    for (size_t i = 0; i < count && status == AFC_OK; i++) {
        bool is_key = afc__same_name(headers[i].name, "Sec-WebSocket-Key") &&
                      headers[i].value.size == AFC__WEBSOCKET_KEY_SIZE - 1;
        if (!is_key) continue;
        memcpy((char *)(uintptr_t)headers[i].value.bytes, handshake->key,
               AFC__WEBSOCKET_KEY_SIZE - 1);
    }
    return status;
}

afc_status afc__handshake_init(afc__handshake *handshake, const char *const *protocols,
                               size_t count, const afc__deflate *deflate, afc_failure *failure) {
    *handshake = (afc__handshake){.deflate = *deflate};
    afc__buffer_init(&handshake->protocols, MAX_PROTOCOLS_SIZE);
    if (deflate->is_used) afc__deflate_write_offer(handshake->extensions, deflate);
    afc_status status = make_key(handshake, failure);
    for (size_t i = 0; i < count && status == AFC_OK; i++) {
        status = add_protocol(&handshake->protocols, protocols[i], failure);
    }
    if (status != AFC_OK) afc__handshake_clear(handshake);
    return status;
}

void afc__handshake_clear(afc__handshake *handshake) {
    afc__buffer_clear(&handshake->protocols);
}

size_t afc__handshake_write_fields(const afc__handshake *handshake,
                                   afc_header out[AFC__HANDSHAKE_FIELDS]) {
    size_t count = 0;
    out[count++] = (afc_header){afc_slice_of("Upgrade"), afc_slice_of("websocket"), 0};
    out[count++] = (afc_header){afc_slice_of("Connection"), afc_slice_of("Upgrade"), 0};
    out[count++] = (afc_header){afc_slice_of("Sec-WebSocket-Version"), afc_slice_of("13"), 0};
    out[count++] = (afc_header){afc_slice_of("Sec-WebSocket-Key"), afc_slice_of(handshake->key), 0};
    if (handshake->protocols.size > 0) {
        afc_slice list = {handshake->protocols.bytes, handshake->protocols.size};
        out[count++] = (afc_header){afc_slice_of("Sec-WebSocket-Protocol"), list, 0};
    }
    if (handshake->deflate.is_used) {
        out[count++] = (afc_header){afc_slice_of("Sec-WebSocket-Extensions"),
                                    afc_slice_of(handshake->extensions), 0};
    }
    return count;
}

bool afc__handshake_owns_field(afc_slice name) {
    return afc__same_name(name, "Upgrade") || afc__same_name(name, "Connection") ||
           afc__begins_with_name(name, "Sec-WebSocket-");
}

/* ---- The response -------------------------------------------------------------------------- */

/** Returns whether a member of a list field has this name. */
static bool names(const afc_head *head, const char *field, const char *wanted) {
    for (size_t i = 0; i < head->header_count; i++) {
        afc_slice list = head->headers[i].value, member;
        if (!afc__same_name(head->headers[i].name, field)) continue;
        while (afc__next_member(&list, &member)) {
            if (afc__same_name(member, wanted)) return true;
        }
    }
    return false;
}

/** Finds a field that may occur once; `*out` is NULL if it is missing. Returns false if there are several. */
static bool find_single(const afc_head *head, const char *name, const afc_header **out) {
    *out = NULL;
    for (size_t i = 0; i < head->header_count; i++) {
        if (!afc__same_name(head->headers[i].name, name)) continue;
        if (*out != NULL) return false;
        *out = &head->headers[i];
    }
    return true;
}

static afc_status check_accept(const afc__handshake *handshake, const afc_head *head,
                               afc_failure *failure) {
    char text[AFC__WEBSOCKET_KEY_SIZE + sizeof guid];
    char expected[AFC__BASE64_SIZE(SHA1_BYTES) + 1];
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    const afc_header *field;
    if (!find_single(head, "Sec-WebSocket-Accept", &field) || field == NULL) {
        return afc__fail(failure, AFC_EPROTOCOL,
                         field == NULL ? "the server's 101 has no Sec-WebSocket-Accept"
                                       : "the server's 101 has several Sec-WebSocket-Accept");
    }
    memcpy(text, handshake->key, AFC__WEBSOCKET_KEY_SIZE - 1);
    memcpy(text + AFC__WEBSOCKET_KEY_SIZE - 1, guid, sizeof guid);
    if (EVP_Digest(text, strlen(text), digest, &size, EVP_sha1(), NULL) != 1) {
        return afc__fail(failure, AFC_EUNSUPPORTED, "OpenSSL has no SHA-1, which WebSocket needs");
    }
    afc__base64_encode(expected, digest, SHA1_BYTES);
    if (afc__is_same(field->value, afc_slice_of(expected))) return AFC_OK;
    return afc__fail(failure, AFC_EPROTOCOL,
                     "the server's Sec-WebSocket-Accept doesn't match the key of the request");
}

static afc_status check_protocol(const afc__handshake *handshake, const afc_head *head,
                                 afc_slice *out, afc_failure *failure) {
    const afc_header *field;
    *out = (afc_slice){NULL, 0};
    if (!find_single(head, "Sec-WebSocket-Protocol", &field)) {
        return afc__fail(failure, AFC_EPROTOCOL, "the server's 101 has several subprotocols");
    }
    if (field == NULL) return AFC_OK;
    afc_slice offered = {handshake->protocols.bytes, handshake->protocols.size};
    if (!afc__is_token(field->value) || !is_among(offered, field->value)) {
        int shown = field->value.size < 64 ? (int)field->value.size : 64;
        return afc__fail(failure, AFC_EPROTOCOL,
                         "the server chose the subprotocol \"%.*s\", which wasn't offered", shown,
                         field->value.bytes);
    }
    *out = field->value;
    return AFC_OK;
}

static afc_status refuse_status(const afc_head *head, afc_failure *failure) {
    bool is_about_credentials = head->status == 401 || head->status == 407;
    int shown = head->reason.size < 64 ? (int)head->reason.size : 64;
    return afc__fail(failure, is_about_credentials ? AFC_EAUTH : AFC_EPROTOCOL,
                     "the server refused the WebSocket with status %d%s%.*s; expected 101",
                     head->status, shown > 0 ? " " : "", shown, head->reason.bytes);
}

afc_status afc__handshake_check(const afc__handshake *handshake, const afc_head *head,
                                afc__agreement *out, afc_failure *failure) {
    *out = (afc__agreement){0};
    if (head->status != SWITCHING_PROTOCOLS) return refuse_status(head, failure);
    /* An upgrade is a feature of HTTP/1.1 (RFC 9110 7.8, RFC 6455 4.1). */
    if (head->version != AFC_HTTP_1_1) {
        return afc__fail(failure, AFC_EPROTOCOL, "the server's 101 isn't HTTP/1.1");
    }
    /* Upgrade must name one protocol: a list of several isn't a match (RFC 6455 4.1). */
    const afc_header *upgrade;
    if (!find_single(head, "Upgrade", &upgrade) || upgrade == NULL ||
        !afc__same_name(upgrade->value, "websocket")) {
        return afc__fail(failure, AFC_EPROTOCOL, "the server's 101 has no \"Upgrade: websocket\"");
    }
    if (!names(head, "Connection", "Upgrade")) {
        return afc__fail(failure, AFC_EPROTOCOL, "the server's 101 has no \"Connection: Upgrade\"");
    }
    afc_status status = check_accept(handshake, head, failure);
    if (status == AFC_OK) status = check_protocol(handshake, head, &out->protocol, failure);
    for (size_t i = 0; i < head->header_count && status == AFC_OK; i++) {
        const afc_header *field = &head->headers[i];
        if (!afc__same_name(field->name, "Sec-WebSocket-Extensions")) continue;
        status = afc__deflate_read_response(&out->deflate, &handshake->deflate, field->value,
                                            failure);
    }
    return status;
}
