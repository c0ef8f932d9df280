/* Launches that C makes without entering Go: see bare.c. Go's side of them is bare.go. */
#ifndef TILEC_BARE_H
#define TILEC_BARE_H

#include <stddef.h>
#include <stdint.h>

/* The driver's functions and types, as cuda.h has them. */
typedef int bare_kernel_call(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *stream,
                             void **parameters, void **extra);
typedef int bare_context_call(void *context);
typedef int bare_map_call(void *map, unsigned type, uint32_t rank, void *address, const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                          const uint32_t *steps, unsigned interleave, unsigned swizzle, unsigned l2, unsigned fill);

/* The most parameters that a bare launch has, and bytes of them. */
enum { BARE_PARAMETERS = 64, BARE_BYTES = 2048, BARE_MAP_BYTES = 128, BARE_MAP_RANK = 5 };

/* What is checked of a tensor: its address is no null pointer and has no bit of mask, and where it, or another one, is written, the bytes from its first
 * element to behind its last are not among those of the other. */
typedef struct bare_tensor {
    uint32_t value; /* its number among the values of a launch */
    uint32_t written;
    uint64_t mask, bytes;
} bare_tensor;

/* A parameter that is not the same in each launch: a value, and add if that is an address. */
typedef struct bare_parameter {
    uint32_t value, bytes;
    uint32_t at; /* in bare.parameters, in bytes */
    uint64_t add;
} bare_parameter;

/* A parameter that is a tensor map, encoded in each launch with the address of another parameter. */
typedef struct bare_map {
    uint32_t at, address_at; /* in bare.parameters, in bytes */
    uint32_t type, rank, swizzle, l2;
    uint64_t dims[BARE_MAP_RANK], strides[BARE_MAP_RANK];
    uint32_t box[BARE_MAP_RANK], steps[BARE_MAP_RANK];
    uint64_t clear; /* bits of its word clear_word that are cleared */
    uint32_t clear_word;
} bare_map;

/* A launch. No launch changes it, so that threads need not wait for each other. */
typedef struct bare {
    bare_kernel_call *launch;
    bare_context_call *enter;
    bare_map_call *encode;
    void *context, *function;
    unsigned grid, block, shared;
    /* The values of a launch: arguments, of which those with bytes are scalars of so many, and then outputs. */
    uint32_t arguments, outputs;
    uint8_t scalar_bytes[BARE_PARAMETERS];
    uint32_t tensor_count, changing_count, map_count, parameter_count, parameter_bytes;
    bare_tensor tensors[BARE_PARAMETERS];
    bare_parameter changing[BARE_PARAMETERS];
    bare_map *maps;
    uint32_t offsets[BARE_PARAMETERS]; /* of the parameters, in order */
    uint8_t parameters[BARE_BYTES];
} bare;

/* Gives a bound function its bare launch, which bare_disarm gives back. Where handles are too many it has none, and is told so by 0. */
int bare_arm(uint64_t bound, bare *b);

/* Takes the bare launch of a bound function away and gives it, once nobody is making it any more; NULL where there is none. */
bare *bare_disarm(uint64_t bound);

#endif
