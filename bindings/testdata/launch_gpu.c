/* What a C program does with libtilec and a GPU, which driver.c stands in for. */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <pthread.h>

#include "check.h"

static const char source[] =
    "kernel scale(x: f32[M, N], s: f32, n: i32 = -2) -> y: f32[M, N]\n"
    "    grid i in M by BM\n"
    "{\n"
    "    axis j in N\n"
    "    y[i, j] = x[i, j] * s + n as f32\n"
    "}\n"
    "kernel double(inout x: f32[N])\n"
    "    grid i in N by BN\n"
    "{\n"
    "    x[i] = x[i] * 2.0\n"
    "}\n"
    "kernel shifted(x: f32[N], by_rows: i32) -> y: f32[N]\n"
    "    grid i in N by BN\n"
    "{\n"
    "    assume(by_rows >= 0)\n"
    "    y[i] = x[i] + by_rows as f32\n"
    "}\n"
    "graph sorted(x: f32[M, N]) -> y: f32[M, N] {\n"
    "    y = sort_rows(sort_rows(x))\n"
    "}\n"
    "kernel sort_rows(x: f32[M, N]) -> y: f32[M, N]\n"
    "    grid i in M by BM\n"
    "{\n"
    "    axis j in N\n"
    "    y[i, j] = sort(x[i, j], over j)\n"
    "}\n"
    "kernel product(x: bf16[M, K], w: bf16[N, K]) -> y: bf16[M, N]\n"
    "    grid i in M by BM, j in N by BN\n"
    "{\n"
    "    axis k in K\n"
    "    y[i, j] = sum(x[i, k] as f32 * w[j, k] as f32, over k) as bf16\n"
    "}\n";

/* What driver.c has seen of this thread. */
typedef struct {
    unsigned launches, maps, others, replays;
    void *stream, *map_address[8];
    int waited;
} seen_by_driver;
static seen_by_driver *(*driver_seen)(void);
static void (*driver_fail)(int code, int behind);
static int (*set_current)(void *context), (*get_current)(void **context);

static tilec_device device;
static char elsewhere; /* a context of somebody else's, which stays current to the thread */
static tilec_bound scale, shared, sorted;

static void *memory(size_t bytes)
{
    void *p = NULL;
    CHECK(posix_memalign(&p, 256, bytes) == 0);
    return p;
}

static void *current(void)
{
    void *context;
    CHECK(get_current(&context) == 0);
    return context;
}

/* y of scale is as it should be. */
static int scaled(const float *x, const float *y, float s, int n)
{
    for (int i = 0; i < 6; i++)
        if (y[i] != x[i] * s + (float)n)
            return 0;
    return 1;
}

/* A bound function is everybody's: each thread has its own memory, and its own scalars. */
static void *many(void *number)
{
    float *x = memory(64), *y = memory(64);
    CHECK(set_current(number) == 0); /* a context of the thread's own */
    for (int i = 0; i < 6; i++)
        x[i] = (float)(i + *(int *)number);
    for (int round = 0; round < 20000; round++) {
        float s = (float)(round % 100);
        int n = *(int *)number;
        void *in[] = {x, &s, &n}, *out[] = {y};
        CHECK(tilec_launch(shared, in, out, x, NULL) == 0 && scaled(x, y, s, n)); /* any address will do as a stream */
    }
    CHECK(driver_seen()->launches == 20000 && driver_seen()->others == 0);

    /* What lies between two launches is one memory for all threads: they take turns, whether C launches, Go does, or a recording is replayed. */
    for (int round = 0; round < 3000; round++) {
        x[0] = (float)round;
        void *from[] = {x}, *out[] = {round % 7 < 5 ? y : x + 8};
        CHECK(tilec_launch(sorted, from, out, x, NULL) == 0 && *(float *)out[0] == (float)round + 2);
    }
    CHECK(current() == number);
    return NULL;
}

/* A bound function is closed while others launch it: they launch or are told so. */
static void *until_closed(void *unused)
{
    float *x = memory(64), *y = memory(64), s = 1;
    int n = 0;
    void *in[] = {x, &s, &n}, *out[] = {y};
    (void)unused;
    memset(x, 0, 64);
    char *said = NULL;
    while (tilec_launch(shared, in, out, NULL, &said) == 0)
        ;
    CHECK(said && strstr(said, "no open bound function"));
    tilec_free(said);
    return NULL;
}

int main(void)
{
    tilec_program program;
    CHECK(tilec_open("cuda", &device, &error) == 0);
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&driver_seen = dlsym(driver, "driver_seen");
    *(void **)&driver_fail = dlsym(driver, "driver_fail");
    *(void **)&set_current = dlsym(driver, "cuCtxSetCurrent");
    *(void **)&get_current = dlsym(driver, "cuCtxGetCurrent");
    CHECK(driver_seen && driver_fail && set_current && get_current);
    CHECK(current() == NULL);
    CHECK(set_current(&elsewhere) == 0);
    CHECK(tilec_load(device, "gpu.tile", source, sizeof source - 1, &program, &error) == 0);

    /* Values arrive in the launch, which C makes by itself: no event is recorded. */
    int64_t shape[] = {2, 3};
    float *x = memory(256), *y = memory(256), s;
    for (int i = 0; i < 64; i++)
        x[i] = (float)i;
    tilec_tensor types[] = {{"x", "f32", 2, shape, NULL, NULL}, {"s", "f32", TILEC_SCALAR_RANK, NULL, NULL, NULL}, {"n", "i32", TILEC_SCALAR_RANK, NULL, NULL, NULL}};
    CHECK(tilec_bind(program, "scale", types, 2, NULL, &scale, &error) == 0);
    CHECK(tilec_bind(program, "scale", types, 3, NULL, &shared, &error) == 0);
    CHECK(scale != shared);
    char stream[8];
    void *in[] = {x, &s}, *out[] = {y};
    for (s = 1; s < 4; s++) {
        memset(y, 0xff, 64);
        CHECK(tilec_launch(scale, in, out, stream, &error) == 0 && scaled(x, y, s, -2));
        CHECK(driver_seen()->stream == stream && driver_seen()->others == 0);
        struct {
            tilec_bound bound;
            void *stream, *x;
            float s;
            int32_t unused;
            void *y;
        } block = {scale, stream, x, s + 10, -1, y};
        CHECK(tilec_launch_block(&block) == NULL && scaled(x, y, s + 10, -2));
        CHECK(driver_seen()->stream == stream);
        block.stream = NULL, block.s = s + 20;
        CHECK(tilec_launch_block(&block) == NULL && scaled(x, y, s + 20, -2));
        CHECK(driver_seen()->stream == NULL);
    }
    CHECK(driver_seen()->launches == 9);
    CHECK(tilec_sync(device, &error) == 0 && driver_seen()->waited == 1);

    /* What cannot be is said, as without a GPU, and nothing is launched. */
    void *null[] = {NULL, &s}, *unscaled[] = {x, NULL}, *odd[] = {x + 1, &s}, *same[] = {x}, *meeting[] = {x + 4};
    FAILS(tilec_launch(scale, null, out, NULL, &error), "x: ");
    FAILS(tilec_launch(scale, unscaled, out, NULL, &error), "s: the address of the scalar is null");
    FAILS(tilec_launch(scale, odd, out, NULL, &error), "multiple of 16 bytes");
    FAILS(tilec_launch(scale, in, same, NULL, &error), "shares elements");
    FAILS(tilec_launch(scale, in, meeting, NULL, &error), "shares elements");
    FAILS(tilec_launch(scale, NULL, out, NULL, &error), "null");
    FAILS(tilec_launch(scale, in, NULL, NULL, &error), "null");
    CHECK((error = tilec_launch_block(NULL)) && strstr(error, "null"));
    tilec_free(error);
    struct {
        tilec_bound bound;
        void *stream, *x, *s, *y;
    } missing = {scale, NULL, NULL, NULL, y};
    CHECK((error = tilec_launch_block(&missing)) && strstr(error, "x: "));
    tilec_free(error);
    error = NULL;
    CHECK(driver_seen()->launches == 9);
    driver_fail(719, 0);
    FAILS(tilec_launch(scale, in, out, NULL, &error), "unspecified launch failure");
    driver_fail(0, 0);
    CHECK(current() == &elsewhere);

    /* Memory that lies between the rows of an argument shares no element with it: Go looks at that closely, and launches. */
    int64_t apart[] = {32, 1};
    tilec_tensor rows[] = {{"x", "f32", 2, shape, apart, NULL}, types[1]};
    tilec_bound between;
    CHECK(tilec_bind(program, "scale", rows, 2, NULL, &between, &error) == 0);
    CHECK(tilec_launch(between, in, meeting, stream, &error) == 0);
    CHECK(driver_seen()->launches == 10 && driver_seen()->others == 4);

    /* What assumes something of a scalar is left to Go. */
    int64_t length[] = {6};
    tilec_tensor shifting[] = {{"x", "f32", 1, length, NULL, NULL}, {"by_rows", "i32", TILEC_SCALAR_RANK, NULL, NULL, NULL}};
    tilec_bound shifted;
    CHECK(tilec_bind(program, "shifted", shifting, 2, NULL, &shifted, &error) == 0);
    int32_t by = 1;
    void *by_rows[] = {x, &by};
    CHECK(tilec_launch(shifted, by_rows, out, stream, &error) == 0 && driver_seen()->others == 8);
    by = -1;
    FAILS(tilec_launch(shifted, by_rows, out, stream, &error), "by_rows >= 0");

    /* Several launches are made by C too, in the caller's stream. What is between them is the function's own, so that the run waits for the last one, and is
     * waited for by the next: two events. */
    tilec_tensor unsorted = {"x", "f32", 2, shape, NULL, NULL};
    CHECK(tilec_bind(program, "sorted", &unsorted, 1, NULL, &sorted, &error) == 0);
    unsigned launches = driver_seen()->launches, others = driver_seen()->others;
    for (int round = 0; round < 4; round++) {
        void *from[] = {x + 8 * (round % 2)};
        CHECK(tilec_launch(sorted, from, out, stream, &error) == 0 && y[1] == x[8 * (round % 2) + 1] + 2);
        launches += 2, others += 2;
        CHECK(driver_seen()->launches == launches && driver_seen()->others == others && driver_seen()->stream == stream);
    }
    /* What comes twice is left to Go, which records it, and is then replayed by C. */
    for (int round = 0; round < 6; round++) {
        memset(y, 0xff, 64);
        CHECK(tilec_launch(sorted, in, out, stream, &error) == 0 && y[1] == x[1] + 2);
    }
    CHECK(driver_seen()->launches == launches + 4 && driver_seen()->replays == 4 && driver_seen()->stream == stream);
    others = driver_seen()->others;
    CHECK(tilec_launch(sorted, in, out, NULL, &error) == 0 && driver_seen()->others == others + 2 && driver_seen()->stream == NULL);
    /* Other values are launched; what was recorded is still there. */
    void *second[] = {x + 8};
    CHECK(tilec_launch(sorted, second, out, stream, &error) == 0 && y[1] == x[9] + 2 && driver_seen()->replays == 5);
    CHECK(tilec_launch(sorted, in, out, stream, &error) == 0 && y[1] == x[1] + 2 && driver_seen()->replays == 6);
    driver_fail(719, 1);
    FAILS(tilec_launch(sorted, second, out, stream, &error), "719");
    driver_fail(0, 0);
    CHECK(current() == &elsewhere);

    /* What is changed in place. */
    int64_t six[] = {6};
    tilec_tensor vector = {"x", "f32", 1, six, NULL, NULL};
    tilec_bound doubled;
    CHECK(tilec_bind(program, "double", &vector, 1, NULL, &doubled, &error) == 0);
    memcpy(y, x, 64);
    CHECK(tilec_launch(doubled, out, NULL, NULL, &error) == 0 && y[1] == 2 * x[1] && y[5] == 2 * x[5]);

    /* Tensor maps are of the memory of each launch. */
    int64_t square[] = {512, 512};
    char *matrices = memory(4 << 20);
    tilec_tensor factors[] = {{"x", "bf16", 2, square, NULL, NULL}, {"w", "bf16", 2, square, NULL, NULL}};
    tilec_bound product;
    CHECK(tilec_bind(program, "product", factors, 2, NULL, &product, &error) == 0);
    for (int round = 0; round < 2; round++) {
        void *operands[] = {matrices + (round << 19), matrices + (2 << 19)}, *to[] = {matrices + (3 << 19)};
        unsigned before = driver_seen()->maps, of_x = 0, of_w = 0;
        CHECK(tilec_launch(product, operands, to, NULL, &error) == 0);
        CHECK(driver_seen()->maps - before >= 2);
        for (unsigned i = before; i < driver_seen()->maps; i++) {
            of_x += driver_seen()->map_address[i % 8] == operands[0];
            of_w += driver_seen()->map_address[i % 8] == operands[1];
        }
        CHECK(of_x == 1 && of_w == 1);
    }

    pthread_t threads[4];
    int numbers[] = {1, 2, 3, 4};
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, many, &numbers[i]) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_create(&threads[i], NULL, until_closed, NULL) == 0);
    CHECK(tilec_close(shared, &error) == 0 && tilec_close(sorted, &error) == 0);
    for (int i = 0; i < 4; i++)
        CHECK(pthread_join(threads[i], NULL) == 0);

    CHECK(current() == &elsewhere);
    CHECK(tilec_close(device, &error) == 0);
    FAILS(tilec_launch(scale, in, out, NULL, &error), "closed");
    CHECK(tilec_close(scale, NULL) == 0 && tilec_close(program, NULL) == 0);
    FAILS(tilec_launch(scale, in, out, NULL, &error), "no open bound function");
    printf("ok\n");
    return 0;
}
