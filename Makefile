# Every target does its own set-up. Needs Debian 12 or later and Rust.
.PHONY: all demo test lint bench docs clean setup install

CARGO ?= cargo
TARGET ?= $(or $(CARGO_TARGET_DIR),target)/release
PREFIX ?= /usr/local

all: setup
	$(CARGO) build --release --workspace

setup:
	@scripts/setup

demo: setup
	$(CARGO) run --release --quiet -p ringway-cli -- demo

test:
	@scripts/setup --test
	@CARGO="$(CARGO)" scripts/test

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --quiet

bench:
	@scripts/setup --bench
	$(CARGO) run --release --quiet -p ringway-cli -- bench io
	$(CARGO) run --release --quiet -p ringway-cli -- bench vale
	$(CARGO) run --release --quiet -p ringway-cli -- bench fib
	$(CARGO) run --release --quiet -p ringway-cli -- bench l3
	$(CARGO) run --release --quiet -p ringway-cli -- bench tester
	$(CARGO) build --release --quiet -p ringway-pcap -p ringway-socket
	$(CARGO) run --release --quiet -p ringway-cli -- bench pcap

# The command, and where it looks for them the libraries that `ringway run` puts under programs. Build with `make all` first.
install:
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib/ringway
	install -m 755 $(TARGET)/ringway $(DESTDIR)$(PREFIX)/bin/
	install -m 644 $(wildcard $(TARGET)/libringway_*.so) $(DESTDIR)$(PREFIX)/lib/ringway/
	for name in libpcap.so.0.8 libpcap.so.1 libpcap.so; do \
		ln -sf libringway_pcap.so $(DESTDIR)$(PREFIX)/lib/ringway/$$name; \
	done

docs: setup
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

clean:
	$(CARGO) clean
	rm -f ringway-demo.html
