/* As tests/compile_c.c, as C++17:
   g++ -std=c++17 -Wall -Wextra -Werror -I. -Itests tests/compile_cpp.cpp build/first.o build/second.o -o build/compile_cpp -lpthread -ldl */
#include "compile_c.c"

static_assert(sizeof(mg_tensor) == 4, "handles are four bytes");
