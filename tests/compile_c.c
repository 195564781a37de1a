/* The six headers in one file with their implementation, as C11; linked with two files that have the declarations
   alone, one function of every header called from each.  tests/test_compile.sh builds it with every compiler:
   gcc -std=c11 -Wall -Wextra -Werror -I. -Itests -DPART=first -c tests/compile_part.c -o build/first.o
   gcc -std=c11 -Wall -Wextra -Werror -I. -Itests -DPART=second -c tests/compile_part.c -o build/second.o
   gcc -std=c11 -Wall -Wextra -Werror -I. -Itests tests/compile_c.c build/first.o build/second.o -o build/compile_c -lm -lpthread -ldl */
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_plan.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"
#include "mirage_model.h"
#include "mirage.h" /* twice is once */
#include "mirage_cuda.cuh"
#include "mirage_model.h"

#define PART whole
#include "compile_part.c"

#ifdef __cplusplus
extern "C" {
#endif
int call_first(void);
int call_second(void);
#ifdef __cplusplus
}
#endif

int main(void) {
  int a = call_whole(), b = call_first(), c = call_second();
  printf("%d %d %d\n", a, b, c);
  return a != 6 || b != 6 || c != 6;
}
