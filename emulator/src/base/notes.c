/* A note for each line that deserves one. */
#include "base/notes.h"
#include "base/lines.h"
#include <pthread.h>

#define MOST_NOTES 64

void note_once(const void *pc, const char *text)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const void *noted[MOST_NOTES];
    static unsigned n_noted;
    pthread_mutex_lock(&lock);
    unsigned i = 0;
    while (i < n_noted && noted[i] != pc && !lines_same(noted[i], pc))
        i++;
    if (i == n_noted && n_noted < MOST_NOTES) {
        struct source_line l = lines_of(pc);
        noted[n_noted++] = pc;
        fprintf(stderr, "simt: note: %s:%d\n  %s\n", l.file, l.line, text);
    }
    pthread_mutex_unlock(&lock);
}
