/* The file of a stored response. Whatever its bytes are: a response that is read has a key, sizes within limits and a
   body whose blocks were verified, and what is encoded of it again is the same. One octet says whether the checksums
   are made right first, so that the checks behind them are reached. */
#include "base/alloc.h"
#include "base/checksum.h"
#include "base/little_endian.h"
#include "http_cache/disk/entry_file.h"
#include "input.h"
#include "message/fields.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void check_meta(const afc__http_cache_stored *stored) {
    const afc__http_cache_meta *meta = &stored->meta;
    require(stored->key.size > 0 && stored->key.size <= AFC__HTTP_CACHE_KEY_MAX);
    require(meta->head.status >= 200 && meta->head.status <= 999);
    require(meta->range_start >= 0 && meta->total >= -1);
    size_t size = meta->head.reason.size;
    for (size_t i = 0; i < meta->request_field_count; i++) {
        size += meta->request_fields[i].name.size + meta->request_fields[i].value.size;
    }
    for (size_t i = 0; i < meta->head.header_count; i++) {
        size += meta->head.headers[i].name.size + meta->head.headers[i].value.size;
        require(afc__is_token(meta->head.headers[i].name));
        require(afc__is_field_value(meta->head.headers[i].value));
    }
    require(size <= stored->block.size);
    require(afc__http_cache_encoded_size(stored->key, meta) == stored->block.size);
    afc__http_cache_stored *again = afc__http_cache_stored_new(stored->key, meta);
    require(again != NULL);
    require(memcmp(again->block.bytes, stored->block.bytes, stored->block.size) == 0);
    afc__http_cache_stored_release(again);
}

/** Writes what is there as an entry's file: a head that fits, the input as meta, and no body. */
static void write_fitting(int file, input input) {
    afc__entry_head head = {.content = 7,
                            .meta_offset = AFC__ENTRY_HEAD_SIZE,
                            .meta_size = (uint32_t)input.size,
                            .meta_checksum = afc__checksum(7, input.at, input.size)};
    char bytes[AFC__ENTRY_HEAD_SIZE];
    afc__entry_head_write(bytes, &head);
    require(pwrite(file, bytes, sizeof bytes, 0) == (ssize_t)sizeof bytes);
    require(pwrite(file, input.at, input.size, sizeof bytes) == (ssize_t)input.size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input input = {data, size};
    bool is_fitting = take_octet(&input) % 2 == 1;
    int file = memfd_create("entry", MFD_CLOEXEC);
    require(file >= 0);
    if (is_fitting) {
        write_fitting(file, input);
    } else {
        require(pwrite(file, input.at, input.size, 0) == (ssize_t)input.size);
    }
    afc__http_cache_stored *stored, *again;
    afc__entry_reading reading = afc__entry_read(&stored, file);
    require(reading != AFC__ENTRY_NO_MEMORY && (reading == AFC__ENTRY_READ) == (stored != NULL));
    if (stored != NULL) {
        check_meta(stored);
        uint64_t changed_size;
        if (stored->body != NULL) require(stored->body->bytes.size == stored->body_size);
        afc_slice meta = stored->block;
        if (afc__entry_change(file, stored->id.content, meta, &changed_size)) {
            require(afc__entry_read(&again, file) == AFC__ENTRY_READ);
            require(again->body_size == stored->body_size);
            afc__http_cache_stored_release(again);
        }
    }
    afc__http_cache_stored_release(stored);
    close(file);
    return 0;
}
