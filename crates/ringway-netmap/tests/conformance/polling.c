/* poll: what it syncs, what it says, what it sleeps for. */
#include <signal.h>
#include <pthread.h>
#include <sys/time.h>

#include "frames.h"
#include "process.h"

TEST(an_unbound_descriptor_is_an_error_of_poll)
{
	struct port p;

	prepare(&p, NR_REG_ALL_NIC, 0, 0);
	p.fd = device();
	CHECK(poll_port(&p, POLLIN, 1000) & POLLERR);
	CHECK(poll_port(&p, POLLOUT, 1000) & POLLERR);
	CHECK(poll_port(&p, POLLIN | POLLOUT, -1) & POLLERR);
}

TEST_LINKS(a_fresh_port_may_send, p)
{
	SAME(poll_port(&p->a, POLLOUT, 1000), POLLOUT);
	SAME(poll_port(&p->a, POLLIN | POLLOUT, 1000), POLLOUT);
}

TEST_LINKS(a_fresh_port_has_nothing_to_read, p)
{
	long start_at;

	SAME(poll_port(&p->a, POLLIN, 0), 0);
	start_at = milliseconds();
	SAME(poll_port(&p->a, POLLIN, 100), 0);
	CHECK(milliseconds() - start_at >= 99);
}

TEST_LINKS(poll_is_a_sync_of_the_reader, p)
{
	uint32_t i;

	for (i = 0; i < 5; i++) {
		send_frame(&p->a, i, 60);
		SAME(poll_port(&p->b, POLLIN, WAIT_MS), POLLIN);
		CHECK(!nm_ring_empty(rx(&p->b)));
		check_frame(buffer(rx(&p->b), slot_at(rx(&p->b), 0)), slot_at(rx(&p->b), 0)->len, i, 60);
		advance(rx(&p->b), 1);
	}
}

TEST_LINKS(poll_for_room_is_a_sync_of_the_writer, p)
{
	put_frame(tx(&p->a), 1, 60);
	SAME(poll_port(&p->a, POLLOUT, WAIT_MS), POLLOUT);
	expect_frame(&p->b, 1, 60);
}

TEST_LINKS(poll_for_input_sends_too, p)
{
	put_frame(tx(&p->a), 1, 60);
	poll_port(&p->a, POLLIN, 0);
	expect_frame(&p->b, 1, 60);
}

/* Programs that only poll, on both sides, move everything. */
TEST_LINKS(poll_may_be_the_only_sync, p)
{
	uint32_t total = 3 * tx(&p->a)->num_slots, sent = 0, got = 0, i;

	while (got < total) {
		SAME(poll_port(&p->a, POLLOUT, WAIT_MS), POLLOUT);
		for (i = 0; i < 20 && sent < total && !nm_ring_empty(tx(&p->a)); i++)
			put_frame(tx(&p->a), sent++, 60);
		poll_port(&p->a, POLLOUT, 0);
		SAME(poll_port(&p->b, POLLIN, WAIT_MS), POLLIN);
		for (; !nm_ring_empty(rx(&p->b)); got++) {
			struct netmap_slot *slot = slot_at(rx(&p->b), 0);

			check_frame(buffer(rx(&p->b), slot), slot->len, got, 60);
			advance(rx(&p->b), 1);
		}
	}
}

/* The flag: a poll that does not ask for room sends nothing. */
static void no_tx_poll(const char *a, const char *b)
{
	struct port from, to;

	bind_port(&from, a, NR_REG_ALL_NIC, 0, NR_NO_TX_POLL);
	open_port(&to, b);
	put_frame(tx(&from), 1, 60);
	poll_port(&from, POLLIN, 0);
	poll_port(&from, POLLIN, 10);
	expect_none(&to);
	SAME(poll_port(&from, POLLOUT, WAIT_MS), POLLOUT);
	expect_frame(&to, 1, 60);
}

TEST(no_tx_poll_on_veth) { no_tx_poll(interface_a(), interface_b()); }
TEST(no_tx_poll_on_switch) { no_tx_poll(switch_name("a"), switch_name("b")); }
TEST(no_tx_poll_on_pipe) { no_tx_poll(virtual_name("{1"), virtual_name("}1")); }

/* The flag: a poll that only asks for room receives too. */
static void do_rx_poll(const char *a, const char *b)
{
	struct port from, to;
	long end = milliseconds() + WAIT_MS;

	open_port(&from, a);
	bind_port(&to, b, NR_REG_ALL_NIC, 0, NR_DO_RX_POLL);
	send_frame(&from, 1, 60);
	while (nm_ring_empty(rx(&to)) && milliseconds() < end) {
		poll_port(&to, POLLOUT, 0);
		rest(1);
	}
	CHECK(!nm_ring_empty(rx(&to)));
}

TEST(do_rx_poll_on_veth) { do_rx_poll(interface_a(), interface_b()); }
TEST(do_rx_poll_on_switch) { do_rx_poll(switch_name("a"), switch_name("b")); }
TEST(do_rx_poll_on_pipe) { do_rx_poll(virtual_name("{1"), virtual_name("}1")); }

static void send_later(void *pair)
{
	struct pair *p = (struct pair *)pair;

	rest(150);
	send_frame(&p->a, 1, 60);
	drain(&p->a);
}

/* Another process sends while this one sleeps. */
TEST_LINKS(a_sleeper_is_woken_by_a_frame, p)
{
	pid_t other = start(send_later, p);
	long start_at = milliseconds();

	SAME(poll_port(&p->b, POLLIN, 10000), POLLIN);
	CHECK(milliseconds() - start_at < 5000);
	expect_frame(&p->b, 1, 60);
	sync_rx(&p->b);
	join(other);
}

static void read_later(void *pair)
{
	struct pair *p = (struct pair *)pair;

	rest(150);
	sync_rx(&p->b);
	advance(rx(&p->b), nm_ring_space(rx(&p->b)));
	sync_rx(&p->b);
}

/* The writer of a full pipe sleeps until the reader gives slots back. */
TEST(a_writer_is_woken_by_the_reader_of_a_pipe)
{
	struct pair p;
	pid_t other;
	long start_at;

	open_pair(&p, PIPE);
	while (!nm_ring_empty(tx(&p.a))) {
		put_frame(tx(&p.a), 0, 60);
		sync_tx(&p.a);
	}
	SAME(poll_port(&p.a, POLLOUT, 50), 0);
	other = start(read_later, &p);
	start_at = milliseconds();
	SAME(poll_port(&p.a, POLLOUT, 10000), POLLOUT);
	CHECK(milliseconds() - start_at < 5000);
	join(other);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int signal)
{
	(void)signal;
	alarms++;
}

static void alarm_in(int ms)
{
	struct sigaction action;
	struct itimerval timer;

	memset(&action, 0, sizeof(action));
	memset(&timer, 0, sizeof(timer));
	action.sa_handler = on_alarm;
	timer.it_value.tv_usec = ms * 1000;
	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
}

TEST_LINKS(a_signal_ends_the_sleep, p)
{
	struct pollfd one = {.fd = p->b.fd, .events = POLLIN};

	alarm_in(100);
	FAILS(poll(&one, 1, 10000), EINTR);
	SAME(alarms, 1);
	send_frame(&p->a, 1, 60);
	expect_frame(&p->b, 1, 60);
}

/* One thread waits to read while another writes by the same descriptor, at most so many frames ahead. */
enum { AHEAD = 100 };
static uint32_t echoed;

static void *write_many(void *pair)
{
	struct pair *p = (struct pair *)pair;
	uint32_t sent = 0;

	while (sent < 2000) {
		struct pollfd one = {.fd = p->a.fd, .events = POLLOUT};

		if (poll(&one, 1, WAIT_MS) != 1)
			return (void *)1;
		while (sent < 2000 && sent < __atomic_load_n(&echoed, __ATOMIC_ACQUIRE) + AHEAD && !nm_ring_empty(tx(&p->a)))
			put_frame(tx(&p->a), sent++, 60);
	}
	drain(&p->a);
	return NULL;
}

static void echo(void *pair)
{
	struct pair *p = (struct pair *)pair;
	uint32_t got;

	for (got = 0; got < 2000; got++) {
		struct netmap_slot *slot = await_frame(&p->b, WAIT_MS);

		if (!slot)
			FAIL("frame %u does not come to the echo", got);
		while (nm_ring_empty(tx(&p->b)))
			sync_tx(&p->b);
		put_frame(tx(&p->b), frame_number(buffer(rx(&p->b), slot)), 60);
		advance(rx(&p->b), 1);
		if (got % 16 == 15)
			sync_tx(&p->b);
	}
	sync_rx(&p->b);
	drain(&p->b);
}

TEST_LINKS(one_thread_reads_while_another_writes, p)
{
	pthread_t writer;
	pid_t other = start(echo, p);
	uint32_t got = 0;
	void *result;

	SAME(pthread_create(&writer, NULL, write_many, p), 0);
	while (got < 2000) {
		struct netmap_slot *slot;

		SAME(poll_port(&p->a, POLLIN, WAIT_MS), POLLIN);
		for (; !nm_ring_empty(rx(&p->a)); got++, advance(rx(&p->a), 1)) {
			slot = slot_at(rx(&p->a), 0);
			SAME(frame_number(buffer(rx(&p->a), slot)), got);
		}
		__atomic_store_n(&echoed, got, __ATOMIC_RELEASE);
	}
	sync_rx(&p->a);
	pthread_join(writer, &result);
	CHECK(result == NULL);
	join(other);
}
