package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// Only what is read-only, of the program and untouched may be dropped: the
// mapping that a loader relocated, and the data, exist nowhere else.
func TestCleanMappingsLeavesWhatTheFileDoesNotHave(t *testing.T) {
	const smaps = `00400000-00500000 r-xp 00000000 fe:00 12 /bin/kuberow
Rss:                 900 kB
Private_Dirty:       900 kB
Anonymous:             0 kB
Swap:                  0 kB
VmFlags: rd ex mr mw me
00500000-00600000 r--p 00100000 fe:00 12 /bin/kuberow
Rss:                 900 kB
Private_Dirty:         8 kB
Anonymous:             8 kB
Swap:                  0 kB
VmFlags: rd mr mw me
00600000-00700000 r--p 00200000 fe:00 12 /bin/kuberow
Private_Dirty:         0 kB
Anonymous:             0 kB
Swap:                  4 kB
VmFlags: rd mr mw me
00700000-00800000 rw-p 00300000 fe:00 12 /bin/kuberow
Private_Dirty:         0 kB
Anonymous:             0 kB
VmFlags: rd wr mr mw me
7f0000000000-7f0000100000 r-xp 00000000 fe:00 13 /lib/libc.so.6
Private_Dirty:         0 kB
Anonymous:             0 kB
VmFlags: rd ex mr mw me
7f0000200000-7f0000300000 rw-p 00000000 00:00 0
VmFlags: rd wr mr mw me
`
	got := cleanMappings(strings.NewReader(smaps), "/bin/kuberow")
	want := []mapping{{0x400000, 0x500000}}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(mapping{})); diff != "" {
		t.Error(diff)
	}
}

// The program goes on after its pages were dropped, and they are fewer.
func TestReleaseProgram(t *testing.T) {
	before, err := measure()
	if err != nil {
		t.Fatal(err)
	}
	releaseProgram()
	after, err := measure()
	if err != nil {
		t.Fatal(err)
	}
	if after.resident >= before.resident {
		t.Errorf("resident before %d, after %d: nothing was dropped", before.resident, after.resident)
	}
	if after.cpu < before.cpu || after.cpu-before.cpu > time.Minute {
		t.Errorf("CPU time went from %v to %v", before.cpu, after.cpu)
	}
}
