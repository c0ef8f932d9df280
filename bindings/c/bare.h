/* Runs that C makes without entering Go: see bare.c. Go's side of them is bare.go. */
#ifndef TILEC_BARE_H
#define TILEC_BARE_H

#include <stddef.h>
#include <stdint.h>

/* The driver's functions and types, as cuda.h has them. */
typedef int bare_kernel_call(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                             void **parameters, void **extra);
typedef int bare_zeros_call(uint64_t address, unsigned char value, size_t bytes, void *stream);
typedef int bare_graph_call(void *graph, void *stream);
typedef int bare_current_call(void **context);
typedef int bare_enter_call(void *context);
typedef int bare_wait_call(void *stream, void *event, unsigned flags);
typedef int bare_record_call(void *event, void *stream);
typedef int bare_capturing_call(void *stream, int *status);
typedef int bare_map_call(void *map, unsigned type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                          const uint32_t *steps, unsigned interleave, unsigned swizzle, unsigned l2, unsigned fill);

/* The most values that a bare run has, parameters of one of its launches, and bytes of these. */
enum { BARE_VALUES = 256, BARE_PARAMETERS = 64, BARE_BYTES = 2048, BARE_MAP_BYTES = 128, BARE_MAP_RANK = 5 };

/* What is checked of a tensor: its address is no null pointer and has no bit of mask, and where it, or another one, is written, the bytes from its first
 * element to behind its last are not among those of the other. */
typedef struct bare_tensor {
    uint32_t value; /* its number among the values of a run */
    uint32_t written;
    uint64_t mask, bytes;
} bare_tensor;

/* A parameter that is not the same in each run: a value, and add if that is an address. */
typedef struct bare_parameter {
    uint32_t value, bytes;
    uint32_t at; /* in bare_launch.parameters, in bytes */
    uint64_t add;
} bare_parameter;

/* A parameter that is a tensor map, encoded in each run with the address of another parameter. */
typedef struct bare_map {
    uint32_t at, address_at; /* in bare_launch.parameters, in bytes */
    uint32_t type, rank, swizzle, l2;
    uint64_t dims[BARE_MAP_RANK], strides[BARE_MAP_RANK];
    uint32_t box[BARE_MAP_RANK], steps[BARE_MAP_RANK];
    uint64_t clear; /* bits of its word clear_word that are cleared */
    uint32_t clear_word;
} bare_map;

/* A launch; or, without a function, so many zeros that are written from the address on which is its only parameter. */
typedef struct bare_launch {
    void *function;
    unsigned grid, block, shared;
    uint64_t zeros;
    uint32_t changing_count, map_count, parameter_count, parameter_bytes;
    bare_parameter *changing;
    bare_map *maps;
    uint32_t *offsets; /* of the parameters, in order */
    uint8_t *parameters;
} bare_launch;

/* A run. What runs change is behind takes_turns. */
typedef struct bare {
    bare_kernel_call *launch;
    bare_zeros_call *zeros;
    bare_graph_call *replay;
    bare_current_call *current;
    bare_enter_call *enter;
    bare_wait_call *wait;
    bare_record_call *record;
    bare_capturing_call *capturing;
    bare_map_call *encode;
    void *context;
    /* The values of a run: arguments, of which those with bytes are scalars of so many, and then outputs. */
    uint32_t arguments, outputs, tensor_count, launch_count;
    uint8_t *scalar_bytes;
    bare_tensor *tensors; /* those that are written first */
    bare_launch *launches;

    /* Runs come one after the other: there are several launches, or memory that they share. The rest is of such runs, and its owner is who has the turn. */
    int takes_turns;
    void *turn;      /* the event behind the last run; NULL where runs share no memory */
    int recorded;    /* Go may record what comes twice in a row */
    void *graph;     /* what is recorded, of graph_values; NULL for nothing */
    int has_last;
    uint64_t *last, *graph_values; /* the values of the last run */
} bare;

/* Gives a bound function its bare run, which bare_disarm gives back. Where handles are too many it has none, and is told so by 0. */
int bare_arm(uint64_t bound, bare *b);

/* Takes the bare run of a bound function away and gives it, once nobody is making it any more; NULL where there is none. */
bare *bare_disarm(uint64_t bound);

/* Waits for the turn of a bound function that has had a bare run, and ends it: what Go launches of it is no run of C's meanwhile. */
void bare_begin_turn(uint64_t bound);
void bare_end_turn(uint64_t bound);

/* Says, in one's turn, which graph has been recorded of these values, 0 for none; and whether any may be. */
void bare_recorded(uint64_t bound, uintptr_t graph, int possible, const uint64_t *values);

#endif
