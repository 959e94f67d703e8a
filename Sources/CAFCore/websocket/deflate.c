#include "websocket/deflate.h"

#include "base/failure.h"
#include "base/text.h"
#include "message/fields.h"

#include <stdio.h>

/* The parameters (RFC 7692 7.1), as bits, to see whether one was already set. */
enum { SERVER_NO_TAKEOVER = 1, CLIENT_NO_TAKEOVER = 2, SERVER_BITS = 4, CLIENT_BITS = 8 };

void afc__deflate_write_offer(char out[AFC__DEFLATE_OFFER_SIZE], const afc__deflate *offer) {
    /* Room for any int, as compilers compute the longest text. */
    char server[40] = "", client[13] = "";
    if (offer->server_window_bits < AFC__DEFLATE_BITS_MAX) {
        snprintf(server, sizeof server, "; server_max_window_bits=%d", offer->server_window_bits);
    }
    if (offer->client_window_bits < AFC__DEFLATE_BITS_MAX) {
        snprintf(client, sizeof client, "=%d", offer->client_window_bits);
    }
    snprintf(out, AFC__DEFLATE_OFFER_SIZE, "permessage-deflate; client_max_window_bits%s%s%s%s",
             client, server,
             offer->server_no_context_takeover ? "; server_no_context_takeover" : "",
             offer->client_no_context_takeover ? "; client_no_context_takeover" : "");
}

/* ---- Reading ------------------------------------------------------------------------------- */

typedef struct parameter {
    afc_slice name, value; /**< `value.bytes` is NULL if there is no value. */
} parameter;

static void skip_blanks(afc_slice *text) {
    while (text->size > 0 && afc__is_blank(*text->bytes)) text->bytes++, text->size--;
}

static afc_slice take_token(afc_slice *text) {
    afc_slice token = {text->bytes, afc_token_size(*text)};
    text->bytes += token.size;
    text->size -= token.size;
    skip_blanks(text);
    return token;
}

static bool take_character(afc_slice *text, char c) {
    if (text->size == 0 || *text->bytes != c) return false;
    text->bytes++, text->size--;
    skip_blanks(text);
    return true;
}

/** Takes a value: a token, perhaps between quotes (RFC 6455 9.1). No valid value needs a backslash. */
static bool take_value(afc_slice *text, afc_slice *value) {
    bool is_quoted = text->size > 0 && *text->bytes == '"';
    if (is_quoted) text->bytes++, text->size--;
    *value = (afc_slice){text->bytes, afc_token_size(*text)};
    text->bytes += value->size;
    text->size -= value->size;
    if (value->size == 0) return false;
    if (is_quoted && (text->size == 0 || *text->bytes != '"')) return false;
    if (is_quoted) text->bytes++, text->size--;
    skip_blanks(text);
    return true;
}

static bool take_parameter(afc_slice *text, parameter *out) {
    *out = (parameter){.name = take_token(text)};
    if (out->name.size == 0) return false;
    return !take_character(text, '=') || take_value(text, &out->value);
}

/** Reads a number of bits without leading zeros; 0 if it is invalid. */
static uint8_t read_bits(afc_slice value, uint8_t most) {
    uint64_t bits;
    if (value.bytes == NULL || value.size > 2 || *value.bytes == '0') return 0;
    if (!afc__parse_number(value, most, &bits) || bits < AFC__DEFLATE_BITS_MIN) return 0;
    return (uint8_t)bits;
}

static unsigned kind_of(afc_slice name) {
    if (afc__same_name(name, "server_no_context_takeover")) return SERVER_NO_TAKEOVER;
    if (afc__same_name(name, "client_no_context_takeover")) return CLIENT_NO_TAKEOVER;
    if (afc__same_name(name, "server_max_window_bits")) return SERVER_BITS;
    return afc__same_name(name, "client_max_window_bits") ? CLIENT_BITS : 0;
}

static bool apply(afc__deflate *agreed, const afc__deflate *offer, const parameter *given,
                  unsigned *seen) {
    unsigned kind = kind_of(given->name);
    bool has_value = given->value.bytes != NULL;
    if (kind == 0 || (*seen & kind) != 0) return false;
    *seen |= kind;
    switch (kind) {
    case SERVER_NO_TAKEOVER:
        agreed->server_no_context_takeover = true;
        return !has_value;
    case CLIENT_NO_TAKEOVER:
        agreed->client_no_context_takeover = true;
        return !has_value;
    case SERVER_BITS:
        agreed->server_window_bits = read_bits(given->value, offer->server_window_bits);
        return agreed->server_window_bits != 0;
    default:
        agreed->client_window_bits = read_bits(given->value, offer->client_window_bits);
        return agreed->client_window_bits != 0;
    }
}

/**
 * Returns whether the response grants what the offer has asked of the server, as it must (RFC 7692 7.1.1.1, 7.1.2.1).
 */
static bool grants(const afc__deflate *agreed, const afc__deflate *offer) {
    return (agreed->server_no_context_takeover || !offer->server_no_context_takeover) &&
           agreed->server_window_bits <= offer->server_window_bits;
}

static afc_status refuse(const char *what, afc_slice part, afc_failure *failure) {
    int shown = part.size < 40 ? (int)part.size : 40;
    return afc__fail(failure, AFC_EPROTOCOL, "the server's Sec-WebSocket-Extensions has %s: %.*s",
                     what, shown, part.bytes);
}

afc_status afc__deflate_read_response(afc__deflate *agreed, const afc__deflate *offer,
                                      afc_slice value, afc_failure *failure) {
    afc_slice text = afc__trim(value);
    do {
        /* Empty members of a list don't count (RFC 9110 5.6.1). */
        if (text.size == 0 || *text.bytes == ',') continue;
        afc_slice name = take_token(&text);
        bool is_offered = offer->is_used && afc__same_name(name, "permessage-deflate");
        if (!is_offered) return refuse("an extension that wasn't offered", value, failure);
        if (agreed->is_used) return refuse("an extension twice", name, failure);
        *agreed = (afc__deflate){true, AFC__DEFLATE_BITS_MAX, offer->client_window_bits, false,
                                 offer->client_no_context_takeover};
        unsigned seen = 0;
        while (take_character(&text, ';')) {
            parameter given;
            if (!take_parameter(&text, &given) || !apply(agreed, offer, &given, &seen)) {
                return refuse("an invalid parameter", value, failure);
            }
        }
        if (!grants(agreed, offer)) return refuse("less than was asked for", value, failure);
    } while (take_character(&text, ','));
    return text.size == 0 ? AFC_OK : refuse("an invalid member", text, failure);
}
