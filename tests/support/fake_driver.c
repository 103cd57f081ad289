/* A libcuda.so.1 and libnvidia-ml.so.1 in one, for tests of what talks to the driver directly: says what the environment
   tells it to, and appends the calls that start it to the file FAKE_LOG. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int told(const char* name, int otherwise) {
    const char* text = getenv(name);
    return text ? atoi(text) : otherwise;
}

int cuDriverGetVersion(int* version) {
    *version = told("FAKE_CUDA", 13000);
    return 0;
}
static void note(const char* call, int number) {
    const char* path = getenv("FAKE_LOG");
    FILE* file = path ? fopen(path, "a") : NULL;
    if (file) fprintf(file, "%s %d\n", call, number), fclose(file);
}

__attribute__((constructor)) static void load(void) { usleep(1000 * told("FAKE_LOAD_MS", 0)); }

int cuInit(unsigned flags) {
    usleep(1000 * told("FAKE_INIT_MS", 0));
    note("cuInit", flags);
    return told("FAKE_INIT", 0);
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
    note("cuDevicePrimaryCtxRetain", device);
    *context = &note;
    return told("FAKE_RETAIN", 0);
}
int cuDeviceGetCount(int* count) {
    *count = told("FAKE_GPUS", 1);
    return 0;
}
int cuDeviceGet(int* device, int number) {
    *device = number;
    return 0;
}
int cuDeviceGetName(char* name, int size, int device) {
    snprintf(name, size, "Fake GPU %c", 'A' + device);
    return 0;
}
int cuDeviceGetPCIBusId(char* bus, int size, int device) {
    snprintf(bus, size, "0000:%02x:00.0", device);
    return 0;
}
int cuDeviceTotalMem_v2(size_t* bytes, int device) {
    *bytes = (size_t)80 << 30;
    return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
    int capability = told("FAKE_CAPABILITY", 90);
    *value = attribute == 75 ? capability / 10 : attribute == 76 ? capability % 10 : attribute == 16 ? 132 : -1;
    return *value < 0;
}
int cuGetErrorName(int error, const char** name) {
    *name = error == 100 ? "CUDA_ERROR_NO_DEVICE" : error == 999 ? "CUDA_ERROR_UNKNOWN" : NULL;
    return *name == NULL;
}

int nvmlInit_v2(void) { return told("FAKE_NVML", 0); }
int nvmlShutdown(void) { return 0; }
int nvmlDeviceGetHandleByPciBusId_v2(const char* bus, void** device) {
    *device = (void*)bus;
    return strncmp(bus, "0000:", 5) != 0;
}
int nvmlDeviceGetMemoryInfo(void* device, unsigned long long* total_free_used) {
    total_free_used[0] = 80ull << 30;
    total_free_used[1] = 60ull << 30;
    total_free_used[2] = 20ull << 30;
    return 0;
}
