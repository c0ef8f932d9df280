// What the grammar cannot see from one token alone: where a line ends a statement, and whether `//` is a floor division or begins a comment.
// The rules are those of parser/layout.go and parser/scan.go.
#include "tree_sitter/parser.h"

#include <stdlib.h>
#include <string.h>

enum token { NEWLINE, COMMENT, DOC_COMMENT, DIVIDE, OPEN_ROUND, CLOSE_ROUND, OPEN_SQUARE, CLOSE_SQUARE };

// deepest is how many open brackets are remembered.
enum { deepest = 1000 };

// The open brackets ( and [: whether each is closed on the line that it begins on, so that `//` in it divides.
struct brackets {
    unsigned depth;
    unsigned char inline_[deepest];
};

void *tree_sitter_tile_external_scanner_create(void) { return calloc(1, sizeof(struct brackets)); }

void tree_sitter_tile_external_scanner_destroy(void *b) { free(b); }

unsigned tree_sitter_tile_external_scanner_serialize(void *p, char *buffer) {
    struct brackets *b = p;
    unsigned n = b->depth < deepest ? b->depth : deepest;
    memcpy(buffer, b->inline_, n);
    return n;
}

void tree_sitter_tile_external_scanner_deserialize(void *p, const char *buffer, unsigned n) {
    struct brackets *b = p;
    b->depth = n;
    memcpy(b->inline_, buffer, n);
}

static bool ends_line(TSLexer *l) { return l->lookahead == '\n' || l->lookahead == '\r' || l->eof(l); }

// closed_behind looks whether a bracket that is open is closed on the rest of the line.
static bool closed_behind(TSLexer *l) {
    for (int open = 0; !ends_line(l); l->advance(l, false)) {
        if (l->lookahead == '"') { // to the end of the string
            for (l->advance(l, false); !ends_line(l) && l->lookahead != '"'; l->advance(l, false)) {
                if (l->lookahead == '\\') l->advance(l, false);
            }
            if (ends_line(l)) return false;
        }
        if (l->lookahead == '(' || l->lookahead == '[') open++;
        if ((l->lookahead == ')' || l->lookahead == ']') && --open < 0) return true;
    }
    return false;
}

// ends_block reports whether what a line begins with ends what is open, or the file: no newline is between that and the statement before.
// Where a header goes on behind a line's end, as before `{`, the grammar has no newline anyway.
static bool ends_block(TSLexer *l) { return l->eof(l) || l->lookahead == '}' || l->lookahead == ')' || l->lookahead == ']'; }

static bool comment(TSLexer *l) { // behind its first two signs
    l->result_symbol = COMMENT;
    if (l->lookahead == '/') {
        l->advance(l, false);
        if (l->lookahead != '/') l->result_symbol = DOC_COMMENT;
    }
    while (!ends_line(l)) l->advance(l, false);
    l->mark_end(l);
    return true;
}

static bool scan_bracket(struct brackets *b, TSLexer *l, const bool *valid) {
    enum token t;
    switch (l->lookahead) {
    case '(': t = OPEN_ROUND; break;
    case ')': t = CLOSE_ROUND; break;
    case '[': t = OPEN_SQUARE; break;
    case ']': t = CLOSE_SQUARE; break;
    default: return false;
    }
    if (!valid[t]) return false;
    l->advance(l, false);
    l->mark_end(l);
    if (t == OPEN_ROUND || t == OPEN_SQUARE) {
        bool closed = closed_behind(l);
        if (b->depth < deepest) b->inline_[b->depth++] = closed;
    } else if (b->depth > 0) {
        b->depth--;
    }
    l->result_symbol = t;
    return true;
}

bool tree_sitter_tile_external_scanner_scan(void *p, TSLexer *l, const bool *valid) {
    struct brackets *b = p;
    bool touches = true, first = false; // the token before; the token behind begins a line
    for (; l->lookahead == ' ' || l->lookahead == '\t' || l->lookahead == '\r' || (l->lookahead == '\n' && !l->eof(l)); l->advance(l, true)) {
        touches = false;
        first = first || l->lookahead == '\n';
    }
    bool newline = first && valid[NEWLINE];
    if (newline) {
        l->mark_end(l); // a newline has no width, and comes behind comments
        l->result_symbol = NEWLINE;
        if (l->lookahead != '/') return !ends_block(l) || scan_bracket(b, l, valid);
    }
    if (l->lookahead == '/') {
        l->advance(l, false);
        if (l->lookahead != '/') return newline;
        l->advance(l, false);
        l->mark_end(l);
        if (valid[DIVIDE] && !first && l->lookahead != '/' && !ends_line(l)) {
            l->result_symbol = DIVIDE;
            if (touches && l->lookahead != ' ' && l->lookahead != '\t') return true;
            if (b->depth > 0 && b->inline_[b->depth - 1]) return true;
        }
        return comment(l);
    }
    return scan_bracket(b, l, valid);
}
