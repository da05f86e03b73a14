// Device memory for tensors: as many copies of each as timing rotates over, every one between guard zones. All of it
// is poisoned with bytes 0xff, which are NaN in every floating-point type.
#ifndef MEMORY_H
#define MEMORY_H

#include "device.h"

enum { BUFFER_POISON = 0xff };

struct buffer {
    const char *name;
    char *memory;   // as allocated
    char *first;    // copy 0
    size_t bytes;   // of one copy
    size_t stride;  // from one copy to the next; what is beyond `bytes` of it is guard zone
    size_t guard;   // before copy 0
    int copies;
};

// How many copies of tensors of these sizes to allocate: one, or with `rotate` so many that when a launch meets a copy
// again, the others have pushed it out of L2. Stops with status 2 where a single one of each does not fit into the
// device's memory, or the host bytes that come with them into the host's.
int memory_plan(const struct device *device, const size_t *bytes, int tensors, bool rotate, double host_bytes);

struct buffer buffer_allocate(const struct device *device, const char *name, size_t bytes, int copies);
void buffer_free(struct buffer *buffer);
void *buffer_copy(const struct buffer *buffer, int copy);

// Fills every copy from the host: all of it, or rows of `width` bytes, which follow with no gap on the host and `pitch`
// bytes apart on the device. What is between them stays poison.
void buffer_upload(const struct buffer *buffer, const void *host);
void buffer_upload_rows(const struct buffer *buffer, const void *host, size_t rows, size_t width, size_t pitch);
// Fetches copy 0.
void buffer_download(const struct buffer *buffer, void *host);
// Poisons copy 0 again.
void buffer_poison(const struct buffer *buffer);

// NULL while the guard zones are as they were, else in words which one is not.
const char *buffer_overrun(const struct buffer *buffer);

#endif
