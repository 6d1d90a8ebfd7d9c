package setup

import "golang.org/x/sys/windows"

// FreeDisk returns how many bytes can still be written to the disk of a
// directory, and whether that is known.
func FreeDisk(dir string) (bytes int64, known bool) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, false
	}
	var free uint64
	if windows.GetDiskFreeSpaceEx(path, &free, nil, nil) != nil {
		return 0, false
	}
	return int64(min(free, 1<<62)), true
}
