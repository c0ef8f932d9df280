/* What the tests of the C library share: each call leaves its error here, and what does not hold ends the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tilec.h"

static char *error;

#define CHECK(condition)                                                                             \
    do {                                                                                             \
        if (!(condition)) {                                                                          \
            fprintf(stderr, "line %d: %s: %s\n", __LINE__, #condition, error ? error : "no error"); \
            exit(1);                                                                                 \
        }                                                                                            \
    } while (0)

/* The call fails with an error that has the text. */
#define FAILS(call, text)                                       \
    do {                                                        \
        error = NULL;                                           \
        CHECK((call) == 1 && error && strstr(error, text));     \
        tilec_free(error);                                      \
        error = NULL;                                           \
    } while (0)
