"""Uses every GPU that it sees through the driver alone, and checks the result."""

import ctypes
import os

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *arguments):
    code = getattr(cuda, name)(*arguments)
    if code != 0:
        raise SystemExit(f"{name} failed with {code}")


count = ctypes.c_int()
call("cuInit", 0)
call("cuDeviceGetCount", ctypes.byref(count))
words = 1 << 28
for number in range(count.value):
    device, context, memory = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
    call("cuDeviceGet", ctypes.byref(device), number)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuMemAlloc_v2", ctypes.byref(memory), ctypes.c_size_t(4 * words))
    call("cuMemsetD32_v2", memory, 0xC0FFEE, ctypes.c_size_t(words))
    last = ctypes.c_uint32()
    call("cuMemcpyDtoH_v2", ctypes.byref(last), ctypes.c_uint64(memory.value + 4 * (words - 1)), ctypes.c_size_t(4))
    if last.value != 0xC0FFEE:
        raise SystemExit(f"GPU {number} returned {last.value:#x}")
    call("cuMemFree_v2", memory)
    print(f"GPU {number}: wrote 1 GiB and read it back")
print("devices:", *sorted(name for name in os.listdir("/dev") if name.startswith("nvidia")))
