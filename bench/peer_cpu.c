//go:build ignore

// A GPT-2 of the 124M shape in plain C, on the CPU: what the CPU's figures in RESULTS.md are compared with. Loops are as one
// writes them: rows of the weights in memory order, four at a time, columns shared out to the threads; the compiler makes the
// vectors. Weights are random, the text is nonsense.
//
//	gcc -O3 -march=native -ffast-math -fopenmp -o peer_cpu bench/peer_cpu.c -lm
//	OMP_NUM_THREADS=2 ./peer_cpu [-b] [-n STEPS] [ROWS ...]
//
// prints the median time of a step for each number of rows: 1 is a step of decoding behind 128 positions, more is a prompt.
// -b has the weights and the cache in bf16, which else are f32.
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { L = 12, H = 12, C = 768, D = C / H, F = 4 * C, V = 50257, P = 1024, BEHIND = 128, MOST = 128 };

typedef uint16_t bf16;

static inline float widen(bf16 x) {
	uint32_t u = (uint32_t)x << 16;
	float f;
	memcpy(&f, &u, 4);
	return f;
}
static inline float same(float x) { return x; }

static bf16 narrow(float f) {
	uint32_t u;
	memcpy(&u, &f, 4);
	return (u + 0x7fff + (u >> 16 & 1)) >> 16;
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

static void norm(int m, const float *x, const float *g, const float *b, float *y) {
	for (int i = 0; i < m; i++) {
		const float *r = x + i * C;
		float mean = 0, var = 0;
		for (int j = 0; j < C; j++) mean += r[j];
		mean /= C;
		for (int j = 0; j < C; j++) var += (r[j] - mean) * (r[j] - mean);
		float s = 1 / sqrtf(var / C + 1e-5f);
		for (int j = 0; j < C; j++) y[i * C + j] = (r[j] - mean) * s * g[j] + b[j];
	}
}

static void gelu(int n, float *x) {
#pragma omp parallel for
	for (int i = 0; i < n; i++) x[i] = 0.5f * x[i] * (1 + tanhf(0.7978846f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
}

// Y += X W for W[K, N], and Y = X W for W[N, K]; then attention and the step, for weights of type T.
#define MODEL(T, VALUE, NARROW, NAME)                                                                                       \
	typedef struct {                                                                                                        \
		T *qkv, *proj, *fc, *out, *k, *v;                                                                                   \
		float *g, *b, *wide;                                                                                                \
	} layer_##NAME;                                                                                                         \
	typedef struct {                                                                                                        \
		layer_##NAME layer[L];                                                                                              \
		T *head;                                                                                                            \
	} model_##NAME;                                                                                                         \
	static void linear_##NAME(int m, int K, int N, const float *x, const T *w, const float *b, float *y) {                  \
		const int block = N / 2 < 512 ? N / 2 : 512;                                                                        \
		_Pragma("omp parallel for schedule(dynamic, 1)") for (int j0 = 0; j0 < N; j0 += block) {                            \
			int n = N - j0 < block ? N - j0 : block;                                                                        \
			for (int i = 0; i < m; i++) memcpy(y + i * N + j0, b + j0, n * sizeof *y);                                      \
			for (int k = 0; k < K; k += 4) {                                                                                \
				const T *w0 = w + (size_t)k * N + j0, *w1 = w0 + N, *w2 = w1 + N, *w3 = w2 + N;                             \
				for (int i = 0; i < m; i++) {                                                                               \
					float *restrict r = y + i * N + j0;                                                                     \
					float a0 = x[i * K + k], a1 = x[i * K + k + 1], a2 = x[i * K + k + 2], a3 = x[i * K + k + 3];           \
					for (int j = 0; j < n; j++)                                                                             \
						r[j] += a0 * VALUE(w0[j]) + a1 * VALUE(w1[j]) + a2 * VALUE(w2[j]) + a3 * VALUE(w3[j]);              \
				}                                                                                                           \
			}                                                                                                               \
		}                                                                                                                   \
	}                                                                                                                       \
	static void head_##NAME(int m, int K, int N, const float *x, const T *w, float *y) {                                    \
		_Pragma("omp parallel for schedule(static)") for (int j = 0; j < N; j++) {                                          \
			const T *r = w + (size_t)j * K;                                                                                 \
			for (int i = 0; i < m; i++) {                                                                                   \
				float s = 0;                                                                                                \
				for (int k = 0; k < K; k++) s += x[i * K + k] * VALUE(r[k]);                                                \
				y[i * N + j] = s;                                                                                           \
			}                                                                                                               \
		}                                                                                                                   \
	}                                                                                                                       \
	static void attend_##NAME(int m, int start, const float *qkv, layer_##NAME *l, float *y) {                              \
		for (int i = 0; i < m; i++)                                                                                         \
			for (int h = 0; h < H; h++)                                                                                     \
				for (int d = 0; d < D; d++) {                                                                               \
					l->k[(h * P + start + i) * D + d] = NARROW(qkv[i * 3 * C + C + h * D + d]);                             \
					l->v[(h * P + start + i) * D + d] = NARROW(qkv[i * 3 * C + 2 * C + h * D + d]);                         \
				}                                                                                                           \
		_Pragma("omp parallel for collapse(2)") for (int h = 0; h < H; h++) for (int i = 0; i < m; i++) {                   \
			float s[P], most = -INFINITY, sum = 0, o[D] = {0};                                                              \
			const float *q = qkv + i * 3 * C + h * D;                                                                       \
			for (int j = 0; j <= start + i; j++) {                                                                          \
				const T *k = l->k + (h * P + j) * D;                                                                        \
				float t = 0;                                                                                                \
				for (int d = 0; d < D; d++) t += q[d] * VALUE(k[d]);                                                        \
				s[j] = t * 0.125f;                                                                                          \
				most = s[j] > most ? s[j] : most;                                                                           \
			}                                                                                                               \
			for (int j = 0; j <= start + i; j++) sum += s[j] = expf(s[j] - most);                                           \
			for (int j = 0; j <= start + i; j++)                                                                            \
				for (int d = 0; d < D; d++) o[d] += s[j] * VALUE(l->v[(h * P + j) * D + d]);                                \
			for (int d = 0; d < D; d++) y[i * C + h * D + d] = o[d] / sum;                                                  \
		}                                                                                                                   \
	}                                                                                                                       \
	static void step_##NAME(model_##NAME *w, int m, int start, float *x, float *logits) {                                   \
		static float a[MOST * C], t[MOST * F], o[MOST * C];                                                                 \
		for (int n = 0; n < L; n++) {                                                                                       \
			layer_##NAME *l = &w->layer[n];                                                                                 \
			norm(m, x, l->g, l->b, a);                                                                                      \
			linear_##NAME(m, C, 3 * C, a, l->qkv, l->wide, t);                                                              \
			attend_##NAME(m, start, t, l, a);                                                                               \
			linear_##NAME(m, C, C, a, l->proj, l->b, o);                                                                    \
			for (int i = 0; i < m * C; i++) x[i] += o[i];                                                                   \
			norm(m, x, l->g, l->b, a);                                                                                      \
			linear_##NAME(m, C, F, a, l->fc, l->wide, t);                                                                   \
			gelu(m *F, t);                                                                                                  \
			linear_##NAME(m, F, C, t, l->out, l->b, o);                                                                     \
			for (int i = 0; i < m * C; i++) x[i] += o[i];                                                                   \
		}                                                                                                                   \
		norm(1, x + (m - 1) * C, w->layer[0].g, w->layer[0].b, a);                                                          \
		head_##NAME(1, C, V, a, w->head, logits);                                                                           \
	}                                                                                                                       \
	static T *random_##NAME(size_t n) {                                                                                     \
		T *w = aligned_alloc(64, (n * sizeof(T) + 63) / 64 * 64);                                                           \
		uint32_t s = 1;                                                                                                     \
		for (size_t i = 0; i < n; i++) {                                                                                    \
			s = s * 1664525 + 1013904223;                                                                                   \
			w[i] = NARROW(((float)(s >> 8) / (1 << 24) - 0.5f) * 0.07f);                                                    \
		}                                                                                                                   \
		return w;                                                                                                           \
	}                                                                                                                       \
	static void run_##NAME(int steps, int rows, char **row) {                                                               \
		model_##NAME w;                                                                                                     \
		for (int n = 0; n < L; n++) {                                                                                       \
			layer_##NAME *l = &w.layer[n];                                                                                  \
			l->qkv = random_##NAME(3 * C * C), l->proj = random_##NAME(C * C), l->fc = random_##NAME(F * C);                \
			l->out = random_##NAME(C * F), l->k = random_##NAME(C * P), l->v = random_##NAME(C * P);                        \
			l->g = calloc(C, 4), l->b = calloc(C, 4), l->wide = calloc(F, 4);                                               \
			for (int j = 0; j < C; j++) l->g[j] = 1;                                                                        \
		}                                                                                                                   \
		w.head = random_##NAME((size_t)V * C);                                                                              \
		float *x = calloc(MOST * C, 4), *logits = calloc(V, 4);                                                             \
		for (int r = 0; r < rows; r++) {                                                                                    \
			int m = atoi(row[r]);                                                                                           \
			if (m < 1 || m > MOST) {                                                                                        \
				fprintf(stderr, "peer_cpu: %s rows, must be 1 to %d\n", row[r], MOST);                                      \
				exit(2);                                                                                                    \
			}                                                                                                               \
			double *t = calloc(steps, sizeof *t);                                                                           \
			for (int s = 0; s < steps; s++) {                                                                               \
				for (int i = 0; i < m * C; i++) x[i] = (i % 97) * 0.01f;                                                    \
				double begin = now();                                                                                       \
				step_##NAME(&w, m, m == 1 ? BEHIND : 0, x, logits);                                                         \
				t[s] = now() - begin;                                                                                       \
			}                                                                                                               \
			qsort(t, steps, sizeof *t, order);                                                                              \
			printf("{\"name\":\"C " #NAME "\",\"rows\":%d,\"ms\":%.3f,\"best_ms\":%.3f}\n", m, t[steps / 2] * 1e3, t[0] * 1e3); \
			free(t);                                                                                                        \
		}                                                                                                                   \
	}

static int order(const void *a, const void *b) {
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

MODEL(float, same, same, f32)
MODEL(bf16, widen, narrow, bf16)

int main(int argc, char **argv) {
	int steps = 20, narrow = 0, at = 1;
	for (; at < argc && argv[at][0] == '-'; at++) {
		if (!strcmp(argv[at], "-b")) narrow = 1;
		else if (!strcmp(argv[at], "-n") && at + 1 < argc && atoi(argv[at + 1]) > 0) steps = atoi(argv[++at]);
		else {
			fprintf(stderr, "usage: peer_cpu [-b] [-n STEPS] [ROWS ...]\n");
			return 2;
		}
	}
	char *one[] = {"1"};
	(narrow ? run_bf16 : run_f32)(steps, at < argc ? argc - at : 1, at < argc ? argv + at : one);
	return 0;
}
