/* The text of an inline PTX statement: words and signs. */
#ifndef SIMT_PTX_TEXT_H
#define SIMT_PTX_TEXT_H

#include "ptx/reader.h"

/* Ends the program: what is wrong with the statement that is being read. */
void reader_refuse(const struct reader *r, const char *why) __attribute__((noreturn));

/* A copy of the text without comments, with the strings that operands of constraint "C" put into it, and with a number for
 * %=, which is another one in each statement: here no statement sees the labels of others. */
char *reader_text(const struct reader *r);

void reader_skip_space(struct reader *r);
bool reader_accept(struct reader *r, char c); /* is that next? Then it is read */
void reader_expect(struct reader *r, char c);
/* A name or an opcode: letters, digits and the signs given. %% of a text with operands is %. */
void reader_word(struct reader *r, const char *signs, char *word, size_t size);
/* The number behind a %; -1: the statement has no such operand. (nvcc does not know %[name].) */
int reader_argument(const struct reader *r, const char *text, size_t *length);

#endif
