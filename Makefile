# A thin front for meson: the README shows the meson commands themselves.
BUILD ?= build

.PHONY: all deps build demo test check deb site bench corrections audits papers install clean

all: build

deps:
	@scripts/install-deps

$(BUILD)/build.ninja: | deps
	@meson setup $(BUILD) >/dev/null || { cat $(BUILD)/meson-logs/meson-log.txt; exit 1; }

build: $(BUILD)/build.ninja
	@ninja -C $(BUILD) --quiet

demo: build
	@scripts/demo $(BUILD)

test: build
	@meson test -C $(BUILD) --print-errorlogs

# Debian packages of the commit that is checked out: libtacit0, libtacit-dev, tacit, python3-tacit, r-cran-tacit.
deb:
	@scripts/install-deps deb
	@packaging/debian/build $(BUILD)/deb

# The site, of docs/, the headers' comments and the program's help: BUILD/site/index.html.
site: build
	@scripts/install-deps docs
	@scripts/site $(BUILD)

# Everything: what CI runs (sanitizers, a second compiler, valgrind, fuzzing, packages), then all tests with all their repeats, and the quick
# ones at their usual length under sanitizers.
check:
	@.ci/run
	@meson test -C $(BUILD) --setup full --print-errorlogs
	@ASAN_OPTIONS=detect_leaks=1 meson test -C build-ci-clang -t 6 --print-errorlogs

bench: build
	@ninja -C $(BUILD) --quiet run-bench

corrections: build
	@ninja -C $(BUILD) --quiet experiments/tacit-corrections
	@$(BUILD)/experiments/tacit-corrections --out $(BUILD)/corrections

audits: build
	@ninja -C $(BUILD) --quiet experiments/tacit-audits
	@$(BUILD)/experiments/tacit-audits --out $(BUILD)/audits

# Data that may not be shipped are looked for in TACIT_SHARED/data; simulated stand-ins take their place.
papers: build
	@ninja -C $(BUILD) --quiet experiments/tacit-papers
	@$(BUILD)/experiments/tacit-papers --out $(BUILD)/papers

install: build
	@meson install -C $(BUILD)

clean:
	@rm -rf $(BUILD)
