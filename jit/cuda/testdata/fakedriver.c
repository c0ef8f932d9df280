// A stand-in for the CUDA driver library, for machines without a GPU: device
// memory is host memory, and the kernels of vector.ptx are C functions. It lets the
// conformance test check how every call passes its arguments. With cuda.h at hand
// the C compiler checks the signatures here against NVIDIA's.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_include(<cuda.h>)
#include <cuda.h>
#else
typedef int CUresult, CUdevice, CUjit_option, CUdevice_attribute, CUfunction_attribute;
typedef int CUstreamCaptureMode, CUtensorMapDataType, CUtensorMapInterleave, CUtensorMapSwizzle;
typedef int CUtensorMapL2promotion, CUtensorMapFloatOOBfill;
typedef unsigned long long CUdeviceptr, cuuint64_t;
typedef uint32_t cuuint32_t;
typedef struct { char bytes[16]; } CUuuid;
typedef struct { cuuint64_t opaque[16]; } CUtensorMap;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;
typedef struct { int id; char pad[4]; union { char pad[64]; struct { unsigned x, y, z; } clusterDim; struct { void *base_ptr; size_t num_bytes; float hitRatio; int hitProp, missProp; } accessPolicyWindow; int programmaticStreamSerializationAllowed, cooperative; uint64_t align; } value; } CUlaunchAttribute;
typedef struct { unsigned gridDimX, gridDimY, gridDimZ, blockDimX, blockDimY, blockDimZ, sharedMemBytes; CUstream hStream; CUlaunchAttribute *attrs; unsigned numAttrs; } CUlaunchConfig;
#endif

static __thread CUcontext current;
static char context; // its address is the context
#define OK 0
#define CURRENT if (current != (CUcontext)&context) return 201

CUresult cuInit(unsigned flags) { return flags == 0 ? OK : 1; }
CUresult cuDriverGetVersion(int *v) { *v = 12040; return OK; }
CUresult cuGetErrorName(CUresult e, const char **s) {
	*s = e == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : e == 218 ? "CUDA_ERROR_INVALID_PTX" : e == 500 ? "CUDA_ERROR_NOT_FOUND" : 0;
	return *s ? OK : 1;
}
CUresult cuGetErrorString(CUresult e, const char **s) { *s = e == 2 ? "out of memory" : 0; return *s ? OK : 1; }

CUresult cuDeviceGetCount(int *n) { *n = 1; return OK; }
CUresult cuDeviceGet(CUdevice *d, int ordinal) { *d = ordinal; return ordinal == 0 ? OK : 101; }
CUresult cuDeviceGetName(char *s, int n, CUdevice d) { strncpy(s, "stand-in", n); return d == 0 ? OK : 101; }
CUresult cuDeviceGetUuid(CUuuid *u, CUdevice d) { memset(u, 0xab, sizeof *u); return d == 0 ? OK : 101; }
CUresult cuDeviceTotalMem_v2(size_t *n, CUdevice d) { *n = 1ull << 30; return d == 0 ? OK : 101; }
CUresult cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice d) {
	static const int values[][2] = {{75, 8}, {76, 0}, {16, 4}, {97, 166912}, {10, 32}, {1, 1024}};
	*v = 1000 + a;
	for (int i = 0; i < 6; i++)
		if (values[i][0] == (int)a) *v = values[i][1];
	return d == 0 ? OK : 101;
}
CUresult cuDevicePrimaryCtxRetain(CUcontext *c, CUdevice d) { *c = (CUcontext)&context; return d == 0 ? OK : 101; }
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice d) { return d == 0 ? OK : 101; }
CUresult cuCtxGetCurrent(CUcontext *c) { *c = current; return OK; }
CUresult cuCtxSetCurrent(CUcontext c) { current = c; return OK; }
CUresult cuCtxSynchronize(void) { CURRENT; return OK; }

// Kernels: their parameters, registers and what they do.
typedef struct { unsigned grid, block, shared; void *p[4]; } launch;
struct CUfunc_st { const char *name; int sizes[5]; void (*run)(launch *); int maxShared; };
static uint32_t counter;
#define ARG(type, i) (*(type *)l->p[i])
static void run_add(launch *l) {
	float *a = ARG(float *, 0), *b = ARG(float *, 1), *c = ARG(float *, 2);
	for (unsigned i = 0; i < l->grid * l->block && i < ARG(uint32_t, 3); i++) c[i] = a[i] + b[i];
}
static void run_step(launch *l) { uint32_t *p = ARG(uint32_t *, 0); *p = *p * ARG(uint32_t, 1) + ARG(uint8_t, 2); }
static void run_count(launch *l) { counter += l->grid * l->block; }
static void run_reach(launch *l) { if (ARG(uint32_t, 1) <= l->shared) *ARG(uint32_t *, 0) = ARG(uint32_t, 1); }
static struct CUfunc_st functions[] = {
	{"add", {8, 8, 8, 4}, run_add, 49152}, {"step", {8, 4, 1}, run_step, 49152},
	{"count", {0}, run_count, 49152}, {"reach", {8, 4}, run_reach, 49152},
};

CUresult cuModuleLoadDataEx(CUmodule *m, const void *image, unsigned n, CUjit_option *o, void **v) {
	CURRENT;
	char *info = 0, *fault = 0;
	int verbose = 0;
	for (unsigned i = 0; i < n; i++) {
		if (o[i] == 3) info = v[i];
		if (o[i] == 5) fault = v[i];
		if (o[i] == 12) verbose = (int)(uintptr_t)v[i];
		if ((o[i] == 4 || o[i] == 6) && (uintptr_t)v[i] < 100) return 1;
		if (o[i] == 7 && (uintptr_t)v[i] > 4) return 1;
	}
	const char *bad = strstr(image, "nonsense.f32");
	if (bad) {
		int line = 1;
		for (const char *c = image; c < bad; c++) line += *c == '\n';
		sprintf(fault, "ptxas application ptx input, line %d; fatal : nonsense.f32", line);
		return 218;
	}
	if (verbose) strcpy(info, "ptxas info : Used 10 registers");
	*m = (CUmodule)&functions;
	return OK;
}
CUresult cuModuleUnload(CUmodule m) { CURRENT; return m == (CUmodule)&functions ? OK : 400; }
CUresult cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
	CURRENT;
	for (int i = 0; i < 4; i++)
		if (m == (CUmodule)&functions && !strcmp(functions[i].name, name)) { *f = &functions[i]; return OK; }
	return 500;
}
CUresult cuModuleGetGlobal_v2(CUdeviceptr *p, size_t *n, CUmodule m, const char *name) {
	CURRENT;
	if (strcmp(name, "counter")) return 500;
	*p = (CUdeviceptr)(uintptr_t)&counter; *n = 4;
	return OK;
}
CUresult cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) { CURRENT; *v = a == 4 ? 10 : a == 0 ? 1024 : a == 8 ? f->maxShared : 0; return OK; }
CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) { CURRENT; if (a != 8 || v > 166912) return 1; f->maxShared = v; return OK; }
CUresult cuFuncGetParamInfo(CUfunction f, size_t i, size_t *offset, size_t *size) {
	CURRENT;
	size_t at = 0;
	for (size_t k = 0; f->sizes[k]; k++) {
		at = (at + f->sizes[k] - 1) / f->sizes[k] * f->sizes[k];
		if (k == i) { *offset = at; *size = f->sizes[k]; return OK; }
		at += f->sizes[k];
	}
	return 1;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction f, int threads, size_t shared) { CURRENT; *n = shared > 100000 ? 1 : 2048 / threads; return f ? OK : 400; }

CUresult cuMemGetInfo_v2(size_t *a, size_t *b) { CURRENT; *a = 1 << 29; *b = 1 << 30; return OK; }
CUresult cuMemAlloc_v2(CUdeviceptr *p, size_t n) { CURRENT; if (n > 1 << 30) return 2; *p = (CUdeviceptr)(uintptr_t)aligned_alloc(256, (n + 255) / 256 * 256); return OK; }
CUresult cuMemFree_v2(CUdeviceptr p) { CURRENT; free((void *)(uintptr_t)p); return OK; }
CUresult cuMemHostAlloc(void **p, size_t n, unsigned flags) { CURRENT; *p = malloc(n); return flags == 1 ? OK : 1; }
CUresult cuMemFreeHost(void *p) { CURRENT; free(p); return OK; }
CUresult cuMemcpyHtoD_v2(CUdeviceptr d, const void *s, size_t n) { CURRENT; memcpy((void *)(uintptr_t)d, s, n); return OK; }
CUresult cuMemcpyDtoH_v2(void *d, CUdeviceptr s, size_t n) { CURRENT; memcpy(d, (void *)(uintptr_t)s, n); return OK; }
CUresult cuMemcpyDtoD_v2(CUdeviceptr d, CUdeviceptr s, size_t n) { return cuMemcpyHtoD_v2(d, (void *)(uintptr_t)s, n); }
CUresult cuMemsetD8_v2(CUdeviceptr d, unsigned char v, size_t n) { CURRENT; memset((void *)(uintptr_t)d, v, n); return OK; }

// Streams do their work at once, or keep launches while a capture lasts.
struct CUgraph_st { int n; struct { CUfunction f; launch l; uint64_t words[4]; } node[16]; };
struct CUstream_st { CUgraph capture; };
#define STREAM CURRENT; if (!s) return 400
CUresult cuStreamCreate(CUstream *s, unsigned flags) { CURRENT; *s = calloc(1, sizeof **s); return flags == 0 ? OK : 1; }
CUresult cuStreamDestroy_v2(CUstream s) { STREAM; free(s); return OK; }
CUresult cuStreamSynchronize(CUstream s) { CURRENT; return s && s->capture ? 900 : OK; }
CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags) { STREAM; return e && flags == 0 ? OK : 1; }
CUresult cuMemAllocAsync(CUdeviceptr *p, size_t n, CUstream s) { STREAM; return cuMemAlloc_v2(p, n); }
CUresult cuMemFreeAsync(CUdeviceptr p, CUstream s) { STREAM; return cuMemFree_v2(p); }
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *h, size_t n, CUstream s) { STREAM; return cuMemcpyHtoD_v2(d, h, n); }
CUresult cuMemcpyDtoHAsync_v2(void *h, CUdeviceptr d, size_t n, CUstream s) { STREAM; return cuMemcpyDtoH_v2(h, d, n); }
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr h, size_t n, CUstream s) { STREAM; return cuMemcpyDtoD_v2(d, h, n); }
CUresult cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s) { STREAM; return cuMemsetD8_v2(d, v, n); }
CUresult cuMemsetD32Async(CUdeviceptr d, unsigned v, size_t n, CUstream s) { STREAM; for (size_t i = 0; i < n; i++) ((uint32_t *)(uintptr_t)d)[i] = v; return OK; }

struct CUevent_st { int recorded, timing; };
CUresult cuEventCreate(CUevent *e, unsigned flags) { CURRENT; *e = calloc(1, sizeof **e); (*e)->timing = flags == 0; return flags == 0 || flags == 2 ? OK : 1; }
CUresult cuEventDestroy_v2(CUevent e) { CURRENT; free(e); return OK; }
CUresult cuEventRecord(CUevent e, CUstream s) { STREAM; static int n; e->recorded = ++n; return OK; }
CUresult cuEventSynchronize(CUevent e) { CURRENT; return e->recorded ? OK : 1; }
CUresult cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
	CURRENT;
	if (!a->timing || !b->timing || !a->recorded || !b->recorded) return 400;
	*ms = 0.25f * (b->recorded - a->recorded);
	return OK;
}

CUresult cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, CUstream s, void **params, void **extra) {
	STREAM;
	if (!gx || gy != 1 || gz != 1 || !bx || by != 1 || bz != 1 || extra || (int)shared > f->maxShared) return 1;
	launch l = {gx, bx, shared, {0}};
	uint64_t words[4] = {0};
	for (int i = 0; f->sizes[i]; i++) memcpy(&words[i], params[i], f->sizes[i]);
	if (s->capture) {
		int n = s->capture->n++;
		s->capture->node[n].f = f;
		s->capture->node[n].l = l;
		memcpy(s->capture->node[n].words, words, sizeof words);
		return OK;
	}
	for (int i = 0; i < 4; i++) l.p[i] = &words[i];
	f->run(&l);
	return OK;
}
// The result of an extended launch tells the attributes that arrived, in a form
// that the test can read: the number 1000 + 100·cluster + 10·programmatic + cooperative, and 3000 for the
// memory that the test says is read once.
CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction f, void **params, void **extra) {
	int seen = 1000;
	for (unsigned i = 0; i < c->numAttrs; i++) {
		const CUlaunchAttribute *a = &c->attrs[i];
		if (a->id == 4) seen += 100 * (a->value.clusterDim.x * a->value.clusterDim.y * a->value.clusterDim.z);
		if (a->id == 6) seen += 10 * a->value.programmaticStreamSerializationAllowed;
		if (a->id == 2) seen += a->value.cooperative;
		if (a->id == 1 && a->value.accessPolicyWindow.base_ptr == (void *)0x1234567000 && a->value.accessPolicyWindow.num_bytes == 1ull << 33 && a->value.accessPolicyWindow.hitRatio == 1
			&& a->value.accessPolicyWindow.hitProp == 1 && a->value.accessPolicyWindow.missProp == 0) seen += 3000;
	}
	CUresult r = cuLaunchKernel(f, c->gridDimX, c->gridDimY, c->gridDimZ, c->blockDimX, c->blockDimY, c->blockDimZ, c->sharedMemBytes, c->hStream, params, extra);
	return r ? r : (CUresult)seen;
}

CUresult cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode mode) { STREAM; s->capture = calloc(1, sizeof(struct CUgraph_st)); return mode == 2 ? OK : 1; }
CUresult cuStreamEndCapture(CUstream s, CUgraph *g) { STREAM; *g = s->capture; s->capture = 0; return *g ? OK : 900; }
CUresult cuStreamIsCapturing(CUstream s, int *status) { STREAM; *status = s->capture ? 1 : 0; return OK; }
CUresult cuGraphGetNodes(CUgraph g, CUgraphNode *nodes, size_t *n) { CURRENT; *n = g->n; return nodes ? 1 : OK; }
CUresult cuGraphInstantiateWithFlags(CUgraphExec *x, CUgraph g, unsigned long long flags) { CURRENT; *x = malloc(sizeof *g); memcpy(*x, g, sizeof *g); return flags == 0 ? OK : 1; }
CUresult cuGraphDestroy(CUgraph g) { CURRENT; memset(g, 0, sizeof *g); free(g); return OK; }
CUresult cuGraphExecDestroy(CUgraphExec x) { CURRENT; free(x); return OK; }
CUresult cuGraphLaunch(CUgraphExec x, CUstream s) {
	STREAM;
	CUgraph g = (CUgraph)x;
	for (int i = 0; i < g->n; i++) {
		for (int k = 0; k < 4; k++) g->node[i].l.p[k] = &g->node[i].words[k];
		g->node[i].f->run(&g->node[i].l);
	}
	return OK;
}

// The map holds the arguments, one a word, for the test to read.
CUresult cuTensorMapEncodeTiled(CUtensorMap *m, CUtensorMapDataType type, cuuint32_t rank, void *address, const cuuint64_t *dims, const cuuint64_t *strides, const cuuint32_t *box, const cuuint32_t *steps, CUtensorMapInterleave interleave, CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill) {
	if ((uintptr_t)m % 64) return 1;
	cuuint64_t w[16] = {type, ~0ull, rank, (uintptr_t)address, dims[0], dims[1], strides[0], box[0], box[1], steps[0], steps[1], interleave, swizzle, l2, fill, 77};
	memcpy(m, w, sizeof w);
	return OK;
}
