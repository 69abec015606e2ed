//go:build !linux

package proxy

import "errors"

// routeLocal only works where the proxy runs: in a Linux container.
func routeLocal(string) error {
	return errors.New("the service proxy runs in a Linux container only")
}
