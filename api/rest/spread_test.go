package rest

import (
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// Every row is worked on once, whatever the number of rows and processors.
func TestSpreadCoversAllOnce(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	for _, n := range []int{0, 1, 9, 10, 19, 20, 41, 1000} {
		var mu sync.Mutex
		seen := make([]int, n)
		if err := spread(n, 10, func(from, to int) error {
			mu.Lock()
			defer mu.Unlock()
			for i := from; i < to; i++ {
				seen[i]++
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for i, times := range seen {
			if times != 1 {
				t.Fatalf("of %d rows, row %d was worked on %d times", n, i, times)
			}
		}
	}
}

func TestSpreadReportsErrorsAndPanics(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	bad := errors.New("bad row")
	err := spread(20, 10, func(from, _ int) error {
		if from == 0 {
			return bad
		}
		panic("worse row")
	})
	if !errors.Is(err, bad) || !strings.Contains(err.Error(), "worse row") {
		t.Errorf("got %v, want both the error and the panic", err)
	}
}
