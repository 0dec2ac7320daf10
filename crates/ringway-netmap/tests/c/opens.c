/* Every name under which a program may open the device, or ask whether it is there. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include "check.h"

int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int at, const char *path, int flags);
int __openat64_2(int at, const char *path, int flags);

static void is_device(int fd, int flags)
{
	CHECK(fd >= 0);
	CHECK(UNBOUND(fd));
	CHECK(!!(fcntl(fd, F_GETFD) & FD_CLOEXEC) == !!(flags & O_CLOEXEC));
	CHECK((fcntl(fd, F_GETFL) & O_NONBLOCK) == (flags & O_NONBLOCK));
	CHECK(close(fd) == 0);
	FAILS(ioctl(fd, NIOCTXSYNC, NULL), EBADF);
}

static void opens(int flags)
{
	const char *path = "/dev/netmap";

	is_device(open(path, flags), flags);
	is_device(open64(path, flags), flags);
	is_device(openat(AT_FDCWD, path, flags), flags);
	is_device(openat64(AT_FDCWD, path, flags), flags);
	is_device(openat(-1, path, flags), flags);
	is_device(__open_2(path, flags), flags);
	is_device(__open64_2(path, flags), flags);
	is_device(__openat_2(AT_FDCWD, path, flags), flags);
	is_device(__openat64_2(AT_FDCWD, path, flags), flags);
	/* A shell opens so; no file may be there after it. */
	is_device(open(path, flags | O_CREAT, 0600), flags);
}

static void others(void)
{
	int fd = open("/dev/null", O_RDWR);
	int made;
	char path[] = "/tmp/netmap-test-XXXXXX";

	CHECK(fd >= 0);
	FAILS(ioctl(fd, NIOCTXSYNC, NULL), ENOTTY);
	CHECK(write(fd, "x", 1) == 1 && close(fd) == 0);
	FAILS(open("/dev/netmap2", O_RDWR), ENOENT);
	FAILS(open("/dev/netma", O_RDWR), ENOENT);
	FAILS(open((const char *)8, O_RDWR), EFAULT);
	FAILS(open((const char *)8, O_RDWR | O_CREAT, 0600), EFAULT);
	FAILS(open("/dev/netmap", O_PATH), ENOENT);
	made = mkstemp(path);
	CHECK(made >= 0 && close(made) == 0);
	made = open(path, O_RDWR | O_CREAT | O_TRUNC, 0640);
	CHECK(made >= 0 && close(made) == 0 && unlink(path) == 0);
	made = open(path, O_RDWR | O_CREAT | O_EXCL, 0640);
	CHECK(made >= 0);
	struct stat st;
	CHECK(fstat(made, &st) == 0 && (st.st_mode & 0777 & ~0640) == 0 && (st.st_mode & 0400));
	CHECK(close(made) == 0 && unlink(path) == 0);
}

typedef int old_stat(int version, const char *path, struct stat *to);

static void exists(void)
{
	const char *path = "/dev/netmap";
	struct stat st;
	struct stat64 st64;
	struct statx stx;

	CHECK(access(path, F_OK) == 0 && access(path, R_OK | W_OK) == 0);
	FAILS(access(path, X_OK), EACCES);
	CHECK(faccessat(AT_FDCWD, path, R_OK, 0) == 0);
	CHECK(stat(path, &st) == 0 && S_ISCHR(st.st_mode) && major(st.st_rdev) == 10);
	CHECK(lstat(path, &st) == 0 && S_ISCHR(st.st_mode));
	CHECK(fstatat(AT_FDCWD, path, &st, 0) == 0 && S_ISCHR(st.st_mode));
	CHECK(stat64(path, &st64) == 0 && S_ISCHR(st64.st_mode));
	CHECK(lstat64(path, &st64) == 0 && S_ISCHR(st64.st_mode));
	CHECK(fstatat64(AT_FDCWD, path, &st64, 0) == 0 && S_ISCHR(st64.st_mode));
	CHECK(statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &stx) == 0 && S_ISCHR(stx.stx_mode));
	for (int i = 0; i < 2; i++) {
		old_stat *old = (old_stat *)dlsym(RTLD_DEFAULT, i ? "__lxstat" : "__xstat");
		CHECK(old && old(1, path, &st) == 0 && S_ISCHR(st.st_mode));
	}
	CHECK(stat("/dev/null", &st) == 0 && major(st.st_rdev) == 1);
	FAILS(stat("/dev/netmap2", &st), ENOENT);
	FAILS(stat((const char *)8, &st), EFAULT);
	FAILS(access("/dev/netmap/x", F_OK), ENOENT);
}

static void requests(void)
{
	int fd = open("/dev/netmap", O_RDWR);
	void *wild[] = { NULL, (void *)8, (void *)-4096L, (void *)(1L << 62) };
	char byte, bytes[256] = "";
	struct iovec piece = { bytes, sizeof(bytes) };

	CHECK(fd >= 0);
	for (unsigned int i = 0; i < sizeof(wild) / sizeof(*wild); i++) {
		FAILS(ioctl(fd, NIOCCTRL, wild[i]), EFAULT);
		FAILS(ioctl(fd, NIOCREGIF, wild[i]), EFAULT);
	}
	/* A number in an int has its sign extended. */
	FAILS(ioctl(fd, (unsigned long)(int)NIOCREGIF, wild[1]), EFAULT);
	FAILS(ioctl(fd, NIOCRXSYNC, NULL), ENXIO);
	CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	CHECK(errno == ENXIO || errno == EINVAL || errno == ENODEV);
	FAILS(read(fd, &byte, 1), EINVAL);
	FAILS(write(fd, bytes, 1), EINVAL);
	FAILS(readv(fd, &piece, 1), EINVAL);
	FAILS(writev(fd, &piece, 1), EINVAL);
	FAILS(recv(fd, bytes, sizeof(bytes), 0), ENOTSOCK);
	FAILS(recvfrom(fd, bytes, sizeof(bytes), MSG_PEEK, NULL, NULL), ENOTSOCK);
	struct msghdr msg = { .msg_iov = &piece, .msg_iovlen = 1 };
	FAILS(recvmsg(fd, &msg, 0), ENOTSOCK);
	FAILS(sendmsg(fd, &msg, 0), ENOTSOCK);
	FAILS(send(fd, bytes, 1, 0), ENOTSOCK);
	CHECK(UNBOUND(fd));
	CHECK(close(fd) == 0);
	void *plain = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	CHECK(plain != MAP_FAILED && munmap(plain, 4096) == 0);
}

int main(void)
{
	opens(O_RDWR);
	opens(O_RDWR | O_CLOEXEC);
	opens(O_RDWR | O_NONBLOCK);
	opens(O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	others();
	exists();
	requests();
	return 0;
}
