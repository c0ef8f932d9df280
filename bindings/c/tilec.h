/* libtilec: kernels and graphs of the tile language, compiled and run from C.
 *
 * A program that scales a matrix on the CPU:
 *
 *     tilec_device device;
 *     tilec_program program;
 *     tilec_bound bound;
 *     char *error = NULL;
 *     int64_t shape[] = {2, 3};
 *     float x[6] = {1, 2, 3, 4, 5, 6}, y[6];
 *     tilec_tensor x_type = {"x", "f32", 2, shape, NULL, NULL};
 *     void *in[] = {x}, *out[] = {y};
 *     if (tilec_open("cpu", &device, &error) || tilec_load_file(device, "scale.tile", &program, &error) ||
 *         tilec_bind(program, "scale", &x_type, 1, "", &bound, &error) || tilec_launch(bound, in, out, NULL, &error)) {
 *         fprintf(stderr, "%s\n", error);
 *         tilec_free(error);
 *     }
 *
 * Functions that can fail give 0, or 1 with what is wrong in *error, as text that the caller gives back by tilec_free. An error of a source is shown
 * with its lines. error may be NULL. Every function may be called from any thread; launches of one bound function wait for each other where they
 * need the same memory.
 */
#ifndef TILEC_H
#define TILEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Handles. 0 is never one. tilec_close takes each. */
typedef uint64_t tilec_device;
typedef uint64_t tilec_program;
typedef uint64_t tilec_bound;

/* The rank of a scalar. */
#define TILEC_SCALAR_RANK (-1)

/* What is said of a parameter, or of a part of one: "x", "w.blocks[0].bias". */
typedef struct tilec_tensor {
    const char *name;
    const char *dtype;       /* as the language writes it: "f32", "bf16", "i64", "bool" */
    int32_t rank;            /* TILEC_SCALAR_RANK for a scalar */
    const int64_t *shape;    /* outermost first */
    const int64_t *strides;  /* in elements, none negative; NULL: row-major without gaps */
    const void *data;        /* where the first launch will find it, whose alignment the code is made for; NULL: at a multiple of 16 bytes */
} tilec_tensor;

#ifndef TILEC_NO_PROTOTYPES

/* The version of the compiler. It is not freed. */
const char *tilec_version(void);

/* Opens a device: "cpu", "cuda", "cuda:1", or "auto" for the first GPU and, without one, the CPU. A GPU's is its primary context. */
int tilec_open(const char *device, tilec_device *opened, char **error);

/* Which device it is: "cpu", "cuda:0". The caller frees the text. */
int tilec_device_name(tilec_device device, char **name, char **error);

/* Loads a source of so many bytes, which need not end with a zero; the name is for messages, and what imports are relative to. */
int tilec_load(tilec_device device, const char *name, const char *source, size_t size, tilec_program *loaded, char **error);

/* Loads a file. */
int tilec_load_file(tilec_device device, const char *path, tilec_program *loaded, char **error);

/* The names of the program's kernels and graphs, a line each. The caller frees the text. */
int tilec_functions(tilec_program program, char **names, char **error);

/* What a function takes and gives, as JSON: {"name", "parameters": [{"name", "mode", "type", "default"}], "outputs": [names],
 * "settings": [names], "leaves": [{"name", "dtype", "shape", "scalar"}], "results": [{"name", "dtype", "shape"}], "constants": {name: number}}.
 * Leaves are the tensors and scalars of the parameters ("w.blocks[].bias" of each element of an array), results those of the outputs. A shape is
 * of texts, as "2 * N": of dimensions, which the shapes that are given tell where one stands alone, and of constants, with + - * // % as Python
 * has them. The caller frees the text. */
int tilec_describe(tilec_program program, const char *function, char **json, char **error);

/* Compiles a kernel or a graph for the types and shapes of its arguments. Settings, words as "BM=64 T=bf16", are what arguments do not
 * tell: dimensions, constants, element types, extents, "@precision=ieee"; NULL for none. Scalars with a default may be left out.
 * Nothing of the arguments is kept but what they say. */
int tilec_bind(tilec_program program, const char *function, const tilec_tensor *arguments, size_t count, const char *settings, tilec_bound *bound,
               char **error);

/* The outputs of a bound function, in order. What *output points at is there until the function is closed; its data is NULL. */
int tilec_output_count(tilec_bound bound, size_t *count, char **error);
int tilec_output(tilec_bound bound, size_t number, tilec_tensor *output, char **error);

/* Runs a bound function. arguments has an address for each argument that it was bound to, in that order: of a tensor's first element,
 * in the host's memory for the CPU and in the device's for a GPU; of a scalar's value, in the host's memory. outputs has
 * one for each output, of memory for it row-major without gaps, on a GPU at a multiple of 16 bytes. An output shares no element with
 * anything else, nor does an argument that the function changes.
 *
 * On a GPU the work is done behind what is in the stream, a CUstream (NULL: the default one) of the device's primary context, and what the
 * stream gets later waits for it; the call does not. Memory must stay until then. On the CPU the work is done when the call
 * returns, and the stream is NULL.
 *
 * A stream that is being captured gets the launches as nodes of its graph, once the function has run before; what it works with is then kept as
 * long as the process, for replays. A function that prints, asserts, or gives a view of an argument cannot be captured. */
int tilec_launch(tilec_bound bound, void *const *arguments, void *const *outputs, void *stream, char **error);

/* tilec_launch of one block, 8 bytes for each of its parts, which is what other languages pack and pass in the least time: the bound function, the stream, the
 * arguments and the outputs, each an address, but of a scalar the value itself, in the first bytes. The block begins at a multiple of 8 bytes. The result is
 * NULL, or the error, as text that the caller gives back by tilec_free. */
char *tilec_launch_block(const void *block);

/* Waits for all that the device was given, in any stream: once there were launches on a GPU, for all that its context was given. */
int tilec_sync(tilec_device device, char **error);

/* Closes a device, a program or a bound function. What was made of a closed device can only be closed. */
int tilec_close(uint64_t handle, char **error);

/* Gives a text of this library back. NULL is none. */
void tilec_free(char *text);

#endif /* TILEC_NO_PROTOTYPES */

#ifdef __cplusplus
}
#endif

#endif
