// Command generate writes markers.jsonl: what the comments of the API types
// say and Go's reflection cannot see. Run it by "go generate ./api/openapi"
// after k8s.io/api was updated; a test compares the file with what it would
// write.
//
// A line is one type or one enum, named by its package path and name. Only
// what a reader of the Go type would not guess is written: a field is in the
// line when it has a list type, a default, an enum, or is optional in spite of
// its json tag; a text is there when the type has no SwaggerDoc that says it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"go/ast"
	"log"
	"os"
	"os/exec"
	"sort"
	"strings"
)

// roots hold the built-in kinds; what they import of these repositories is read too.
var roots = []string{
	"k8s.io/api/...", "k8s.io/apimachinery/pkg/apis/meta/v1", "k8s.io/apimachinery/pkg/api/resource",
	"k8s.io/apimachinery/pkg/util/intstr", "k8s.io/apimachinery/pkg/runtime", "k8s.io/apimachinery/pkg/version",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1", "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1",
}

// versions of k8s.io/api that the kinds use. Others would only make the file longer.
var wanted = strings.Fields(`admissionregistration/v1 apps/v1 authentication/v1 authorization/v1
	autoscaling/v1 autoscaling/v2 batch/v1 certificates/v1 coordination/v1 core/v1 discovery/v1 events/v1 flowcontrol/v1
	networking/v1 node/v1 policy/v1 rbac/v1 resource/v1 scheduling/v1 scheduling/v1alpha3 storage/v1 storagemigration/v1`)

func main() {
	log.SetFlags(0)
	log.SetPrefix("generate: ")
	if len(os.Args) != 2 {
		log.Fatal("usage: generate FILE; name the file to write")
	}
	lines, err := markers()
	if err != nil {
		log.Fatal(err)
	}
	f, err := os.Create(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	w := bufio.NewWriter(f)
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
	if err := w.Flush(); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}

// markers gives the lines of the file, sorted.
func markers() ([]string, error) {
	dirs, err := packageDirs()
	if err != nil {
		return nil, err
	}
	all := map[string]*pkg{}
	for path, dir := range dirs {
		if all[path], err = parsePackage(path, dir); err != nil {
			return nil, fmt.Errorf("parse %s: %w", path, err)
		}
	}
	var lines []string
	add := func(v any) error {
		b, err := json.Marshal(v)
		lines = append(lines, string(b))
		return err
	}
	for _, p := range all {
		for _, e := range p.enums(all) {
			if err := add(e); err != nil {
				return nil, err
			}
		}
		for name, t := range p.types {
			st, ok := t.spec.Type.(*ast.StructType)
			if !ok {
				continue
			}
			line, err := p.structLine(name, t, st, all)
			if err != nil {
				return nil, fmt.Errorf("read %s.%s: %w", p.path, name, err)
			}
			if line != nil {
				if err := add(line); err != nil {
					return nil, err
				}
			}
		}
	}
	sort.Strings(lines)
	return lines, nil
}

func packageDirs() (map[string]string, error) {
	out, err := exec.Command("go", append([]string{"list", "-f", "{{.ImportPath}} {{.Dir}}"}, roots...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("list packages: %w", err)
	}
	dirs := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		path, dir, _ := strings.Cut(line, " ")
		if sub, ok := strings.CutPrefix(path, "k8s.io/api/"); ok && !contains(wanted, sub) {
			continue
		}
		dirs[path] = dir
	}
	return dirs, nil
}

func contains(list []string, s string) bool {
	for _, l := range list {
		if l == s {
			return true
		}
	}
	return false
}
