//go:build linux && !amd64 && !arm64

package sandbox

// auditArch is unknown: on this processor there is no filter.
const auditArch = 0

var (
	archCalls    []call
	archMetadata []metadataCall
	archAbsent   []uint32
)
