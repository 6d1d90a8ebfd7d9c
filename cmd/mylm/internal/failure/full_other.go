//go:build !windows

package failure

import (
	"errors"
	"syscall"
)

func diskFull(err error) bool { return errors.Is(err, syscall.ENOSPC) }
