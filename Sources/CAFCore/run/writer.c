#include "run/writer.h"

#include "base/alloc.h"
#include "run/threads.h"

#include <pthread.h>

struct afc__writer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    afc__list jobs;
    bool is_ending;
    void (*ended)(void *context);
    void *context;
};

static void free_writer(afc__writer *writer) {
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->lock);
    afc_free(writer);
}

static void run(void *context) {
    afc__writer *writer = context;
    pthread_mutex_lock(&writer->lock);
    for (;;) {
        afc__node *node = afc__list_first(&writer->jobs);
        if (node == NULL && writer->is_ending) break;
        if (node == NULL) {
            pthread_cond_wait(&writer->changed, &writer->lock);
            continue;
        }
        afc__list_remove(node);
        pthread_mutex_unlock(&writer->lock);
        afc__job *job = AFC__OWNER(node, afc__job, node);
        bool continues = job->run(job);
        pthread_mutex_lock(&writer->lock);
        if (continues) afc__list_append(&writer->jobs, &job->node);
    }
    pthread_mutex_unlock(&writer->lock);
    void (*ended)(void *) = writer->ended;
    void *owner = writer->context;
    free_writer(writer);
    if (ended != NULL) ended(owner);
}

afc__writer *afc__writer_new(void (*ended)(void *context), void *context) {
    afc__writer *writer = afc__zalloc(sizeof *writer);
    if (writer == NULL) return NULL;
    writer->ended = ended;
    writer->context = context;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    afc__list_init(&writer->jobs);
    if (afc__thread_start("af-writer", run, writer, context) == 0) return writer;
    free_writer(writer);
    return NULL;
}

void afc__writer_take(afc__writer *writer, afc__job *job) {
    pthread_mutex_lock(&writer->lock);
    afc__list_append(&writer->jobs, &job->node);
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
}

void afc__writer_end(afc__writer *writer) {
    afc__thread_will_end();
    pthread_mutex_lock(&writer->lock);
    writer->is_ending = true;
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
}
