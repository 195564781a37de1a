/* What a run under a sanitizer adds is errors of memory.  What else takes time, as compilers that no sanitizer sees do, is left to
   the run without, which has the same cases: of these the sanitized one takes one in SPARSER. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1, SPARSER = 4 };
#else
enum { SANITIZED = 0, SPARSER = 1 };
#endif
