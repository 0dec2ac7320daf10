/* A program that a filter keeps from the system calls by which the library looks at its memory. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

static void confine(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_writev, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
	FAILS(process_vm_readv(getpid(), NULL, 0, NULL, 0, 0), EPERM);
}

int main(void)
{
	struct nmreq request = { .nr_version = 13 };
	int fd = open("/dev/netmap", O_RDWR);

	CHECK(fd >= 0);
	confine();
	FAILS(ioctl(fd, NIOCREGIF, (void *)8), EFAULT);
	FAILS(ioctl(fd, NIOCCTRL, (void *)-4096L), EFAULT);
	CHECK(ioctl(fd, NIOCREGIF, &request) == -1 && errno != EFAULT);
	fd = open("/dev/netmap", O_RDWR | O_CREAT, 0600);
	CHECK(fd >= 0 && UNBOUND(fd));
	return 0;
}
