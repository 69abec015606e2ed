package tables

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// BenchmarkParse is what a start pays for the files before it touches the database.
func BenchmarkParse(b *testing.B) {
	names, err := fs.Glob(files, "*.sql")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		for _, name := range names {
			text, err := files.ReadFile(name)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := parse(string(text)); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// crowd fills a store with 2,000 Deployments, each with a ReplicaSet and eight
// pods: 20,000 living keys.
func crowd(b *testing.B) *store {
	s := openStore(b)
	archive, err := txtar.ParseFile("testdata/bench.txt")
	if err != nil {
		b.Fatal(err)
	}
	s.MustExec("BEGIN")
	for i := range 2000 {
		name := fmt.Sprint("web-", i)
		chain(b, s, name)
		for n := range 7 {
			key := fmt.Sprintf("/registry/pods/default/%s-%d", name, n+2)
			s.put(b, write{key: key, value: object(b, key, string(archive.Files[0].Data)), user: "replicaset-controller", verb: "create"})
		}
	}
	s.MustExec("COMMIT")
	return s
}

// BenchmarkCells renders pods 500 at a time, as a list does.
func BenchmarkCells(b *testing.B) {
	s := crowd(b)
	pods, _ := For("", "pods")
	var ids []int64
	if err := s.Select(&ids, "SELECT id FROM live WHERE resource = 'pods' AND name NOT LIKE '%-1' LIMIT 500"); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cells, err := Cells(b.Context(), s, pods, ids)
		if err != nil || len(cells) != len(ids) {
			b.Fatalf("%d cells: %v", len(cells), err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*len(ids)), "µs/row")
}

// BenchmarkRenderer renders one pod at a time, as a watch does.
func BenchmarkRenderer(b *testing.B) {
	s := crowd(b)
	pods, _ := For("", "pods")
	var id int64
	if err := s.Get(&id, "SELECT id FROM live WHERE resource = 'pods' AND name NOT LIKE '%-1' LIMIT 1"); err != nil {
		b.Fatal(err)
	}
	r := NewRenderer(s.DB)
	defer r.Close()
	for b.Loop() {
		if _, err := r.Cells(b.Context(), pods, []int64{id}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkWhy follows one pod among 20,000 keys back to its person.
func BenchmarkWhy(b *testing.B) {
	s := crowd(b)
	for _, where := range []string{"key = '/registry/pods/default/web-77-1'", "resource = 'pods' AND namespace = 'default' AND name = 'web-77-1'"} {
		b.Run(where[:strings.Index(where, " ")], func(b *testing.B) {
			for b.Loop() {
				var users []string
				if err := s.Select(&users, "SELECT user FROM why WHERE "+where+" ORDER BY step"); err != nil || len(users) != 3 {
					b.Fatalf("%v: %v", users, err)
				}
			}
		})
	}
}

// BenchmarkInstall makes all views in a file that has none.
func BenchmarkInstall(b *testing.B) {
	s := openStore(b)
	all()
	for b.Loop() {
		b.StopTimer()
		for _, t := range all() {
			if err := Remove(b.Context(), s, t); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		if err := Install(b.Context(), s); err != nil {
			b.Fatal(err)
		}
	}
}
