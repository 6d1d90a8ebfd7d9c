package sandbox

import "golang.org/x/sys/unix"

// auditArch is how the kernel calls this processor's native system calls.
const auditArch = unix.AUDIT_ARCH_X86_64
