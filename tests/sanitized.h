/* What a run under a sanitizer adds is errors of memory.  What else takes time, as compilers that no sanitizer sees do
   and searches that go the way of others, is left to the run without, which has the same cases: of these the sanitized
   one takes one in SPARSER.  A limit of time that a search is to end before is SPARSER times as long there. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SANITIZED = 1, SPARSER = 4 };
#else
enum { SANITIZED = 0, SPARSER = 1 };
#endif
