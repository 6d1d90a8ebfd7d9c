package web

import "net"

// Interfaces gives this machine other addresses, until the function that it returns
// is called.
func Interfaces(addresses ...net.Addr) (undo func()) {
	was := interfaces
	interfaces = func() ([]net.Addr, error) { return addresses, nil }
	return func() { interfaces = was }
}
