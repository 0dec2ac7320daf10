// SPDX-License-Identifier: MIT OR Apache-2.0
//
// DPDK's rte_fib and rte_fib6 as their API is meant to be used: bursts of 64 keys.
//
//   peer-fib 4|6 avx512|scalar
//
// Reads commands from stdin, one a line, and answers each with one line of JSON:
//
//   load ROUTES                   a new table; "seconds" it took.
//   lookup KEYS ANSWERS SECONDS   passes over all keys; "seconds" of the fastest one; the answers of the first go to a file.
//   update ROUTES                 adds routes, next hop 0 withdraws; "seconds" for all.
//
// Files are arrays: routes as struct route, keys as 32 bits in host order or 16 bytes in network order, answers as 16 bits.
//
// DPDK runs without huge pages of its own; its memory is put on the kernel's transparent ones, as that of the other systems is.
#include "peer-dpdk.h"

#include <fcntl.h>
#include <rte_fib.h>
#include <rte_fib6.h>
#include <rte_memory.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define BURST 64u
#define SPARE_ROUTES 200000 // for updates; what is set aside for routes is memory
#define TBL8_V4 16383u
#define TBL8_V6 524288u

struct route {
	uint8_t addr[16]; // IPv4: 32 bits in host order first
	uint16_t next_hop;
	uint8_t len, padding[5];
};

struct file {
	void *bytes;
	size_t size;
};

static bool v6, avx512;
static struct rte_fib *fib4;
static struct rte_fib6 *fib6;

static struct file open_file(const char *name, size_t create)
{
	struct file f = { NULL, create };
	int fd = open(name, create ? O_RDWR | O_CREAT | O_TRUNC : O_RDONLY, 0600);
	struct stat s;
	if (fd < 0 || fstat(fd, &s) || (create && ftruncate(fd, (off_t)create))) fail_os("%s", name);
	if (!create) f.size = (size_t)s.st_size;
	f.bytes = mmap(NULL, f.size, create ? PROT_READ | PROT_WRITE : PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	if (f.bytes == MAP_FAILED) fail_os("%s", name);
	close(fd);
	return f;
}

static void free_table(void)
{
	rte_fib_free(fib4);
	rte_fib6_free(fib6);
	fib4 = NULL;
	fib6 = NULL;
}

static void make_table(size_t routes)
{
	if (!v6) {
		struct rte_fib_conf conf = { .type = RTE_FIB_DIR24_8, .max_routes = (int)routes + SPARE_ROUTES };
		conf.dir24_8.nh_sz = RTE_FIB_DIR24_8_2B;
		conf.dir24_8.num_tbl8 = TBL8_V4;
		fib4 = rte_fib_create("v4", -1, &conf);
		if (!fib4) fail("rte_fib_create: %s", rte_strerror(rte_errno));
		if (rte_fib_select_lookup(fib4, avx512 ? RTE_FIB_LOOKUP_DIR24_8_VECTOR_AVX512
		                                       : RTE_FIB_LOOKUP_DIR24_8_SCALAR_MACRO))
			quit(EXIT_UNAVAILABLE, "rte_fib has no AVX-512 lookup on this processor");
		return;
	}
	struct rte_fib6_conf conf = { .type = RTE_FIB6_TRIE, .max_routes = (int)routes + SPARE_ROUTES };
	conf.trie.nh_sz = RTE_FIB6_TRIE_4B;
	conf.trie.num_tbl8 = TBL8_V6;
	fib6 = rte_fib6_create("v6", -1, &conf);
	if (!fib6) fail("rte_fib6_create: %s", rte_strerror(rte_errno));
	if (rte_fib6_select_lookup(fib6, avx512 ? RTE_FIB6_LOOKUP_TRIE_VECTOR_AVX512 : RTE_FIB6_LOOKUP_TRIE_SCALAR))
		quit(EXIT_UNAVAILABLE, "rte_fib6 has no AVX-512 lookup on this processor");
}

static int change(const struct route *r)
{
	uint32_t ip;
	memcpy(&ip, r->addr, sizeof ip);
	int e;
	if (v6) e = r->next_hop ? rte_fib6_add(fib6, r->addr, r->len, r->next_hop) : rte_fib6_delete(fib6, r->addr, r->len);
	else e = r->next_hop ? rte_fib_add(fib4, ip, r->len, r->next_hop) : rte_fib_delete(fib4, ip, r->len);
	return e == -ENOENT ? 0 : e; // the trace withdraws routes that nobody announced
}

static void apply(const char *name, bool anew)
{
	struct file f = open_file(name, 0);
	const struct route *routes = f.bytes;
	size_t n = f.size / sizeof *routes;
	if (anew) free_table(); // as all systems do, before the clock runs
	uint64_t start = now_ns();
	if (anew) make_table(n);
	for (size_t i = 0; i < n; i++) {
		int e = change(&routes[i]);
		if (e) fail("route %zu of %s: %s", i, name, strerror(-e));
	}
	printf("{\"seconds\":%.9f}\n", (double)(now_ns() - start) / 1e9);
	munmap(f.bytes, f.size);
}

static void pass(const uint8_t *keys, size_t n, uint16_t *answers)
{
	uint64_t found[BURST];
	for (size_t i = 0; i < n; i += BURST) {
		unsigned burst = n - i < BURST ? (unsigned)(n - i) : BURST;
		if (v6) rte_fib6_lookup_bulk(fib6, (uint8_t(*)[16])(uintptr_t)(keys + 16 * i), found, (int)burst);
		else rte_fib_lookup_bulk(fib4, (uint32_t *)(uintptr_t)(keys + 4 * i), found, (int)burst);
		if (answers)
			for (unsigned k = 0; k < burst; k++) answers[i + k] = (uint16_t)found[k];
	}
}

static void lookup(const char *keys_name, const char *answers_name, double seconds)
{
	struct file keys = open_file(keys_name, 0);
	size_t n = keys.size / (v6 ? 16 : 4);
	struct file answers = open_file(answers_name, n * sizeof(uint16_t));
	pass(keys.bytes, n, answers.bytes);
	uint64_t best = UINT64_MAX, end = now_ns() + (uint64_t)(seconds * 1e9), start;
	do {
		start = now_ns();
		pass(keys.bytes, n, NULL);
		uint64_t took = now_ns() - start;
		if (took < best) best = took;
	} while (start < end && !stopping);
	printf("{\"seconds\":%.9f}\n", (double)best / 1e9);
	munmap(keys.bytes, keys.size);
	munmap(answers.bytes, answers.size);
}

// Replaces the memory of a list of segments by anonymous memory with the same bytes, on large pages.
static int on_large_pages(const struct rte_memseg_list *list, void *unused)
{
	(void)unused;
	if (list->external || !list->len) return 0;
	void *copy = mmap(NULL, list->len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (copy == MAP_FAILED) fail_os("mmap of %zu bytes", list->len);
	static const uint8_t zero[4096];
	for (size_t at = 0; at < list->len; at += sizeof zero) {
		const uint8_t *page = (const uint8_t *)list->base_va + at;
		if (memcmp(page, zero, sizeof zero)) memcpy((uint8_t *)copy + at, page, sizeof zero);
	}
	if (mremap(copy, list->len, list->len, MREMAP_MAYMOVE | MREMAP_FIXED, list->base_va) == MAP_FAILED)
		fail_os("mremap");
	madvise(list->base_va, list->len, MADV_HUGEPAGE); // a wish
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 3) fail("usage: peer-fib 4|6 avx512|scalar");
	v6 = *argv[1] == '6';
	avx512 = *argv[2] == 'a';
	const char *cpu = getenv("PEER_CPU");
	static const char *const more[] = { "--force-max-simd-bitwidth=512", NULL };
	dpdk_start("peer-fib", "2048", cpu && *cpu ? cpu : "0", more);
	rte_memseg_list_walk(on_large_pages, NULL);
	peer_begin("peer-fib");
	peer_ready();
	char line[4096], a[2048], b[2048];
	double seconds;
	while (!stopping && fgets(line, sizeof line, stdin)) {
		if (sscanf(line, "load %2047s", a) == 1) apply(a, true);
		else if (sscanf(line, "update %2047s", a) == 1) apply(a, false);
		else if (sscanf(line, "lookup %2047s %2047s %lf", a, b, &seconds) == 3) lookup(a, b, seconds);
		else fail("no such command: %s", line);
		fflush(stdout);
	}
	return 0;
}
