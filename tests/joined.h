/* Emitted text with each statement on one line again, for the tests that plant mistakes in it by what a line says. */
#ifndef MG_TESTS_JOINED_H
#define MG_TESTS_JOINED_H
#include <stdlib.h>
#include <string.h>

/* In place.  The emitter breaks behind a bracket, a comma or an operator, and goes on 4 columns further in than the line began;
   nothing else of the code behind the include stands so. */
static void joined(char *cu) {
  char *from = strstr(cu, "#include \"mirage_cuda.cuh\""), *to = from;
  size_t indent = 0;
  while (from && *from) {
    const size_t n = strcspn(from, "\n"), in = strspn(from, " ");
    const int text = from[in] && from[in] != '\n' && from[in] != '/';
    if (text && to[-1] == '\n' && in == indent + 4 && strchr("(,;=+-*/%&|?:{<>", to[-2])) {
      to--;
      if (to[-1] != '(') *to++ = ' ';
      memmove(to, from + in, n - in);
      to += n - in;
    } else {
      indent = in;
      memmove(to, from, n);
      to += n;
    }
    from += n;
    if (*from) from++, *to++ = '\n';
  }
  if (to) *to = 0;
}

#endif
