#ifndef TILEC_BUNDLE_TYPES
#define TILEC_BUNDLE_TYPES

#include <stddef.h>
#include <stdint.h>

enum tilec_parameter_kind {
    TILEC_TENSOR,     /* the address of the first element; elements lie row-major without gaps */
    TILEC_SCALAR,     /* a value of the dtype, which the caller chooses */
    TILEC_CONSTANT,   /* the value that stands here */
    TILEC_SCRATCH,    /* the address of memory that holds nothing before and after the launch */
    TILEC_TENSOR_MAP  /* a CUtensorMap, made by cuTensorMapEncodeTiled as `map` says */
};

/* The fastest dimension comes first. No interleaving, element strides of 1, zeros beyond the tensor. */
struct tilec_tensor_map {
    int32_t tensor;        /* which parameter's memory is mapped */
    int32_t element_bytes; /* 1, 2, 4, 8: CU_TENSOR_MAP_DATA_TYPE_UINT8, 16, 32, 64 */
    int32_t swizzle;       /* 32, 64, 128: CU_TENSOR_MAP_SWIZZLE_32B, 64B, 128B */
    int32_t rank;
    uint64_t dims[5];      /* elements */
    uint64_t strides[5];   /* bytes, of all dimensions but the first */
    uint32_t box[5];       /* elements */
    int32_t tf32;          /* 1: CU_TENSOR_MAP_DATA_TYPE_TFLOAT32, which rounds what is copied */
};

struct tilec_parameter {
    const char *name;
    enum tilec_parameter_kind kind;
    int32_t size;          /* of the parameter itself, in bytes */
    const char *mode;      /* of a tensor: in, out, inout */
    const char *dtype;
    int32_t rank;
    const int64_t *shape;  /* outermost first */
    int64_t bytes;         /* of the memory behind the address */
    int64_t align;         /* divides the address */
    int32_t zero;          /* 1: all bytes of the tensor are set to 0 before the launch */
    int64_t value;         /* of a constant */
    const struct tilec_tensor_map *map;
};

struct tilec_kernel {
    const char *file, *entry;
    uint32_t grid[3], block[3], cluster[3];
    uint32_t shared;       /* dynamic shared memory of a block, in bytes */
    int32_t parameter_count;
    const struct tilec_parameter *parameters;
};

#endif
