#include "http_cache/disk/entry_file.h"

#include "base/alloc.h"
#include "base/checksum.h"
#include "base/little_endian.h"
#include "message/fields.h"

#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

enum { SUM_OFFSET = AFC__ENTRY_HEAD_SIZE - AFC__ENTRY_CHECKSUM };
/* The digit is the version of the format. */
static const char MAGIC[8] = {'A', 'F', 'e', 'n', 't', 'r', 'y', '1'};

/* ---- The head ------------------------------------------------------------------------------- */

/** Returns the size in the file of a body with its checksums. */
static uint64_t span_of(uint64_t body_size) {
    uint64_t blocks = (body_size + AFC__ENTRY_BLOCK - 1) / AFC__ENTRY_BLOCK;
    return body_size + blocks * AFC__ENTRY_CHECKSUM;
}

uint64_t afc__entry_size(uint64_t body_size, size_t meta_size) {
    return AFC__ENTRY_HEAD_SIZE + span_of(body_size) + meta_size;
}

void afc__entry_head_write(char out[AFC__ENTRY_HEAD_SIZE], const afc__entry_head *head) {
    memset(out, 0, AFC__ENTRY_HEAD_SIZE);
    memcpy(out, MAGIC, sizeof MAGIC);
    afc__save_64(out + 8, head->content);
    afc__save_64(out + 16, head->body_size);
    afc__save_64(out + 24, head->meta_offset);
    afc__save_32(out + 32, head->meta_size);
    afc__save_64(out + 40, head->meta_checksum);
    afc__save_64(out + SUM_OFFSET, afc__checksum(head->content, out, SUM_OFFSET));
}

/** Returns whether a meta may have this offset and size: behind the body, and not too far. */
static bool is_valid_extent(const afc__entry_head *head, uint64_t offset, uint64_t size) {
    uint64_t end = AFC__ENTRY_HEAD_SIZE + span_of(head->body_size);
    return offset >= end && offset - end <= 2 * AFC__HTTP_CACHE_META_MAX &&
           size <= AFC__HTTP_CACHE_META_MAX;
}

/** Parses the head of a file. Returns false if it is invalid, damaged, or of another version. */
static bool parse_head(afc__entry_head *out, const char bytes[AFC__ENTRY_HEAD_SIZE]) {
    if (memcmp(bytes, MAGIC, sizeof MAGIC) != 0) return false;
    *out = (afc__entry_head){
        .content = afc__load_64(bytes + 8),
        .body_size = afc__load_64(bytes + 16),
        .meta_offset = afc__load_64(bytes + 24),
        .meta_size = afc__load_32(bytes + 32),
        .meta_checksum = afc__load_64(bytes + 40),
    };
    uint64_t sum = afc__checksum(out->content, bytes, SUM_OFFSET);
    if (afc__load_64(bytes + SUM_OFFSET) != sum) return false;
    if (out->body_size > AFC__ENTRY_BODY_MAX) return false;
    return is_valid_extent(out, out->meta_offset, out->meta_size);
}

/* ---- Reading and writing -------------------------------------------------------------------- */

static bool read_at(int descriptor, void *bytes, size_t size, uint64_t offset) {
    char *at = bytes;
    while (size > 0) {
        ssize_t count = pread(descriptor, at, size, (off_t)offset);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return false;
        at += count;
        offset += (uint64_t)count;
        size -= (size_t)count;
    }
    return true;
}

static int write_at(int descriptor, const void *bytes, size_t size, uint64_t offset) {
    const char *at = bytes;
    while (size > 0) {
        ssize_t count = pwrite(descriptor, at, size, (off_t)offset);
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return count < 0 ? errno : EIO;
        at += count;
        offset += (uint64_t)count;
        size -= (size_t)count;
    }
    return 0;
}

static uint64_t block_checksum(uint64_t content, uint64_t block, const void *bytes, size_t size) {
    return afc__checksum(content + block + 1, bytes, size);
}

static uint64_t block_offset(uint64_t block) {
    return AFC__ENTRY_HEAD_SIZE + block * (AFC__ENTRY_BLOCK + AFC__ENTRY_CHECKSUM);
}

int afc__entry_write_blocks(int descriptor, uint64_t content, uint64_t first_block,
                            afc_slice bytes) {
    enum { AT_ONCE = 8 };
    for (uint64_t block = first_block; bytes.size > 0;) {
        char sums[AT_ONCE][AFC__ENTRY_CHECKSUM];
        struct iovec parts[2 * AT_ONCE];
        uint64_t start = block_offset(block);
        size_t count = 0, total = 0;
        for (; count < AT_ONCE && bytes.size > 0; count++, block++) {
            size_t size = bytes.size < AFC__ENTRY_BLOCK ? bytes.size : AFC__ENTRY_BLOCK;
            afc__save_64(sums[count], block_checksum(content, block, bytes.bytes, size));
            parts[2 * count] = (struct iovec){(void *)(uintptr_t)bytes.bytes, size};
            parts[2 * count + 1] = (struct iovec){sums[count], AFC__ENTRY_CHECKSUM};
            bytes = (afc_slice){bytes.bytes + size, bytes.size - size};
            total += size + AFC__ENTRY_CHECKSUM;
        }
        ssize_t written = pwritev(descriptor, parts, (int)(2 * count), (off_t)start);
        if (written < 0) return errno;
        /* A short write means a full disk or, rarely, a signal: give up in both cases. */
        if ((size_t)written != total) return ENOSPC;
    }
    return 0;
}

int afc__entry_finish(int descriptor, const afc__http_cache_stored *stored) {
    afc_slice meta = stored->block;
    afc__entry_head head = {
        .content = stored->id.content,
        .body_size = stored->body_size,
        .meta_offset = AFC__ENTRY_HEAD_SIZE + span_of(stored->body_size),
        .meta_size = (uint32_t)meta.size,
        .meta_checksum = afc__checksum(stored->id.content, meta.bytes, meta.size),
    };
    char bytes[AFC__ENTRY_HEAD_SIZE];
    afc__entry_head_write(bytes, &head);
    int error = write_at(descriptor, meta.bytes, meta.size, head.meta_offset);
    return error != 0 ? error : write_at(descriptor, bytes, sizeof bytes, 0);
}

bool afc__entry_read_head(int descriptor, afc__entry_head *out) {
    char bytes[AFC__ENTRY_HEAD_SIZE];
    return read_at(descriptor, bytes, sizeof bytes, 0) && parse_head(out, bytes);
}

int64_t afc__entry_read_block(int descriptor, uint64_t content, uint64_t body_size, uint64_t block,
                              char out[AFC__ENTRY_BLOCK]) {
    char sum[AFC__ENTRY_CHECKSUM];
    uint64_t start = block * AFC__ENTRY_BLOCK;
    if (start >= body_size) return -1;
    uint64_t left = body_size - start;
    size_t size = left < AFC__ENTRY_BLOCK ? (size_t)left : AFC__ENTRY_BLOCK;
    struct iovec parts[2] = {{out, size}, {sum, sizeof sum}};
    ssize_t count;
    do count = preadv(descriptor, parts, 2, (off_t)block_offset(block));
    while (count < 0 && errno == EINTR);
    if (count != (ssize_t)(size + sizeof sum)) return -1;
    if (afc__load_64(sum) != block_checksum(content, block, out, size)) return -1;
    return (int64_t)size;
}

/* ---- Responses ------------------------------------------------------------------------------- */

static bool is_trimmed_value(afc_slice value) {
    return afc__is_field_value(value) && afc__trim(value).size == value.size;
}

/**
 * Returns whether a server could have sent this head. A file with valid checksums may still have been written by
 * another program.
 */
static bool is_valid(const afc_head *head) {
    bool is_valid = is_trimmed_value(head->reason);
    for (size_t i = 0; i < head->header_count && is_valid; i++) {
        const afc_header *field = &head->headers[i];
        is_valid = afc__is_token(field->name) && is_trimmed_value(field->value);
    }
    return is_valid;
}

/** Decodes a meta that was read from the file. */
static afc__entry_reading decode(afc__http_cache_stored **out, const afc__entry_head *head,
                                 afc_slice meta) {
    if (afc__checksum(head->content, meta.bytes, meta.size) != head->meta_checksum) {
        return AFC__ENTRY_DAMAGED;
    }
    bool has_memory = true;
    afc__http_cache_stored *stored = afc__http_cache_stored_decode(meta, &has_memory);
    if (!has_memory) return AFC__ENTRY_NO_MEMORY;
    if (stored == NULL) return AFC__ENTRY_DAMAGED;
    if (!is_valid(&stored->meta.head)) {
        afc__http_cache_stored_release(stored);
        return AFC__ENTRY_DAMAGED;
    }
    stored->id.content = head->content;
    stored->body_size = head->body_size;
    *out = stored;
    return AFC__ENTRY_READ;
}

afc__entry_reading afc__entry_read_meta(afc__http_cache_stored **out, int descriptor) {
    afc__entry_head head;
    *out = NULL;
    if (!afc__entry_read_head(descriptor, &head)) return AFC__ENTRY_DAMAGED;
    char *bytes = afc__alloc(head.meta_size);
    if (bytes == NULL) return AFC__ENTRY_NO_MEMORY;
    afc__entry_reading reading = AFC__ENTRY_DAMAGED;
    if (read_at(descriptor, bytes, head.meta_size, head.meta_offset)) {
        reading = decode(out, &head, (afc_slice){bytes, head.meta_size});
    }
    afc_free(bytes);
    return reading;
}

static afc__entry_reading read_body(int descriptor, afc__http_cache_stored *stored) {
    size_t size = (size_t)stored->body_size, at = 0;
    char *bytes = afc__alloc(size);
    if (bytes == NULL) return AFC__ENTRY_NO_MEMORY;
    while (at < size) {
        int64_t count = afc__entry_read_block(descriptor, stored->id.content, size,
                                              at / AFC__ENTRY_BLOCK, bytes + at);
        if (count < 0) {
            afc_free(bytes);
            return AFC__ENTRY_DAMAGED;
        }
        at += (size_t)count;
    }
    stored->body = afc__http_cache_body_new((afc_bytes){bytes, size});
    return stored->body != NULL ? AFC__ENTRY_READ : AFC__ENTRY_NO_MEMORY;
}

afc__entry_reading afc__entry_read(afc__http_cache_stored **out, int descriptor) {
    afc__entry_reading reading = afc__entry_read_meta(out, descriptor);
    if (reading != AFC__ENTRY_READ || (*out)->body_size > AFC__ENTRY_LOADED) return reading;
    reading = read_body(descriptor, *out);
    if (reading != AFC__ENTRY_READ) {
        afc__http_cache_stored_release(*out);
        *out = NULL;
    }
    return reading;
}

bool afc__entry_change(int descriptor, uint64_t content, afc_slice meta, uint64_t *size) {
    afc__entry_head head;
    if (!afc__entry_read_head(descriptor, &head) || head.content != content) return false;
    uint64_t body_end = AFC__ENTRY_HEAD_SIZE + span_of(head.body_size);
    uint64_t old_end = head.meta_offset + head.meta_size;
    /* Into the gap between body and valid meta, where a previous meta was, if it fits; else behind the valid one. */
    bool fits_before = head.meta_offset - body_end >= meta.size;
    head.meta_offset = fits_before ? body_end : old_end;
    head.meta_size = (uint32_t)meta.size;
    head.meta_checksum = afc__checksum(content, meta.bytes, meta.size);
    if (!is_valid_extent(&head, head.meta_offset, meta.size)) return false;
    if (write_at(descriptor, meta.bytes, meta.size, head.meta_offset) != 0) return false;
    char bytes[AFC__ENTRY_HEAD_SIZE];
    afc__entry_head_write(bytes, &head);
    if (write_at(descriptor, bytes, sizeof bytes, 0) != 0) return false;
    uint64_t end = head.meta_offset + head.meta_size;
    *size = end > old_end ? end : old_end;
    return true;
}
