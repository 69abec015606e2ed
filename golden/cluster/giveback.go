package cluster

import (
	"context"
	"runtime/debug"
	"time"
)

// Giving memory back. A start, a big apply or a download of the API's
// description leaves more resident than a cluster at rest needs: heap that is
// free but not returned yet, and the pages of the program that only they ran.
// When the process has become quiet and has grown since the last time, both
// are returned. What is needed after all comes back from the page cache, 64 KB
// at a time, without reading a disk.

const (
	giveBackEvery = 10 * time.Second
	giveBackFrom  = 8 << 20 // bytes grown since the last time: less is not worth a collection
	quietShare    = 20      // quiet is less than one in so many of a core
)

// usage is what the process takes now.
type usage struct {
	resident int64 // bytes
	cpu      time.Duration
}

// GiveBack returns memory in quiet moments until ctx ends. It works on the
// whole process, so serve runs it and tests do not.
func GiveBack(ctx context.Context) {
	tick := time.NewTicker(giveBackEvery)
	defer tick.Stop()
	var floor int64 // resident after the last time
	before, err := measure()
	for err == nil { // elsewhere than on Linux nothing can be measured: then nothing is done
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		var now usage
		if now, err = measure(); err != nil {
			return
		}
		quiet := now.cpu-before.cpu < giveBackEvery/quietShare
		before = now
		if !quiet || now.resident < floor+giveBackFrom {
			continue
		}
		debug.FreeOSMemory()
		releaseProgram()
		if before, err = measure(); err == nil {
			floor = before.resident
		}
	}
}
