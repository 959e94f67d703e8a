/* Forms made of arbitrary names, headers and bytes. Whatever is not refused is read by a strict
   reader of the format, which must find every part again, for every order of reads and rewinds. */
#include <afcore/multipart.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static uint8_t next_byte(afc_slice *input) {
    if (input->size == 0) return 0;
    input->size--;
    return (uint8_t)*input->bytes++;
}

/** At most 255 bytes, as many as the next byte says. */
static afc_slice next_text(afc_slice *input) {
    afc_slice text = {NULL, next_byte(input)};
    if (text.size > input->size) text.size = input->size;
    text.bytes = input->bytes;
    input->bytes += text.size;
    input->size -= text.size;
    return text;
}

/* ---- A reader that gives a text in pieces ---------------------------------------------------- */

typedef struct pieces {
    afc_slice text;
    size_t position, piece, releases;
} pieces;

static ptrdiff_t read_pieces(void *context, void *buffer, size_t size) {
    pieces *pieces = context;
    size_t left = pieces->text.size - pieces->position;
    if (left > 0 && ++pieces->piece % 3 == 0) return AFC_READ_AGAIN;
    if (size > pieces->piece % 5 + 1) size = pieces->piece % 5 + 1;
    if (size > left) size = left;
    if (size > 0) memcpy(buffer, pieces->text.bytes + pieces->position, size);
    pieces->position += size;
    return (ptrdiff_t)size;
}

static bool rewind_pieces(void *context) {
    ((pieces *)context)->position = 0;
    return true;
}

static void release_pieces(void *context) {
    ((pieces *)context)->releases++;
}

/* ---- The strict reader ----------------------------------------------------------------------- */

static bool skip(afc_slice *wire, const char *text, size_t size) {
    if (wire->size < size || memcmp(wire->bytes, text, size) != 0) return false;
    wire->bytes += size;
    wire->size -= size;
    return true;
}

static void skip_boundary(afc_slice *wire, const afc_multipart *form) {
    const char *boundary = afc_multipart_get_boundary(form);
    require(skip(wire, "--", 2) && skip(wire, boundary, strlen(boundary)));
}

/** Header lines up to the empty one: each has a colon and no other control than a tab. */
static void skip_headers(afc_slice *wire) {
    while (!skip(wire, "\r\n", 2)) {
        const char *end = memmem(wire->bytes, wire->size, "\r\n", 2);
        require(end != NULL);
        size_t size = (size_t)(end - wire->bytes);
        require(memchr(wire->bytes, ':', size) != NULL && memchr(wire->bytes, '\n', size) == NULL &&
                memchr(wire->bytes, '\r', size) == NULL && memchr(wire->bytes, '\0', size) == NULL);
        wire->bytes += size + 2;
        wire->size -= size + 2;
    }
}

static void check_wire(afc_slice wire, const afc_multipart *form, const afc_slice *bodies,
                       size_t count) {
    for (size_t i = 0; i < count; i++) {
        skip_boundary(&wire, form);
        require(skip(&wire, "\r\n", 2));
        skip_headers(&wire);
        require(skip(&wire, bodies[i].bytes, bodies[i].size) && skip(&wire, "\r\n", 2));
    }
    skip_boundary(&wire, form);
    require(skip(&wire, "--\r\n", 4) && wire.size == 0);
}

/* ---- Making and reading ---------------------------------------------------------------------- */

enum { MOST_PARTS = 8, MOST_BYTES = 64 * 1024 };

static size_t fill_form(afc_multipart *form, afc_slice *input, afc_slice *bodies, pieces *readers) {
    size_t count = 0;
    for (int i = 0; i < MOST_PARTS && input->size > 0; i++) {
        uint8_t kind = next_byte(input);
        afc_part part = AFC_PART_INIT;
        part.name = next_text(input);
        if (kind & 1) part.file_name = next_text(input);
        if (kind & 2) part.content_type = next_text(input);
        afc_header header = {next_text(input), next_text(input), 0};
        part.headers = &header;
        part.header_count = kind >> 2 & 1;
        pieces *reader = &readers[i];
        *reader = (pieces){.text = next_text(input)};
        afc_status status;
        if (kind & 8) {
            afc_reader face = {reader, read_pieces, rewind_pieces, release_pieces};
            int64_t length = kind & 16 ? AFC_LENGTH_UNKNOWN : (int64_t)reader->text.size;
            status = afc_multipart_add_reader(form, &part, &face, length, NULL);
        } else if (kind & 32) {
            status = afc_multipart_add_raw(form, &header, part.header_count, reader->text,
                                           release_pieces, reader, NULL);
        } else {
            status = afc_multipart_add_bytes(form, &part, reader->text, release_pieces, reader,
                                             NULL);
        }
        require(reader->releases == (status != AFC_OK));
        if (status == AFC_OK) bodies[count++] = reader->text;
    }
    require(afc_multipart_get_count(form) == count);
    return count;
}

static size_t read_form(afc_multipart *form, char *wire, size_t piece) {
    size_t size = 0;
    for (;;) {
        require(size + piece <= MOST_BYTES);
        ptrdiff_t count = afc_multipart_read(form, wire + size, piece, NULL);
        if (count == AFC_READ_END) return size;
        if (count == AFC_READ_AGAIN) continue;
        require(count > 0 && (size_t)count <= piece);
        size += (size_t)count;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char wire[MOST_BYTES], again[MOST_BYTES];
    afc_slice input = {(const char *)data, size};
    afc_slice bodies[MOST_PARTS];
    pieces readers[MOST_PARTS];
    char boundary[8] = "";
    afc_slice wish = next_text(&input);
    if (wish.size < sizeof boundary && wish.size > 0) memcpy(boundary, wish.bytes, wish.size);
    afc_multipart *form;
    if (afc_multipart_new(&form, boundary[0] != '\0' ? boundary : NULL, NULL) != AFC_OK) return 0;
    size_t count = fill_form(form, &input, bodies, readers);
    size_t length = read_form(form, wire, 4096);
    int64_t promised = afc_multipart_get_length(form);
    require(promised == AFC_LENGTH_UNKNOWN || (size_t)promised == length);
    check_wire((afc_slice){wire, length}, form, bodies, count);
    for (size_t piece = 1; piece <= 64; piece *= 8) {
        require(afc_multipart_can_rewind(form) && afc_multipart_rewind(form, NULL) == AFC_OK);
        /* Not to its end at first: a rewind is right wherever it stands. */
        for (size_t i = 0; i < size % 7; i++) (void)!afc_multipart_read(form, again, piece, NULL);
        require(afc_multipart_rewind(form, NULL) == AFC_OK);
        require(read_form(form, again, piece) == length && memcmp(wire, again, length) == 0);
    }
    afc_multipart_free(form);
    return 0;
}
