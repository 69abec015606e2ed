package tables

import (
	"encoding/json"
	"math/rand/v2"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// TestDuration compares the macro with apimachinery's HumanDuration: every
// second of the first three hours, both sides of every change of unit, and a
// spread over thirty years.
func TestDuration(t *testing.T) {
	var seconds []int64
	for d := int64(-5); d < 3*3600+120; d++ {
		seconds = append(seconds, d)
	}
	const day, year = 24 * 3600, 365 * 24 * 3600
	for _, unit := range []int64{60, 3600, day, year} {
		for n := int64(1); n < 400 && n*unit < 30*year; n++ {
			seconds = append(seconds, n*unit-1, n*unit, n*unit+1)
		}
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		seconds = append(seconds, random.Int64N(30*year))
	}
	list, err := json.Marshal(seconds)
	if err != nil {
		t.Fatal(err)
	}
	query, err := expand("SELECT value, {{duration value}} FROM json_each(?)")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := openStore(t).Query(query, string(list))
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var d int64
		var got string
		if err := rows.Scan(&d, &got); err != nil {
			t.Fatal(err)
		}
		n++
		if want := duration.HumanDuration(time.Duration(d) * time.Second); got != want {
			t.Errorf("duration of %d s = %s, want %s", d, got, want)
		}
	}
	if err := rows.Err(); err != nil || n != len(seconds) {
		t.Fatalf("read %d of %d durations: %v", n, len(seconds), err)
	}
}
