/* What a C program does with libtilec, each step checked. */
#include "check.h"

static const char source[] =
    "kernel scale<T: float>(x: T[M, N], s: f32, n: i32 = -2) -> (y: T[M, N], r: f32[M])\n"
    "    grid i in M by BM\n"
    "{\n"
    "    axis j in N\n"
    "    y[i, j] = (x[i, j] as f32 * s + n as f32) as T\n"
    "    r[i] = sum(x[i, j] as f32, over j)\n"
    "}\n"
    "kernel double(inout x: f32[N])\n"
    "    grid i in N by BN\n"
    "{\n"
    "    x[i] = x[i] * 2.0\n"
    "}\n";

int main(void)
{
    tilec_device device;
    tilec_program program;
    tilec_bound bound, doubled;
    CHECK(strlen(tilec_version()) > 0);
    FAILS(tilec_open("gpu", &device, &error), "gpu");
    FAILS(tilec_open("emu", &device, &error), "memory of its own");
    CHECK(tilec_open("cpu", &device, &error) == 0);
    FAILS(tilec_load(device, "bad.tile", "kernel f(", 9, &program, &error), "bad.tile:1:");
    FAILS(tilec_load_file(device, "nothing.tile", &program, &error), "nothing.tile");
    CHECK(tilec_load(device, "scale.tile", source, sizeof source - 1, &program, &error) == 0);

    char *text;
    CHECK(tilec_device_name(device, &text, &error) == 0 && strcmp(text, "cpu") == 0);
    tilec_free(text);
    CHECK(tilec_functions(program, &text, &error) == 0 && strcmp(text, "scale\ndouble") == 0);
    tilec_free(text);
    CHECK(tilec_describe(program, "scale", &text, &error) == 0 && strstr(text, "\"outputs\":[\"y\",\"r\"]") && strstr(text, "\"results\":[{"));
    tilec_free(text);

    /* Every other row of a matrix of four, by its strides. */
    int64_t shape[] = {2, 3}, strides[] = {6, 1};
    float x[12] = {1, 2, 3, 0, 0, 0, 4, 5, 6, 0, 0, 0}, y[6], r[2], s = 10;
    tilec_tensor arguments[] = {{"s", "f32", TILEC_SCALAR_RANK, NULL, NULL, NULL}, {"x", "f32", 2, shape, strides, NULL}};
    FAILS(tilec_bind(program, "scales", arguments, 2, NULL, &bound, &error), "scale");
    FAILS(tilec_bind(program, "scale", arguments, 1, NULL, &bound, &error), "x");
    FAILS(tilec_bind(program, "scale", arguments, 2, "BM", &bound, &error), "NAME=VALUE");
    FAILS(tilec_bind(program, "scale", arguments, 2, "BX=4", &bound, &error), "BX");
    FAILS(tilec_bind(device, "scale", arguments, 2, NULL, &bound, &error), "no open program");
    CHECK(tilec_bind(program, "scale", arguments, 2, "BM=1", &bound, &error) == 0);

    size_t count;
    tilec_tensor output;
    CHECK(tilec_output_count(bound, &count, &error) == 0 && count == 2);
    CHECK(tilec_output(bound, 0, &output, &error) == 0);
    CHECK(strcmp(output.name, "y") == 0 && strcmp(output.dtype, "f32") == 0 && output.rank == 2 && output.shape[0] == 2 && output.shape[1] == 3);
    FAILS(tilec_output(bound, 2, &output, &error), "no output 2");

    void *in[] = {&s, x}, *out[] = {y, r};
    for (int round = 1; round <= 3; round++) {
        s = 10 * (float)round;
        memset(y, 0xff, sizeof y);
        CHECK(tilec_launch(bound, in, out, NULL, &error) == 0);
        for (int i = 0; i < 6; i++)
            CHECK(y[i] == (float)(i + 1) * s - 2);
        CHECK(r[0] == 6 && r[1] == 15);
    }
    void *overlapping[] = {x, r}, *none[] = {NULL, r};
    FAILS(tilec_launch(bound, in, overlapping, NULL, &error), "shares elements");
    FAILS(tilec_launch(bound, in, none, NULL, &error), "null");
    FAILS(tilec_launch(bound, in, out, &s, &error), "stream");

    int64_t twelve[] = {12};
    tilec_tensor vector = {"x", "f32", 1, twelve, NULL, x};
    void *changed[] = {x};
    CHECK(tilec_bind(program, "double", &vector, 1, NULL, &doubled, &error) == 0);
    CHECK(tilec_launch(doubled, changed, NULL, NULL, &error) == 0);
    CHECK(x[0] == 2 && x[8] == 12);

    CHECK(tilec_sync(device, &error) == 0);
    CHECK(tilec_close(doubled, &error) == 0);
    FAILS(tilec_launch(doubled, changed, NULL, NULL, &error), "no open bound function");
    FAILS(tilec_close(doubled, &error), "not open");
    CHECK(tilec_close(device, &error) == 0);
    FAILS(tilec_launch(bound, in, out, NULL, &error), "closed");
    CHECK(tilec_close(bound, NULL) == 0 && tilec_close(program, NULL) == 0);
    printf("ok\n");
    return 0;
}
