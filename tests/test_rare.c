/* An adversary against link 1: pairs that differ rarely.  In who wins a maximum, in signs, in where they are defined;
   composed at random inside of larger expressions at extents of at most 8, as programs and as µGraphs.  The truth comes
   from tests/oracle.h.  No wrong pair may be EQUAL, in the direction in which it is wrong: a pair (a, b) is right if b
   is defined and the same on all reals on which a is defined.
     build/test_rare [SEED [PAIRS]]     SOAK_RARE=N: N times as many pairs
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_rare.c -o build/test_rare -lcmocka -lm -lpthread -ldl */
#define _GNU_SOURCE
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include "mirage_search.h"

#include <dirent.h>
#include <setjmp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <stdarg.h>

#include <cmocka.h>
#include "oracle.h"
#include "parse.h"
#include "rewrite.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { PAIRS = 500, SEEDS = 5, SEARCHES = 1, SLOW = 60 };
#else
enum { PAIRS = 10000, SEEDS = 50, SEARCHES = 3, SLOW = 10 };
#endif
/* ROUNDS: of inputs, until a pair that is not known to be right is dropped.  SHOWN: pairs accepted wrongly, in full.
   ASK: one of so many that are undecided is put to the solver. */
enum { ROUNDS = 160, RIGHT_ROUNDS = 40, SHOWN = 2, TEXT = 6000, RIGHT_FLOOR = 60, ASK = 8 };

static uint64_t seed = 1;
static int pairs = PAIRS;

static int below(uint64_t *s, int n) { return (int)(next(s) % (uint64_t)n); }
static double clock_s(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- the pairs.  Capitals stand for operands: X Y Z of [m, n], R of [m, 1], C of [1, n], T a divisor that is rarely
   0, S an argument that is rarely negative, P a value above 0 (all three broadcast to [m, n]); lower case
   names are operators.  @ and & are constants, ~ and ^ their negatives;
     %m and %n the extents.  `;` divides two outputs.
   ab: right by construction from a to b, whatever the operands are; ba: from b to a. */

enum { WINNERS, SIGNS, DOMAINS, SCHEDULES, CLASSES };
static const char *const class_name[CLASSES] = { "rare winners", "signs", "domains", "schedules" };

typedef struct idea { int class, ab, ba; const char *a, *b; } idea;
#define MAX2(x, y) "add(relu(sub(" x ", " y ")), " y ")"
#define MIN2(x, y) "sub(" x ", relu(sub(" x ", " y ")))"
#define ABS(x) "add(relu(" x "), relu(neg(" x ")))"
#define ABOVE(x, c, minus) "add_scalar(relu(add_scalar(" x ", " minus ")), " c ")" /* max(x, c) */
#define UNDER(x, c, minus) "neg(" ABOVE("neg(" x ")", minus, c) ")"               /* min(x, c) */
#define TOP(x) "max(" x ", dim=1)"
#define ALL(x) "max(max(" x ", dim=1), dim=0)"
static const idea ideas[] = {
  { WINNERS, 0, 0, TOP("X"), "relu(max(X, dim=1))" },
  { WINNERS, 0, 0, ALL("X"), "relu(" ALL("X") ")" },
  { WINNERS, 0, 0, ALL("concat(X, Y, dim=1)"), ALL("relu(concat(X, Y, dim=1))") },
  { WINNERS, 0, 0, TOP("concat(X, R, dim=1)"), TOP("X") },
  { WINNERS, 0, 0, "max(concat(X, C, dim=0), dim=0)", "max(X, dim=0)" },
  { WINNERS, 0, 0, ALL("concat(X, C, dim=0)"), ALL("X") },
  { WINNERS, 0, 0, ALL("X"), ABOVE(ALL("X"), "@", "~") },
  { WINNERS, 0, 0, ABOVE(TOP("X"), "@", "~"), ABOVE(TOP("X"), "&", "^") },
  { WINNERS, 0, 0, ABOVE(TOP("X"), "-64", "64"), TOP("X") },
  { WINNERS, 0, 0, TOP("concat(X, Y, dim=1)"), TOP("X") },
  { WINNERS, 0, 0, TOP("concat(X, concat(Y, Z, dim=1), dim=1)"), TOP("concat(X, Y, dim=1)") },
  { WINNERS, 0, 0, TOP("X"), TOP("concat(X, neg(X), dim=1)") },
  { WINNERS, 0, 0, TOP("concat(X, R, dim=1)"), MIN2(TOP("X"), "R") },
  { WINNERS, 0, 0, TOP("X"), "neg(max(neg(X), dim=1))" },
  { WINNERS, 0, 0, "mul(relu(sub(" TOP("X") ", " TOP("Y") ")), relu(" TOP("X") "))",
    "mul(relu(sub(" TOP("X") ", " TOP("Y") ")), " TOP("X") ")" },
  { WINNERS, 0, 0, "mul(relu(sub(" ALL("X") ", " ALL("Y") ")), relu(" ALL("X") "))",
    "mul(relu(sub(" ALL("X") ", " ALL("Y") ")), " ALL("X") ")" },
  { WINNERS, 0, 0, "div(Z, add_scalar(relu(" TOP("X") "), 1))", "div(Z, add_scalar(" TOP("X") ", 1))" },
  { WINNERS, 0, 0, "div(Z, add_scalar(relu(" ALL("X") "), 64))", "div(Z, add_scalar(" ALL("X") ", 64))" },
  { WINNERS, 0, 0, "div(Z, add_scalar(exp(" ALL("X") "), 1))", "div(Z, add_scalar(exp(relu(" ALL("X") ")), 1))" },
  { WINNERS, 0, 0, "mul(relu(X), relu(Y))", "relu(mul(X, Y))" },
  { WINNERS, 0, 0, "mul(relu(X), relu(Y))", "mul(relu(X), Y)" },
  { WINNERS, 0, 0, "mul(mul(relu(X), relu(Y)), relu(Z))", "mul(mul(relu(X), relu(Y)), Z)" },
  { WINNERS, 0, 0, "mul(relu(" TOP("X") "), relu(" TOP("Y") "))", "relu(mul(" TOP("X") ", " TOP("Y") "))" },
  { WINNERS, 0, 0, "mul(relu(" TOP("X") "), relu(" TOP("Y") "))", "mul(relu(" TOP("X") "), " TOP("Y") ")" },
  { WINNERS, 0, 0, UNDER(ABOVE("X", "@", "~"), "&", "^"), ABOVE(UNDER("X", "&", "^"), "@", "~") },
  { WINNERS, 0, 0, UNDER(ABOVE("X", "-3", "3"), "3", "-3"), ABOVE("X", "-3", "3") },
  { WINNERS, 0, 0, UNDER(ABOVE("X", "-40", "40"), "40", "-40"), "X" },
  { WINNERS, 0, 0, "relu(sum(X, dim=1))", "sum(relu(X), dim=1)" },
  { WINNERS, 0, 0, "relu(sum(mul(X, X), dim=1))", "sum(mul(X, relu(X)), dim=1)" },
  { WINNERS, 0, 0, "div(exp(sub(X, max(X, dim=1))), sum(exp(sub(X, max(X, dim=1))), dim=1))",
    "div(exp(sub(X, max(X, dim=0))), sum(exp(sub(X, max(X, dim=1))), dim=1))" },
  { WINNERS, 0, 0, "div(exp(sub(X, max(X, dim=0))), sum(exp(sub(X, max(X, dim=0))), dim=1))", "softmax(X, dim=1)" },
  { WINNERS, 0, 0, "div(exp(sub(X, " TOP("X") ")), sum(exp(sub(X, relu(" TOP("X") "))), dim=1))", "softmax(X, dim=1)" },
  { WINNERS, 1, 1, "div(exp(sub(X, relu(" TOP("X") "))), sum(exp(sub(X, relu(" TOP("X") "))), dim=1))",
    "softmax(X, dim=1)" },
  { WINNERS, 0, 0, "mul(" TOP("X") ", " TOP("Y") ")", TOP("mul(X, Y)") },
  { WINNERS, 0, 0, "add(" TOP("X") ", " TOP("Y") ")", TOP("add(X, Y)") },
  { WINNERS, 0, 0, "sub(relu(X), scale(relu(neg(X)), 1/8))", "relu(X)" },
  { WINNERS, 1, 1, "sub(relu(X), scale(relu(neg(X)), 1/8))", "add(scale(X, 1/8), scale(relu(X), 7/8))" },
  { WINNERS, 0, 0, MAX2("X", "add_scalar(Y, -40)"), "X" },
  { WINNERS, 0, 0, MAX2(TOP("X"), "add_scalar(" TOP("Y") ", -20)"), TOP("X") },
  { WINNERS, 0, 0, "relu(sub(relu(X), relu(Y)))", "relu(sub(relu(X), Y))" },
  { WINNERS, 1, 1, "relu(sub(relu(X), relu(Y)))", "relu(sub(X, relu(Y)))" },
  { WINNERS, 0, 0, "relu(sub(relu(" TOP("X") "), relu(" TOP("Y") ")))", "relu(sub(" TOP("X") ", " TOP("Y") "))" },
  { WINNERS, 0, 0, "mul(relu(X), relu(add_scalar(neg(X), 1/8)))", "sub(X, X)" },
  { WINNERS, 0, 0, "mul(relu(" TOP("X") "), relu(add_scalar(neg(" TOP("X") "), 1/4)))", "sub(R, R)" },
  { WINNERS, 1, 1, "mul(relu(X), relu(neg(X)))", "sub(X, X)" },
  { WINNERS, 0, 0, "mul(relu(add_scalar(X, -16)), Y)", "sub(Y, Y)" },
  { WINNERS, 1, 1, "mul(mul(relu(sub(X, Y)), relu(sub(Y, Z))), relu(sub(Z, X)))", "sub(X, X)" },
  { WINNERS, 0, 0, "mul(mul(relu(sub(X, Y)), relu(sub(Y, Z))), relu(sub(X, Z)))", "sub(X, X)" },
  { WINNERS, 0, 0, "mul(relu(sub(" TOP("X") ", " TOP("Y") ")), relu(sub(" TOP("Y") ", " TOP("Z") ")))", "sub(R, R)" },
  { WINNERS, 0, 0, "sum(max(X, dim=1), dim=0)", "max(sum(X, dim=0), dim=1)" },
  { WINNERS, 0, 0, "sum(max(X, dim=1), dim=0)", "sum(relu(max(X, dim=1)), dim=0)" },
  { WINNERS, 0, 0, "mul(" TOP("X") ", R)", TOP("mul(X, R)") },
  { WINNERS, 1, 1, "mul(" TOP("X") ", relu(R))", TOP("mul(X, relu(R))") },
  { WINNERS, 0, 0, "div(X, add_scalar(max(concat(X, neg(X), dim=1), dim=1), 1))",
    "div(X, add_scalar(max(X, dim=1), 1))" },
  { WINNERS, 1, 1, "div(X, add_scalar(max(concat(X, neg(X), dim=1), dim=1), 1))",
    "div(X, add_scalar(max(" ABS("X") ", dim=1), 1))" },
  { WINNERS, 0, 0, "matmul(reshape(max(concat(X, C, dim=0), dim=0), [1, %n]), transpose(X, [1, 0]))",
    "matmul(reshape(max(X, dim=0), [1, %n]), transpose(X, [1, 0]))" },
  { WINNERS, 1, 1, "add(relu(sub(" TOP("X") ", " TOP("Y") ")), " TOP("Y") ")", TOP("concat(X, Y, dim=1)") },
  { WINNERS, 1, 1, "relu(relu(X))", "relu(X)" },
  { WINNERS, 1, 1, TOP("add(X, R)"), "add(" TOP("X") ", R)" },
  { WINNERS, 1, 1, ALL("X"), "max(max(X, dim=0), dim=1)" },
  { WINNERS, 1, 1, "relu(" TOP("X") ")", TOP("relu(X)") },
  { WINNERS, 1, 1, "exp(" TOP("X") ")", TOP("exp(X)") },
  { WINNERS, 0, 0, TOP("silu(X)"), "silu(" TOP("X") ")" },
  { WINNERS, 0, 0, TOP("gelu(X)"), "gelu(" TOP("X") ")" },
  { WINNERS, 0, 0, TOP("add_scalar(silu(X), 1)"), "add_scalar(silu(" TOP("X") "), 1)" },
  { WINNERS, 1, 1, "relu(silu(X))", "silu(relu(X))" },
  { WINNERS, 0, 0, TOP("sqr(X)"), "sqr(" TOP("X") ")" },
  { WINNERS, 1, 1, TOP("sqr(relu(X))"), "sqr(relu(" TOP("X") "))" },
  { WINNERS, 0, 0, ABS(TOP("X")), TOP(ABS("X")) },
  { WINNERS, 0, 0, TOP("mul(relu(X), relu(Y))"), "mul(relu(" TOP("X") "), relu(" TOP("Y") "))" },
  { WINNERS, 0, 0, TOP("mul(exp(X), Y)"), "mul(exp(" TOP("X") "), " TOP("Y") ")" },
  { WINNERS, 1, 1, TOP("mul(exp(R), X)"), "mul(exp(R), " TOP("X") ")" },
  { WINNERS, 0, 0, TOP("mul(silu(R), X)"), "mul(silu(R), " TOP("X") ")" },
  { WINNERS, 1, 1, "exp(neg(" TOP("X") "))", "neg(" TOP("neg(exp(neg(X)))") ")" },
  { WINNERS, 1, 1, "relu(sub(" TOP("X") ", X))", "sub(" TOP("X") ", X)" },
  { WINNERS, 1, 1, "relu(sub(X, " TOP("X") "))", "sub(X, X)" },
  { WINNERS, 0, 0, "relu(sub(X, " TOP("relu(X)") "))", "sub(X, " TOP("relu(X)") ")" },
  { WINNERS, 1, 1, "relu(sub(sum(relu(X), dim=1), " TOP("X") "))", "sub(sum(relu(X), dim=1), " TOP("X") ")" },
  { WINNERS, 0, 0, "relu(sub(sum(X, dim=1), " TOP("X") "))", "sub(sum(X, dim=1), " TOP("X") ")" },
  { WINNERS, 0, 0, "relu(sub(scale(" TOP("X") ", %n), sum(relu(X), dim=1)))",
    "sub(scale(" TOP("X") ", %n), sum(relu(X), dim=1))" },
  { WINNERS, 1, 1, "relu(sub(scale(" TOP("X") ", %n), sum(X, dim=1)))", "sub(scale(" TOP("X") ", %n), sum(X, dim=1))" },
  { WINNERS, 0, 0, "relu(sub(sqr(X), X))", "sub(sqr(X), X)" },
  { WINNERS, 1, 1, "relu(add_scalar(sub(sqr(X), X), 1/4))", "add_scalar(sub(sqr(X), X), 1/4)" },
  { WINNERS, 0, 0, "relu(add_scalar(sub(sqr(X), X), 1/5))", "add_scalar(sub(sqr(X), X), 1/5)" },
  { WINNERS, 0, 0, "relu(add_scalar(sub(sqr(X), mul(X, Y)), 1))", "add_scalar(sub(sqr(X), mul(X, Y)), 1)" },
  { WINNERS, 0, 0, "relu(add_scalar(silu(X), 1/4))", "add_scalar(silu(X), 1/4)" },
  { WINNERS, 0, 0, "relu(sub(exp(X), scale(X, 3)))", "sub(exp(X), scale(X, 3))" },
  { WINNERS, 1, 1, MAX2("X", "Y"), "scale(add(add(X, Y), " ABS("sub(X, Y)") "), 1/2)" },
  { WINNERS, 1, 1, MAX2("X", "Y"), MAX2("Y", "X") },
  { WINNERS, 1, 1, MIN2(MAX2("X", "Y"), "Z"), MAX2(MIN2("X", "Z"), MIN2("Y", "Z")) },
  { WINNERS, 0, 0, MIN2(MAX2("X", "Y"), "Z"), MAX2(MIN2("X", "Z"), "Y") },
  { WINNERS, 0, 0, MAX2(MIN2("X", "Y"), MIN2(MAX2("X", "Y"), "Z")), MAX2(MIN2("X", "Y"), MIN2("Y", "Z")) },
  { WINNERS, 1, 1, MAX2(MIN2("X", "Y"), MIN2(MAX2("X", "Y"), "Z")), MAX2(MIN2("Z", "Y"), MIN2(MAX2("Z", "Y"), "X")) },
  { WINNERS, 0, 0, "max(reshape(X, [%n, %m]), dim=0)", "max(transpose(X, [1, 0]), dim=0)" },
  { WINNERS, 0, 1, "log(" TOP("X") ")", TOP("log(X)") },
  { WINNERS, 0, 1, "sqrt(" TOP("X") ")", TOP("sqrt(X)") },
  { WINNERS, 0, 0, TOP("div(X, R)"), "div(" TOP("X") ", R)" },
  { SIGNS, 0, 0, "sqrt(sqr(X))", "X" },
  { SIGNS, 1, 1, "sqrt(sqr(X))", ABS("X") },
  { SIGNS, 0, 0, "sqrt(sqr(" ALL("X") "))", ALL("X") },
  { SIGNS, 0, 1, "sqrt(mul(X, Y))", "mul(sqrt(X), sqrt(Y))" },
  { SIGNS, 0, 1, "sqrt(div(X, Y))", "div(sqrt(X), sqrt(Y))" },
  { SIGNS, 0, 0, ABS("X"), "X" },
  { SIGNS, 0, 0, ABS(TOP("X")), TOP("X") },
  { SIGNS, 0, 1, "log(sqr(X))", "scale(log(X), 2)" },
  { SIGNS, 0, 1, "log(mul(X, Y))", "add(log(X), log(Y))" },
  { SIGNS, 0, 1, "log(div(X, Y))", "sub(log(X), log(Y))" },
  { SIGNS, 0, 0, "div(X, sqrt(sqr(X)))", "div(X, X)" },
  { SIGNS, 1, 1, "div(X, " ABS("X") ")", "div(sqrt(sqr(X)), X)" },
  { SIGNS, 0, 0, "max(neg(X), dim=1)", "neg(max(X, dim=1))" },
  { SIGNS, 0, 0, "max(scale(X, @), dim=1)", "scale(max(X, dim=1), @)" },
  { SIGNS, 0, 0, "scale(relu(X), @)", "relu(scale(X, @))" },
  { SIGNS, 1, 0, "exp(log(X))", "X" },
  { SIGNS, 1, 0, "exp(scale(log(X), 2))", "sqr(X)" },
  { SIGNS, 1, 0, "exp(scale(log(X), 1/2))", "sqrt(X)" },
  { SIGNS, 1, 0, "sqr(sqrt(X))", "X" },
  { SIGNS, 1, 1, "log(exp(X))", "X" },
  { SIGNS, 0, 0, "sqrt(mul(sqr(X), sqr(Y)))", "mul(X, sqrt(sqr(Y)))" },
  { SIGNS, 0, 0, "sqrt(mul(sqr(X), sqr(Y)))", "mul(X, Y)" },
  { SIGNS, 0, 0, "sqrt(sqr(add(X, Y)))", "add(sqrt(sqr(X)), sqrt(sqr(Y)))" },
  { SIGNS, 0, 0, "sqrt(sqr(add(sqr(X), Y)))", "add(sqr(X), Y)" },
  { SIGNS, 0, 0, "sqrt(sqr(add_scalar(X, 40)))", "add_scalar(X, 40)" },
  { SIGNS, 1, 1, "sub(relu(X), relu(neg(X)))", "X" },
  { SIGNS, 1, 1, "relu(mul(X, Y))", "add(mul(relu(X), relu(Y)), mul(relu(neg(X)), relu(neg(Y))))" },
  { SIGNS, 0, 0, "relu(mul(X, Y))", "mul(relu(X), relu(Y))" },
  { SIGNS, 1, 1, "sqrt(exp(X))", "exp(scale(X, 1/2))" },
  { SIGNS, 0, 0, "sqrt(sum(sqr(X), dim=1))", "sum(X, dim=1)" },
  { SIGNS, 0, 0, "mul(X, sqrt(sqr(X)))", "sqr(X)" },
  { SIGNS, 0, 0, "relu(mul(X, relu(X)))", "relu(mul(X, X))" },
  { SIGNS, 1, 1, "mul(X, relu(X))", "sqr(relu(X))" },
  { DOMAINS, 0, 1, "X", "mul(X, div(T, T))" },
  { DOMAINS, 0, 1, "exp(X)", "mul(exp(X), div(T, T))" },
  { DOMAINS, 1, 1, "X", "mul(X, div(P, P))" },
  { DOMAINS, 1, 1, "exp(X)", "mul(exp(X), div(P, P))" },
  { DOMAINS, 1, 1, "div(X, T); Y", "mul(div(X, mul(T, P)), P); mul(Y, div(P, P))" },
  { DOMAINS, 1, 1, "X", "add(X, sub(sqrt(P), sqrt(P)))" },
  { DOMAINS, 1, 1, "X", "add(X, sub(log(P), log(P)))" },
  { DOMAINS, 0, 1, "softmax(X, dim=1)", "softmax(sub(X, div(R, R)), dim=1)" },
  { DOMAINS, 0, 1, "softmax(X, dim=1)", "softmax(sub(X, sum(log(S), dim=1)), dim=1)" },
  { DOMAINS, 0, 1, "softmax(X, dim=1)", "div(div(exp(X), R), div(sum(exp(X), dim=1), R))" },
  { DOMAINS, 1, 1, "rms_norm(X)", "rms_norm(scale(X, 2))" },
  { DOMAINS, 0, 1, "rms_norm(X)", "rms_norm(mul(X, relu(R)))" },
  { DOMAINS, 0, 0, "rms_norm(X)", "rms_norm(mul(X, R))" },
  { DOMAINS, 0, 1, "rms_norm(X, eps=1/4)", "div(X, sqrt(div(mul(R, add_scalar(mean(sqr(X), dim=1), 1/4)), R)))" },
  { DOMAINS, 1, 0, "sqr(div(X, sqrt(T)))", "div(sqr(X), T)" },
  { DOMAINS, 1, 0, "div(X, exp(log(T)))", "div(X, T)" },
  { DOMAINS, 0, 1, "X", "div(mul(X, T), T)" },
  { DOMAINS, 0, 1, "X", "add(X, sub(div(Y, T), div(Y, T)))" },
  { DOMAINS, 0, 1, "add(X, Y)", "mul(T, add(div(X, T), div(Y, T)))" },
  { DOMAINS, 0, 1, "relu(X)", "mul(relu(X), div(T, T))" },
  { DOMAINS, 0, 1, "X", "add(X, sub(sqrt(S), sqrt(S)))" },
  { DOMAINS, 0, 1, "X", "add(X, sub(log(S), log(S)))" },
  { DOMAINS, 0, 1, "X", "mul(X, div(exp(log(S)), S))" },
  { DOMAINS, 0, 1, "X", "mul(X, div(sqr(sqrt(S)), S))" },
  { DOMAINS, 0, 1, "X", "mul(X, div(relu(sub(X, X)), relu(sub(X, X))))" },
  { DOMAINS, 0, 1, "div(X, T); Y", "div(X, T); mul(Y, div(T, T))" },
  { DOMAINS, 0, 1, "X; exp(Y)", "X; mul(exp(Y), div(T, T))" },
  { DOMAINS, 0, 1, "log(S); X", "log(S); sub(add(X, log(S)), log(S))" },
  { DOMAINS, 0, 1, "sqrt(X); X", "sqrt(X); sqr(sqrt(X))" },
  { DOMAINS, 1, 1, "div(X, mul(Y, Z))", "div(div(X, Y), Z)" },
  { DOMAINS, 1, 1, "div(X, mul(Y, Z))", "div(div(X, Z), Y)" },
  { DOMAINS, 1, 0, "div(Y, div(Y, X))", "X" },
  { DOMAINS, 1, 0, "div(X, div(Y, Z))", "div(mul(X, Z), Y)" },
  { DOMAINS, 1, 0, "div(X, div(X, T))", "mul(T, div(X, X))" },
  { DOMAINS, 1, 0, "div(mul(X, Y), Y)", "X" },
  { DOMAINS, 1, 1, "add(div(X, Y), div(Z, Y))", "div(add(X, Z), Y)" },
  { DOMAINS, 1, 0, "sub(div(X, T), div(X, T))", "sub(X, X)" },
  { DOMAINS, 1, 1, "div(X, sqr(Y))", "div(div(X, Y), Y)" },
  { DOMAINS, 1, 1, "div(sum(X, dim=1), R)", "sum(div(X, R), dim=1)" },
  { DOMAINS, 0, 1, "div(X, add_scalar(sqr(Y), 1))", "mul(div(X, Y), div(Y, add_scalar(sqr(Y), 1)))" },
  { DOMAINS, 1, 1, "div(Y, mul(X, add_scalar(X, 1)))", "sub(div(Y, X), div(Y, add_scalar(X, 1)))" },
  { DOMAINS, 0, 1, "add_scalar(X, 1)", "div(add_scalar(sqr(X), -1), add_scalar(X, -1))" },
  { DOMAINS, 0, 1, "relu(X)", "mul(X, div(relu(X), X))" },
  { DOMAINS, 1, 0, "div(relu(X), relu(X))", "div(X, X)" },
  { DOMAINS, 0, 1, "sqrt(relu(X))", "relu(sqrt(X))" },
  { DOMAINS, 1, 1, "log(relu(X))", "log(X)" },
  { DOMAINS, 0, 1, "sqrt(relu(S))", "sqrt(S)" },
  { DOMAINS, 1, 0, "sqr(sqrt(add_scalar(sqr(X), -1)))", "add_scalar(sqr(X), -1)" },
  { DOMAINS, 0, 1, "exp(X)", "div(mul(exp(X), add_scalar(exp(Y), -1)), add_scalar(exp(Y), -1))" },
  { DOMAINS, 0, 1, "div(exp(X), sum(exp(X), dim=1))", "div(div(exp(X), T), div(sum(exp(X), dim=1), T))" },
  { DOMAINS, 0, 1, "max(X, dim=1)", "max(mul(X, div(T, T)), dim=1)" },
  { DOMAINS, 0, 1, "matmul(X, transpose(Y, [1, 0]))", "matmul(mul(X, C), transpose(div(Y, C), [1, 0]))" },
};
enum { IDEAS = sizeof ideas / sizeof *ideas };
/* For square matrices. */
static const idea square[] = {
  { WINNERS, 0, 0, "X", "transpose(X, [1, 0])" },
  { WINNERS, 0, 0, TOP("X"), "reshape(max(X, dim=0), [%m, 1])" },
  { WINNERS, 0, 0, "sub(X, max(X, dim=1))", "sub(X, max(X, dim=0))" },
  { WINNERS, 0, 0, TOP("matmul(X, Y)"), TOP("matmul(Y, X)") },
  { WINNERS, 0, 0, "matmul(relu(X), relu(Y))", "relu(matmul(relu(X), Y))" },
  { WINNERS, 0, 0, ALL("mul(X, transpose(X, [1, 0]))"), ALL("sqr(X)") },
  { SIGNS, 0, 0, "matmul(sqrt(sqr(X)), Y)", "matmul(X, Y)" },
  { DOMAINS, 0, 1, "X", "mul(X, div(sub(X, transpose(X, [1, 0])), sub(X, transpose(X, [1, 0]))))" },
  { DOMAINS, 0, 1, "X", "transpose(div(mul(transpose(X, [1, 0]), T), T), [1, 0])" },
};
enum { SQUARES = sizeof square / sizeof *square };

/* ---- a pair of programs around an idea */

typedef struct maker { uint64_t s; int m, n, n_in, n_t; char in[TEXT], before[TEXT], after[TEXT]; } maker;
typedef struct name { char s[8]; } name;

static void put(char *to, const char *format, ...) {
  size_t at = strlen(to);
  va_list list;
  va_start(list, format);
  int n = vsnprintf(to + at, TEXT - at, format, list);
  va_end(list);
  if (n < 0 || at + (size_t)n >= TEXT) fail_msg("a text is too long");
}
static name an_input(maker *M, int rows, int columns) {
  name r;
  snprintf(r.s, sizeof r.s, "I%d", M->n_in++);
  put(M->in, "input %s : f32[%d, %d]%s\n", r.s, rows, columns, below(&M->s, 8) ? "" : " @ [1, 0]");
  return r;
}
static const char *a_constant(maker *M) {
  static const char *const c[] = { "-8", "-3", "-2", "-1", "-1/2", "1/2", "1", "2", "3", "8" };
  return c[below(&M->s, 10)];
}
/* A matrix of all reals or of some: an input, mostly, or an expression of inputs that is defined everywhere. */
static name an_operand(maker *M, int rows, int columns) {
  int kind = below(&M->s, 22), k = 1 + below(&M->s, 4);
  name a, b, r;
  if (kind > 12 || M->n_in > 6) return an_input(M, rows, columns);
  a = kind == 0 ? an_input(M, rows, k) : kind == 1 ? an_input(M, columns, rows) : an_input(M, rows, columns);
  snprintf(r.s, sizeof r.s, "t%d", M->n_t++);
  put(M->before, "%s = ", r.s);
  if (kind == 0) b = an_input(M, k, columns), put(M->before, "matmul(%s, %s)\n", a.s, b.s);
  else if (kind == 1) put(M->before, "transpose(%s, [1, 0])\n", a.s);
  else if (kind < 4) b = an_input(M, rows, columns), put(M->before, "sub(%s, %s)\n", a.s, b.s);
  else if (kind == 4) b = an_input(M, below(&M->s, 2) ? rows : 1, columns), put(M->before, "mul(%s, %s)\n", a.s, b.s);
  else if (kind < 7) put(M->before, "scale(%s, %s)\n", a.s, a_constant(M));
  else if (kind < 9) put(M->before, "add_scalar(%s, %s)\n", a.s, a_constant(M));
  else if (kind == 9) put(M->before, "sub(%s, sum(%s, dim=%d))\n", a.s, a.s, below(&M->s, 2));
  else if (kind == 10) put(M->before, "exp(scale(%s, 1/4))\n", a.s);
  else if (kind == 11) put(M->before, "relu(%s)\n", a.s);
  else put(M->before, "silu(%s)\n", a.s);
  return r;
}
/* What is 0, or negative, on some inputs: on many, on those of one sign, or on nearly none.
   negative == 2: above 0 on all. */
static name a_rare_zero(maker *M, int negative) {
  static const char *const zero[] = {
    "add_scalar(A, 0)", "sub(sum(A, dim=1), sum(B, dim=1))", "add_scalar(sub(sum(A, dim=1), sum(B, dim=1)), -1)",
    "sub(max(A, dim=1), max(B, dim=1))", "sub(A, B)", "relu(A)", "relu(max(A, dim=1))", "add_scalar(exp(A), -1)",
    "mul(A, B)", "sum(sqr(A), dim=1)", "add_scalar(A, 40)", "sub(sqr(A), B)", "relu(sub(A, A))", "sqrt(sqr(A))",
    "sub(mul(A, B), sqr(A))", "add_scalar(sub(sqr(A), scale(A, 2)), 1)", "sub(exp(A), add_scalar(A, 1))",
    "sub(exp(A), exp(B))",
    "sub(silu(A), scale(A, 1/2))", "log(add_scalar(sqr(A), 1))", "add_scalar(sqrt(add_scalar(sqr(A), 1)), -1)",
    "add(relu(A), sqr(A))",
    "sub(max(A, dim=1), A)", "add(relu(A), relu(B))", "add_scalar(relu(add_scalar(A, -1)), 0)",
    "add(add_scalar(sqr(A), 1), A)", "relu(add_scalar(A, 24))", "max(sum(A, dim=0), dim=1)", "sum(relu(A), dim=0)" };
  static const char *const sign[] = {
    "add_scalar(A, 0)", "sum(A, dim=1)", "add_scalar(A, 40)", "max(A, dim=1)", "max(max(A, dim=1), dim=0)", "mul(A, B)",
    "sub(sqr(A), B)", "sub(A, B)", "add_scalar(max(A, dim=0), 16)", "relu(sub(A, A))", "relu(max(A, dim=1))",
    "add_scalar(exp(A), -1)",
    "add_scalar(silu(A), 1/4)", "add_scalar(gelu(A), 1/8)", "add_scalar(sub(sqr(A), A), 1/5)",
      "sub(exp(A), scale(A, 3))",
    "add_scalar(sqr(A), -1/16)", "sum(mul(A, B), dim=0)", "sub(exp(A), add_scalar(A, 1))", "sub(max(A, dim=1), A)",
    "relu(A)" };
  static const char *const sure[] = {
    "exp(A)", "add_scalar(sqr(A), 1)", "add_scalar(relu(A), 1/2)", "sum(exp(A), dim=1)", "add(exp(A), exp(B))",
    "max(exp(A), dim=1)",
    "add_scalar(mean(sqr(A), dim=1), 1/1000000)", "add(sqr(A), exp(B))", "sqrt(add_scalar(sqr(A), 1))",
    "exp(max(A, dim=1))",
    "add_scalar(sub(max(A, dim=1), A), 1)", "log(add_scalar(exp(A), 1))", "add_scalar(add(sqr(A), A), 1)",
    "sub(add_scalar(sqr(A), 1), A)" };
  const char *const *list = negative > 1 ? sure : negative ? sign : zero;
  size_t bytes = negative > 1 ? sizeof sure : negative ? sizeof sign : sizeof zero;
  const char *p = list[below(&M->s, (int)(bytes / sizeof *list))];
  name a = an_operand(M, M->m, M->n), b = strchr(p, 'B') ? an_operand(M, M->m, M->n) : a, r;
  snprintf(r.s, sizeof r.s, "t%d", M->n_t++);
  put(M->before, "%s = ", r.s);
  for (; *p; p++) {
    if (*p == 'A' || *p == 'B') put(M->before, "%s", *p == 'A' ? a.s : b.s);
    else put(M->before, "%c", *p);
  }
  put(M->before, "\n");
  return r;
}
/* One side of an idea, its letters replaced; operands are made where they are met first. */
static void fill(maker *M, name *letter, const char *const constant[2], const char *text, char *to) {
  for (const char *p = text; *p; p++) {
    if (*p >= 'A' && *p <= 'Z') {
      name *l = &letter[*p - 'A'];
      if (!l->s[0])
        *l = strchr("TSP", *p) ? a_rare_zero(M, *p == 'P' ? 2 : *p == 'S')
                               : an_operand(M, *p == 'C' ? 1 : M->m, *p == 'R' ? 1 : M->n);
      put(to, "%s", l->s);
    } else if (*p == '@' || *p == '&') put(to, "%s", constant[*p == '&']);
    else if (*p == '~' || *p == '^') {
      const char *c = constant[*p == '^'];
      put(to, "%s%s", *c == '-' ? "" : "-", *c == '-' ? c + 1 : c);
    } else if (*p == '%') put(to, "%d", *++p == 'm' ? M->m : M->n);
    else put(to, "%c", *p);
  }
}
/* Operators on top of the idea's value, which is called o0 and has `rows` by `columns` elements; the last one's
   number. */
static int wrap(maker *M, int rows, int columns) {
  int k = 0;
  for (int steps = below(&M->s, 3) + below(&M->s, 2); k < steps && M->n_in < 10; k++) {
    int kind = below(&M->s, 19), other = 1 + below(&M->s, 4), wide = below(&M->s, 3);
    name u = { "" };
    if (kind < 6) u = an_input(M, wide ? rows : 1, wide ? columns : 1);
    put(M->after, "o%d = ", k + 1);
    switch (kind) {
      case 0: case 1: put(M->after, "add(o%d, %s)\n", k, u.s); break;
      case 2: put(M->after, "mul(%s, o%d)\n", u.s, k); break;
      case 3: put(M->after, "sub(%s, o%d)\n", u.s, k); break;
      case 4: put(M->after, "div(o%d, add_scalar(sqr(%s), 1))\n", k, u.s); break;
      case 5: put(M->after, "mul(o%d, relu(%s))\n", k, u.s); break;
      case 6: case 7: u = an_input(M, columns, other), put(M->after, "matmul(o%d, %s)\n", k, u.s), columns = other;
        break;
      case 8: u = an_input(M, other, rows), put(M->after, "matmul(%s, o%d)\n", u.s, k), rows = other; break;
      case 9: put(M->after, "sum(o%d, dim=1)\n", k), columns = 1; break;
      case 10: put(M->after, "sum(o%d, dim=0)\n", k), rows = 1; break;
      case 11: put(M->after, "scale(o%d, %s)\n", k, a_constant(M)); break;
      case 12: put(M->after, "neg(o%d)\n", k); break;
      case 13: put(M->after, "transpose(o%d, [1, 0])\n", k), other = rows, rows = columns, columns = other; break;
      case 14: put(M->after, "silu(o%d)\n", k); break;
      case 15: put(M->after, "add_scalar(o%d, %s)\n", k, a_constant(M)); break;
      case 16: put(M->after, "exp(scale(o%d, 1/8))\n", k); break;
      case 17: put(M->after, "max(o%d, dim=1)\n", k), columns = 1; break;
      default: put(M->after, "add(o%d, sqr(o%d))\n", k, k); break;
    }
  }
  return k;
}
/* Both texts; 0 if there is none (too many inputs). */
static int make(maker *M, uint64_t s, const idea **of, char text[2][TEXT]) {
  static const int extent[] = { 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 8, 8 };
  memset(M, 0, sizeof *M);
  M->s = s;
  M->m = extent[below(&M->s, 12)], M->n = extent[below(&M->s, 12)];
  int k = below(&M->s, IDEAS + 2 * SQUARES), outputs = below(&M->s, 5) == 0;
  if (k < IDEAS) *of = &ideas[k];
  else *of = &square[(k - IDEAS) / 2], M->n = M->m;
  static char side[2][TEXT];
  name letter[26];
  const char *constant[2] = { a_constant(M), a_constant(M) };
  memset(letter, 0, sizeof letter);
  for (int j = 0; j < 2; j++) side[j][0] = 0, fill(M, letter, constant, j ? (*of)->b : (*of)->a, side[j]);
  static char word[4][24];
  const char *value[4]; /* o0 and p of either side; a name alone is no statement */
  mg_error e;
  mg_graph *g = NULL;
  char *cut[2] = { strstr(side[0], "; "), strstr(side[1], "; ") };
  for (int j = 0; j < 2; j++) if (cut[j]) *cut[j] = 0, cut[j] += 2;
  for (int j = 0; j < 4; j++) {
    value[j] = j < 2 ? side[j] : cut[j - 2];
    if (value[j] && !strchr(value[j], '('))
      snprintf(word[j], sizeof word[j], "scale(%.7s, 1)", value[j]), value[j] = word[j];
  }
  text[0][0] = 0;
  put(text[0], "program rare\n%s%so0 = %s\noutput o0\n", M->in, M->before, value[0]); /* for its shape */
  if (mg_parse(text[0], strlen(text[0]), "rare", NULL, &g, &e) != MG_OK) fail_msg("%s\n%s", e.msg, text[0]);
  const mg_shape *S = &g->tensors[g->out[0].id].shape;
  int last = S->rank == 2 ? wrap(M, (int)S->dim[0], (int)S->dim[1]) : 0;
  mg_graph_free(g);
  if (M->n_in > 12) return 0;
  if (outputs && !cut[0]) put(M->after, "q = sum(relu(I0), dim=0)\n");
  for (int j = 0; j < 2; j++) {
    text[j][0] = 0;
    put(text[j], "program rare\n%s%so0 = %s\n%s", M->in, M->before, value[j], M->after);
    if (cut[j]) put(text[j], "p = %s\noutput p, o%d\n", value[j + 2], last);
    else put(text[j], outputs ? "output o%d, q\n" : "output o%d\n", last);
  }
  return 1;
}

/* ---- other forms of a program: algebra, then kernels with blocks and loops */

static int rule_of(int (*apply)(rw *C, int k)) {
  int r = 0;
  while (rw_rules[r].apply != apply) r++;
  return r;
}
/* One of the rules from .. to-1 on g; NULL if it does not apply. */
static mg_graph *step(const mg_graph *g, int from, int to, uint64_t *s) {
  static draft D;
  mg_error e;
  if (!draft_read(&D, g)) return NULL;
  rw C = { &D, 0, NULL, s };
  int all = 0, r = from + below(s, to - from);
  for (int l = 0; l < D.n_levels; l++) all += D.level[l].n;
  if (!all) return NULL;
  int k = below(s, all);
  for (C.l = 0; k >= D.level[C.l].n; C.l++) k -= D.level[C.l].n;
  C.L = &D.level[C.l];
  if (!rw_rules[r].apply(&C, k)) return NULL;
  draft_sweep(&D);
  return draft_build(&D, "rare", &e);
}
/* g in another form; frees g.  Schedules keep what is computed, and where it is defined; algebra does not always. */
static mg_graph *other_form(mg_graph *g, int algebra, int schedule, uint64_t *s) {
  int kernel = rule_of(rw_kernel), first = rule_of(rw_count), axis = rule_of(rw_axis), plain = rule_of(rw_accum_out);
  for (int k = 0; k < algebra + schedule; k++) {
    mg_graph *h = NULL;
    int a = k < algebra, begin = mg_is_program(g);
    for (int tries = 0; tries < 20 && !h; tries++) {
      int r = a ? -1 : begin ? kernel : below(s, 2) ? axis : -1;
      h = step(g, r < 0 ? a ? 0 : first : r, r < 0 ? a ? plain : RW_RULES : r + 1, s);
    }
    if (h) mg_graph_free(g), g = h;
  }
  return g;
}

/* One thing in a kernel of g is changed: how something is cut, put together or stored, what is reduced how, an operand.
   NULL if that is no graph, or has another signature. */
static mg_graph *mutant(const mg_graph *g, uint64_t *s) {
  static draft D;
  mg_error e;
  if (!draft_read(&D, g)) return NULL;
  draft_level *L = &D.level[below(s, D.n_levels)];
  if (L->kind == MG_KERNEL || !L->n) return NULL;
  draft_op *o = &L->op[below(s, L->n)];
  if ((o->code == MG_OP_LOAD || o->code == MG_OP_STORE || o->code == MG_OP_ACCUM) && below(s, 6)) {
    int axis = 1 + below(s, L->n_axes - 1), was = o->map.to[axis], to = below(s, 5);
    o->map.to[axis] = (int8_t)(to < 2 ? to : o->code == MG_OP_ACCUM ? to == 2 ? MG_MAP_SUM : MG_MAP_MAX : MG_MAP_NONE);
    if (o->map.to[axis] == was || L->extent[axis] == 1) return NULL;
  } else if ((o->code == MG_OP_SUM || o->code == MG_OP_MAX) && below(s, 2)) {
    if (below(s, 2)) o->code = o->code == MG_OP_SUM ? MG_OP_MAX : MG_OP_SUM;
    else o->attr.dim = !o->attr.dim;
  } else if (o->n_in && o->code < MG_OP_TABLE_END) {
    int j = below(s, o->n_in), t = 1 + below(s, L->n_tensors - 1);
    if (t == o->in[j] || !rw_same_shape(&L->shape[t], &L->shape[o->in[j]])) return NULL;
    o->in[j] = t;
  } else return NULL;
  draft_sweep(&D);
  mg_graph *h = draft_build(&D, "mutant", &e);
  if (!h || mg_verify_signature(g, h, &e) == MG_OK) return h;
  mg_graph_free(h);
  return NULL;
}

/* ---- pairs drawn at random */

typedef struct tally { int wrong, verdict[4], right, right_verdict[4]; double slowest; } tally;

static char *printed[2];
static const char *print(const mg_graph *g) { /* until the next but one */
  static int turn;
  mg_error e;
  turn = !turn;
  mg_string_free(printed[turn]), printed[turn] = NULL;
  return mg_print(g, &printed[turn], &e) == MG_OK ? printed[turn] : "?";
}
static mg_verdict verdict(const mg_graph *a, const mg_graph *b, uint64_t s, double *slowest, mg_verify_report *r) {
  mg_verify_config c = mg_verify_config_default();
  mg_error e;
  double start = clock_s(CLOCK_PROCESS_CPUTIME_ID);
  c.seed = s, c.threads = 1, c.time_limit_s = 20;
  if (mg_verify(a, b, &c, r, &e) != MG_OK) fail_msg("mg_verify: %s\n%s\n%s", e.msg, print(a), print(b));
  double took = clock_s(CLOCK_PROCESS_CPUTIME_ID) - start; /* one thread; others may use the machine */
  if (slowest && took > *slowest) {
    *slowest = took;
    if (took > SLOW / 10.0) print_message("%.2f s, %s: %s\n%s%s\n", took, mg_verdict_name(r->verdict), r->reason,
        print(a), print(b));
  }
  return r->verdict;
}
static void show(const mg_graph *a, const mg_graph *b, const oracle_found *f, const char *what, const char *reason) {
  static const char *const state[] = { "", " (undefined)", " (unknown)" };
  print_message("%s: %s\noutput %d, element %lld, inputs of round %d: %.9Lg and %.9Lg%s\n%s%s\n", what, reason,
                f->output, (long long)f->element, f->round, f->a.v, f->b.v, state[f->b.state], print(a), print(b));
}

/* 1, and a message, if the solver says EQUAL of a pair whose values differ.  It speaks of inputs on which
   both are defined. */
static int is_proved(const mg_graph *a, const mg_graph *b, uint64_t s, double limit, const oracle_found *f) {
  mg_prove_config c = mg_prove_config_default();
  mg_prove_report p;
  mg_error e;
  c.seed = s, c.time_limit_s = limit;
  if (mg_prove(a, b, &c, &p, &e) != MG_OK || p.verdict != MG_EQUAL) return 0;
  show(a, b, f, "proved", p.reason);
  return 1;
}

enum { SEEN = 1 << 20 };
/* 0 if a pair of this hash was there before. */
static int unlike_all(uint64_t hash) {
  static uint64_t seen[SEEN];
  static int n;
  size_t k = hash % SEEN;
  hash += !hash;
  for (; seen[k]; k = (k + 1) % SEEN) if (seen[k] == hash) return 0;
  if (2 * ++n > SEEN) memset(seen, 0, sizeof seen), n = 1;
  seen[k] = hash;
  return 1;
}

static void drawn_pairs(void **state) {
  (void)state;
  static maker M;
  static char text[2][TEXT];
  tally T[CLASSES];
  int accepted[CLASSES] = { 0 }, all = 0, dropped = 0, strayed = 0, ugraphs = 0, right = 0, right_equal = 0;
  int asked = 0, proved = 0;
  int by_idea[IDEAS + SQUARES] = { 0 };
  uint64_t s = seed;
  memset(T, 0, sizeof T);
  for (int wrong = 0; wrong < pairs;) {
    const idea *of;
    uint64_t own = next(&s), form = next(&s);
    if (!make(&M, own, &of, text)) continue;
    int change = of->class == WINNERS && below(&form, 3) == 0, class = change ? SCHEDULES : of->class;
    mg_graph *g[2] = { parse(text[0]), parse(text[!change]) };
    int algebra = change || below(&form, 4) ? 0 : 1 + below(&form, 4), side = change || below(&form, 4) != 0;
    int schedule = change ? 2 + below(&form, 3) : below(&form, 2) ? 0 : 1 + below(&form, 4);
    if (change) {
      g[1] = other_form(g[1], 0, schedule, &form), schedule = 0;
      mg_graph *h = NULL;
      for (int tries = 0; tries < 40 && !h; tries++) h = mutant(g[1], &form);
      if (h) mg_graph_free(g[1]), g[1] = h;
    } else g[side] = other_form(g[side], algebra, 0, &form);
    oracle_found way[ORACLE_WAYS], again[ORACLE_WAYS];
    int known[2] = { of->ab && !algebra && !change, of->ba && !algebra && !change };
    int need = (known[0] ? 0 : 1) | (known[1] ? 0 : 2);
    oracle_compare(g[0], g[1], own, 0, need ? ROUNDS : RIGHT_ROUNDS, need == 3 ? 0 : RIGHT_ROUNDS / 2, need, way);
    for (int w = 0; w < 2; w++)
      if (known[w] && way[w].found) {
        show(g[w], g[!w], &way[w], "right by construction", "the oracle differs");
        fail_msg("%s against %s", of->a, of->b);
      }
    if (schedule) {
      g[side] = other_form(g[side], 0, schedule, &form);
      for (int w = 0; w < 2; w++)
        if (way[w].found) {
          oracle_compare(g[0], g[1], own, way[w].round, way[w].round + 1, 0, 3, again);
          if (!again[w].found) strayed++, way[w].found = 0;
        }
    }
    ugraphs += !mg_is_program(g[side]);
    for (int w = 0; w < 2; w++) {
      mg_verify_report r;
      tally *t = &T[class];
      if (!way[w].found && !known[w]) { dropped++; continue; }
      if (!unlike_all(mgi_ff_hash(mg_hash(g[w]), mg_hash(g[!w]), 1))) continue;
      mg_verdict v = verdict(g[w], g[!w], next(&form), &t->slowest, &r);
      if (!way[w].found) { right++, right_equal += v == MG_EQUAL, t->right++, t->right_verdict[v]++; continue; }
      wrong++, t->wrong++, t->verdict[v]++;
      if (v != MG_EQUAL) { /* where `mirage verify` asks the solver, it is asked here, now and then */
        if (v != MG_NOT_EQUAL && way[w].b.state == DEFINED && below(&form, ASK) == 0)
          asked++, proved += is_proved(g[w], g[!w], own, 0.2, &way[w]);
        continue;
      }
      if (accepted[class]++ < SHOWN) show(g[w], g[!w], &way[w], "accepted", r.reason);
      all++, by_idea[of >= square && of < square + SQUARES ? IDEAS + (of - square) : of - ideas]++;
    }
    mg_graph_free(g[0]), mg_graph_free(g[1]);
  }
  for (int k = 0; k < CLASSES; k++) {
    const int *v = T[k].verdict, *r = T[k].right_verdict;
    print_message("%-12s %5d wrong: %5d NOT_EQUAL, %4d UNDECIDED, %4d EQUAL_SAMPLED, %4d EQUAL; ",
                  class_name[k], T[k].wrong, v[MG_NOT_EQUAL], v[MG_UNDECIDED], v[MG_EQUAL_SAMPLED], v[MG_EQUAL]);
    print_message("%4d right: %4d EQUAL, %3d EQUAL_SAMPLED, %3d UNDECIDED, %d NOT_EQUAL; %.2f s at most\n", T[k].right,
                  r[MG_EQUAL], r[MG_EQUAL_SAMPLED], r[MG_UNDECIDED], r[MG_NOT_EQUAL], T[k].slowest);
  }
  print_message("%d with a µGraph; %d directions dropped, %d of µGraphs not seen again; the solver proves %d of %d\n",
                ugraphs, dropped, strayed, proved, asked);
  for (int k = 0; k < IDEAS + SQUARES; k++) {
    const idea *i = k < IDEAS ? &ideas[k] : &square[k - IDEAS];
    if (by_idea[k]) print_message("  EQUAL %d times: %s  against  %s\n", by_idea[k], i->a, i->b);
  }
  for (int k = 0; k < CLASSES; k++) assert_int_equal(T[k].right_verdict[MG_NOT_EQUAL], 0);
  for (int k = 0; k < CLASSES; k++) if (T[k].slowest > SLOW) fail_msg("a verdict takes %.1f s", T[k].slowest);
  if (right_equal * 100 < right * RIGHT_FLOOR) fail_msg("%d of %d right pairs are EQUAL", right_equal, right);
  if (all || proved) fail_msg("%d wrong pairs are EQUAL, %d are proved", all, proved);
}

/* ---- pairs written down: tests/corpus/wrong/NAME.a.mg and NAME.b.mg, wrong from a to b; whoever finds one adds it */

enum { CORPUS = 400 };
static struct { char name[80]; mg_graph *a, *b; } corpus[CORPUS];
static int n_corpus;

static int by_name(const void *x, const void *y) { return strcmp((const char *)x, (const char *)y); }
static void read_corpus(void) {
  static const char dir[] = "tests/corpus/wrong/";
  DIR *d = opendir(dir);
  char path[160];
  mg_error e;
  if (!d) fail_msg("%s is not there: run from the repository's root", dir);
  for (struct dirent *f; (f = readdir(d)) != NULL && n_corpus < CORPUS;) {
    size_t n = strlen(f->d_name);
    if (n > 5 && n < 80 && !strcmp(f->d_name + n - 5, ".a.mg"))
      snprintf(corpus[n_corpus++].name, 80, "%.*s", (int)(n - 5), f->d_name);
  }
  closedir(d);
  qsort(corpus, (size_t)n_corpus, sizeof *corpus, by_name);
  for (int k = 0; k < n_corpus; k++)
    for (int j = 0; j < 2; j++) {
      snprintf(path, sizeof path, "%s%s.%c.mg", dir, corpus[k].name, "ab"[j]);
      if (mg_parse_file(path, NULL, j ? &corpus[k].b : &corpus[k].a, &e) != MG_OK)
        fail_msg("%s:%d: %s", path, e.line, e.msg);
    }
}
static void corpus_pairs(void **state) {
  (void)state;
  int n[4] = { 0 }, accepted = 0, proved = 0;
  double slowest = 0;
  for (int k = 0; k < n_corpus; k++) {
    const mg_graph *a = corpus[k].a, *b = corpus[k].b;
    oracle_found way[ORACLE_WAYS];
    mg_verify_report r;
    oracle_compare(a, b, seed, 0, 4000, 0, 1, way);
    if (!way[0].found) fail_msg("%s: the oracle finds no difference", corpus[k].name);
    if (!way[2].found) oracle_compare(a, b, seed, 0, 400, 0, 4, way);
    mg_verdict v = verdict(a, b, seed, &slowest, &r);
    n[v]++, accepted += v == MG_EQUAL;
    if (v == MG_EQUAL) show(a, b, &way[0], corpus[k].name, r.reason);
    else if (v != MG_NOT_EQUAL && way[2].found) proved += is_proved(a, b, seed, 2, &way[2]);
  }
  print_message("%d pairs on file: %d NOT_EQUAL, %d UNDECIDED, %d EQUAL_SAMPLED, %d EQUAL, %d proved; %.2f s at most\n",
                n_corpus, n[MG_NOT_EQUAL], n[MG_UNDECIDED], n[MG_EQUAL_SAMPLED], n[MG_EQUAL], proved, slowest);
  assert_true(n_corpus >= 30);
  if (accepted || proved) fail_msg("%d wrong pairs are EQUAL, %d more are proved", accepted, proved);
}

static void many_seeds(void **state) {
  (void)state;
  int tried = 0, n[4] = { 0 };
  for (int k = 0; k < n_corpus; k++) {
    const char *text = print(corpus[k].a);
    int maximum = strstr(text, "max(") || strstr(text, "relu(");
    text = print(corpus[k].b);
    if (!maximum && !strstr(text, "max(") && !strstr(text, "relu(")) continue;
    tried++;
    for (int j = 0; j < SEEDS; j++) {
      mg_verify_report r;
      mg_verdict v = verdict(corpus[k].a, corpus[k].b, seed * 1000 + (uint64_t)j, NULL, &r);
      n[v]++;
      if (v == MG_EQUAL && n[MG_EQUAL] <= SHOWN)
        print_message("%s: seed %llu says EQUAL: %s\n", corpus[k].name,
                      (unsigned long long)(seed * 1000 + (uint64_t)j), r.reason);
    }
  }
  print_message("%d pairs with maxima, %d seeds each: %d NOT_EQUAL, %d UNDECIDED, %d EQUAL_SAMPLED, %d EQUAL\n", tried,
                SEEDS, n[MG_NOT_EQUAL], n[MG_UNDECIDED], n[MG_EQUAL_SAMPLED], n[MG_EQUAL]);
  assert_int_equal(n[MG_EQUAL], 0);
  assert_true(tried >= 20);
}

/* ---- five norms in a chain, an eps of which differs in its seventh digit: what shows it in floats is near rounding,
   and the bounds of the theorems are large */

static mg_graph *norms(int rows, int columns, const char *eps, const char *other, int where) {
  static char text[TEXT];
  text[0] = 0;
  put(text, "program norms\ninput X : f16[%d, %d]\ninput G : f16[%d]\n", rows, columns, columns);
  for (int k = 0; k < 5; k++) {
    const char *own = where == k || where == 5 ? other : eps;
    if (k) put(text, "n%d = rms_norm(n%d, G, eps=%s)\n", k, k - 1, own);
    else put(text, "n0 = rms_norm(X, G, eps=%s)\n", own);
  }
  put(text, "output n4\n");
  return parse(text);
}
static void five_norms(void **state) {
  static const struct { const char *eps, *other; } digit[] = {
    { "1234567/1000000000", "1234568/1000000000" }, { "1/1000000", "1/1000001" },
    { "1000000/1000000007", "1000001/1000000007" } };
  static const int size[][2] = { { 2, 4 }, { 3, 8 }, { 16, 64 } };
  double slowest = 0;
  int n[4] = { 0 };
  (void)state;
  for (int k = 0; k < 3; k++)
    for (int z = 0; z < 3; z++)
      for (int where = 0; where < 6; where++) {
        mg_graph *a = norms(size[z][0], size[z][1], digit[k].eps, NULL, -1);
        mg_graph *b = norms(size[z][0], size[z][1], digit[k].eps, digit[k].other, where);
        mg_verify_report r;
        mg_verdict v = verdict(a, b, seed + (uint64_t)where, &slowest, &r);
        n[v]++;
        if (v == MG_EQUAL || v == MG_EQUAL_SAMPLED)
          fail_msg("eps %s and %s are alike: %s\n%s%s", digit[k].eps, digit[k].other, r.reason, print(a), print(b));
        mg_graph_free(a), mg_graph_free(b);
      }
  print_message("five norms: %d NOT_EQUAL, %d UNDECIDED; %.2f s at most\n", n[MG_NOT_EQUAL], n[MG_UNDECIDED], slowest);
  assert_true(slowest < SLOW);
}

/* ---- what a search returns for programs whose maxima do not cancel */

static const struct { const char *name, *text; } searched[] = {
  { "relu of a row's maximum, 16", "input X : f16[16, 16]\ninput Y : f16[16, 16]\nO = relu(max(mul(X, Y), dim=1))\n" },
  { "relu of a row's maximum, 64", "input X : f16[16, 64]\ninput Y : f16[16, 64]\nO = relu(max(mul(X, Y), dim=1))\n" },
  { "divided by 1 and a relu", "input Z : f16[16, 64]\nO = div(Z, add_scalar(relu(max(Z, dim=1)), 1))\n" },
  { "an absorbed gate", "input X : f16[16, 32]\ninput Y : f16[16, 32]\na = max(X, dim=1)\n"
    "O = mul(relu(sub(a, max(Y, dim=1))), relu(a))\n" },
  { "three relus", "input X : f16[8, 32]\ninput Y : f16[8, 32]\ninput Z : f16[8, 32]\n"
    "O = mul(mul(relu(X), relu(Y)), relu(Z))\n" },
  { "relus of two products", "input X : f16[8, 16]\ninput A : f16[16, 16]\ninput B : f16[16, 16]\n"
    "O = mul(relu(matmul(X, A)), relu(matmul(X, B)))\n" },
  { "a clamp", "input X : f16[8, 16]\ninput W : f16[16, 16]\nm = matmul(X, W)\n"
    "a = add_scalar(relu(add_scalar(m, -1)), 1)\nO = neg(add_scalar(relu(add_scalar(neg(a), 2)), -2))\n" },
  { "a leaky relu", "input X : f16[8, 16]\ninput W : f16[16, 16]\nm = matmul(X, W)\n"
    "O = sub(relu(m), scale(relu(neg(m)), 1/8))\n" },
  { "pooled, then a product", "input X : f16[8, 4, 16]\ninput W : f16[16, 16]\n"
    "O = matmul(reshape(max(X, dim=1), [8, 16]), W)\n" },
  { "a norm by the largest magnitude", "input X : f16[16, 32]\n"
    "O = div(X, add_scalar(max(add(relu(X), relu(neg(X))), dim=1), 1))\n" },
  { "the range of a row", "input X : f16[16, 32]\nO = add(max(X, dim=1), max(neg(X), dim=1))\n" },
  { "relu of a product's maximum", "input X : f16[8, 16]\ninput W : f16[16, 32]\n"
    "O = relu(max(matmul(X, W), dim=1))\n" },
};
enum { SEARCHED = sizeof searched / sizeof *searched };

static void searches(void **state) {
  (void)state;
  int n[4] = { 0 }, nothing = 0, wrong = 0;
  double start = clock_s(CLOCK_MONOTONIC);
  for (int k = 0; k < SEARCHED; k++)
    for (int j = 0; j < SEARCHES; j++) {
      static char text[TEXT];
      mg_search_config c = mg_search_config_default();
      mg_verify_config v = mg_verify_config_default();
      mg_verify_report r;
      mg_error e;
      text[0] = 0;
      put(text, "program searched\n%soutput O\n", searched[k].text);
      mg_graph *p = parse(text), *best = NULL;
      c.threads = 1, c.time_limit_s = 1, c.top_k = 2, c.seed = seed + (uint64_t)j;
      v.threads = 1, v.time_limit_s = 5, v.seed = seed + (uint64_t)j;
      mg_status s = mg_superoptimize(p, &c, &v, &best, &r, NULL, &e);
      if (s != MG_OK) nothing++;
      else {
        oracle_found way[ORACLE_WAYS];
        n[r.verdict]++;
        oracle_compare(p, best, seed + (uint64_t)j, 0, 60, 0, 1, way);
        if (way[0].found && !wrong++) show(p, best, &way[0], searched[k].name, r.reason);
        if (way[0].found)
          print_message("%s, seed %llu: wrong, with %s\n", searched[k].name, (unsigned long long)c.seed,
                        mg_verdict_name(r.verdict));
      }
      mg_graph_free(best), mg_graph_free(p);
    }
  print_message("%d searches: %d EQUAL, %d EQUAL_SAMPLED, %d UNDECIDED, %d without a result; %.1f s\n",
      SEARCHED * SEARCHES, n[MG_EQUAL], n[MG_EQUAL_SAMPLED], n[MG_UNDECIDED], nothing,
        clock_s(CLOCK_MONOTONIC) - start);
  assert_true(nothing < SEARCHED * SEARCHES);
  if (wrong) fail_msg("%d searches return a wrong µGraph", wrong);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(corpus_pairs), cmocka_unit_test(five_norms), cmocka_unit_test(many_seeds),
    cmocka_unit_test(searches), cmocka_unit_test(drawn_pairs) };
  const char *soak = getenv("SOAK_RARE");
  seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
  if (argc > 2) pairs = atoi(argv[2]);
  if (soak && atoi(soak) > 1) pairs *= atoi(soak);
  print_message("seed %llu\n", (unsigned long long)seed);
  read_corpus();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  for (int k = 0; k < n_corpus; k++) mg_graph_free(corpus[k].a), mg_graph_free(corpus[k].b);
  mg_string_free(printed[0]), mg_string_free(printed[1]);
  return failed;
}
