# Every target does its own set-up. Needs Debian 12 or later and Rust.
.PHONY: all demo test test-kernels test-package test-image test-boot fuzz miri lint bench bench-report docs clean setup install package

CARGO ?= cargo
TARGET ?= $(or $(CARGO_TARGET_DIR),target)/release
# What `make all` builds, and `make install` takes.
BUILT ?= $(TARGET)/install
PREFIX ?= /usr/local
# Where `make package` puts packages.
PACKAGES ?= $(or $(CARGO_TARGET_DIR),target)/packages

# The command without benchmarks, and the libraries, which `make install` takes. `make demo` and `make bench` build the command with them.
all: setup
	$(CARGO) build --release -p ringway-cli --no-default-features
	$(CARGO) build --release -p ringway-preload -p ringway-netmap
	$(CARGO) build --release -p ringway-c
	@install -d $(BUILT)
	crates/ringway-c/c-library link $(TARGET)/libringway_c.a $(BUILT)
	crates/ringway-dpdk/build $(BUILT)
	@install -m 755 $(TARGET)/ringway $(TARGET)/libringway_preload.so $(TARGET)/libringway_netmap.so $(BUILT)/
	@scripts/man-pages $(BUILT)/ringway $(BUILT)/man

setup:
	@scripts/setup

demo: setup
	$(CARGO) run --release --quiet -p ringway-cli -- demo

test:
	@scripts/setup --test
	@CARGO="$(CARGO)" scripts/test

# Debian's kernels in VMs, each kind of interface, all that Ringway does; writes docs/support.md. Some hours where QEMU has to emulate
# processors; `scripts/test-kernels --help` tells how to try a part, or with hardware virtualisation.
test-kernels:
	@scripts/setup --kernels
	$(CARGO) build -p ringway-cli -p ringway-preload -p ringway-netmap
	scripts/test-kernels

# Each target 20 seconds; `scripts/fuzz` tells how to run one for longer.
fuzz:
	@scripts/setup --fuzz
	@CARGO="$(CARGO)" scripts/fuzz --self-test
	@CARGO="$(CARGO)" scripts/fuzz

# Unsafe code without the kernel, in the interpreter that finds undefined behaviour.
miri:
	@scripts/setup
	CARGO="$(CARGO)" scripts/toolchains miri

lint:
	@scripts/setup --fuzz
	scripts/check-prose
	scripts/book check
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	$(CARGO) clippy -p ringway-cli --no-default-features --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --quiet
	CARGO="$(CARGO)" scripts/fuzz --lint
	scripts/check-layers
	CARGO="$(CARGO)" scripts/public-api --check
	CARGO="$(CARGO)" scripts/toolchains deny msrv

bench:
	@scripts/setup --bench
	$(CARGO) run --release --quiet -p ringway-cli -- bench io
	$(CARGO) run --release --quiet -p ringway-cli -- bench vale
	$(CARGO) run --release --quiet -p ringway-cli -- bench memif
	$(CARGO) run --release --quiet -p ringway-cli -- bench containers
	$(CARGO) run --release --quiet -p ringway-cli -- bench fib
	$(CARGO) run --release --quiet -p ringway-cli -- bench l3
	$(CARGO) run --release --quiet -p ringway-cli -- bench tester
	$(CARGO) run --release --quiet -p ringway-cli -- bench engine
	$(CARGO) run --release --quiet -p ringway-cli -- bench flows
	$(CARGO) build --release --quiet -p ringway-preload
	$(CARGO) run --release --quiet -p ringway-cli -- bench pcap
	$(CARGO) build --release --quiet -p ringway-netmap
	$(CARGO) run --release --quiet -p ringway-cli -- bench netmap
	$(CARGO) build --release --quiet -p ringway-python
	$(CARGO) run --release --quiet -p ringway-cli -- bench python

# The kernel's bridge and Ringway's switch, the same command but for --dut: throughput, latency and loss, with what the tester does by
# itself; JSON, CSV and a page of each, and the differences. Some minutes: SECONDS is the length of a trial, SIZES and LINK are frame sizes
# and speed. On a machine with two CPUs the tester's threads are seldom left alone for a second: what is late is made up for (--catch-up).
REPORT ?= bench-report
SIZES ?= rfc
LINK ?= 10G
SECONDS ?= 0.5
RFC2544 = $(TARGET)/ringway rfc2544 --self-test --test throughput,latency,loss --search binary-verify --resolution 0.2 --sizes $(SIZES) \
	--link $(LINK) --seconds $(SECONDS) --latency-seconds $(SECONDS) --latency-repeat 3 --wait 0.2 --pause 0.1 --retries 2 --slots 16384 \
	--catch-up 16384 --cpus 0,1

bench-report:
	@scripts/setup --bench
	$(CARGO) build --release --quiet -p ringway-cli
	@mkdir -p $(REPORT)
	@for dut in linux-bridge ringway-switch; do \
		echo "$$dut:" >&2; \
		$(RFC2544) --dut $$dut --save $(REPORT)/$$dut.json --page $(REPORT)/$$dut.html --csv $(REPORT)/$$dut >$(REPORT)/$$dut.txt || status=$$?; \
		cat $(REPORT)/$$dut.txt; \
	done; \
	$(TARGET)/ringway rfc2544 diff $(REPORT)/linux-bridge.json $(REPORT)/ringway-switch.json | tee $(REPORT)/diff.txt; \
	echo "$(REPORT) has the pages, tables and numbers" >&2; exit $${status:-0}

# The command, where it looks for them the libraries that `ringway run` puts under programs, the C library with its header, netmap's
# headers in a folder of their own, man pages and completions. Build with `make all` first.
NETMAP_HEADERS = $(DESTDIR)$(PREFIX)/include/ringway-netmap
install:
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/ringway
	install -m 755 $(BUILT)/ringway $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(BUILT)/libringway_preload.so $(BUILT)/libringway_netmap.so $(DESTDIR)$(PREFIX)/lib/ringway/
	if [ -e $(BUILT)/libringway_dpdk.so ]; then \
		install -m 644 $(BUILT)/libringway_dpdk.so $(DESTDIR)$(PREFIX)/lib/ringway/; \
	fi
	for name in libpcap.so.0.8 libpcap.so.1 libpcap.so; do \
		ln -sf libringway_preload.so $(DESTDIR)$(PREFIX)/lib/ringway/$$name; \
	done
	crates/ringway-c/c-library install $(BUILT) $(PREFIX) $(DESTDIR)
	install -d $(NETMAP_HEADERS)/net
	install -d $(DESTDIR)$(PREFIX)/share/ringway
	for unit in ringway-memif@.service ringway.service; do \
		sed -e 's|/usr/local/bin|$(PREFIX)/bin|' scripts/systemd/$$unit >$(DESTDIR)$(PREFIX)/share/ringway/$$unit; \
		chmod 644 $(DESTDIR)$(PREFIX)/share/ringway/$$unit; \
	done
	install -D -m 644 -t $(DESTDIR)$(PREFIX)/share/ringway/monitoring crates/ringway-watch/monitoring/*
	install -D -m 755 crates/ringway-cli/extcap/ringway $(DESTDIR)$(PREFIX)/share/ringway/extcap/ringway
	install -D -m 755 crates/ringway-cli/cni/ringway $(DESTDIR)$(PREFIX)/share/ringway/cni/ringway
	install -m 644 crates/ringway-netmap/include/libnetmap.h $(NETMAP_HEADERS)/
	install -m 644 crates/ringway-netmap/include/net/*.h $(NETMAP_HEADERS)/net/
	sed -e 's|@PREFIX@|$(PREFIX)|' -e "s|@VERSION@|$$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)|" \
		crates/ringway-netmap/ringway-netmap.pc.in >$(DESTDIR)$(PREFIX)/lib/pkgconfig/ringway-netmap.pc
	chmod 644 $(DESTDIR)$(PREFIX)/lib/pkgconfig/ringway-netmap.pc
	for section in 1 5 7; do \
		install -d $(DESTDIR)$(PREFIX)/share/man/man$$section; \
		install -m 644 $(BUILT)/man/*.$$section $(DESTDIR)$(PREFIX)/share/man/man$$section/; \
	done
	install -D -m 644 scripts/completions/ringway.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/ringway
	install -D -m 644 scripts/completions/_ringway $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_ringway
	install -D -m 644 scripts/completions/ringway.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/ringway.fish

# Debian packages, in which lintian finds no error, and a tarball for other systems.
package:
	@scripts/setup --package
	$(MAKE) all
	$(CARGO) build --release -p ringway-python
	@install -m 755 $(TARGET)/libringway_python.so $(BUILT)/
	scripts/package $(BUILT) $(PACKAGES)
	lintian --allow-root --fail-on error $(PACKAGES)/*.deb

# Installs, uses and purges them in fresh roots of Debian 12 and 13.
test-package: package
	$(CARGO) build -p ringway-cli
	scripts/test-package --demo $(or $(CARGO_TARGET_DIR),target)/debug/ringway $(PACKAGES)

# Builds the image of containers from them, and runs ports, a switch and a router in containers.
test-image: package
	scripts/test-image $(PACKAGES)

# Boots systemd with their units in fresh roots of Debian 12 and 13.
test-boot: package
	scripts/test-boot $(PACKAGES)

# The reference of all crates in target/doc, and the book of all pages in target/book, with a look at each of its links.
docs: setup
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps
	CARGO="$(CARGO)" scripts/toolchains book

clean:
	$(CARGO) clean
	rm -f ringway-demo.html
