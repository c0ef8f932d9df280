/* A stand-in for the CUDA driver, for machines without a GPU: one device of capability 9.0 whose memory is the host's. The kernels scale, double and
 * sort_rows, which adds 1, are C functions here, for 6 elements; of others it is only noted how they are launched. jit/cuda has a stand-in of its own, for
 * tests of every call. */
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long ptr;
typedef struct { char name[64]; } function;

/* What tests look at. Launches of several threads are counted by each for itself. */
__thread struct {
    unsigned launches, maps, others, replays; /* others: calls of events */
    void *stream, *map_address[8];
    int waited; /* calls that wait for all of the context */
} seen;
int fail_launch, fail_behind; /* what launches give, after so many that succeed */

static char context;
static __thread void *current;
#define CURRENT if (current != &context) return 201

/* A graph is launches of sort_rows alone, which are what is captured in one stream at a time. */
typedef struct { unsigned count; float *from[8], *to[8]; } graph;
static __thread void *capturing = &context; /* no stream */
static __thread graph *captured;

void *driver_seen(void) { return &seen; }
void driver_fail(int code, int behind) { fail_launch = code, fail_behind = behind; }

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int *v) { *v = 12080; return 0; }
int cuGetErrorName(int e, const char **s) { *s = e == 719 ? "CUDA_ERROR_LAUNCH_FAILED" : "CUDA_ERROR"; return 0; }
int cuGetErrorString(int e, const char **s) { *s = e == 719 ? "unspecified launch failure" : "an error"; return 0; }
int cuDeviceGetCount(int *n) { *n = 1; return 0; }
int cuDeviceGet(int *d, int ordinal) { *d = ordinal; return 0; }
int cuDeviceGetName(char *s, int n, int d) { (void)d; strncpy(s, "stand-in", (size_t)n); return 0; }
int cuDeviceGetUuid(char *u, int d) { memset(u, d, 16); return 0; }
int cuDeviceTotalMem_v2(size_t *n, int d) { *n = (size_t)1 << (30 + d); return 0; }
int cuDeviceGetAttribute(int *v, int a, int d)
{
    static const int known[][2] = {{1, 1024}, {10, 32}, {16, 132}, {38, 62914560}, {39, 2048}, {75, 9}, {81, 233472}, {82, 65536}, {97, 232448}, {106, 32}};
    *v = d;
    for (unsigned i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i][0] == a)
            *v = known[i][1];
    return 0;
}
int cuDevicePrimaryCtxRetain(void **c, int d) { *c = &context; return d; }
int cuDevicePrimaryCtxRelease_v2(int d) { return d; }
int cuCtxGetCurrent(void **c) { *c = current; return 0; }
int cuCtxSetCurrent(void *c) { current = c; return 0; }
int cuCtxSynchronize(void) { CURRENT; seen.waited++; return 0; }
int cuModuleLoadDataEx(void **m, const void *image, unsigned n, int *options, void **values) { CURRENT; (void)options, (void)values; *m = (void *)image; return n > 99; }
int cuModuleGetFunction(function **f, void *m, const char *name) { CURRENT; *f = calloc(1, sizeof **f); strncpy((*f)->name, name, 63); return m == 0; }
int cuFuncGetAttribute(int *v, int a, function *f) { CURRENT; *v = a ? 0 : 1024; return f == 0; }
int cuFuncSetAttribute(function *f, int a, int v) { CURRENT; return !f || !a || v > 232448; }
int cuMemGetInfo_v2(size_t *a, size_t *b) { *a = *b = 1 << 30; return 0; }
int cuMemAlloc_v2(ptr *p, size_t n) { CURRENT; *p = (ptr)(uintptr_t)aligned_alloc(256, (n + 255) / 256 * 256); return 0; }
int cuMemFree_v2(ptr p) { CURRENT; free((void *)(uintptr_t)p); return 0; }
int cuMemsetD8Async(ptr d, unsigned char v, size_t n, void *s) { CURRENT; seen.stream = s; memset((void *)(uintptr_t)d, v, n); return 0; }
int cuMemcpyHtoDAsync_v2(ptr d, const void *h, size_t n, void *s) { CURRENT; (void)s; memcpy((void *)(uintptr_t)d, h, n); return 0; }
int cuMemcpyDtoHAsync_v2(void *h, ptr d, size_t n, void *s) { CURRENT; (void)s; memcpy(h, (void *)(uintptr_t)d, n); return 0; }
int cuStreamCreate(void **s, unsigned flags) { CURRENT; *s = malloc(8); return (int)flags; }
int cuStreamDestroy_v2(void *s) { CURRENT; free(s); return 0; }
int cuStreamSynchronize(void *s) { CURRENT; return s == 0; }
int cuStreamWaitEvent(void *s, void *e, unsigned flags) { CURRENT; (void)s; seen.others++; return !e || flags; }
int cuStreamIsCapturing(void *s, int *status) { CURRENT; *status = s == capturing; return s == 0; }
int cuEventCreate(void **e, unsigned flags) { CURRENT; *e = malloc(8); return flags != 2; }
int cuEventDestroy_v2(void *e) { CURRENT; free(e); return 0; }
int cuEventRecord(void *e, void *s) { CURRENT; (void)s; seen.others++; return !e; }

static void sort_rows(const float *x, float *y)
{
    sched_yield(); /* so that threads that do not take turns are found out */
    for (int i = 0; i < 6; i++)
        y[i] = x[i] + 1;
}
int cuStreamBeginCapture_v2(void *s, int mode) { CURRENT; capturing = s; captured = calloc(1, sizeof *captured); return mode != 2; }
int cuStreamEndCapture(void *s, graph **g) { CURRENT; *g = captured; capturing = &context; return s == 0; }
int cuGraphGetNodes(graph *g, void *nodes, size_t *n) { CURRENT; *n = g->count; return nodes != 0; }
int cuGraphInstantiateWithFlags(graph **x, graph *g, unsigned flags) { CURRENT; *x = malloc(sizeof *g); memcpy(*x, g, sizeof *g); return (int)flags; }
int cuGraphDestroy(graph *g) { CURRENT; free(g); return 0; }
int cuGraphExecDestroy(graph *x) { CURRENT; free(x); return 0; }
int cuGraphLaunch(graph *x, void *s)
{
    CURRENT;
    seen.replays++;
    seen.stream = s;
    for (unsigned i = 0; i < x->count; i++)
        sort_rows(x->from[i], x->to[i]);
    return 0;
}
int cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s, void **p, void **extra);
int cuLaunchKernelEx(const void *config, function *f, void **p, void **extra) /* of launches that may begin early, in captures */
{
    struct { unsigned gx, gy, gz, bx, by, bz, shared; void *stream; } c;
    memcpy(&c, config, sizeof c);
    return cuLaunchKernel(f, c.gx, c.gy, c.gz, c.bx, c.by, c.bz, c.shared, c.stream, p, extra);
}

int cuLaunchKernel(function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void *s, void **p, void **extra)
{
    CURRENT;
    if (!gx || gy != 1 || gz != 1 || !bx || by != 1 || bz != 1 || shared > 232448 || extra)
        return 1;
    if (fail_launch && fail_behind == 0)
        return fail_launch;
    fail_behind -= fail_launch != 0;
    float *x = *(float **)p[0];
    if (s == capturing) {
        captured->from[captured->count] = x;
        captured->to[captured->count++] = *(float **)p[1];
        return strcmp(f->name, "sort_rows") != 0;
    }
    seen.launches++;
    seen.stream = s;
    if (strcmp(f->name, "sort_rows") == 0)
        sort_rows(x, *(float **)p[1]);
    if (strcmp(f->name, "double") == 0)
        for (int i = 0; i < 6; i++)
            x[i] *= 2;
    if (strcmp(f->name, "scale") == 0) /* scalars stand first */
        for (int i = 0; i < 6; i++)
            (*(float **)p[3])[i] = (*(float **)p[2])[i] * *(float *)p[0] + (float)*(int32_t *)p[1];
    return 0;
}
int cuTensorMapEncodeTiled(uint64_t *m, int type, unsigned rank, void *address, const ptr *dims, const ptr *strides, const unsigned *box, const unsigned *steps, int interleave, int swizzle, int l2, int fill)
{
    if ((uintptr_t)m % 64 || type != 1 || rank < 2 || !dims[rank - 1] || !strides[rank - 2] || !box[rank - 1] || steps[rank - 1] != 1 || interleave || swizzle != 3 || l2 != 2 || fill)
        return 1;
    seen.map_address[seen.maps++ % 8] = address;
    memset(m, 0xff, 128);
    return 0;
}
