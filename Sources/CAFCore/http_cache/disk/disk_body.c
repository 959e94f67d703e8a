#include "http_cache/disk/disk_body.h"

#include "base/alloc.h"
#include "http_cache/disk/disk.h"
#include "http_cache/disk/disk_removal.h"
#include "http_cache/disk/entry_file.h"

#include <unistd.h>

/* ---- Writing ------------------------------------------------------------------------------- */

struct afc__disk_stream {
    afc__disk_job last; /* Commits or abandons the stream, and frees it. */
    afc__disk *disk;
    uint64_t content;
    uint64_t number; /* The file's number. */
    atomic_bool has_failed;
    bool has_begun; /* A piece was ordered. */
    uint64_t size;  /* Total size of the pieces so far. */
    afc__http_cache_stored *stored;
    /* The disk's count `others` of its key when the stream was committed. */
    uint32_t others;
    /* The disk's thread. */
    int file;
    uint64_t next_block;
};

typedef struct piece_job {
    afc__disk_job job;
    afc__disk_stream *stream;
    afc_bytes bytes;
} piece_job;

afc__disk_stream *afc__disk_stream_new(afc__disk *disk, uint64_t content) {
    afc__disk_stream *stream = afc__zalloc(sizeof *stream);
    if (stream == NULL) return NULL;
    stream->disk = disk;
    stream->content = content;
    stream->number = afc__cache_store_new_content(disk->cache);
    stream->file = -1;
    return stream;
}

/** Counts bytes as no longer waiting for the disk. */
static void leave_queue(afc__disk *disk, size_t size) {
    afc__disk_lock(disk);
    disk->queued_bytes -= size;
    afc__disk_unlock(disk);
}

/** Subtracts bytes of the stream from the disk's unfinished_bytes: their response is now complete, or given up. */
static void leave_unfinished(afc__disk_stream *stream, uint64_t size) {
    afc__disk_lock(stream->disk);
    stream->disk->unfinished_bytes -= size;
    afc__disk_unlock(stream->disk);
    stream->size -= size;
}

typedef enum admission { ADMITTED, ADMITTED_LATER, REFUSED } admission;

/**
 * Counts another piece as waiting, if there is room: in the queue, and for unfinished bodies, which together take at
 * most half of the capacity. A body alone isn't limited by that.
 */
static admission enter_queue(afc__disk_stream *stream, size_t size) {
    afc__disk *disk = stream->disk;
    afc__disk_lock(disk);
    uint64_t others = disk->unfinished_bytes - stream->size;
    bool is_within = others == 0 ||
                     disk->unfinished_bytes + size <= disk->capacity * AFC__ENTRY_UNIT / 2;
    bool has_room = afc__disk_has_room(disk, size);
    admission result = !is_within ? REFUSED : has_room ? ADMITTED : ADMITTED_LATER;
    if (result == ADMITTED) {
        disk->queued_bytes += size;
        disk->unfinished_bytes += size;
        stream->size += size;
    }
    afc__disk_unlock(disk);
    return result;
}

static bool wait_for_admission(afc__disk_stream *stream, size_t size, afc__http_cache_pace pace) {
    admission result;
    do {
        result = enter_queue(stream, size);
    } while (result == ADMITTED_LATER && pace == AFC__HTTP_CACHE_WAIT &&
             afc__disk_wait(stream->disk));
    return result == ADMITTED;
}

static bool write_piece(afc__disk_stream *stream, afc_bytes bytes) {
    if (stream->file < 0) {
        stream->file = afc__folder_new_file(&stream->disk->folder, stream->number);
    }
    if (stream->file < 0) return false;
    afc_slice slice = {bytes.bytes, bytes.size};
    if (afc__entry_write_blocks(stream->file, stream->content, stream->next_block, slice) != 0) {
        return false;
    }
    stream->next_block += (bytes.size + AFC__ENTRY_BLOCK - 1) / AFC__ENTRY_BLOCK;
    return true;
}

static bool work_piece(afc__disk_job *work) {
    piece_job *job = AFC__OWNER(work, piece_job, job);
    afc__disk_stream *stream = job->stream;
    if (!atomic_load(&stream->has_failed) && !write_piece(stream, job->bytes)) {
        atomic_store(&stream->has_failed, true);
    }
    leave_queue(work->disk, job->bytes.size);
    afc_free(job->bytes.bytes);
    afc_free(job);
    return false;
}

/** Orders the writing of a piece that was admitted. */
static afc_status order_piece(afc__disk_stream *stream, afc_bytes bytes) {
    piece_job *job = afc__alloc(sizeof *job);
    if (job == NULL) return AFC_ENOMEM;
    *job = (piece_job){.stream = stream, .bytes = bytes};
    if (afc__disk_order(stream->disk, &job->job, work_piece)) return AFC_OK;
    afc_free(job);
    return AFC_EFILE;
}

afc_status afc__disk_stream_append(afc__disk_stream *stream, afc_bytes bytes,
                                   afc__http_cache_pace pace) {
    afc_status status = AFC_EFILE;
    bool is_admitted = !atomic_load(&stream->has_failed) &&
                       wait_for_admission(stream, bytes.size, pace);
    if (is_admitted) status = order_piece(stream, bytes);
    if (status == AFC_OK) {
        stream->has_begun = true;
        return AFC_OK;
    }
    if (is_admitted) {
        leave_queue(stream->disk, bytes.size);
        leave_unfinished(stream, bytes.size);
    }
    atomic_store(&stream->has_failed, true);
    afc_free(bytes.bytes);
    return status;
}

static bool work_last(afc__disk_job *work) {
    afc__disk_stream *stream = AFC__OWNER(work, afc__disk_stream, last);
    afc__disk *disk = stream->disk;
    afc__http_cache_stored *stored = stream->stored;
    bool is_written = stored != NULL && stream->file >= 0 && !atomic_load(&stream->has_failed) &&
                      afc__entry_finish(stream->file, stored) == 0;
    if (is_written) {
        afc__disk_publish(disk, stored, stream->number, stream->others);
    } else {
        if (stream->file >= 0) afc__folder_discard(&disk->folder, stream->number);
        if (stored != NULL) {
            /* The previous response must not be used again. */
            afc__cache_store_name name = {stored->id.primary, stored->id.variant};
            afc__disk_remove_now(disk, name);
        }
    }
    if (stored != NULL) {
        afc__disk_lock(disk);
        afc__disk_end_announcement(disk, stored);
        afc__disk_end_change(disk, stored->id.primary);
        afc__disk_unlock(disk);
        afc__http_cache_stored_release(stored);
    }
    if (stream->file >= 0) afc__folder_close_new(stream->file);
    leave_unfinished(stream, stream->size);
    afc_free(stream);
    return false;
}

void afc__disk_stream_commit(afc__disk_stream *stream, afc__http_cache_stored *stored) {
    stream->stored = afc__http_cache_stored_retain(stored);
    stream->others = stream->disk->others[afc__disk_bucket(stored->id.primary)];
    afc__disk_begin_change(stream->disk, stored->id.primary);
    /* Doesn't fail: the pieces before have started the thread. */
    afc__disk_order(stream->disk, &stream->last, work_last);
}

void afc__disk_stream_abandon(afc__disk_stream *stream) {
    if (stream == NULL) return;
    if (stream->has_begun) {
        afc__disk_order(stream->disk, &stream->last, work_last);
    } else {
        afc_free(stream);
    }
}

/* ---- Reading ------------------------------------------------------------------------------- */

/** The state of a reader's buffer. The disk's thread fills one while the caller uses the other. */
typedef enum buffer_state {
    FREE,
    READING, /* The disk's thread fills it. */
    READY,
    LENT /* The caller of read() uses it. */
} buffer_state;

typedef struct read_buffer {
    buffer_state state;
    size_t start, size;
    char *bytes;
} read_buffer;

struct afc__disk_reader {
    afc__disk_job job;
    afc__disk *disk;
    afc__http_cache_stored *stored;
    afc__http_cache_wake wake;
    pthread_mutex_t lock;
    /* Under the lock. */
    read_buffer buffers[2]; /* Block n goes to buffer n % 2. */
    uint64_t next_block;    /* The next one for the caller. */
    uint64_t next_read;     /* The next one to be read from the file. */
    size_t skip;            /* Bytes of the first block before the offset. */
    unsigned wakes;         /* Number of wakes that are due: one for each PENDING. */
    bool is_reading, is_broken, is_closed;
};

static void free_reader(afc__disk_reader *reader) {
    for (unsigned i = 0; i < 2; i++) afc_free(reader->buffers[i].bytes);
    afc__http_cache_stored_release(reader->stored);
    pthread_mutex_destroy(&reader->lock);
    afc_free(reader);
}

afc__disk_reader *afc__disk_reader_new(afc__disk *disk, afc__http_cache_stored *stored,
                                       uint64_t offset, afc__http_cache_wake wake) {
    afc__disk_reader *reader = afc__zalloc(sizeof *reader);
    if (reader == NULL) return NULL;
    pthread_mutex_init(&reader->lock, NULL);
    reader->disk = disk;
    reader->stored = afc__http_cache_stored_retain(stored);
    reader->wake = wake;
    reader->next_block = reader->next_read = offset / AFC__ENTRY_BLOCK;
    reader->skip = (size_t)(offset % AFC__ENTRY_BLOCK);
    for (unsigned i = 0; i < 2; i++) {
        reader->buffers[i].bytes = afc__alloc(AFC__ENTRY_BLOCK);
        if (reader->buffers[i].bytes == NULL) {
            free_reader(reader);
            return NULL;
        }
    }
    return reader;
}

static uint64_t block_count(const afc__disk_reader *reader) {
    return (reader->stored->body_size + AFC__ENTRY_BLOCK - 1) / AFC__ENTRY_BLOCK;
}

/** Returns the buffer for the next block to be read, or NULL if none can be read now. Under the reader's lock. */
static read_buffer *next_buffer(afc__disk_reader *reader) {
    read_buffer *buffer = &reader->buffers[reader->next_read % 2];
    bool may_read = !reader->is_broken && !reader->is_closed &&
                    reader->next_read < block_count(reader) && buffer->state == FREE;
    if (!may_read) return NULL;
    buffer->state = READING;
    return buffer;
}

static void wake(afc__http_cache_wake wake, unsigned count) {
    for (unsigned i = 0; i < count; i++) wake.wake(wake.context);
}

static bool work_read(afc__disk_job *work) {
    afc__disk_reader *reader = AFC__OWNER(work, afc__disk_reader, job);
    const afc__http_cache_stored *stored = reader->stored;
    pthread_mutex_lock(&reader->lock);
    read_buffer *buffer;
    while ((buffer = next_buffer(reader)) != NULL) {
        uint64_t block = reader->next_read;
        pthread_mutex_unlock(&reader->lock);
        int64_t size = afc__entry_read_block(stored->descriptor, stored->id.content,
                                             stored->body_size, block, buffer->bytes);
        pthread_mutex_lock(&reader->lock);
        reader->is_broken = size < 0;
        reader->next_read++;
        buffer->state = READY;
        buffer->start = 0;
        buffer->size = size < 0 ? 0 : (size_t)size;
        /* Wakes the caller, and reads the next block while it uses this one. */
        unsigned wakes = reader->wakes;
        reader->wakes = 0;
        pthread_mutex_unlock(&reader->lock);
        wake(reader->wake, wakes);
        pthread_mutex_lock(&reader->lock);
    }
    reader->is_reading = false;
    bool is_closed = reader->is_closed;
    unsigned wakes = reader->wakes;
    afc__http_cache_wake receiver = reader->wake;
    reader->wakes = 0;
    /* Unless the reader is closed, the caller may free it once the lock is released. */
    pthread_mutex_unlock(&reader->lock);
    wake(receiver, wakes);
    if (is_closed) free_reader(reader);
    return false;
}

/**
 * Orders a read if there is a block to read and a free buffer, unless one is under way. Returns false if that fails.
 * Under the reader's lock.
 */
static bool read_ahead(afc__disk_reader *reader) {
    bool has_more = reader->next_read < block_count(reader) &&
                    reader->buffers[reader->next_read % 2].state == FREE;
    if (reader->is_reading || !has_more || reader->is_broken) return true;
    reader->is_reading = afc__disk_order(reader->disk, &reader->job, work_read);
    return reader->is_reading;
}

static void lend(afc__disk_reader *reader, read_buffer *buffer, afc_slice *piece) {
    size_t skip = reader->skip < buffer->size ? reader->skip : buffer->size;
    *piece = (afc_slice){buffer->bytes + skip, buffer->size - skip};
    buffer->state = LENT;
    reader->skip = 0;
    reader->next_block++;
}

afc__http_cache_step afc__disk_reader_read(afc__disk_reader *reader, afc_slice *piece) {
    afc__http_cache_step step = AFC__HTTP_CACHE_PENDING;
    pthread_mutex_lock(&reader->lock);
    for (unsigned i = 0; i < 2; i++) {
        if (reader->buffers[i].state == LENT) reader->buffers[i].state = FREE;
    }
    read_buffer *buffer = &reader->buffers[reader->next_block % 2];
    bool is_ready = buffer->state == READY && reader->next_block < reader->next_read;
    uint64_t offset = reader->next_block * AFC__ENTRY_BLOCK + reader->skip;
    if (offset >= reader->stored->body_size) {
        step = AFC__HTTP_CACHE_END;
    } else if (is_ready && buffer->size != 0) {
        lend(reader, buffer, piece);
        step = AFC__HTTP_CACHE_READY;
        read_ahead(reader);
    } else if (reader->is_broken || !read_ahead(reader)) {
        step = AFC__HTTP_CACHE_BROKEN;
    } else {
        reader->wakes++;
    }
    pthread_mutex_unlock(&reader->lock);
    return step;
}

void afc__disk_reader_close(afc__disk_reader *reader) {
    pthread_mutex_lock(&reader->lock);
    reader->is_closed = true;
    bool is_reading = reader->is_reading;
    pthread_mutex_unlock(&reader->lock);
    if (!is_reading) free_reader(reader);
}
