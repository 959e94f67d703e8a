/*
 * What a server sends over a WebSocket, in portions of any size, and its Sec-WebSocket-Extensions. Whatever comes, no
 * message exceeds its limit, a text is UTF-8, nothing follows a close frame or a failure, and any portions give the
 * same result.
 */
#include "input.h"
#include "websocket/deflate.h"
#include "websocket/reader.h"

enum { MESSAGE = 1000 };

static const afc_websocket_limits limits = {MESSAGE, 600, 20, 0, 0, {0}};

/** A decoder that passes on each byte twice. Like a real one, it gives the same bytes whatever room it gets. */
typedef struct repeater {
    bool owes; /* The second of two bytes had no room. */
    char owed;
} repeater;

static afc_status repeat(void *stream, afc_slice *input, char *output, size_t *size) {
    repeater *repeater = stream;
    size_t room = *size, count = 0;
    while (count < room && (repeater->owes || input->size > 0)) {
        if (repeater->owes) {
            output[count++] = repeater->owed;
            repeater->owes = false;
            continue;
        }
        if (*input->bytes == 'X') return AFC_EPROTOCOL;
        repeater->owed = output[count++] = *input->bytes;
        repeater->owes = true;
        input->bytes++;
        input->size--;
    }
    *size = count;
    return AFC_OK;
}

static void ignore_stream(void *stream) {
    (void)stream;
}

typedef struct summary {
    uint64_t hash;
    afc_status status;
    uint16_t code;
    size_t message_size;
} summary;

static void add(summary *out, const char *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        out->hash = (out->hash ^ (unsigned char)bytes[i]) * UINT64_C(1099511628211);
    }
}

static void check_item(const afc__websocket_item *item, summary *out, bool deliver_in_pieces) {
    afc_slice bytes = item->event == AFC__WEBSOCKET_MESSAGE ? item->message.bytes : item->payload;
    add(out, bytes.bytes, bytes.size);
    if (item->event != AFC__WEBSOCKET_MESSAGE) {
        require(bytes.size <= AFC__FRAME_CONTROL_MAX);
        return;
    }
    require(deliver_in_pieces || (item->message.is_first && item->message.is_last));
    if (item->message.is_first) out->message_size = 0;
    out->message_size += bytes.size;
    require(out->message_size <= MESSAGE);
    if (!deliver_in_pieces && item->message.kind == AFC_WEBSOCKET_TEXT)
        require(afc__is_utf8(bytes));
}

static summary read_all(const uint8_t *data, size_t size, size_t portion, bool decodes,
                        bool deliver_in_pieces) {
    static const afc_websocket_codec codec = {NULL, NULL, repeat, ignore_stream, ignore_stream};
    summary out = {.hash = 1};
    bool has_ended = false;
    repeater repeater = {false, 0};
    afc__websocket_reader reader;
    afc__websocket_reader_init(&reader, &limits, deliver_in_pieces);
    if (decodes) reader.decoder = (afc__decoder){&codec, &repeater, false, false};
    for (size_t at = 0; at < size && out.status == AFC_OK; at += portion) {
        afc_slice input = {(const char *)data + at, size - at < portion ? size - at : portion};
        afc__websocket_item item;
        do {
            out.status = afc__websocket_reader_next(&reader, &input, &item, &out.code, NULL);
            bool has_item = item.event != AFC__WEBSOCKET_NOTHING;
            require(!has_item || (!has_ended && out.status == AFC_OK));
            if (has_item) check_item(&item, &out, deliver_in_pieces);
            has_ended = has_ended || item.event == AFC__WEBSOCKET_CLOSE;
        } while (out.status == AFC_OK && item.event != AFC__WEBSOCKET_NOTHING);
        require((out.status == AFC_OK) == (out.code == 0));
    }
    afc__websocket_reader_clear(&reader);
    return out;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 1) return 0;
    bool decodes = (data[0] & 1) != 0, deliver_in_pieces = (data[0] & 2) != 0;
    size_t portion = (size_t)(data[0] >> 2) + 1;
    summary whole = read_all(data + 1, size - 1, size, decodes, false);
    summary parts = read_all(data + 1, size - 1, portion, decodes, false);
    require(whole.status == parts.status && whole.code == parts.code && whole.hash == parts.hash);
    (void)read_all(data + 1, size - 1, portion, decodes, deliver_in_pieces);
    static const afc__deflate offer = {true, 12, 12, false, false};
    afc__deflate agreed = {0};
    afc_slice value = {(const char *)data + 1, size - 1};
    if (afc__deflate_read_response(&agreed, &offer, value, NULL) == AFC_OK && agreed.is_used) {
        require(agreed.server_window_bits <= 12 && agreed.client_window_bits <= 12);
        require(agreed.server_window_bits >= 8 && agreed.client_window_bits >= 8);
    }
    return 0;
}
