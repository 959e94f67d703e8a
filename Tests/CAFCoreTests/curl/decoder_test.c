/* Decoding piece by piece: in any portions, and nothing but whole bodies. */
#include "base/alloc.h"
#include "curl/body/decoder.h"
#include "support/check.h"
#include "support/heap.h"

#include <curl/curl.h>
#include <stdlib.h>
#include <string.h>

static const char hello[] =
    "\x1F\x8B\x08\0\0\0\0\0\0\xFF\x01\x05\0\xFA\xFFhello\x86\xA6\x10\x36\x05\0\0\0";
enum { WHOLE = sizeof hello - 1 };

/** The beginning of a run of equal letters: a byte stands for 1,032 of them. */
static const char letters[96] = "\x1F\x8B\x08\0\0\0\0\0\0\xFF"
                                "\xEC\xC1\x81\x00\x00\x00\x00\x80\x20\xD6\xFD\x25\x16\xA9\x0A";

/** The beginning of many zeros, made by libbrotlienc: unlike `brotli`, it is compressed. */
static const char brotli_zeros[] =
    "\xCB\xFF\xFF\x3F\x00\x24\x00\xE2\xB1\x40\x72\xEF\xFF\xF8\xFF\xFF\x07\x80\x04\x40\x1C";

static const char brotli[] = "\x0B\x02\x80hello\x03";
static const char zstd[] = "\x28\xB5\x2F\xFD\x20\x05\x29\0\0hello";

static const char zlib[] = "\x78\x01\x01\x05\0\xFA\xFFhello\x06\x2C\x02\x15";
static const char raw_deflate[] = "\x01\x05\0\xFA\xFFhello";
/** `brotli` in gzip. */
static const char brotli_in_gzip[] = "\x1F\x8B\x08\x00\x00\x00\x00\x00\x00\xFF\x01\x09\x00\xF6\xFF"
                                     "\x0B\x02\x80hello\x03\xDBNKP\x09\x00\x00\x00";

/** "hello" in each coding. */
static const struct {
    const char *coding;
    afc_slice bytes;
} bodies[] = {{"gzip", {hello, WHOLE}},
              {"br", {brotli, sizeof brotli - 1}},
              {"zstd", {zstd, sizeof zstd - 1}},
              {"X-GZip", {hello, WHOLE}},
              {"gzip", {zlib, sizeof zlib - 1}},
              {"deflate", {zlib, sizeof zlib - 1}},
              {"deflate", {raw_deflate, sizeof raw_deflate - 1}},
              {"none, gzip", {hello, WHOLE}},
              {"br, identity,, gzip", {brotli_in_gzip, sizeof brotli_in_gzip - 1}}};

enum { RAW = 6 };

/** Returns whether the libraries of the coding are installed. */
static bool is_known(size_t index) {
    const char *codings = afc__decodable_codings();
    if (strstr(bodies[index].coding, "br") != NULL) return strstr(codings, "br") != NULL;
    return strcmp(bodies[index].coding, "zstd") != 0 || strstr(codings, "zstd") != NULL;
}

/** Makes a decoder of a field Content-Encoding, or of two if the value has a "|". */
static afc_status new_decoder_of(afc__decoder **out, const char *codings, afc_failure *failure) {
    const char *bar = strchr(codings, '|');
    size_t first = bar != NULL ? (size_t)(bar - codings) : strlen(codings);
    afc_header fields[] = {
        {afc_slice_of("Content-Type"), afc_slice_of("br"), 0},
        {afc_slice_of("content-encoding"), {codings, first}, 0},
        {afc_slice_of("Content-Encoding"), afc_slice_of(bar != NULL ? bar + 1 : ""), 0}};
    afc_head head = {.status = 200, .headers = fields, .header_count = COUNT_OF(fields)};
    return afc__decoder_new(out, &head, failure);
}

static afc__decoder *new_decoder(const char *codings) {
    afc__decoder *decoder;
    check_status(new_decoder_of(&decoder, codings, NULL), AFC_OK);
    assert_non_null(decoder);
    return decoder;
}

/** Decodes until there is a piece, or another result. */
static afc__decoding decode_next(afc__decoder *decoder, afc_slice bytes, afc_slice *piece) {
    afc__decoding result;
    uint64_t between = 0;
    while ((result = afc__decoder_next(decoder, bytes, piece)) == AFC__DECODED_BETWEEN) {
        assert_true(afc__decoder_between(decoder) > between);
        between = afc__decoder_between(decoder);
    }
    return result;
}

/** Decodes bytes in portions of this size. Returns the last result, and how many bytes were decoded into `out`. */
static afc__decoding decode(const char *coding, afc_slice bytes, size_t portion, char *out,
                            size_t *out_size) {
    afc__decoder *decoder = new_decoder(coding);
    afc__decoding result = AFC__DECODED_ALL;
    *out_size = 0;
    for (size_t done = 0; done < bytes.size && result == AFC__DECODED_ALL; done += portion) {
        size_t size = bytes.size - done < portion ? bytes.size - done : portion;
        afc_slice piece;
        while ((result = decode_next(decoder, (afc_slice){bytes.bytes + done, size}, &piece)) ==
               AFC__DECODED_PIECE) {
            assert_true(piece.size > 0 && *out_size + piece.size <= 100);
            memcpy(out + *out_size, piece.bytes, piece.size);
            *out_size += piece.size;
            afc__decoder_took_piece(decoder);
        }
    }
    afc__decoder_free(decoder);
    return result;
}

static void portions_of_any_size_give_the_same(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        if (!is_known(i)) continue;
        for (size_t portion = 1; portion <= bodies[i].bytes.size; portion++) {
            char out[100];
            size_t size;
            assert_int_equal(decode(bodies[i].coding, bodies[i].bytes, portion, out, &size),
                             AFC__DECODED_ALL);
            check_slice(((afc_slice){out, size}), "hello");
        }
    }
}

static void body_is_whole_only_with_its_last_byte(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        if (!is_known(i)) continue;
        for (size_t cut = 1; cut <= bodies[i].bytes.size; cut++) {
            afc__decoder *decoder = new_decoder(bodies[i].coding);
            afc_slice piece;
            while (decode_next(decoder, (afc_slice){bodies[i].bytes.bytes, cut}, &piece) ==
                   AFC__DECODED_PIECE) {
                afc__decoder_took_piece(decoder);
            }
            assert_int_equal(afc__decoder_is_whole(decoder), cut == bodies[i].bytes.size);
            afc__decoder_free(decoder);
        }
    }
}

static void check_behind(size_t index, afc_slice behind, size_t portion, afc__decoding expected,
                         const char *text) {
    afc_slice whole = bodies[index].bytes;
    char both[100], out[100];
    memcpy(both, whole.bytes, whole.size);
    memcpy(both + whole.size, behind.bytes, behind.size);
    size_t size;
    afc_slice bytes = {both, whole.size + behind.size};
    assert_int_equal(decode(bodies[index].coding, bytes, portion, out, &size), expected);
    check_slice(((afc_slice){out, size}), text);
}

static void bytes_behind_the_end_are_refused(void **state) {
    (void)state;
    static const char garbage[] = "garbage";
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        /* Frames of Zstandard follow each other, and a check may follow raw data; see below. */
        if (!is_known(i) || strcmp(bodies[i].coding, "zstd") == 0 || i == RAW) continue;
        for (size_t behind = 1; behind < sizeof garbage; behind++) {
            for (size_t portion = 1; portion <= bodies[i].bytes.size + behind; portion++) {
                check_behind(i, (afc_slice){garbage, behind}, portion, AFC__DECODE_BEHIND_END,
                             "hello");
            }
        }
    }
}

/** Some servers leave out the header of the zlib format, but not the four bytes of its check, which curl skips, too. */
static void raw_data_may_have_a_check(void **state) {
    (void)state;
    static const char behind[] = "\x06\x2C\x02\x15\x78\x01";
    for (size_t size = 1; size < sizeof behind; size++) {
        for (size_t portion = 1; portion <= bodies[RAW].bytes.size + size; portion++) {
            check_behind(RAW, (afc_slice){behind, size}, portion,
                         size > 4 ? AFC__DECODE_BEHIND_END : AFC__DECODED_ALL, "hello");
        }
    }
}

/** RFC 1952 2.2: a body is one or more members. */
static void gzip_members_follow_each_other(void **state) {
    (void)state;
    enum { GZIP = 0, ZLIB = 4 };
    afc_slice again = bodies[GZIP].bytes;
    for (size_t portion = 1; portion <= 2 * again.size; portion++) {
        check_behind(GZIP, again, portion, AFC__DECODED_ALL, "hellohello");
        check_behind(GZIP, (afc_slice){"\x1Fgarbage", 8}, portion, AFC__DECODE_INVALID, "hello");
        check_behind(GZIP, bodies[ZLIB].bytes, portion, AFC__DECODE_BEHIND_END, "hello");
    }
}

/** With a second member, the body isn't whole before that has ended. */
static void gzip_body_is_whole_between_members(void **state) {
    (void)state;
    for (size_t size = 1; size <= 2 * (size_t)WHOLE; size++) {
        char both[2 * WHOLE];
        afc_slice piece;
        memcpy(both, hello, WHOLE);
        memcpy(both + WHOLE, hello, WHOLE);
        afc__decoder *decoder = new_decoder("gzip");
        while (decode_next(decoder, (afc_slice){both, size}, &piece) == AFC__DECODED_PIECE) {
            afc__decoder_took_piece(decoder);
        }
        if (afc__decoder_is_whole(decoder) != (size % WHOLE == 0)) fail_msg("%zu bytes", size);
        afc__decoder_free(decoder);
    }
}

/** Both names are those of zlib: its format, or raw data that servers send under the name deflate. */
static void zlib_header_tells_deflate_from_raw_data(void **state) {
    (void)state;
    static const struct {
        afc_slice bytes;
        afc__decoding expected;
    } rows[] = {
        /* A header whose check is wrong is raw data, here of the reserved block type or a stored block. */
        {{"\x78\x02\x01\x05\0\xFA\xFFhello", 12}, AFC__DECODE_INVALID},
        {{"\x79\x01\x01\x05\0\xFA\xFFhello", 12}, AFC__DECODE_INVALID},
        /* A window of 256 bytes, and levels of compression. */
        {{"\x08\x1D\x01\x05\0\xFA\xFFhello\x06\x2C\x02\x15", 16}, AFC__DECODED_ALL},
        {{"\x78\xDA\x01\x05\0\xFA\xFFhello\x06\x2C\x02\x15", 16}, AFC__DECODED_ALL},
        /* A dictionary is needed (RFC 1950 section 2.2), and no server has told which. */
        {{"\x78\x20\x01\x05\0\xFA\xFFhello\x06\x2C\x02\x15", 16}, AFC__DECODE_INVALID},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (size_t portion = 1; portion <= rows[i].bytes.size; portion++) {
            char out[100];
            size_t size;
            afc__decoding result = decode("deflate", rows[i].bytes, portion, out, &size);
            if (result != rows[i].expected) fail_msg("row %zu: %d", i, (int)result);
        }
    }
}

/** RFC 8878 3: a body is one or more frames. */
static void zstd_frames_follow_each_other(void **state) {
    (void)state;
    enum { ZSTD = 2 };
    if (!is_known(ZSTD)) skip();
    afc_slice again = bodies[ZSTD].bytes;
    for (size_t portion = 1; portion <= 2 * again.size; portion++) {
        check_behind(ZSTD, again, portion, AFC__DECODED_ALL, "hellohello");
        check_behind(ZSTD, (afc_slice){"garbage", 7}, portion, AFC__DECODE_INVALID, "hello");
    }
}

/** A frame may be empty, and one that is skipped contains nothing of the body (RFC 8878 3.1.2): pzstd writes both. */
static void zstd_frames_without_content_pass(void **state) {
    (void)state;
    static const char empty[] = "\x28\xB5\x2F\xFD\x20\0\x01\0\0";
    static const char skipped[] = "\x50\x2A\x4D\x18\x04\0\0\0\1\2\3\4";
    enum { ZSTD = 2, EMPTY = sizeof empty - 1, SKIPPED = sizeof skipped - 1 };
    if (!is_known(ZSTD)) skip();
    char bytes[2 * EMPTY + SKIPPED + 2 * (sizeof zstd - 1)], out[100];
    const afc_slice parts[] = {
        {empty, EMPTY}, {skipped, SKIPPED}, bodies[ZSTD].bytes, {empty, EMPTY}, bodies[ZSTD].bytes};
    size_t size = 0;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        memcpy(bytes + size, parts[i].bytes, parts[i].size);
        size += parts[i].size;
    }
    for (size_t portion = 1; portion <= size; portion++) {
        size_t out_size;
        assert_int_equal(decode("zstd", (afc_slice){bytes, size}, portion, out, &out_size),
                         AFC__DECODED_ALL);
        check_slice(((afc_slice){out, out_size}), "hellohello");
    }
}

/** The last block of a frame: "hello" as it is. */
#define HELLO "\x29\0\0hello"
#define FRAME "\x28\xB5\x2F\xFD"
#define ROW(bytes, problem)                                                                        \
    { {bytes, sizeof bytes - 1}, problem }

/** Frames, and what is wrong with them; NULL: nothing. */
static const struct {
    afc_slice bytes;
    const char *problem;
} frames[] = {
    /*
     * The window: 2^(10 + the upper five bits), and as many eighths more as the other bits say (RFC 8878 3.1.1.1.2).
     */
    ROW(FRAME "\0\x00" HELLO, NULL),
    ROW(FRAME "\0\x67" HELLO, NULL),
    ROW(FRAME "\0\x68" HELLO, NULL),
    ROW(FRAME "\0\x69" HELLO, "8 MiB"),
    ROW(FRAME "\0\x70" HELLO, "8 MiB"),
    ROW(FRAME "\0\x88" HELLO, "8 MiB"),
    ROW(FRAME "\0\xFF" HELLO, "8 MiB"),
    /* A single segment: the window is the content. */
    ROW(FRAME "\x20\x05" HELLO, NULL),
    ROW(FRAME "\xA0\x05\0\0\0" HELLO, NULL),
    ROW(FRAME "\xE0\x05\0\0\0\0\0\0\0" HELLO, NULL),
    ROW(FRAME "\xA0\1\0\x80\0" HELLO, "8 MiB"),
    ROW(FRAME "\xE0\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F" HELLO, "8 MiB"),
    /* A small frame says nothing about the next one. */
    ROW(FRAME "\x20\x05" HELLO FRAME "\0\x69" HELLO, "8 MiB"),
    /* Formats of libzstd before the standard, each with a window of 128 MiB where it says one. */
    ROW("\x27\xB5\x2F\xFD\0\x88\x40\0\x05hello\xC0\0\0", "RFC 8878"),
    ROW("\x26\xB5\x2F\xFD\x0F\x40\0\x05hello\xC0\0\0", "RFC 8878"),
    ROW("\x25\xB5\x2F\xFD\x0F\x40\0\x05hello\xC0\0\0", "RFC 8878"),
    ROW(FRAME "\x20\x05" HELLO "\x27\xB5\x2F\xFD\0\x88\x40\0\x05hello\xC0\0\0", "RFC 8878"),
};

/** Decodes a frame in portions of this size. */
static void check_frame(size_t index, size_t portion) {
    afc__decoder *decoder = new_decoder("zstd");
    afc_slice piece, rest = frames[index].bytes;
    afc__decoding result = AFC__DECODED_ALL;
    size_t total = 0, before = heap_in_use();
    while (rest.size > 0 && result == AFC__DECODED_ALL) {
        size_t size = rest.size < portion ? rest.size : portion;
        while ((result = decode_next(decoder, (afc_slice){rest.bytes, size}, &piece)) ==
               AFC__DECODED_PIECE) {
            size_t at = total % 5;
            assert_true(piece.size <= 5 - at && memcmp(piece.bytes, &"hello"[at], piece.size) == 0);
            total += piece.size;
            afc__decoder_took_piece(decoder);
        }
        rest = (afc_slice){rest.bytes + size, rest.size - size};
    }
    if (frames[index].problem == NULL) {
        assert_int_equal(result, AFC__DECODED_ALL);
        assert_int_equal(total, 5);
    } else {
        assert_int_equal(result, AFC__DECODE_INVALID);
        check_contains(afc__decoder_problem(decoder), frames[index].problem);
        /* Its window wasn't reserved. */
        assert_true(heap_in_use() < before + 1024 * 1024);
    }
    afc__decoder_free(decoder);
}

static void zstd_windows_have_a_limit(void **state) {
    (void)state;
    if (!is_known(2)) skip();
    for (size_t i = 0; i < COUNT_OF(frames); i++) {
        for (size_t portion = 1; portion <= frames[i].bytes.size; portion++) {
            check_frame(i, portion);
        }
    }
}

/** In blocks of 128 KiB that are one byte, repeated. */
static void zstd_frame_as_large_as_the_limit_is_decoded(void **state) {
    (void)state;
    enum { BLOCKS = 64, HEAD = 9, SIZE = 8 * 1024 * 1024, PORTION = 7 };
    if (!is_known(2)) skip();
    char frame[HEAD + 4 * BLOCKS] = FRAME "\xA0\0\0\x80";
    for (size_t i = 0; i < BLOCKS; i++) {
        memcpy(frame + HEAD + 4 * i, i + 1 == BLOCKS ? "\x03\0\x10x" : "\x02\0\x10x", 4);
    }
    afc__decoder *decoder = new_decoder("zstd");
    size_t total = 0;
    for (size_t done = 0; done < sizeof frame; done += PORTION) {
        size_t rest = sizeof frame - done;
        afc_slice piece, bytes = {frame + done, rest < PORTION ? rest : PORTION};
        afc__decoding result;
        while ((result = decode_next(decoder, bytes, &piece)) == AFC__DECODED_PIECE) {
            for (size_t i = 0; i < piece.size; i++) assert_int_equal(piece.bytes[i], 'x');
            total += piece.size;
            afc__decoder_took_piece(decoder);
        }
        assert_int_equal(result, AFC__DECODED_ALL);
    }
    assert_int_equal(total, SIZE);
    afc__decoder_free(decoder);
}

/** The time, the system and how it was compressed say nothing about the content, nor do bits before a stored block. */
static bool is_ignored(size_t index, int bit) {
    return (index >= 4 && index < 10) || (index == 10 && bit >= 3);
}

static void damage_never_looks_whole(void **state) {
    (void)state;
    for (size_t i = 0; i < WHOLE; i++) {
        for (int bit = 0; bit < 8; bit++) {
            char damaged[WHOLE], out[100];
            size_t size;
            memcpy(damaged, hello, WHOLE);
            damaged[i] = (char)(damaged[i] ^ 1 << bit);
            afc__decoding result = decode("gzip", (afc_slice){damaged, WHOLE}, 5, out, &size);
            /* A flag can announce a further part of the head, so that the bytes aren't enough. */
            if (is_ignored(i, bit) || (i == 3 && size < 5)) continue;
            bool is_text_flag = i == 3 && bit == 0;
            if (result == AFC__DECODED_ALL && !is_text_flag && size == 5) {
                fail_msg("bit %d of byte %zu is ignored", bit, i);
            }
        }
    }
}

/** As with libcurl, what comes before the damage isn't lost. */
static void bytes_before_damage_are_passed_on(void **state) {
    (void)state;
    char damaged[WHOLE], out[100];
    size_t size;
    memcpy(damaged, hello, WHOLE);
    damaged[WHOLE - 5] ^= 1;
    assert_int_equal(decode("gzip", (afc_slice){damaged, WHOLE}, WHOLE, out, &size),
                     AFC__DECODE_INVALID);
    check_slice(((afc_slice){out, size}), "hello");
}

/** Checks what is said of a body that is damaged from its first bytes on. */
static void check_problem(const char *coding, afc_slice bytes, const char *words) {
    afc__decoder *decoder = new_decoder(coding);
    afc_slice piece;
    assert_int_equal(decode_next(decoder, bytes, &piece), AFC__DECODE_INVALID);
    check_contains(afc__decoder_problem(decoder), words);
    afc__decoder_free(decoder);
}

static void damage_has_words(void **state) {
    (void)state;
    static const char *const words[] = {"header", "_",      "not a frame of RFC 8878",
                                        "header", "header", "block",
                                        "block",  "header", "header"};
    static const char garbage[] = "\xFF\xFFwrong bytes";
    /* libzstd has no words for a block of the reserved type. */
    static const char reserved[] = "\x28\xB5\x2F\xFD\x20\x05\x2F\0\0hello";
    assert_int_equal(COUNT_OF(words), COUNT_OF(bodies));
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        if (is_known(i))
            check_problem(bodies[i].coding, (afc_slice){garbage, sizeof garbage - 1}, words[i]);
    }
    afc_slice block = {reserved, sizeof reserved - 1};
    if (is_known(2)) check_problem("zstd", block, "the bytes are damaged");
}

/** Errors name the coding that is damaged, and not one whose bytes would have followed. */
static void errors_name_the_damaged_coding(void **state) {
    (void)state;
    static const char brotli_damage[] =
        "\x1F\x8B\x08\0\0\0\0\0\0\xFF\x01\x09\0\xF6\xFF\xFFgarbages";
    static const struct {
        const char *codings;
        afc_slice bytes;
        afc__decoding result;
        const char *name;
    } rows[] = {
        {"br|gzip", {brotli_damage, sizeof brotli_damage - 1}, AFC__DECODE_INVALID, "Brotli"},
        {"br|gzip", {"garbage", 7}, AFC__DECODE_INVALID, "gzip"},
        {"br|gzip", {brotli_in_gzip, sizeof brotli_in_gzip - 1 - 8}, AFC__DECODED_ALL, "gzip"},
        {"br, gzip", {brotli_in_gzip, 20}, AFC__DECODED_ALL, "Brotli"},
    };
    if (!is_known(1)) skip();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__decoder *decoder = new_decoder(rows[i].codings);
        afc_slice piece;
        afc__decoding result;
        while ((result = decode_next(decoder, rows[i].bytes, &piece)) == AFC__DECODED_PIECE) {
            afc__decoder_took_piece(decoder);
        }
        assert_int_equal(result, rows[i].result);
        assert_string_equal(afc__decoder_name(decoder), rows[i].name);
        assert_false(afc__decoder_is_whole(decoder));
        afc__decoder_free(decoder);
    }
}

static void codings_have_limits(void **state) {
    (void)state;
    static const struct {
        const char *codings, *text;
    } rows[] = {
        {"gzip,gzip,gzip,gzip,gzip", NULL},
        {"gzip,gzip,gzip, identity|deflate,gzip", NULL},
        {"gzip,gzip,gzip,gzip,gzip,gzip", "more than 5 content codings"},
        {"gzip,gzip,gzip|gzip,gzip,gzip", "more than 5 content codings"},
        {"aws-chunked", "the content coding \"aws-chunked\" can't be decoded; accepted: gzip"},
        {"gzip|compress", "\"compress\""},
        {"utf-8\x1B[2J", "\"utf-8?[2J\""},
        {"gzipp", "\"gzipp\""},
        {"a-name-that-is-longer-than-forty-characters-is-cut", "than-forty-charact\" can't"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_failure failure = {0};
        afc__decoder *decoder;
        afc_status status = new_decoder_of(&decoder, rows[i].codings, &failure);
        assert_int_equal(status, rows[i].text == NULL ? AFC_OK : AFC_EPROTOCOL);
        assert_int_equal(decoder != NULL, rows[i].text == NULL);
        if (rows[i].text != NULL) check_contains(failure.text, rows[i].text);
        afc__decoder_free(decoder);
    }
}

static void piece_comes_again_until_taken(void **state) {
    (void)state;
    afc__decoder *decoder = new_decoder("gzip");
    afc_slice first, again, bytes = {letters, 64};
    assert_int_equal(decode_next(decoder, bytes, &first), AFC__DECODED_PIECE);
    assert_int_equal(first.size, 16 * 1024);
    /* More follows, as libcurl has read more meanwhile. */
    bytes.size = sizeof letters;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(decode_next(decoder, bytes, &again), AFC__DECODED_PIECE);
        assert_ptr_equal(again.bytes, first.bytes);
        assert_int_equal(again.size, first.size);
    }
    size_t total = 0;
    afc__decoding result = AFC__DECODED_PIECE;
    for (; result == AFC__DECODED_PIECE; result = decode_next(decoder, bytes, &again)) {
        for (size_t i = 0; i < again.size; i++) assert_int_equal(again.bytes[i], 'a');
        total += again.size;
        afc__decoder_took_piece(decoder);
    }
    assert_int_equal(result, AFC__DECODED_ALL);
    assert_true(total > 60 * 1024);
    afc__decoder_free(decoder);
}

/** A body may repeat what came 32 KiB before (RFC 1951 2), which is no piece any more. */
static void gzip_repeats_distant_bytes(void **state) {
    (void)state;
    enum { DISTANCE = 32 * 1024, HEAD = 15, REPEATED = 3 };
    /* A stored block, and one with a length of 3, a distance of 32,768 and its end. */
    static const char head[] = "\x1F\x8B\x08\0\0\0\0\0\0\xFF\0\0\x80\xFF\x7F";
    static const char tail[] = "\x03\xDE\xFF\x0F\0\x85\x5B\xB5\x17\x03\x80\0\0";
    static char bytes[HEAD + DISTANCE + sizeof tail - 1];
    memcpy(bytes, head, HEAD);
    memcpy(bytes + HEAD + DISTANCE, tail, sizeof tail - 1);
    afc__decoder *decoder = new_decoder("gzip");
    size_t total = 0;
    afc_slice piece;
    afc__decoding result;
    while ((result = decode_next(decoder, (afc_slice){bytes, sizeof bytes}, &piece)) ==
           AFC__DECODED_PIECE) {
        total += piece.size;
        afc__decoder_took_piece(decoder);
    }
    assert_int_equal(result, AFC__DECODED_ALL);
    assert_int_equal(total, DISTANCE + REPEATED);
    afc__decoder_free(decoder);
}

/** Returns how many allocations were made to fail before one piece of the bytes was decoded. */
static unsigned fail_allocations(const char *coding, afc_slice bytes) {
    unsigned failures = 0;
    for (unsigned n = 1;; n++) {
        afc__alloc_fail_at(n);
        afc__decoder *decoder;
        afc_slice piece;
        afc_status status = new_decoder_of(&decoder, coding, NULL);
        afc__decoding result = status != AFC_OK ? AFC__DECODE_NO_MEMORY
                                                : decode_next(decoder, bytes, &piece);
        afc__alloc_fail_at(0);
        assert_true(status == AFC_OK || status == AFC_ENOMEM);
        afc__decoder_free(decoder);
        if (result == AFC__DECODED_PIECE) return failures;
        assert_int_equal(result, AFC__DECODE_NO_MEMORY);
        failures++;
    }
}

static void each_failing_allocation_is_reported(void **state) {
    (void)state;
    assert_true(fail_allocations("gzip", (afc_slice){letters, sizeof letters}) >= 4);
    assert_true(fail_allocations("deflate", (afc_slice){zlib, sizeof zlib - 1}) >= 3);
    assert_true(fail_allocations("deflate", (afc_slice){raw_deflate, sizeof raw_deflate - 1}) >= 3);
    afc_slice zeros = {brotli_zeros, sizeof brotli_zeros - 1};
    if (is_known(1)) assert_true(fail_allocations("br", bodies[1].bytes) >= 3);
    if (is_known(8)) assert_true(fail_allocations("br|gzip", bodies[8].bytes) >= 6);
    if (is_known(1)) assert_true(fail_allocations("br", zeros) >= 6);
    if (is_known(2)) assert_true(fail_allocations("zstd", bodies[2].bytes) >= 3);
}

#if defined(__GLIBC__) && !HAS_ADDRESS_SANITIZER && !HAS_THREAD_SANITIZER
enum { LIMITS_MALLOC = true };
static size_t most_allocated = SIZE_MAX;

extern void *__libc_malloc(size_t size);

/** Takes the place of the C library's, also for libzstd. */
void *malloc(size_t size) {
    return size <= most_allocated ? __libc_malloc(size) : NULL;
}
#else
enum { LIMITS_MALLOC = false };
static size_t most_allocated;
#endif

/** Returns whether the malloc() above is called. Valgrind calls its own. */
static bool limits_malloc(void) {
    if (!LIMITS_MALLOC) return false;
    void *(*volatile allocate)(size_t) = malloc;
    most_allocated = 0;
    void *block = allocate(1);
    most_allocated = SIZE_MAX;
    free(block);
    return block == NULL;
}

/** libzstd allocates by itself. */
static void zstd_window_without_memory_is_reported(void **state) {
    (void)state;
    if (!limits_malloc() || !is_known(2)) skip();
    /* A window of 2 MiB, and a block of 128 KiB that is one byte, repeated. */
    static const char frame[] = "\x28\xB5\x2F\xFD\x00\x58\x03\x00\x10";
    afc__decoder *decoder = new_decoder("zstd");
    afc_slice piece;
    most_allocated = 1024 * 1024;
    afc__decoding result = decode_next(decoder, (afc_slice){frame, sizeof frame - 1}, &piece);
    most_allocated = SIZE_MAX;
    assert_int_equal(result, AFC__DECODE_NO_MEMORY);
    afc__decoder_free(decoder);
}

int main(void) {
    curl_global_init(CURL_GLOBAL_DEFAULT);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(portions_of_any_size_give_the_same),
        cmocka_unit_test(body_is_whole_only_with_its_last_byte),
        cmocka_unit_test(bytes_behind_the_end_are_refused),
        cmocka_unit_test(raw_data_may_have_a_check),
        cmocka_unit_test(gzip_members_follow_each_other),
        cmocka_unit_test(gzip_body_is_whole_between_members),
        cmocka_unit_test(zlib_header_tells_deflate_from_raw_data),
        cmocka_unit_test(zstd_frames_follow_each_other),
        cmocka_unit_test(zstd_frames_without_content_pass),
        cmocka_unit_test(zstd_windows_have_a_limit),
        cmocka_unit_test(zstd_frame_as_large_as_the_limit_is_decoded),
        cmocka_unit_test(damage_never_looks_whole),
        cmocka_unit_test(bytes_before_damage_are_passed_on),
        cmocka_unit_test(damage_has_words),
        cmocka_unit_test(errors_name_the_damaged_coding),
        cmocka_unit_test(codings_have_limits),
        cmocka_unit_test(piece_comes_again_until_taken),
        cmocka_unit_test(gzip_repeats_distant_bytes),
        cmocka_unit_test(each_failing_allocation_is_reported),
        cmocka_unit_test(zstd_window_without_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
