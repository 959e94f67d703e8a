/* What a WebSocket sends, in which order: read in portions of any size, and decoded again. */
#include "base/alloc.h"
#include "support/recorded_socket.h"
#include "support/torture.h"
#include "websocket/outbox.h"

#include <stdio.h>
#include <string.h>

/** Reads all in portions and writes it down: "T" text, "B" binary, "C" continuation, "P" ping, "O" pong, "X" close. */
static void read_all(afc__outbox *outbox, size_t portion, char *log, size_t log_size) {
    static const char names[] = "CTB.....XPO.....";
    static char bytes[64 * 1024];
    size_t size = 0, count;
    while ((count = afc__outbox_read(outbox, bytes + size,
                                     portion < sizeof bytes - size ? portion
                                                                   : sizeof bytes - size)) > 0) {
        size += count;
    }
    log[0] = '\0';
    for (size_t at = 0; at < size;) {
        afc__frame frame;
        const unsigned char *head = (unsigned char *)bytes + at;
        afc__frame_read_head(head, &frame);
        assert_true(frame.is_masked && !frame.is_padded);
        at += afc__frame_head_size(head);
        assert_true(frame.length <= size - at);
        afc__frame_mask(bytes + at, bytes + at, (size_t)frame.length,
                        head + afc__frame_head_size(head) - 4, 0);
        size_t used = strlen(log);
        snprintf(log + used, log_size - used, "%c%s%s:%.*s;", names[frame.opcode],
                 frame.is_compressed ? "z" : "", frame.is_final ? "" : "+", (int)frame.length,
                 bytes + at);
        at += (size_t)frame.length;
    }
}

static void free_sent(afc__outbox *outbox) {
    afc__outgoing *message;
    while ((message = afc__outbox_take_sent(outbox)) != NULL) afc_free(message);
}

static void end(afc__outbox *outbox) {
    afc__outbox_drop(outbox);
    free_sent(outbox);
    assert_int_equal(outbox->queued, 0);
    afc__encoder_close(&outbox->encoder);
    afc__outbox_clear(outbox);
}

/** Adds a frame, or drops it with its draft. */
static afc_status finish(afc__outbox *outbox, afc__draft *draft, afc_slice bytes) {
    afc_status status;
    afc__outgoing *frame = afc__outgoing_make(draft, bytes, &status);
    if (status == AFC_OK) status = afc__outbox_add(outbox, draft, frame, NULL);
    if (status == AFC_OK) return status;
    afc_free(frame);
    afc__outbox_abandon(outbox, draft, status);
    afc__encoder_close(&draft->encoder);
    return status;
}

static afc_status begin(afc__outbox *outbox, const char *text, unsigned flags,
                        afc__send_order order, afc__draft *out) {
    return afc__outbox_begin(outbox, AFC_WEBSOCKET_TEXT, strlen(text), flags, order, out);
}

static afc_status add(afc__outbox *outbox, const char *text, unsigned flags) {
    afc__draft draft;
    afc_status status = begin(outbox, text, flags, AFC__IN_ORDER, &draft);
    return status == AFC_OK ? finish(outbox, &draft, afc_slice_of(text)) : status;
}

static void sends_control_frames_before_messages_that_wait(void **state) {
    (void)state;
    for (size_t portion = 1; portion < 200; portion = portion * 2 + 1) {
        afc__outbox outbox;
        char log[512];
        afc__outbox_init(&outbox, 1 << 16);
        check_status(add(&outbox, "one", 0), AFC_OK);
        check_status(add(&outbox, "two", AFC_WEBSOCKET_MORE), AFC_OK);
        check_status(add(&outbox, "three", 0), AFC_OK);
        check_status(afc__outbox_add_ping(&outbox, S("p"), 5), AFC_OK);
        afc__outbox_add_pong(&outbox, S("first"));
        afc__outbox_add_pong(&outbox, S("last"));
        afc__outbox_add_close(&outbox, 1000, S("bye"), AFC__CLOSE_FRAME_LAST);
        read_all(&outbox, portion, log, sizeof log);
        assert_string_equal(log, "O:first;O:last;P:p;T:one;T+:two;C:three;X:\x03\xe8"
                                 "bye;");
        end(&outbox);
    }
}

static void lends_long_messages_behind_control_frames(void **state) {
    (void)state;
    static char text[8001];
    afc__outbox outbox;
    char control[64];
    memset(text, 'x', sizeof text - 1);
    afc__outbox_init(&outbox, 1 << 16);
    assert_int_equal(afc__outbox_lend(&outbox).size, 0);
    check_status(add(&outbox, "short", 0), AFC_OK);
    assert_int_equal(afc__outbox_lend(&outbox).size, 0);
    assert_int_equal(afc__outbox_read(&outbox, control, sizeof control), 6 + 5);
    check_status(add(&outbox, text, 0), AFC_OK);
    afc__outbox_add_pong(&outbox, S("pong"));
    assert_int_equal(afc__outbox_lend(&outbox).size, 0);
    assert_int_equal(afc__outbox_read(&outbox, control, 3), 3);
    assert_int_equal(afc__outbox_lend(&outbox).size, 0);
    assert_int_equal(afc__outbox_read(&outbox, control, 6 + 4 - 3), 6 + 4 - 3);
    size_t frame = 8 + sizeof text - 1;
    assert_int_equal(afc__outbox_lend(&outbox).size, frame);
    afc__outbox_took(&outbox, 1000);
    /* Within a frame nothing else is sent. */
    check_status(afc__outbox_add_ping(&outbox, S("ping"), 5), AFC_OK);
    assert_int_equal(afc__outbox_lend(&outbox).size, frame - 1000);
    afc__outbox_took(&outbox, 0);
    assert_int_equal(outbox.queued, frame - 1000);
    afc__outbox_took(&outbox, frame - 1000);
    assert_int_equal(outbox.queued, 0);
    check_status(add(&outbox, text, 0), AFC_OK);
    assert_int_equal(afc__outbox_lend(&outbox).size, 0);
    assert_int_equal(afc__outbox_read(&outbox, control, 6 + 4), 6 + 4);
    assert_int_equal(afc__outbox_lend(&outbox).size, frame);
    afc__outbox_add_close(&outbox, 1000, S(""), AFC__CLOSE_FRAME_NEXT);
    assert_int_equal(afc__outbox_lend(&outbox).size, 0);
    end(&outbox);
}

static void finishes_the_frame_that_has_begun_before_an_urgent_close(void **state) {
    (void)state;
    afc__outbox outbox;
    char first[8], log[512];
    afc__outbox_init(&outbox, 1 << 16);
    check_status(add(&outbox, "begun", 0), AFC_OK);
    check_status(add(&outbox, "dropped", 0), AFC_OK);
    assert_int_equal(afc__outbox_read(&outbox, first, 3), 3);
    afc__outbox_add_pong(&outbox, S("pong"));
    afc__outbox_add_close(&outbox, 0, S(""), AFC__CLOSE_FRAME_NEXT);
    char rest[64];
    size_t count = afc__outbox_read(&outbox, rest, sizeof rest);
    /* 8 bytes of the first frame are left: 3 of its head, 5 of its payload; then an empty close frame of 6. */
    assert_int_equal(count, 8 + 6);
    assert_int_equal((unsigned char)rest[8], 0x88);
    read_all(&outbox, 100, log, sizeof log);
    assert_string_equal(log, "");
    afc__outgoing *begun = afc__outbox_take_sent(&outbox);
    afc__outgoing *dropped = afc__outbox_take_sent(&outbox);
    /* The one that was dropped before the other was complete is reported first. */
    assert_true(begun != NULL && dropped != NULL);
    assert_int_equal((begun->offset == begun->size) + (dropped->offset == dropped->size), 1);
    afc_free(begun);
    afc_free(dropped);
    end(&outbox);
}

static void bounds_answers_to_pings(void **state) {
    (void)state;
    afc__outbox outbox;
    char log[512], name[8], expected[512] = "";
    enum { PINGS = AFC__PONGS + 5 };
    afc__outbox_init(&outbox, 1000);
    for (int i = 0; i < PINGS; i++) {
        snprintf(name, sizeof name, "%d", i);
        afc__outbox_add_pong(&outbox, afc_slice_of(name));
        if (i < PINGS - AFC__PONGS) continue;
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, "O:%d;", i);
    }
    read_all(&outbox, 5, log, sizeof log);
    assert_string_equal(log, expected);
    /* What isn't sent is freed. */
    afc__outbox_add_pong(&outbox, S("left"));
    end(&outbox);
}

static void bounds_the_queue(void **state) {
    (void)state;
    afc__outbox outbox;
    char log[512];
    afc__outbox_init(&outbox, 40);
    check_status(add(&outbox, "0123456789", 0), AFC_OK);
    assert_int_equal(outbox.queued, 16);
    check_status(add(&outbox, "01234567890", 0), AFC_EAGAIN);
    check_status(add(&outbox, "0123456789", 0), AFC_OK);
    check_status(add(&outbox, "", 0), AFC_EAGAIN);
    check_status(add(&outbox, "012345678901234567890123456", 0), AFC_ETOOBIG);
    read_all(&outbox, 100, log, sizeof log);
    check_status(add(&outbox, "01234567890123456789012345", 0), AFC_OK);
    end(&outbox);
}

static void refuses_what_is_no_message(void **state) {
    (void)state;
    afc__outbox outbox;
    afc__outbox_init(&outbox, 1000);
    check_status(add(&outbox, "\xff", 0), AFC_EINVAL);
    check_status(add(&outbox, "\xc3", 0), AFC_EINVAL);
    check_status(add(&outbox, "a", 2), AFC_EINVAL);
    afc__draft draft;
    check_status(afc__outbox_begin(&outbox, (afc_websocket_kind)3, 1, 0, AFC__IN_ORDER, &draft),
                 AFC_EINVAL);
    check_status(add(&outbox, "\xc3", AFC_WEBSOCKET_MORE), AFC_OK);
    check_status(afc__outbox_begin(&outbox, AFC_WEBSOCKET_BINARY, 1, 0, AFC__IN_ORDER, &draft),
                 AFC_EINVAL);
    check_status(add(&outbox, "a", 0), AFC_EINVAL);
    check_status(add(&outbox, "\xa4", 0), AFC_OK);
    end(&outbox);
}

static void matches_pongs_with_pings(void **state) {
    (void)state;
    afc__outbox outbox;
    afc__ping ping;
    char log[512], name[8];
    afc__outbox_init(&outbox, 1000);
    for (int i = 0; i < AFC__PINGS; i++) {
        snprintf(name, sizeof name, "%d", i);
        check_status(afc__outbox_add_ping(&outbox, afc_slice_of(name), i), AFC_OK);
    }
    check_status(afc__outbox_add_ping(&outbox, S("x"), 9), AFC_EAGAIN);
    assert_false(afc__outbox_take_pong(&outbox, S("0"), &ping));
    read_all(&outbox, 7, log, sizeof log);
    assert_string_equal(log, "P:0;P:1;P:2;P:3;P:4;P:5;P:6;P:7;");
    assert_false(afc__outbox_take_pong(&outbox, S("8"), &ping));
    assert_true(afc__outbox_take_pong(&outbox, S("3"), &ping));
    assert_int_equal(ping.sent_us, 3);
    /* The answer to a later ping is one to those before it. */
    assert_false(afc__outbox_take_pong(&outbox, S("2"), &ping));
    assert_int_equal(outbox.ping_count, 4);
    check_status(afc__outbox_add_automatic_ping(&outbox, S("x"), 9), AFC_OK);
    read_all(&outbox, 7, log, sizeof log);
    /* So the answer to an automatic ping is one to the caller's. */
    assert_true(afc__outbox_take_pong(&outbox, S("x"), &ping));
    assert_false(ping.is_automatic);
    assert_int_equal(ping.sent_us, 7);
    assert_memory_equal(ping.payload, "7", ping.size);
    assert_int_equal(outbox.ping_count, 0);
    check_status(afc__outbox_add_automatic_ping(&outbox, S("x"), 9), AFC_OK);
    read_all(&outbox, 7, log, sizeof log);
    assert_true(afc__outbox_take_pong(&outbox, S("x"), &ping));
    assert_true(ping.is_automatic);
    end(&outbox);
}

static void use_codec(afc__outbox *outbox, const afc_websocket_codec *codec, size_t threshold) {
    outbox->encoder = (afc__encoder){codec, codec->open(codec->context, true, 15), false,
                                     threshold};
}

static void compresses_messages_of_the_threshold(void **state) {
    (void)state;
    atomic_int streams = 0;
    afc_websocket_codec codec = stored_codec(&streams);
    afc__outbox outbox;
    char log[512];
    afc__outbox_init(&outbox, 1000);
    use_codec(&outbox, &codec, 5);
    check_status(add(&outbox, "four", 0), AFC_OK);
    check_status(add(&outbox, "fives", 0), AFC_OK);
    check_status(afc__outbox_add_ping(&outbox, S("longer"), 0), AFC_OK);
    read_all(&outbox, 100, log, sizeof log);
    check_contains(log, "P:longer;T:four;Tz:");
    free_sent(&outbox);
    /* Pieces keep the end of each block, but for the last. */
    check_status(add(&outbox, "fives", AFC_WEBSOCKET_MORE), AFC_OK);
    assert_int_equal(outbox.queued, 6 + 5 + 5 + 5);
    check_status(add(&outbox, "", 0), AFC_OK);
    assert_int_equal(outbox.queued, 6 + 5 + 5 + 5 + 6 + 1);
    end(&outbox);
    assert_int_equal(streams, 0);
}

/** What can't be compressed grows. */
static void bounds_the_queue_also_of_messages_that_grow(void **state) {
    (void)state;
    afc_websocket_codec codec = stored_codec(NULL);
    afc__outbox outbox;
    afc__outbox_init(&outbox, 64);
    use_codec(&outbox, &codec, 0);
    check_status(
        add(&outbox, "01234567890123456789012345678901234567890123456789", AFC_WEBSOCKET_MORE),
        AFC_OK);
    assert_true(outbox.queued > outbox.limit);
    check_status(add(&outbox, "more", 0), AFC_EAGAIN);
    end(&outbox);
}

/** A codec that leaves input behind, as one does that stops at the end of a stream. */
static afc_status stop(void *stream, afc_slice *input, char *output, size_t *size) {
    (void)stream, (void)input, (void)output;
    *size = 0;
    return AFC_OK;
}

static void refuses_a_codec_that_leaves_input(void **state) {
    (void)state;
    afc_websocket_codec codec = stored_codec(NULL);
    afc__outbox outbox;
    codec.convert = stop;
    afc__outbox_init(&outbox, 1000);
    use_codec(&outbox, &codec, 0);
    check_status(add(&outbox, "hello", AFC_WEBSOCKET_MORE), AFC_EINTERNAL);
    end(&outbox);
}

static void lets_whole_messages_overtake_one_that_is_compressed(void **state) {
    (void)state;
    atomic_int streams = 0;
    afc_websocket_codec codec = stored_codec(&streams);
    afc__outbox outbox;
    afc__draft slow, fast;
    char log[512];
    afc__outbox_init(&outbox, 1000);
    use_codec(&outbox, &codec, 0);
    check_status(begin(&outbox, "slow", 0, AFC__IN_ORDER, &slow), AFC_OK);
    check_status(begin(&outbox, "fast", 0, AFC__OVERTAKING, &fast), AFC_OK);
    check_status(finish(&outbox, &fast, S("fast")), AFC_OK);
    check_status(begin(&outbox, "piece", AFC_WEBSOCKET_MORE, AFC__OVERTAKING, &fast), AFC_EINVAL);
    check_status(finish(&outbox, &slow, S("slow")), AFC_OK);
    check_status(add(&outbox, "next", 0), AFC_OK);
    read_all(&outbox, 100, log, sizeof log);
    /* A stored block begins with a NUL. */
    assert_string_equal(log, "T:fast;Tz:;Tz:;");
    end(&outbox);
    assert_int_equal(streams, 0);
}

/** Only pieces of a message may follow its first one. */
static void lets_nothing_overtake_pieces(void **state) {
    (void)state;
    afc__outbox outbox;
    afc__draft first, fast, early;
    char log[512];
    afc__outbox_init(&outbox, 1000);
    check_status(begin(&outbox, "early", 0, AFC__OVERTAKING, &early), AFC_OK);
    check_status(begin(&outbox, "one", AFC_WEBSOCKET_MORE, AFC__IN_ORDER, &first), AFC_OK);
    check_status(begin(&outbox, "fast", 0, AFC__OVERTAKING, &fast), AFC_EINVAL);
    check_status(finish(&outbox, &early, S("early")), AFC_EINVAL);
    check_status(finish(&outbox, &first, S("one")), AFC_OK);
    check_status(begin(&outbox, "fast", 0, AFC__OVERTAKING, &fast), AFC_EINVAL);
    check_status(add(&outbox, "two", 0), AFC_OK);
    check_status(begin(&outbox, "fast", 0, AFC__OVERTAKING, &fast), AFC_OK);
    check_status(finish(&outbox, &fast, S("fast")), AFC_OK);
    read_all(&outbox, 100, log, sizeof log);
    assert_string_equal(log, "T+:one;C:two;T:fast;");
    end(&outbox);
}

/** A message that isn't sent leaves no gap: the next one is a message of its own, and not compressed. */
static void forgets_an_abandoned_message(void **state) {
    (void)state;
    static const afc_status reasons[] = {AFC_EINVAL, AFC_ENOMEM, AFC_ECLOSED};
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        atomic_int streams = 0;
        afc_websocket_codec codec = stored_codec(&streams);
        afc__outbox outbox;
        afc__draft draft;
        char log[512];
        afc__outbox_init(&outbox, 1000);
        use_codec(&outbox, &codec, 0);
        check_status(begin(&outbox, "one", AFC_WEBSOCKET_MORE, AFC__IN_ORDER, &draft), AFC_OK);
        afc__outbox_abandon(&outbox, &draft, reasons[i]);
        /* An invalid text wasn't encoded. */
        assert_int_equal(draft.encoder.stream == NULL, reasons[i] == AFC_EINVAL);
        afc__encoder_close(&draft.encoder);
        check_status(add(&outbox, "two", 0), AFC_OK);
        read_all(&outbox, 100, log, sizeof log);
        check_contains(log, reasons[i] == AFC_EINVAL ? "Tz:" : "T:two;");
        end(&outbox);
        assert_int_equal(streams, 0);
    }
}

/** Memory of a frame is used again for one of a similar size, and not kept for others. */
static void keeps_the_memory_of_one_frame(void **state) {
    (void)state;
    static char large[64 * 1024 + 2], medium[64 * 1024 + 1];
    afc__outbox outbox;
    memset(large, 'a', sizeof large - 1);
    memset(medium, 'b', sizeof medium - 1);
    afc__outbox_init(&outbox, 1 << 20);
    check_status(add(&outbox, medium, 0), AFC_OK);
    check_status(add(&outbox, "short", 0), AFC_OK);
    afc__outbox_drop(&outbox);
    afc__outgoing *first = afc__outbox_take_sent(&outbox);
    afc__outgoing *second = afc__outbox_take_sent(&outbox);
    assert_null(afc__outbox_recycle(&outbox, first));
    /* One is enough. */
    assert_ptr_equal(afc__outbox_recycle(&outbox, second), second);
    afc_free(second);
    check_status(add(&outbox, medium, 0), AFC_OK);
    assert_null(outbox.spare);
    afc__outbox_drop(&outbox);
    second = afc__outbox_take_sent(&outbox);
    assert_ptr_equal(second, first);
    assert_null(afc__outbox_recycle(&outbox, second));
    check_status(add(&outbox, "short", 0), AFC_OK);
    assert_null(outbox.spare);
    afc__outbox_drop(&outbox);
    second = afc__outbox_take_sent(&outbox);
    assert_true(second->capacity < 100);
    assert_null(afc__outbox_recycle(&outbox, second));
    check_status(add(&outbox, large, 0), AFC_OK);
    afc__outbox_drop(&outbox);
    second = afc__outbox_take_sent(&outbox);
    assert_int_equal(second->size, sizeof large - 1 + 14);
    assert_ptr_equal(afc__outbox_recycle(&outbox, second), second);
    afc_free(second);
    end(&outbox);
}

static void survives_every_failed_allocation(void **state) {
    (void)state;
    TORTURE(n) {
        afc_websocket_codec codec = stored_codec(NULL);
        afc__outbox outbox;
        char log[512];
        afc__outbox_init(&outbox, 1 << 16);
        use_codec(&outbox, &codec, 5);
        afc_status first = add(&outbox, "hello", AFC_WEBSOCKET_MORE);
        afc_status second = first == AFC_OK ? add(&outbox, "world", 0) : AFC_ENOMEM;
        afc__outbox_add_close(&outbox, 1000, S(""), AFC__CLOSE_FRAME_LAST);
        read_all(&outbox, 3, log, sizeof log);
        assert_true(second == AFC_OK || second == AFC_ENOMEM);
        check_contains(log, "X:\x03\xe8;");
        /* After a message that couldn't be compressed, others are sent as they are, if none is unfinished. */
        if (first == AFC_OK && second == AFC_ENOMEM)
            check_status(add(&outbox, "rest", 0), AFC_ECLOSED);
        end(&outbox);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sends_control_frames_before_messages_that_wait),
        cmocka_unit_test(lends_long_messages_behind_control_frames),
        cmocka_unit_test(finishes_the_frame_that_has_begun_before_an_urgent_close),
        cmocka_unit_test(bounds_answers_to_pings),
        cmocka_unit_test(bounds_the_queue),
        cmocka_unit_test(refuses_what_is_no_message),
        cmocka_unit_test(matches_pongs_with_pings),
        cmocka_unit_test(compresses_messages_of_the_threshold),
        cmocka_unit_test(bounds_the_queue_also_of_messages_that_grow),
        cmocka_unit_test(refuses_a_codec_that_leaves_input),
        cmocka_unit_test(lets_whole_messages_overtake_one_that_is_compressed),
        cmocka_unit_test(lets_nothing_overtake_pieces),
        cmocka_unit_test(forgets_an_abandoned_message),
        cmocka_unit_test(keeps_the_memory_of_one_frame),
        cmocka_unit_test(survives_every_failed_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
