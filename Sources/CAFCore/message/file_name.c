#include "message/file_name.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>

enum {
    /* Maximum length of an extension, with its dot; a longer one is part of the name. */
    MAX_EXTENSION = 16,
    /* Size of the mark that makes shortened names differ: "~" and 16 hexadecimal digits. */
    MARK_SIZE = 17
};

/* ---- Text ---------------------------------------------------------------------------------- */

void afc__name_text_add(afc__name_text *text, unsigned char octet) {
    if (text->size == sizeof text->bytes) {
        text->is_too_long = true;
        return;
    }
    text->bytes[text->size++] = (char)octet;
}

static void add_character(afc__name_text *text, uint32_t c) {
    if (c < 0x80) {
        afc__name_text_add(text, (unsigned char)c);
        return;
    }
    if (c < 0x800) {
        afc__name_text_add(text, (unsigned char)(0xC0 | c >> 6));
    } else {
        afc__name_text_add(text, (unsigned char)(0xE0 | c >> 12));
        afc__name_text_add(text, (unsigned char)(0x80 | (c >> 6 & 0x3F)));
    }
    afc__name_text_add(text, (unsigned char)(0x80 | (c & 0x3F)));
}

/** Reads a UTF-8 character. Returns its size; 0 if it is ill-formed. */
static size_t read_character(const char *bytes, size_t size, uint32_t *out) {
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned char first = (unsigned char)bytes[0];
    size_t length = first < 0x80 ? 1 : first < 0xC0 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (length == 0 || length > size || first > 0xF4) return 0;
    uint32_t c = length == 1 ? first : first & (0xFFu >> (length + 1));
    for (size_t i = 1; i < length; i++) {
        unsigned char next = (unsigned char)bytes[i];
        if ((next & 0xC0) != 0x80) return 0;
        c = c << 6 | (next & 0x3Fu);
    }
    if (c < smallest[length] || c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF)) return 0;
    *out = c;
    return length;
}

bool afc__name_text_is_utf8(const afc__name_text *text) {
    uint32_t c;
    for (size_t at = 0; at < text->size;) {
        size_t size = read_character(text->bytes + at, text->size - at, &c);
        if (size == 0) return false;
        at += size;
    }
    return true;
}

/** The characters of windows-1252 at 0x80 to 0x9F; 0 if undefined. */
static const uint16_t western[32] = {
    0x20AC, 0,      0x201A, 0x0192, 0x201E, 0x2026, 0x2020, 0x2021, 0x02C6, 0x2030, 0x0160,
    0x2039, 0x0152, 0,      0x017D, 0,      0,      0x2018, 0x2019, 0x201C, 0x201D, 0x2022,
    0x2013, 0x2014, 0x02DC, 0x2122, 0x0161, 0x203A, 0x0153, 0,      0x017E, 0x0178};

void afc__name_text_from_latin1(afc__name_text *text) {
    afc__name_text from = *text;
    text->size = 0;
    for (size_t i = 0; i < from.size; i++) {
        unsigned char octet = (unsigned char)from.bytes[i];
        uint32_t c = octet;
        if (octet >= 0x80 && octet < 0xA0 && western[octet - 0x80] != 0) c = western[octet - 0x80];
        add_character(text, c);
    }
}

/* ---- Safety -------------------------------------------------------------------------------- */

/**
 * Returns whether this is a control character or a bidirectional formatting character, which can make "gpj.exe" look
 * like "exe.jpg".
 */
static bool is_unwanted(uint32_t c) {
    bool is_control = c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029;
    bool turns = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x202A && c <= 0x202E) ||
                 (c >= 0x2066 && c <= 0x2069);
    return is_control || turns || c == 0xFEFF;
}

bool afc__name_text_has_control(const afc__name_text *text) {
    uint32_t c;
    for (size_t at = 0; at < text->size;) {
        size_t size = read_character(text->bytes + at, text->size - at, &c);
        if (size == 0 || is_unwanted(c)) return true;
        at += size;
    }
    return false;
}

/**
 * Returns whether a name must not start or end with this character: such names are hidden, or truncated by some
 * systems.
 */
static bool is_edge(char c) {
    return c == '.' || c == ' ';
}

/**
 * Returns whether this is a device name reserved by Windows, with any extension: the disk may be shared with Windows.
 */
static bool is_device(const char *name, size_t size) {
    static const char *const whole[] = {"CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$"};
    /* Windows treats the superscripts 1, 2 and 3 as digits here. */
    static const char *const digits[] = {"\xC2\xB9", "\xC2\xB2", "\xC2\xB3"};
    const char *dot = memchr(name, '.', size);
    if (dot != NULL) size = (size_t)(dot - name);
    while (size > 0 && name[size - 1] == ' ') size--;
    afc_slice stem = {name, size};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (afc__same_name(stem, whole[i])) return true;
    }
    if (!afc__begins_with_name(stem, "COM") && !afc__begins_with_name(stem, "LPT")) return false;
    if (size == 4) return afc__is_digit(name[3]);
    for (size_t i = 0; i < sizeof digits / sizeof *digits; i++) {
        if (size == 5 && memcmp(name + 3, digits[i], 2) == 0) return true;
    }
    return false;
}

/** Returns a size of at most `limit` bytes that doesn't split a character. */
static size_t cut(const char *name, size_t size, size_t limit) {
    if (size <= limit) return size;
    while (limit > 0 && ((unsigned char)name[limit] & 0xC0) == 0x80) limit--;
    return limit;
}

/** Returns the size of the extension with its dot; 0 if there is none, or none worth keeping. */
static size_t extension_size(const char *name, size_t size) {
    const char *dot = memrchr(name, '.', size);
    if (dot == NULL || dot == name) return 0;
    size_t length = size - (size_t)(dot - name);
    return length <= MAX_EXTENSION ? length : 0;
}

/** Writes the mark of a shortened name, which differs for names with the same beginning: FNV-1a of the whole name. */
static void write_mark(char mark[MARK_SIZE + 1], const char *name, size_t size) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < size; i++) hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3u;
    snprintf(mark, MARK_SIZE + 1, "~%016" PRIx64, hash);
}

/** Shortens a name that is too long: its beginning, the mark of the whole, and its extension. */
static size_t shorten(char *out, const char *name, size_t size, size_t capacity) {
    size_t extension = extension_size(name, size);
    size_t stem = cut(name, size - extension, capacity - MARK_SIZE - extension);
    while (stem > 0 && is_edge(name[stem - 1])) stem--;
    memcpy(out, name, stem);
    write_mark(out + stem, name, size);
    memcpy(out + stem + MARK_SIZE, name + size - extension, extension);
    return stem + MARK_SIZE + extension;
}

static void copy_name(char *out, const char *name, size_t size) {
    /* Leaves one byte free for the "_" in front of a device name. */
    size_t capacity = AFC_FILE_NAME_MAX - 1;
    char *start = out + 1;
    if (size > capacity) {
        size = shorten(start, name, size, capacity);
    } else {
        memcpy(start, name, size);
    }
    start[size] = '\0';
    if (is_device(start, size)) {
        out[0] = '_';
    } else {
        memmove(out, start, size + 1);
    }
}

bool afc__safe_file_name(char name[AFC_FILE_NAME_MAX + 1], const afc__name_text *text) {
    char kept[AFC__FILE_NAME_SOURCE];
    size_t size = 0;
    uint32_t c;
    for (size_t at = 0; at < text->size;) {
        size_t length = read_character(text->bytes + at, text->size - at, &c);
        if (length == 0) return false;
        if (c == '/' || c == '\\') {
            size = 0;
        } else if (!is_unwanted(c) && !(size == 0 && c < 0x80 && is_edge((char)c))) {
            memcpy(kept + size, text->bytes + at, length);
            size += length;
        }
        at += length;
    }
    while (size > 0 && is_edge(kept[size - 1])) size--;
    if (size == 0) return false;
    copy_name(name, kept, size);
    return true;
}
