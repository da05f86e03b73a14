/* The source being translated: its tokens, and the edits noted against them. */
#ifndef SOURCE_H
#define SOURCE_H

#include <stdbool.h>
#include <stddef.h>

enum kind { NAME, NUMBER, STRING, PUNCTUATION }; /* STRING: character literals too */

struct token {
    unsigned start, length;
    int line, file;
    unsigned char kind;
    bool spaced; /* is there white space before it? */
    bool ends_do; /* of a `while`: does it end a do-while? */
    int partner;  /* of a bracket: the token that closes or opens it, itself if there is none; of `<` and `>`: 0 */
    int begin;    /* the first token of the statement around it; of `for (`, of what stands in its parentheses */
    int edit;     /* 0: none */
    int lambda;   /* of a lambda's `{`: its `[`; of the words between `]` and `{`: IN_LAMBDA_HEAD; else 0 */
};
#define IN_LAMBDA_HEAD (-1)
#define MOST_NESTED 1000 /* brackets in brackets */

/* tokens[0] and tokens[end] are imagined semicolons, so that a look to either side always finds something. */
extern struct token *tokens;
extern int end;

void source_read(const char *path);   /* NULL: standard input */
void source_lex(const char *runtime); /* text of files under the directory `runtime` is left alone; may be NULL */
/* One source set aside, to look at another. */
struct source {
    char *text;
    size_t length;
    struct token *tokens;
    int end;
};
struct source source_take(void);         /* after it, another can be read */
void source_use(const struct source *s); /* tokens, and the functions below, are again those of s */
void source_set(char *text, size_t length);
const char *source_file(int number);
void source_write(const char *path); /* NULL: standard output */

/* ---- looking ---- */
char first_char(int i);
bool is(int i, const char *text);
bool is_any(int i, const char *words); /* words: "static extern const" */
bool same_text(int i, int j);
unsigned token_hash(int i);
int angle_close(int i);                 /* from `<` to its `>`; 0 when it opens no template arguments */
int angle_open(int i);                  /* from `>` back to its `<`; 0 when there is none */
int before_angle(int i);                /* `k<A>`: from `>` back to `k`; from anything else: i */
char *source_text(int first, int last); /* the tokens, one space wherever there was white space */
char *edited_text(int first, int last); /* the same, with the edits noted so far */
char *in_quotes(const char *text);      /* as a C string literal */
const char *file_of(int i);             /* as the line marker wrote it: already escaped for a string literal */

/* ---- changing: newlines stay where they are, whatever is done to the tokens ---- */
void put_before(int i, const char *text);
void put_after(int i, const char *text);
void replace(int i, const char *text);
void delete(int first, int last);

/* ---- words ---- */
/* What is allocated is never freed: the program is short-lived. */
char *format(const char *format, ...) __attribute__((format(printf, 1, 2)));
void refuse(int i, const char *format, ...) __attribute__((format(printf, 2, 3))); /* "FILE:LINE: error: …" */
extern int refusals; /* the twentieth ends the program */
bool is_refused(int i); /* a word of a header that the emulator does not offer: then it has been refused */

#endif
