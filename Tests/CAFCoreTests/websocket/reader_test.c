/*
 * What a server may send, and what it may not: every rule of RFC 6455 section 5 and 7 and RFC 7692 section 6 for
 * clients.
 */
#include "base/alloc.h"
#include "support/recorded_socket.h"
#include "support/torture.h"
#include "websocket/reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const afc_websocket_limits small_limits = {64, 48, 4, 0, 0, {0}};

#define B70 "0123456789012345678901234567890123456789012345678901234567890123456789"

typedef struct row {
    const char *name;
    afc_slice input;
    const char *log; /**< The items before the failure. */
    uint16_t code;   /**< Code of our close frame; 0: no failure. */
} row;

static const row rows[] = {
    {"unfragmented text", S_INIT("\x81\x05Hello"), "text Hello;", 0},
    {"empty text", S_INIT("\x81\x00"), "text ;", 0},
    {"binary with any bytes", S_INIT("\x82\x03\xff\xfe\x80"), "binary \xff\xfe\x80;", 0},
    {"two messages",
     S_INIT("\x81\x01"
            "a\x82\x01"
            "b"),
     "text a;binary b;", 0},
    {"fragmented text", S_INIT("\x01\x03Hel\x80\x02lo"), "text Hello;", 0},
    {"empty fragments", S_INIT("\x01\x00\x00\x00\x80\x00"), "text ;", 0},
    {"empty last fragment",
     S_INIT("\x02\x02"
            "ab\x80\x00"),
     "binary ab;", 0},
    {"control frames between fragments",
     S_INIT("\x01\x01"
            "a\x89\x01p\x8a\x01q\x80\x01"
            "b"),
     "ping p;pong q;text ab;", 0},
    {"empty ping", S_INIT("\x89\x00"), "ping ;", 0},
    {"length in two bytes", S_INIT("\x82\x7e\x00\x7e"), "", 1009},
    {"reserved bit 1 without compression", S_INIT("\xc1\x00"), "", 1002},
    {"reserved bit 2", S_INIT("\xa1\x00"), "", 1002},
    {"reserved bit 3", S_INIT("\x91\x00"), "", 1002},
    {"reserved bit of a control frame", S_INIT("\xc9\x00"), "", 1002},
    {"reserved data opcode 3", S_INIT("\x83\x00"), "", 1002},
    {"reserved data opcode 7", S_INIT("\x87\x00"), "", 1002},
    {"reserved control opcode 11", S_INIT("\x8b\x00"), "", 1002},
    {"reserved control opcode 15", S_INIT("\x8f\x00"), "", 1002},
    {"masked frame", S_INIT("\x81\x81\x01\x02\x03\x04`"), "", 1002},
    {"masked control frame", S_INIT("\x89\x80\x01\x02\x03\x04"), "", 1002},
    {"fragmented ping", S_INIT("\x09\x00"), "", 1002},
    {"fragmented close", S_INIT("\x08\x00"), "", 1002},
    {"ping of 126 bytes", S_INIT("\x89\x7e\x00\x7e"), "", 1002},
    {"continuation of nothing",
     S_INIT("\x80\x01"
            "a"),
     "", 1002},
    {"continuation after a whole message",
     S_INIT("\x81\x01"
            "a\x80\x01"
            "b"),
     "text a;", 1002},
    {"message inside another one",
     S_INIT("\x01\x01"
            "a\x81\x01"
            "b"),
     "", 1002},
    {"length with its highest bit", S_INIT("\x82\x7f\x80\x00\x00\x00\x00\x00\x00\x00"), "", 1002},
    {"length of 16 bits that needs 7",
     S_INIT("\x82\x7e\x00\x01"
            "a"),
     "", 1002},
    {"length of 64 bits that needs 16",
     S_INIT("\x82\x7f\x00\x00\x00\x00\x00\x00\x00\x01"
            "a"),
     "", 1002},
    {"frame above its limit", S_INIT("\x82\x31"), "", 1009},
    {"message above its limit in several frames",
     S_INIT("\x02\x28"
            "0123456789012345678901234567890123456789"
            "\x80\x28"),
     "", 1009},
    {"more fragments than allowed", S_INIT("\x02\x00\x00\x00\x00\x00\x00\x00\x80\x00"), "", 1009},
    {"close without a code", S_INIT("\x88\x00"), "close 1005 ;", 0},
    {"close with a code", S_INIT("\x88\x02\x03\xe8"), "close 1000 ;", 0},
    {"close with a reason",
     S_INIT("\x88\x05\x03\xe9"
            "bye"),
     "close 1001 bye;", 0},
    {"nothing is read behind a close",
     S_INIT("\x88\x00\x81\x01"
            "a\xff\xff"),
     "close 1005 ;", 0},
    {"close with half a code", S_INIT("\x88\x01\x03"), "", 1002},
    {"close with code 0", S_INIT("\x88\x02\x00\x00"), "", 1002},
    {"close with code 999", S_INIT("\x88\x02\x03\xe7"), "", 1002},
    {"close with code 1004", S_INIT("\x88\x02\x03\xec"), "", 1002},
    {"close with code 1005", S_INIT("\x88\x02\x03\xed"), "", 1002},
    {"close with code 1006", S_INIT("\x88\x02\x03\xee"), "", 1002},
    {"close with code 1015", S_INIT("\x88\x02\x03\xf7"), "", 1002},
    {"close with code 2999", S_INIT("\x88\x02\x0b\xb7"), "", 1002},
    {"close with code 3000", S_INIT("\x88\x02\x0b\xb8"), "close 3000 ;", 0},
    {"close with code 4999", S_INIT("\x88\x02\x13\x87"), "close 4999 ;", 0},
    {"close with code 5000", S_INIT("\x88\x02\x13\x88"), "", 1002},
    {"close with a reason that isn't UTF-8", S_INIT("\x88\x03\x03\xe8\xff"), "", 1007},
    {"close inside a message",
     S_INIT("\x01\x01"
            "a\x88\x00"),
     "close 1005 ;", 0},
    {"character split between fragments", S_INIT("\x01\x01\xc3\x80\x01\xa4"), "text \xc3\xa4;", 0},
    {"character split by a ping", S_INIT("\x01\x01\xc3\x89\x00\x80\x01\xa4"),
     "ping ;text \xc3\xa4;", 0},
    {"text ends inside a character", S_INIT("\x81\x01\xc3"), "", 1007},
    {"surrogate", S_INIT("\x81\x03\xed\xa0\x80"), "", 1007},
    {"longer form of a slash", S_INIT("\x81\x02\xc0\xaf"), "", 1007},
    {"above U+10FFFF", S_INIT("\x81\x04\xf4\x90\x80\x80"), "", 1007},
    {"wrong byte before the end of the frame", S_INIT("\x81\x20\x61\xff"), "", 1007},
    {"wrong byte in an unfinished message", S_INIT("\x01\x02\xc3\x28"), "", 1007},
};

/* With a codec of stored blocks. */
static const row compressed_rows[] = {
    {"compressed text", S_INIT("\xc1\x0b\x00\x05\x00\xfa\xffHello\x00"), "text Hello;", 0},
    {"text that isn't compressed", S_INIT("\x81\x05Hello"), "text Hello;", 0},
    {"compressed empty text", S_INIT("\xc1\x01\x00"), "text ;", 0},
    {"fragmented in the middle of a block",
     S_INIT("\x41\x06\x00\x05\x00\xfa\xffH\x80\x05"
            "ello\x00"),
     "text Hello;", 0},
    {"fragmented after a block", S_INIT("\x41\x0a\x00\x05\x00\xfa\xffHello\x80\x01\x00"),
     "text Hello;", 0},
    {"empty frame at the end", S_INIT("\x41\x0b\x00\x05\x00\xfa\xffHello\x00\x80\x00"),
     "text Hello;", 0},
    {"ping between compressed fragments",
     S_INIT("\x41\x06\x00\x05\x00\xfa\xffH\x89\x00\x80\x05"
            "ello\x00"),
     "ping ;text Hello;", 0},
    {"reserved bit 1 on a continuation", S_INIT("\x41\x01\x00\xc0\x00"), "", 1002},
    {"reserved bit 1 on a ping", S_INIT("\xc9\x00"), "", 1002},
    {"invalid compressed data", S_INIT("\xc1\x02\xff\xff"), "", 1007},
    {"invalid UTF-8 behind compression", S_INIT("\xc1\x07\x00\x01\x00\xfe\xff\xff\x00"), "", 1007},
    {"decodes to more than the limit",
     S_INIT("\x42\x2d\x00\x28\x00\xd7\xff"
            "0123456789012345678901234567890123456789"
            "\x80\x2e\x00\x28\x00\xd7\xff"
            "0123456789012345678901234567890123456789"
            "\x00"),
     "", 1009},
    {"invalid UTF-8 before the limit, and more than the limit",
     S_INIT("\x41\x2d\x00\x28\x00\xd7\xff"
            "0123456789012345678901234567890123456789"
            "\x80\x2e\x00\x28\x00\xd7\xff"
            "\xff"
            "123456789012345678901234567890123456789"
            "\x00"),
     "", 1007},
    {"more than the limit, and invalid UTF-8 behind it",
     S_INIT("\x41\x2d\x00\x28\x00\xd7\xff"
            "0123456789012345678901234567890123456789"
            "\x80\x2e\x00\x28\x00\xd7\xff"
            "012345678901234567890123456789012345678"
            "\xff"
            "\x00"),
     "", 1009},
};

/* ---- Running a row ------------------------------------------------------------------------- */

typedef struct reading {
    char log[512];
    afc_status status;
    uint16_t code;
} reading;

static void note(reading *out, const afc__websocket_item *item) {
    char text[256];
    const char *kind = item->message.kind == AFC_WEBSOCKET_TEXT ? "text" : "binary";
    afc_slice bytes = item->event == AFC__WEBSOCKET_MESSAGE ? item->message.bytes : item->payload;
    const char *mark = item->message.is_last || item->event != AFC__WEBSOCKET_MESSAGE ? ";" : "";
    if (item->event == AFC__WEBSOCKET_PING) kind = "ping";
    if (item->event == AFC__WEBSOCKET_PONG) kind = "pong";
    if (item->event == AFC__WEBSOCKET_CLOSE) {
        snprintf(text, sizeof text, "close %u ", (unsigned)item->code);
    } else {
        snprintf(text, sizeof text, "%s ", kind);
    }
    bool is_more = item->event == AFC__WEBSOCKET_MESSAGE && !item->message.is_first;
    size_t used = strlen(out->log);
    snprintf(out->log + used, sizeof out->log - used, "%s%.*s%s", is_more ? "" : text,
             (int)bytes.size, bytes.bytes != NULL ? bytes.bytes : "", mark);
}

/** Reads the row in steps of `step` bytes, each in memory of its own. false: out of memory. */
static bool read_row(const row *row, bool has_codec, bool deliver_in_pieces, size_t step,
                     reading *out) {
    afc__websocket_reader reader;
    afc_websocket_codec codec = stored_codec(NULL);
    *out = (reading){.status = AFC_OK};
    afc__websocket_reader_init(&reader, &small_limits, deliver_in_pieces);
    if (has_codec)
        reader.decoder = (afc__decoder){&codec, codec.open(codec.context, false, 15), false, false};
    for (size_t at = 0; at < row->input.size && out->status == AFC_OK; at += step) {
        size_t size = row->input.size - at < step ? row->input.size - at : step;
        char *copy = malloc(size);
        assert_non_null(copy);
        memcpy(copy, row->input.bytes + at, size);
        afc_slice input = {copy, size};
        afc__websocket_item item;
        do {
            afc_failure failure = {0};
            out->status = afc__websocket_reader_next(&reader, &input, &item, &out->code, &failure);
            assert_int_equal(out->status, failure.status);
            if (item.event != AFC__WEBSOCKET_NOTHING) note(out, &item);
            afc__websocket_reader_release_message(&reader);
        } while (out->status == AFC_OK && item.event != AFC__WEBSOCKET_NOTHING);
        free(copy);
    }
    afc__websocket_reader_clear(&reader);
    return out->status != AFC_ENOMEM;
}

/** Pieces of a message that fails may have been passed on. */
static void check_reading(const row *row, const reading *got, bool deliver_in_pieces,
                          const char *how) {
    bool is_same = deliver_in_pieces && row->code != 0
                       ? strncmp(got->log, row->log, strlen(row->log)) == 0
                       : strcmp(got->log, row->log) == 0;
    if (is_same && got->code == row->code) return;
    fail_msg("%s, %s: got %s code %u", row->name, how, got->log, (unsigned)got->code);
}

static void check_rows(const row *table, size_t count, bool has_codec) {
    for (size_t i = 0; i < count; i++) {
        for (int deliver_in_pieces = 0; deliver_in_pieces <= 1; deliver_in_pieces++) {
            /* A control frame between two pieces stands between them in the log. */
            if (deliver_in_pieces &&
                (strstr(table[i].log, "ping") || strstr(table[i].name, "inside a message")))
                continue;
            for (size_t step = 1; step <= 256; step = step < 4 ? step + 1 : step * 4) {
                reading got;
                assert_true(read_row(&table[i], has_codec, deliver_in_pieces != 0, step, &got));
                check_reading(&table[i], &got, deliver_in_pieces != 0,
                              deliver_in_pieces ? "in pieces" : "whole");
            }
        }
    }
}

static void reads_every_row_in_any_portions(void **state) {
    (void)state;
    check_rows(rows, COUNT_OF(rows), false);
}

static void reads_every_compressed_row_in_any_portions(void **state) {
    (void)state;
    check_rows(compressed_rows, COUNT_OF(compressed_rows), true);
}

static void survives_every_failed_allocation(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(compressed_rows); i++) {
        TORTURE(n) {
            reading got;
            if (read_row(&compressed_rows[i], true, false, 1, &got)) {
                check_reading(&compressed_rows[i], &got, false, "torture");
            } else {
                assert_int_equal(got.code, AFC_WEBSOCKET_INTERNAL_ERROR);
            }
        }
    }
}

/* ---- Sizes --------------------------------------------------------------------------------- */

/** An unmasked frame. Returns its size. */
static size_t put_frame(char *out, unsigned char first, const char *bytes, size_t size) {
    size_t extra = size < 126 ? 0 : size <= UINT16_MAX ? 2 : 8;
    out[0] = (char)first;
    out[1] = (char)(extra == 0 ? size : extra == 2 ? 126 : 127);
    for (size_t i = 0; i < extra; i++) out[2 + i] = (char)(size >> 8 * (extra - 1 - i));
    memcpy(out + 2 + extra, bytes, size);
    return 2 + extra + size;
}

static void reads_lengths_around_each_form(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 125, 126, 127, 65535, 65536, 65537, 200000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *payload = malloc(sizes[i] + 1), *frame = malloc(sizes[i] + 16);
        assert_true(payload != NULL && frame != NULL);
        for (size_t k = 0; k < sizes[i]; k++) payload[k] = (char)(k * 7);
        afc_slice input = {frame, put_frame(frame, 0x82, payload, sizes[i])};
        afc__websocket_reader reader;
        afc_websocket_limits limits = {0};
        afc__websocket_item item;
        uint16_t code;
        afc__websocket_reader_init(&reader, &limits, false);
        check_status(afc__websocket_reader_next(&reader, &input, &item, &code, NULL), AFC_OK);
        assert_int_equal(item.event, AFC__WEBSOCKET_MESSAGE);
        assert_int_equal(item.message.bytes.size, sizes[i]);
        if (sizes[i] > 0) assert_memory_equal(item.message.bytes.bytes, payload, sizes[i]);
        /* One frame in one portion isn't copied. */
        if (sizes[i] > 0) assert_int_equal(reader.body.capacity, 0);
        afc__websocket_reader_clear(&reader);
        free(payload);
        free(frame);
    }
}

static void never_stores_more_than_the_limit(void **state) {
    (void)state;
    char frame[64];
    afc__websocket_reader reader;
    afc_websocket_limits limits = {.message_bytes = 1000, .frame_bytes = 1 << 20};
    afc_failure failure;
    afc__websocket_item item;
    uint16_t code = 0;
    afc_status status = AFC_OK;
    afc__websocket_reader_init(&reader, &limits, false);
    for (int i = 0; i < 100 && status == AFC_OK; i++) {
        afc_slice input = {frame, put_frame(frame, i == 0 ? 0x02 : 0x00, B70, 50)};
        status = afc__websocket_reader_next(&reader, &input, &item, &code, &failure);
        assert_true(reader.body.capacity <= 2048);
    }
    check_status(status, AFC_ETOOBIG);
    check_contains(failure.text, "exceeds the limit of 1000");
    assert_int_equal(code, 1009);
    afc__websocket_reader_clear(&reader);
}

static void limit_is_for_each_message(void **state) {
    (void)state;
    char frame[64];
    afc__websocket_reader reader;
    afc_websocket_limits limits = {.message_bytes = 50};
    afc__websocket_item item;
    uint16_t code = 0;
    afc__websocket_reader_init(&reader, &limits, false);
    for (int i = 0; i < 3; i++) {
        afc_slice input = {frame, put_frame(frame, 0x82, B70, 50)};
        check_status(afc__websocket_reader_next(&reader, &input, &item, &code, NULL), AFC_OK);
        assert_int_equal(item.event, AFC__WEBSOCKET_MESSAGE);
        assert_int_equal(item.message.bytes.size, 50);
    }
    afc__websocket_reader_clear(&reader);
}

/** A codec that makes a megabyte of every byte. */
static afc_status explode(void *stream, afc_slice *input, char *output, size_t *size) {
    size_t *left = stream;
    if (input->size > 0) {
        *left += (size_t)(1 << 20) * input->size;
        *input = (afc_slice){NULL, 0};
    }
    if (*size > *left) *size = *left;
    memset(output, 'a', *size);
    *left -= *size;
    return AFC_OK;
}

static void ignore_stream(void *stream) {
    (void)stream;
}

static void ends_decoding_above_the_ratio(void **state) {
    (void)state;
    size_t left = 0;
    afc_websocket_codec codec = {NULL, NULL, explode, ignore_stream, ignore_stream};
    afc__websocket_reader reader;
    afc_websocket_limits limits = {.message_bytes = 1 << 30};
    afc__websocket_item item;
    uint16_t code = 0;
    afc__websocket_reader_init(&reader, &limits, true);
    reader.decoder = (afc__decoder){&codec, &left, false, false};
    afc_slice input = S("\xc2\x7d\x01\x02\x03\x04");
    afc_status status;
    uint64_t received = 0;
    do {
        status = afc__websocket_reader_next(&reader, &input, &item, &code, NULL);
        if (item.event == AFC__WEBSOCKET_MESSAGE) received += item.message.bytes.size;
    } while (status == AFC_OK && item.event != AFC__WEBSOCKET_NOTHING);
    check_status(status, AFC_ETOOBIG);
    assert_int_equal(code, 1009);
    assert_true(received <= 1 << 20);
    afc__websocket_reader_clear(&reader);
}

/** A codec that neither converts nor fails, as one does behind the last block of a stream (RFC 7692 7.2.3.4). */
static afc_status stop(void *stream, afc_slice *input, char *output, size_t *size) {
    (void)stream, (void)input, (void)output;
    *size = 0;
    return AFC_OK;
}

static void ends_with_a_codec_that_stops(void **state) {
    (void)state;
    afc_websocket_codec codec = {NULL, NULL, stop, ignore_stream, ignore_stream};
    afc_websocket_limits limits = {0};
    static const afc_slice inputs[] = {S_INIT("\xc1\x01\x00"), S_INIT("\xc1\x00")};
    for (size_t i = 0; i < COUNT_OF(inputs); i++) {
        afc__websocket_reader reader;
        afc__websocket_item item;
        uint16_t code = 0;
        int stream = 0;
        afc_slice input = inputs[i];
        afc__websocket_reader_init(&reader, &limits, i % 2 != 0);
        reader.decoder = (afc__decoder){&codec, &stream, false, false};
        check_status(afc__websocket_reader_next(&reader, &input, &item, &code, NULL),
                     AFC_EPROTOCOL);
        assert_int_equal(code, 1007);
        afc__websocket_reader_clear(&reader);
    }
}

/** As one that returns what zlib returned. */
static afc_status return_stream_end(void *stream, afc_slice *input, char *output, size_t *size) {
    (void)stream, (void)input, (void)output, (void)size;
    return (afc_status)1;
}

static void names_the_invalid_number_of_a_codec(void **state) {
    (void)state;
    afc_websocket_codec codec = {NULL, NULL, return_stream_end, ignore_stream, ignore_stream};
    afc_websocket_limits limits = {0};
    afc__websocket_reader reader;
    afc__websocket_item item;
    afc_failure failure;
    uint16_t code = 0;
    int stream = 0;
    afc_slice input = S("\xc1\x01\x00");
    afc__websocket_reader_init(&reader, &limits, false);
    reader.decoder = (afc__decoder){&codec, &stream, false, false};
    check_status(afc__websocket_reader_next(&reader, &input, &item, &code, &failure), AFC_EINVAL);
    check_contains(failure.text, "convert returned 1: expected AFC_OK or an error");
    assert_int_equal(code, AFC_WEBSOCKET_INTERNAL_ERROR);
    afc__websocket_reader_clear(&reader);
}

/** A sender may flush each fragment, so that the receiver needn't wait for the next. */
static void passes_on_a_compressed_fragment_without_the_next(void **state) {
    (void)state;
    afc_websocket_codec codec = stored_codec(NULL);
    afc_websocket_limits limits = {0};
    afc__websocket_reader reader;
    afc__websocket_item item;
    uint16_t code;
    afc__websocket_reader_init(&reader, &limits, true);
    reader.decoder = (afc__decoder){&codec, codec.open(NULL, false, 15), false, false};
    afc_slice input = S("\x41\x0a\x00\x05\x00\xfa\xffHello");
    check_status(afc__websocket_reader_next(&reader, &input, &item, &code, NULL), AFC_OK);
    assert_int_equal(item.event, AFC__WEBSOCKET_MESSAGE);
    assert_memory_equal(item.message.bytes.bytes, "Hello", 5);
    assert_true(item.message.is_first && !item.message.is_last);
    input = S("\x80\x01\x00");
    check_status(afc__websocket_reader_next(&reader, &input, &item, &code, NULL), AFC_OK);
    assert_int_equal(item.event, AFC__WEBSOCKET_MESSAGE);
    assert_int_equal(item.message.bytes.size, 0);
    assert_true(!item.message.is_first && item.message.is_last);
    afc__websocket_reader_clear(&reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_every_row_in_any_portions),
        cmocka_unit_test(reads_every_compressed_row_in_any_portions),
        cmocka_unit_test(survives_every_failed_allocation),
        cmocka_unit_test(reads_lengths_around_each_form),
        cmocka_unit_test(never_stores_more_than_the_limit),
        cmocka_unit_test(limit_is_for_each_message),
        cmocka_unit_test(ends_decoding_above_the_ratio),
        cmocka_unit_test(ends_with_a_codec_that_stops),
        cmocka_unit_test(names_the_invalid_number_of_a_codec),
        cmocka_unit_test(passes_on_a_compressed_fragment_without_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
