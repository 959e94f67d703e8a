#include "support/form.h"

#include "support/pieces.h"

#include <stdlib.h>

afc_multipart *form_new(void) {
    afc_multipart *form;
    check_status(afc_multipart_new(&form, "B", NULL), AFC_OK);
    return form;
}

void form_add(afc_multipart *form, const char *name, const char *file_name, const char *type,
              afc_slice bytes) {
    afc_part part = AFC_PART_INIT;
    afc_failure failure = {0};
    part.name = afc_slice_of(name);
    part.file_name = afc_slice_of(file_name);
    part.content_type = afc_slice_of(type);
    check_status(afc_multipart_add_bytes(form, &part, bytes, NULL, NULL, &failure), AFC_OK);
}

void form_add_file(afc_multipart *form, const char *name, const char *path) {
    afc_part part = AFC_PART_INIT;
    afc_part_file file = AFC_PART_FILE_INIT;
    part.name = afc_slice_of(name);
    file.path = path;
    check_status(afc_multipart_add_file(form, &part, &file, NULL), AFC_OK);
}

static ptrdiff_t read_script(void *context, void *buffer, size_t size) {
    script_reader *reader = context;
    reader->reads++;
    if (reader->again_each != 0 && reader->reads % reader->again_each == 0) return AFC_READ_AGAIN;
    if (reader->fails_at != 0 && reader->position >= reader->fails_at) return AFC_READ_FAILED;
    size_t left = reader->bytes.size - reader->position;
    if (reader->piece != 0 && size > reader->piece) size = reader->piece;
    if (size > left) size = left;
    memcpy(buffer, reader->bytes.bytes + reader->position, size);
    reader->position += size;
    return (ptrdiff_t)size;
}

static bool rewind_script(void *context) {
    script_reader *reader = context;
    reader->rewinds++;
    reader->position = 0;
    return !reader->refuses_rewind;
}

static void release_script(void *context) {
    ((script_reader *)context)->releases++;
}

afc_reader reader_of(script_reader *reader) {
    return (afc_reader){reader, read_script, reader->reads_once ? NULL : rewind_script,
                        release_script};
}

void form_add_reader(afc_multipart *form, const char *name, script_reader *reader, int64_t length) {
    afc_part part = AFC_PART_INIT;
    part.name = afc_slice_of(name);
    afc_reader face = reader_of(reader);
    check_status(afc_multipart_add_reader(form, &part, &face, length, NULL), AFC_OK);
}

form_contents read_form(afc_multipart *form, size_t size) {
    form_contents result = {0};
    size_t capacity = 0;
    for (;;) {
        /* A block of exactly that size, so that a sanitizer sees one byte too far. */
        char *buffer = malloc(size);
        assert_non_null(buffer);
        ptrdiff_t count = afc_multipart_read(form, buffer, size, &result.failure);
        if (count > 0) {
            assert_in_range(count, 1, size);
            if (result.size + (size_t)count > capacity) {
                capacity = (capacity + (size_t)count) * 2;
                result.bytes = realloc(result.bytes, capacity);
                assert_non_null(result.bytes);
            }
            memcpy(result.bytes + result.size, buffer, (size_t)count);
            result.size += (size_t)count;
        }
        free(buffer);
        if (count == AFC_READ_END || count == AFC_READ_FAILED) {
            result.end = count;
            return result;
        }
    }
}

void check_form_at(afc_multipart *form, afc_slice expected, const char *file, int line) {
    int64_t length = afc_multipart_get_length(form);
    if (length != AFC_LENGTH_UNKNOWN) {
        _assert_int_equal((uintmax_t)length, expected.size, file, line);
    }
    FOR_EACH_PIECE_SIZE(size) {
        check_status(afc_multipart_rewind(form, NULL), AFC_OK);
        form_contents wire = read_form(form, size);
        _assert_int_equal((uintmax_t)(wire.end == AFC_READ_END), 1, file, line);
        if (wire.size != expected.size || memcmp(wire.bytes, expected.bytes, wire.size) != 0) {
            print_error("the form is\n%.*s\nand not\n%.*s\n", (int)wire.size, wire.bytes,
                        (int)expected.size, expected.bytes);
            _fail(file, line);
        }
        free(wire.bytes);
        char more;
        _assert_int_equal((uintmax_t)(afc_multipart_read(form, &more, 1, NULL) == AFC_READ_END), 1,
                          file, line);
    }
}
