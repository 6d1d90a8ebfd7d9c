package sandbox

import "golang.org/x/sys/unix"

// auditArch is how the kernel calls this processor's native system calls.
const auditArch = unix.AUDIT_ARCH_AARCH64

// This processor has few of the older calls.
var (
	archCalls = []call{
		{unix.SYS_RENAMEAT, func(r *request) verdict { return r.renamed(r.dirFD(0), 1, r.dirFD(2), 3) }},
	}
	archMetadata []metadataCall
	archAbsent   []uint32
)
