//go:build cgo

/* Launches without Go. Entering Go and running a program costs some microseconds, and a bound function that is one kernel on a GPU needs nothing of that:
 * what it takes is in a struct, which Go made when the function was bound. Whatever a launch finds amiss - a null pointer, tensors of which the ranges meet,
 * an error of the driver's - it leaves to Go, which looks again and says what is wrong. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "tilec.h"

/* Go's part of the calls. */
int tilecLaunch(uint64_t bound, void **arguments, void **outputs, void *stream, char **error);
int tilecLaunchValues(uint64_t bound, uint64_t *values, void *stream, char **error);

/* A slot for each handle of a bound function. Handles are not used twice and slots never given back, 16 bytes each: so a launch may look at the slot
 * of a handle that is closed. */
typedef struct slot {
    _Atomic(bare *) bare;
    atomic_uint users;
} slot;

enum { PAGE = 1 << 10, PAGES = 1 << 14 };
static _Atomic(slot *) pages[PAGES];

static slot *slot_of(uint64_t handle)
{
    if (handle >= (uint64_t)PAGE * PAGES)
        return NULL;
    slot *page = atomic_load_explicit(&pages[handle / PAGE], memory_order_acquire);
    return page ? &page[handle % PAGE] : NULL;
}

/* Go calls it for one handle at a time. */
int bare_arm(uint64_t bound, bare *b)
{
    if (bound >= (uint64_t)PAGE * PAGES)
        return 0;
    if (!slot_of(bound)) {
        slot *page = calloc(PAGE, sizeof *page);
        if (!page)
            return 0;
        atomic_store_explicit(&pages[bound / PAGE], page, memory_order_release);
    }
    atomic_store(&slot_of(bound)->bare, b);
    return 1;
}

bare *bare_disarm(uint64_t bound)
{
    slot *s = slot_of(bound);
    bare *b = s ? atomic_exchange(&s->bare, NULL) : NULL;
    while (b && atomic_load(&s->users) > 0)
        sched_yield();
    return b;
}

/* The bare launch of a bound function, which stays until it is released; NULL where it has none. A launch that counts itself before it looks is waited for
 * by bare_disarm, or finds nothing. Where there is nothing it does not count itself: bare_disarm would wait for those who come after. */
static bare *acquire(slot *s)
{
    if (!atomic_load(&s->bare))
        return NULL;
    atomic_fetch_add(&s->users, 1);
    bare *b = atomic_load(&s->bare);
    if (!b)
        atomic_fetch_sub(&s->users, 1);
    return b;
}

static void release(slot *s) { atomic_fetch_sub(&s->users, 1); }

/* Whether tensors lie as the code of the kernel takes for granted. */
static int lie_well(const bare *b, const uint64_t *values)
{
    for (uint32_t i = 0; i < b->tensor_count; i++) {
        const bare_tensor *t = &b->tensors[i];
        uint64_t at = values[t->value];
        if (at == 0 || at & t->mask)
            return 0;
        for (uint32_t j = 0; j < i; j++) {
            const bare_tensor *o = &b->tensors[j];
            uint64_t other = values[o->value];
            if ((t->written || o->written) && at < other + o->bytes && other < at + t->bytes)
                return 0;
        }
    }
    return 1;
}

/* Launches, and gives 1; or does nothing, and gives 0. */
static int launch(const bare *b, const uint64_t *values, void *stream)
{
    if (!lie_well(b, values))
        return 0;
    uint8_t parameters[BARE_BYTES];
    void *addresses[BARE_PARAMETERS];
    memcpy(parameters, b->parameters, b->parameter_bytes);
    for (uint32_t i = 0; i < b->changing_count; i++) {
        const bare_parameter *p = &b->changing[i];
        uint64_t value = values[p->value] + p->add;
        memcpy(parameters + p->at, &value, p->bytes);
    }
    if (b->enter(b->context) != 0)
        return 0;
    for (uint32_t i = 0; i < b->map_count; i++) {
        const bare_map *m = &b->maps[i];
        _Alignas(64) uint64_t map[BARE_MAP_BYTES / 8];
        void *address;
        memcpy(&address, parameters + m->address_at, sizeof address);
        if (b->encode(map, m->type, m->rank, address, m->dims, m->strides, m->box, m->steps, 0, m->swizzle, m->l2, 0) != 0)
            return 0;
        map[m->clear_word] &= ~m->clear;
        memcpy(parameters + m->at, map, sizeof map);
    }
    for (uint32_t i = 0; i < b->parameter_count; i++)
        addresses[i] = parameters + b->offsets[i];
    return b->launch(b->function, b->grid, 1, 1, b->block, 1, 1, b->shared, stream, addresses, NULL) == 0;
}

int tilec_launch_values(tilec_bound bound, const void *values, void *stream, char **error)
{
    slot *s = slot_of(bound);
    bare *b = s && values ? acquire(s) : NULL;
    if (b) {
        int launched = launch(b, values, stream);
        release(s);
        if (launched)
            return 0;
    }
    return tilecLaunchValues(bound, (uint64_t *)values, stream, error);
}

int tilec_launch(tilec_bound bound, void *const *arguments, void *const *outputs, void *stream, char **error)
{
    slot *s = slot_of(bound);
    bare *b = s ? acquire(s) : NULL;
    if (b) {
        uint64_t values[BARE_PARAMETERS];
        int given = (arguments || b->arguments == 0) && (outputs || b->outputs == 0);
        for (uint32_t i = 0; given && i < b->arguments; i++) {
            values[i] = (uint64_t)(uintptr_t)arguments[i];
            if (b->scalar_bytes[i] > 0 && arguments[i])
                memcpy(&values[i], arguments[i], b->scalar_bytes[i]);
            given = b->scalar_bytes[i] == 0 || arguments[i];
        }
        for (uint32_t i = 0; given && i < b->outputs; i++)
            values[b->arguments + i] = (uint64_t)(uintptr_t)outputs[i];
        int launched = given && launch(b, values, stream);
        release(s);
        if (launched)
            return 0;
    }
    return tilecLaunch(bound, (void **)arguments, (void **)outputs, stream, error);
}
