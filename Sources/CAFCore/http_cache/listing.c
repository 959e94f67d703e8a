/* Walks through all stored responses, to list them and to verify their files. */
#include "base/alloc.h"
#include "base/failure.h"
#include "http_cache/disk/disk.h"
#include "http_cache/disk/entry_file.h"
#include "http_cache/memory/key.h"
#include "http_cache/rules/freshness.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

/* ---- Names --------------------------------------------------------------------------------- */

/** Copies the table's records, once all changes so far are on disk. Returns NULL if out of memory. */
static afc__entry_record *copy_records(afc_http_cache *cache, size_t *count) {
    const afc__entry_table *table = &cache->table;
    *count = 0;
    afc_http_cache_flush(cache);
    pthread_mutex_lock(&cache->lock);
    afc__entry_record *copies = afc__alloc((table->count + 1) * sizeof *copies);
    for (size_t i = 0; copies != NULL && i < table->capacity; i++) {
        if (table->slots[i].places != 0) copies[(*count)++] = table->slots[i];
    }
    pthread_mutex_unlock(&cache->lock);
    return copies;
}

/**
 * Returns the response of a record; the caller owns the reference. Returns NULL if it was removed or is damaged, or if
 * out of memory.
 */
static afc__http_cache_stored *read_record(afc_http_cache *cache, const afc__entry_record *record) {
    afc__http_cache_stored *stored = NULL;
    afc__response_set *set = afc__cache_store_copy_set(cache, record->primary);
    if (set != NULL) stored = afc__http_cache_found_variant(&set->found, record->variant);
    if (stored != NULL) afc__http_cache_stored_retain(stored);
    afc__response_set_release(set);
    if (stored != NULL || cache->disk == NULL) return stored;
    int file = afc__folder_open_entry(&cache->disk->folder, record->primary, record->variant,
                                      AFC__FOLDER_READ);
    if (file < 0) return NULL;
    (void)afc__entry_read_meta(&stored, file);
    close(file);
    if (stored == NULL ||
        afc__cache_store_is_at_home(cache, stored, record->primary, record->variant)) {
        return stored;
    }
    afc__http_cache_stored_release(stored);
    return NULL;
}

/* ---- Listing ------------------------------------------------------------------------------- */

struct afc_http_cache_list {
    afc_http_cache *cache;
    afc__entry_record *records;
    size_t count, next;
    afc__http_cache_stored *stored; /* The response that was read last. */
    char *texts;                    /* The partition and URL of `stored`, each NUL-terminated. */
};

afc_status afc_http_cache_list_begin(afc_http_cache_list **out, afc_http_cache *cache,
                                     afc_failure *failure) {
    *out = NULL;
    afc__clear_failure(failure);
    afc_http_cache_list *list = afc__zalloc(sizeof *list);
    if (list == NULL) return afc__fail_memory(failure);
    list->cache = afc_http_cache_retain(cache);
    if (afc__cache_store_is_usable(cache)) {
        list->records = copy_records(cache, &list->count);
        if (list->records == NULL) {
            afc_http_cache_list_free(list);
            return afc__fail_memory(failure);
        }
    }
    *out = list;
    return AFC_OK;
}

static void clear_entry(afc_http_cache_list *list) {
    afc__http_cache_stored_release(list->stored);
    afc_free(list->texts);
    list->stored = NULL;
    list->texts = NULL;
}

void afc_http_cache_list_free(afc_http_cache_list *list) {
    if (list == NULL) return;
    clear_entry(list);
    afc_free(list->records);
    afc_http_cache_release(list->cache);
    afc_free(list);
}

/** Describes `list->stored` in `*out`. Returns false if out of memory. */
static bool describe(afc_http_cache_list *list, const afc__entry_record *record,
                     afc_http_cache_entry *out) {
    const afc__http_cache_meta *meta = afc__http_cache_stored_meta(list->stored);
    afc_slice key = afc__http_cache_stored_key(list->stored);
    afc_slice partition = afc__http_cache_key_partition(key), url = afc__http_cache_key_url(key);
    list->texts = afc__zalloc(partition.size + url.size + 2);
    if (list->texts == NULL) return false;
    char *url_text = list->texts + partition.size + 1;
    memcpy(list->texts, partition.bytes, partition.size);
    memcpy(url_text, url.bytes, url.size);
    afc__http_cache_terms buffer;
    const afc__http_cache_terms *terms = afc__http_cache_stored_terms(list->stored, &buffer);
    *out = (afc_http_cache_entry){
        .url = url_text,
        .partition = list->texts,
        .head = meta->head,
        .body_bytes = afc__http_cache_stored_body_size(list->stored),
        .response_time_s = meta->response_time,
        .age_s = afc__current_age(&terms->freshness, meta->response_time, (int64_t)time(NULL)),
        .lifetime_s = terms->freshness.lifetime,
        .is_in_memory = (record->places & AFC__ENTRY_IN_MEMORY) != 0,
        .is_on_disk = (record->places & AFC__ENTRY_ON_DISK) != 0,
    };
    return true;
}

bool afc_http_cache_list_next(afc_http_cache_list *list, afc_http_cache_entry *out) {
    while (list->next < list->count) {
        const afc__entry_record *record = &list->records[list->next++];
        clear_entry(list);
        list->stored = read_record(list->cache, record);
        if (list->stored != NULL && describe(list, record, out)) return true;
    }
    return false;
}

/* ---- Verifying ----------------------------------------------------------------------------- */

typedef enum file_state {
    FILE_VALID,
    FILE_GONE, /* Removed, or being replaced. */
    FILE_DAMAGED,
    FILE_UNREAD /* Out of memory. */
} file_state;

static bool is_body_valid(int file, const afc__http_cache_stored *stored, char *buffer) {
    for (uint64_t at = 0; at < stored->body_size;) {
        int64_t size = afc__entry_read_block(file, stored->id.content, stored->body_size,
                                             at / AFC__ENTRY_BLOCK, buffer);
        if (size < 0) return false;
        at += (uint64_t)size;
    }
    return true;
}

static file_state check_file(afc_http_cache *cache, const afc__entry_record *record, char *buffer,
                             uint64_t *body_size) {
    int file = afc__folder_open_entry(&cache->disk->folder, record->primary, record->variant,
                                      AFC__FOLDER_READ);
    if (file < 0) return FILE_GONE;
    afc__http_cache_stored *stored;
    afc__entry_reading reading = afc__entry_read_meta(&stored, file);
    bool is_valid = reading == AFC__ENTRY_READ &&
                    afc__cache_store_is_at_home(cache, stored, record->primary, record->variant) &&
                    is_body_valid(file, stored, buffer);
    if (is_valid) *body_size = stored->body_size;
    afc__http_cache_stored_release(stored);
    close(file);
    if (reading == AFC__ENTRY_NO_MEMORY) return FILE_UNREAD;
    return is_valid ? FILE_VALID : FILE_DAMAGED;
}

/** Verifies the file of one entry, and removes the entry if it is damaged. Returns false if out of memory. */
static bool verify_one(afc_http_cache *cache, const afc__entry_record *record, char *buffer,
                       afc_http_cache_verification *out) {
    uint64_t body_size = 0;
    file_state state = check_file(cache, record, buffer, &body_size);
    /* The meta may have been changed while it was read: read it once more. */
    if (state == FILE_DAMAGED) state = check_file(cache, record, buffer, &body_size);
    if (state == FILE_VALID) {
        out->entries++;
        out->body_bytes += body_size;
    } else if (state == FILE_DAMAGED) {
        afc__cache_store_name name = {record->primary, record->variant};
        out->damaged++;
        pthread_mutex_lock(&cache->lock);
        afc__cache_store_remove(cache, &name, 1);
        pthread_mutex_unlock(&cache->lock);
    }
    return state != FILE_UNREAD;
}

afc_status afc_http_cache_verify(afc_http_cache_verification *out, afc_http_cache *cache,
                                 afc_failure *failure) {
    size_t count;
    *out = (afc_http_cache_verification){0};
    afc__clear_failure(failure);
    if (!afc__cache_store_is_usable(cache) || cache->disk == NULL) return AFC_OK;
    afc__entry_record *records = copy_records(cache, &count);
    char *buffer = afc__alloc(AFC__ENTRY_BLOCK);
    afc_status status = AFC_OK;
    if (records == NULL || buffer == NULL) status = afc__fail_memory(failure);
    for (size_t i = 0; status == AFC_OK && i < count; i++) {
        bool is_on_disk = (records[i].places & AFC__ENTRY_ON_DISK) != 0;
        if (is_on_disk && !verify_one(cache, &records[i], buffer, out)) {
            status = afc__fail_memory(failure);
        }
    }
    afc_free(records);
    afc_free(buffer);
    return status;
}
