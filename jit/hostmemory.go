package jit

import "tilec/jit/host"

// HostMemory is the size of this machine's memory in bytes; 0 where the system does not say.
var HostMemory = host.Memory
