package rest

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
)

// Work on many rows that are independent of each other is spread over the
// processors: decoding a long list for protobuf, rendering its cells. Who waits for
// a list of five thousand waits half as long on two.

// spread calls do for ranges [from, to) that together are [0, n), at the same
// time, with no range shorter than least. A panic becomes an error: the
// request's own goroutine could not catch it.
func spread(n, least int, do func(from, to int) error) error {
	parts := max(1, min(runtime.GOMAXPROCS(0), n/max(least, 1)))
	if parts == 1 {
		return do(0, n)
	}
	errs := make([]error, parts)
	var all sync.WaitGroup
	for i := range parts {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("work on rows panicked: %v", p)
				}
			}()
			errs[i] = do(i*n/parts, (i+1)*n/parts)
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
