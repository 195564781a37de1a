/* Fuzzes the rechecking of certificates: any bytes may come in; what is accepted says EQUAL or EQUAL_SAMPLED, and its
   two programs are equal.  See tests/fuzz.h.
   clang -std=c11 -O1 -g -I. -DMG_LIBFUZZER -fsanitize=fuzzer,address,undefined tests/fuzz_certificate.c -o build/fuzz_certificate -lm -lpthread
   gcc -std=c11 -O1 -g -I. -fsanitize=address,undefined tests/fuzz_certificate.c -o build/fuzz_certificate -lm -lpthread && build/fuzz_certificate 1000 1 */
#define FUZZ_CORPUS "tests/corpus/certificate"
#define FUZZ_N 1500
#include "fuzz.h"
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  mg_verify_report r;
  mg_error e;
  memset(&e, 0, sizeof e);
  mg_status s = mg_certificate_check((const char *)data, size, &r, &e);
  if (s != MG_OK) FUZZ_HOLDS(e.status == s && *e.msg);
  else FUZZ_HOLDS(r.verdict == MG_EQUAL || r.verdict == MG_EQUAL_SAMPLED);
  return 0;
}
