//go:build cgo

/* Launches without Go. Entering Go and running a program costs some microseconds, and a bound function that is only launches on a GPU needs nothing of
 * that: what they take is in a struct, which Go made when the function was bound. Whatever a run finds amiss - a null pointer, tensors of which the ranges
 * meet, an error of the driver's - it leaves to Go, which looks again and says what is wrong. */
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "bare.h"
#include "tilec.h"

/* Go's part of the calls. */
int tilecLaunch(uint64_t bound, void **arguments, void **outputs, void *stream, char **error);
int tilecLaunchValues(uint64_t bound, uint64_t *values, void *stream, char **error);
int tilecBroken(int code, char **error);

/* A slot for each handle of a bound function. Handles are not used twice and slots never given back, 16 bytes each: so a launch may look at the slot
 * of a handle that is closed. */
typedef struct slot {
    _Atomic(bare *) bare;
    atomic_uint users;
    atomic_flag taken; /* somebody has the turn */
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

/* The bare run of a bound function, which stays until it is released; NULL where it has none. A run that counts itself before it looks is waited for
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

/* Turns are short: some launches that the driver queues. */
static void begin_turn(slot *s)
{
    while (atomic_flag_test_and_set_explicit(&s->taken, memory_order_acquire))
        sched_yield();
}

static void end_turn(slot *s) { atomic_flag_clear_explicit(&s->taken, memory_order_release); }

void bare_begin_turn(uint64_t bound) { begin_turn(slot_of(bound)); }
void bare_end_turn(uint64_t bound) { end_turn(slot_of(bound)); }

void bare_recorded(uint64_t bound, uintptr_t graph, int possible, const uint64_t *values)
{
    slot *s = slot_of(bound);
    bare *b = acquire(s);
    if (!b)
        return;
    b->graph = (void *)graph;
    b->recorded = possible;
    if (graph)
        memcpy(b->graph_values, values, (b->arguments + b->outputs) * sizeof *values);
    release(s);
}

/* Whether tensors lie as the code of the kernels takes for granted. */
static int lie_well(const bare *b, const uint64_t *values)
{
    for (uint32_t i = 0; i < b->tensor_count; i++) {
        const bare_tensor *t = &b->tensors[i];
        uint64_t at = values[t->value];
        if (at == 0 || at & t->mask)
            return 0;
        for (uint32_t j = 0; j < i && b->tensors[j].written; j++) {
            const bare_tensor *o = &b->tensors[j];
            uint64_t other = values[o->value];
            if (at < other + o->bytes && other < at + t->bytes)
                return 0;
        }
    }
    return 1;
}

/* Makes one launch of a run. The result is the driver's. */
static int launch(const bare *b, const bare_launch *l, const uint64_t *values, void *stream)
{
    uint8_t parameters[BARE_BYTES];
    void *addresses[BARE_PARAMETERS];
    memcpy(parameters, l->parameters, l->parameter_bytes);
    for (uint32_t i = 0; i < l->changing_count; i++) {
        const bare_parameter *p = &l->changing[i];
        uint64_t value = values[p->value] + p->add;
        memcpy(parameters + p->at, &value, p->bytes);
    }
    if (!l->function) {
        uint64_t address;
        memcpy(&address, parameters, sizeof address);
        return b->zeros(address, 0, l->zeros, stream);
    }
    for (uint32_t i = 0; i < l->map_count; i++) {
        const bare_map *m = &l->maps[i];
        _Alignas(64) uint64_t map[BARE_MAP_BYTES / 8];
        void *address;
        memcpy(&address, parameters + m->address_at, sizeof address);
        int failed = b->encode(map, m->type, m->rank, address, m->dims, m->strides, m->box, m->steps, 0, m->swizzle, m->l2, 0);
        if (failed)
            return failed;
        map[m->clear_word] &= ~m->clear;
        memcpy(parameters + m->at, map, sizeof map);
    }
    for (uint32_t i = 0; i < l->parameter_count; i++)
        addresses[i] = parameters + l->offsets[i];
    return b->launch(l->function, l->grid, 1, 1, l->block, 1, 1, l->shared, stream, addresses, NULL);
}

/* What became of a run: it was made, or nothing was launched, or the driver refused what comes behind launches that were made. */
typedef enum { MADE, LEFT, BROKEN } outcome;

static outcome launch_all(const bare *b, const uint64_t *values, void *stream, int *code)
{
    for (uint32_t i = 0; i < b->launch_count; i++) {
        *code = launch(b, &b->launches[i], values, stream);
        if (*code != 0)
            return i == 0 ? LEFT : BROKEN;
    }
    return MADE;
}

/* A run in its turn: behind the last one, whatever stream that was in. What comes again with the same values is replayed, where Go has recorded it, which it
 * does of the second run of that kind that it is left. A stream that is being captured is left to Go too. */
static outcome run_in_turn(bare *b, const uint64_t *values, void *stream, int *code)
{
    uint64_t seen[BARE_VALUES];
    uint32_t count = b->arguments + b->outputs;
    for (uint32_t i = 0; i < count; i++) { /* of a scalar only the bytes that it has */
        unsigned bits = i < b->arguments ? 8 * b->scalar_bytes[i] : 0;
        seen[i] = bits > 0 && bits < 64 ? values[i] & (((uint64_t)1 << bits) - 1) : values[i];
    }
    int again = b->has_last && memcmp(b->last, seen, count * sizeof *seen) == 0;
    memcpy(b->last, seen, count * sizeof *seen);
    b->has_last = 1;
    int replayed = b->graph && memcmp(b->graph_values, seen, count * sizeof *seen) == 0, status = 0;
    if (again && !replayed && b->recorded)
        return LEFT;
    if (stream && (b->capturing(stream, &status) != 0 || status != 0))
        return LEFT;
    if (b->turn && b->wait(stream, b->turn, 0) != 0)
        return LEFT;
    outcome o;
    if (replayed)
        o = (*code = b->replay(b->graph, stream)) == 0 ? MADE : LEFT;
    else
        o = launch_all(b, seen, stream, code);
    if (b->turn && o != LEFT) {
        int failed = b->record(b->turn, stream);
        if (failed && o == MADE)
            *code = failed, o = BROKEN;
    }
    return o;
}

/* A run, in the device's context; what was current to the thread is so again behind it. */
static outcome run(slot *s, bare *b, const uint64_t *values, void *stream, int *code)
{
    void *before = NULL;
    if (!lie_well(b, values) || b->current(&before) != 0 || (before != b->context && b->enter(b->context) != 0))
        return LEFT;
    outcome o;
    if (b->takes_turns) {
        begin_turn(s);
        o = run_in_turn(b, values, stream, code);
        end_turn(s);
    } else
        o = launch_all(b, values, stream, code);
    if (before != b->context)
        b->enter(before);
    return o;
}

char *tilec_launch_block(const void *block)
{
    char *error = NULL;
    if (!block) {
        tilecLaunchValues(0, NULL, NULL, &error);
        return error;
    }
    const uint64_t *parts = block, *values = parts + 2;
    void *stream = (void *)(uintptr_t)parts[1];
    slot *s = slot_of(parts[0]);
    bare *b = s ? acquire(s) : NULL;
    if (b) {
        int code = 0;
        outcome o = run(s, b, values, stream, &code);
        release(s);
        if (o == BROKEN)
            tilecBroken(code, &error);
        if (o != LEFT)
            return error;
    }
    tilecLaunchValues(parts[0], (uint64_t *)values, stream, &error);
    return error;
}

int tilec_launch(tilec_bound bound, void *const *arguments, void *const *outputs, void *stream, char **error)
{
    slot *s = slot_of(bound);
    bare *b = s ? acquire(s) : NULL;
    if (b) {
        uint64_t values[BARE_VALUES];
        int given = (arguments || b->arguments == 0) && (outputs || b->outputs == 0), code = 0;
        for (uint32_t i = 0; given && i < b->arguments; i++) {
            values[i] = (uint64_t)(uintptr_t)arguments[i];
            if (b->scalar_bytes[i] > 0 && arguments[i])
                memcpy(&values[i], arguments[i], b->scalar_bytes[i]);
            given = b->scalar_bytes[i] == 0 || arguments[i];
        }
        for (uint32_t i = 0; given && i < b->outputs; i++)
            values[b->arguments + i] = (uint64_t)(uintptr_t)outputs[i];
        outcome o = given ? run(s, b, values, stream, &code) : LEFT;
        release(s);
        if (o != LEFT)
            return o == MADE ? 0 : tilecBroken(code, error);
    }
    return tilecLaunch(bound, (void **)arguments, (void **)outputs, stream, error);
}
