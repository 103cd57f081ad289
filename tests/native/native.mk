# Checks of the scoring core without Python: on this CPU, on AArch64 and older x86 CPUs under qemu, and with
# sanitizers.
CHECK_TOOLS = PATH="$(abspath $(BIN)):$$PATH"
comma := ,
CASES := build/kernel_cases.txt
ARM_CXX := aarch64-linux-gnu-g++
ARM_RUN := qemu-aarch64 -L /usr/aarch64-linux-gnu
ARM_FLAGS := -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=$(ARM_CXX)

.PHONY: test-native test-arm test-old-x86 test-sanitize

# $(call build_check,directory,options)
define build_check
	@$(CHECK_TOOLS) cmake -G Ninja -S tests/native -B $(1) $(2) > /dev/null
	@$(CHECK_TOOLS) cmake --build $(1)
endef

# $(call require,command,Debian package)
require = @command -v $(1) > /dev/null || { echo "$@: $(1) is missing; install the Debian package $(2)" >&2; exit 1; }

test: test-native

$(CASES): $(VENV)/.installed tests/native/write_cases.py tests/support/kernel_cases.py tests/support/oracle.py
	@mkdir -p build
	$(BIN)/python tests/native/write_cases.py $@

# A file compiled for one instruction set must not define shared symbols: the linker could choose its code for CPUs
# that cannot run it.
test-native: $(CASES)
	$(call build_check,build/check-native)
	build/check-native/kernel_check $(CASES)
	@! find build/check-native -name 'target_*.o' | xargs nm -A -C --defined-only | grep ' [VWu] '

# With EXALN_DATA, also checks all recorded scores.
test-arm: $(CASES)
	$(call require,$(ARM_CXX),g++-aarch64-linux-gnu)
	$(call require,qemu-aarch64,qemu-user)
	$(call build_check,build/check-arm,$(ARM_FLAGS))
	$(ARM_RUN) build/check-arm/kernel_check $(CASES)
	@! find build/check-arm -name 'target_*.o' | xargs nm -A -C --defined-only | grep ' [VWu] '
ifdef EXALN_DATA
	$(BIN)/python tests/native/write_cases.py --recorded build/recorded_scores.txt
	$(ARM_RUN) build/check-arm/kernel_check --whole build/recorded_scores.txt neon
endif

# CPUs without SSE4.1, and without AVX: instructions that they lack must not run.
test-old-x86: test-native
	$(call require,qemu-x86_64,qemu-user)
	qemu-x86_64 -cpu Conroe build/check-native/kernel_check $(CASES)
	qemu-x86_64 -cpu Nehalem build/check-native/kernel_check $(CASES)

SANITIZED = -DCMAKE_BUILD_TYPE=RelWithDebInfo "-DCMAKE_CXX_FLAGS=-fno-sanitize-recover=all -fsanitize=$(1)"
test-sanitize: $(CASES)
	$(call build_check,build/check-address,$(call SANITIZED,address$(comma)undefined))
	build/check-address/kernel_check $(CASES)
	$(call build_check,build/check-thread,$(call SANITIZED,thread))
	build/check-thread/kernel_check --threads $(CASES)
