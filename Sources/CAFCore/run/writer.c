#include "run/writer.h"

#include "base/alloc.h"
#include "run/threads.h"

#include <pthread.h>

struct af__writer {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    af__list jobs;
    bool is_ending;
    void (*ended)(void *context);
    void *context;
};

static void free_writer(af__writer *writer) {
    pthread_cond_destroy(&writer->changed);
    pthread_mutex_destroy(&writer->lock);
    af_free(writer);
}

static void run(void *context) {
    af__writer *writer = context;
    pthread_mutex_lock(&writer->lock);
    for (;;) {
        af__node *node = af__list_first(&writer->jobs);
        if (node == NULL && writer->is_ending) break;
        if (node == NULL) {
            pthread_cond_wait(&writer->changed, &writer->lock);
            continue;
        }
        af__list_remove(node);
        pthread_mutex_unlock(&writer->lock);
        af__job *job = AF__OWNER(node, af__job, node);
        bool goes_on = job->run(job);
        pthread_mutex_lock(&writer->lock);
        if (goes_on) af__list_append(&writer->jobs, &job->node);
    }
    pthread_mutex_unlock(&writer->lock);
    void (*ended)(void *) = writer->ended;
    void *owner = writer->context;
    free_writer(writer);
    if (ended != NULL) ended(owner);
}

af__writer *af__writer_new(void (*ended)(void *context), void *context) {
    af__writer *writer = af__zalloc(sizeof *writer);
    if (writer == NULL) return NULL;
    writer->ended = ended;
    writer->context = context;
    pthread_mutex_init(&writer->lock, NULL);
    pthread_cond_init(&writer->changed, NULL);
    af__list_init(&writer->jobs);
    if (af__thread_start("af-writer", run, writer) == 0) return writer;
    free_writer(writer);
    return NULL;
}

void af__writer_take(af__writer *writer, af__job *job) {
    pthread_mutex_lock(&writer->lock);
    af__list_append(&writer->jobs, &job->node);
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
}

void af__writer_end(af__writer *writer) {
    af__thread_will_end();
    pthread_mutex_lock(&writer->lock);
    writer->is_ending = true;
    pthread_cond_signal(&writer->changed);
    pthread_mutex_unlock(&writer->lock);
}
