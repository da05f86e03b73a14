/* Inline PTX as text: words and signs. */
#include "ptx/text.h"
#include "base/report.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void reader_refuse(const struct reader *r, const char *why)
{
    char what[1024];
    int n = (int)strcspn(r->statement, ";");
    while (n > 0 && isspace((unsigned char)r->statement[n - 1]))
        n--;
    snprintf(what, sizeof what, "inline PTX `%.*s`: %s", n < 700 ? n : 700, r->statement, why);
    if (!r->site->file) /* the statement of a header of the emulator's: the line that calls its function */
        report_unsupported_at(what, r->pc);
    report_unsupported(what, r->site->file, r->site->line);
}

int reader_argument(const struct reader *r, const char *text, size_t *length)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *length = (size_t)(end - text);
    return *length && number < (unsigned long)(r->site->n_outputs + r->site->n_inputs) ? (int)number : -1;
}

char *reader_text(const struct reader *r)
{
    char *copy;
    size_t size;
    FILE *out = open_memstream(&copy, &size);
    if (!out)
        base_out_of_memory();
    for (const char *p = r->site->text; *p;) {
        size_t length = 1;
        int argument = *p == '%' && isdigit((unsigned char)p[1]) ? reader_argument(r, p + 1, &length) : -1;
        const char *close = strncmp(p, "/*", 2) == 0 ? strstr(p + 2, "*/") : NULL;
        if (strncmp(p, "//", 2) == 0) {
            p += strcspn(p, "\n");
        } else if (close) {
            fputc(' ', out);
            p = close + 2;
        } else if (strncmp(p, "%=", 2) == 0) {
            fputc('0', out);
            p += 2;
        } else if (argument >= 0 && strchr(r->arguments[argument].constraint, 'C')) {
            fputs((const char *)(uintptr_t)r->values[argument], out);
            p += 1 + length;
        } else {
            fputc(*p++, out);
        }
    }
    if (fclose(out) != 0)
        base_out_of_memory();
    return copy;
}

void reader_skip_space(struct reader *r) { r->at += strspn(r->at, " \t\r\n"); }

bool reader_accept(struct reader *r, char c)
{
    reader_skip_space(r);
    if (*r->at != c)
        return false;
    r->at++;
    return true;
}

void reader_expect(struct reader *r, char c)
{
    char why[32];
    snprintf(why, sizeof why, "`%c` is missing", c);
    if (!reader_accept(r, c))
        reader_refuse(r, why);
}

void reader_word(struct reader *r, const char *signs, char *word, size_t size)
{
    size_t n = 0;
    reader_skip_space(r);
    if (*r->at == '%') {
        word[n++] = '%';
        r->at += r->at[1] == '%' ? 2 : 1;
    }
    while (isalnum((unsigned char)*r->at) || (*r->at && strchr(signs, *r->at))) {
        if (n + 1 == size)
            reader_refuse(r, "a name is too long");
        word[n++] = *r->at++;
    }
    word[n] = 0;
    if (!n)
        reader_refuse(r, "a name or a number is missing");
}
