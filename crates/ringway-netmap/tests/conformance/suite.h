/* A case is a function with a name. It runs in a process of its own, ends well when it returns, and ends that process at the first
 * check that does not hold. */
#ifndef SUITE_H
#define SUITE_H

#include <stdio.h>

struct test {
	const char *name;
	const char *file;
	void (*run)(void);
	struct test *next;
};

void suite_add(struct test *test);

/* A case:  TEST(rings_are_found) { CHECK(...); } */
#define TEST(id)                                                                        \
	static void id(void);                                                           \
	__attribute__((constructor)) static void add_##id(void)                         \
	{                                                                               \
		static struct test test = {.name = #id, .file = __FILE__, .run = id};   \
		suite_add(&test);                                                       \
	}                                                                               \
	static void id(void)

__attribute__((noreturn, format(printf, 3, 4))) void suite_fail(const char *file, int line, const char *text, ...);
__attribute__((noreturn, format(printf, 1, 2))) void suite_skip(const char *text, ...);

#define FAIL(...) suite_fail(__FILE__, __LINE__, __VA_ARGS__)
#define SKIP(...) suite_skip(__VA_ARGS__)

#define CHECK(what)                                \
	do {                                       \
		if (!(what))                       \
			FAIL("not so: %s", #what); \
	} while (0)

/* Two numbers that must be equal. */
#define SAME(is, should)                                                                          \
	do {                                                                                      \
		long long is_ = (long long)(is), should_ = (long long)(should);                   \
		if (is_ != should_)                                                               \
			FAIL("%s is %lld, not %s = %lld", #is, is_, #should, should_);            \
	} while (0)

/* A call that must fail with this errno. */
#define FAILS(call, error)                                                                                \
	do {                                                                                              \
		errno = 0;                                                                                \
		long result_ = (long)(call);                                                              \
		if (result_ != -1)                                                                        \
			FAIL("%s is %ld, not -1 with %s", #call, result_, strerror(error));               \
		if (errno != (error))                                                                     \
			FAIL("%s fails with '%s', not '%s'", #call, strerror(errno), strerror(error));    \
	} while (0)

/* A call that must not fail. */
#define WORKS(call)                                                            \
	do {                                                                   \
		if ((long)(call) == -1)                                        \
			FAIL("%s fails: %s", #call, strerror(errno));          \
	} while (0)

#endif
