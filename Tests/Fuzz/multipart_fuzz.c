/* Forms made of arbitrary names, headers and bytes. Whatever is not refused is read by a strict
   reader of the format, which must find every part again, for every order of reads and rewinds. */
#include <afcore/multipart.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static uint8_t next_byte(af_slice *input) {
    if (input->size == 0) return 0;
    input->size--;
    return (uint8_t)*input->bytes++;
}

/** At most 255 bytes, as many as the next byte says. */
static af_slice next_text(af_slice *input) {
    af_slice text = {NULL, next_byte(input)};
    if (text.size > input->size) text.size = input->size;
    text.bytes = input->bytes;
    input->bytes += text.size;
    input->size -= text.size;
    return text;
}

/* ---- A reader that gives a text in pieces ---------------------------------------------------- */

typedef struct pieces {
    af_slice text;
    size_t position, piece, releases;
} pieces;

static ptrdiff_t read_pieces(void *context, void *buffer, size_t size) {
    pieces *pieces = context;
    size_t left = pieces->text.size - pieces->position;
    if (left > 0 && ++pieces->piece % 3 == 0) return AF_READ_AGAIN;
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

static bool skip(af_slice *wire, const char *text, size_t size) {
    if (wire->size < size || memcmp(wire->bytes, text, size) != 0) return false;
    wire->bytes += size;
    wire->size -= size;
    return true;
}

static void skip_boundary(af_slice *wire, const af_multipart *form) {
    const char *boundary = af_multipart_get_boundary(form);
    require(skip(wire, "--", 2) && skip(wire, boundary, strlen(boundary)));
}

/** Header lines up to the empty one: each has a colon and no other control than a tab. */
static void skip_headers(af_slice *wire) {
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

static void check_wire(af_slice wire, const af_multipart *form, const af_slice *bodies,
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

static size_t fill_form(af_multipart *form, af_slice *input, af_slice *bodies, pieces *readers) {
    size_t count = 0;
    for (int i = 0; i < MOST_PARTS && input->size > 0; i++) {
        uint8_t kind = next_byte(input);
        af_part part = AF_PART_INIT;
        part.name = next_text(input);
        if (kind & 1) part.file_name = next_text(input);
        if (kind & 2) part.content_type = next_text(input);
        af_header header = {next_text(input), next_text(input), 0};
        part.headers = &header;
        part.header_count = kind >> 2 & 1;
        pieces *reader = &readers[i];
        *reader = (pieces){.text = next_text(input)};
        af_status status;
        if (kind & 8) {
            af_reader face = {reader, read_pieces, rewind_pieces, release_pieces};
            int64_t length = kind & 16 ? AF_LENGTH_UNKNOWN : (int64_t)reader->text.size;
            status = af_multipart_add_reader(form, &part, &face, length, NULL);
        } else if (kind & 32) {
            status = af_multipart_add_raw(form, &header, part.header_count, reader->text,
                                          release_pieces, reader, NULL);
        } else {
            status = af_multipart_add_bytes(form, &part, reader->text, release_pieces, reader,
                                            NULL);
        }
        require(reader->releases == (status != AF_OK));
        if (status == AF_OK) bodies[count++] = reader->text;
    }
    require(af_multipart_get_count(form) == count);
    return count;
}

static size_t read_form(af_multipart *form, char *wire, size_t piece) {
    size_t size = 0;
    for (;;) {
        require(size + piece <= MOST_BYTES);
        ptrdiff_t count = af_multipart_read(form, wire + size, piece, NULL);
        if (count == AF_READ_END) return size;
        if (count == AF_READ_AGAIN) continue;
        require(count > 0 && (size_t)count <= piece);
        size += (size_t)count;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char wire[MOST_BYTES], again[MOST_BYTES];
    af_slice input = {(const char *)data, size};
    af_slice bodies[MOST_PARTS];
    pieces readers[MOST_PARTS];
    char boundary[8] = "";
    af_slice wish = next_text(&input);
    if (wish.size < sizeof boundary && wish.size > 0) memcpy(boundary, wish.bytes, wish.size);
    af_multipart *form;
    if (af_multipart_new(&form, boundary[0] != '\0' ? boundary : NULL, NULL) != AF_OK) return 0;
    size_t count = fill_form(form, &input, bodies, readers);
    size_t length = read_form(form, wire, 4096);
    int64_t promised = af_multipart_get_length(form);
    require(promised == AF_LENGTH_UNKNOWN || (size_t)promised == length);
    check_wire((af_slice){wire, length}, form, bodies, count);
    for (size_t piece = 1; piece <= 64; piece *= 8) {
        require(af_multipart_can_rewind(form) && af_multipart_rewind(form, NULL) == AF_OK);
        /* Not to its end at first: a rewind is right wherever it stands. */
        for (size_t i = 0; i < size % 7; i++) (void)!af_multipart_read(form, again, piece, NULL);
        require(af_multipart_rewind(form, NULL) == AF_OK);
        require(read_form(form, again, piece) == length && memcmp(wire, again, length) == 0);
    }
    af_multipart_free(form);
    return 0;
}
