# Every target does its own set-up. Needs Debian 12 or later and Rust.
.PHONY: all demo test lint bench docs clean setup

CARGO ?= cargo

all: setup
	$(CARGO) build --release --workspace

setup:
	@scripts/setup

demo: setup
	$(CARGO) run --release --quiet -p ringway-cli -- demo

test:
	@scripts/setup --test
	$(CARGO) build --workspace
	$(CARGO) test --workspace --no-fail-fast

lint: setup
	$(CARGO) fmt --all --check
	$(CARGO) clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps --document-private-items --quiet

bench:
	@scripts/setup --bench
	$(CARGO) run --release --quiet -p ringway-cli -- bench io
	$(CARGO) run --release --quiet -p ringway-cli -- bench vale

docs: setup
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --workspace --no-deps

clean:
	$(CARGO) clean
	rm -f ringway-demo.html
