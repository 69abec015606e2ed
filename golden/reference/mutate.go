package main

// mutate takes valid objects and asks both servers about each object changed in
// one place: a field removed, emptied, too long, of another type, unknown,
// repeated; or taken from a fully populated object of the same kind. Requests are
// dry runs, so the servers' states do not drift apart, and thousands of answers
// (mostly refusals) are compared in seconds.

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// runner sends changed objects to both servers, in these ways:
//
//	create  POST of the changed manifest
//	update  PUT over the living object
//	status  PUT to its status subresource
//	apply   server-side apply over the living object, forced
//	NAME    PUT to its subresource of that name, such as resize
type runner struct {
	reference, own *server
	kinds          map[string]kind
	graft          string         // directory of fully populated objects, or ""
	groups         map[string]int // differences seen, by what differs
	only           *regexp.Regexp // paths to change, or nil
	different      int
	total          int
}

func mutate(args []string) (int, error) {
	flags := flag.NewFlagSet("mutate", flag.ExitOnError)
	reference, own := sides(flags)
	ways := flags.String("ways", "create,update,status", "what to send: create, update, status, apply, or a subresource that takes the kind itself")
	graft := flags.String("graft", "", "directory of fully populated objects, such as testdata/HEAD of k8s.io/api")
	only := flags.String("only", "", "change only paths that match this regular expression")
	flags.Parse(args)
	own.token = reference.token
	r := &runner{reference: reference, own: own, graft: *graft, groups: map[string]int{}}
	if *only != "" {
		r.only = regexp.MustCompile(*only)
	}
	var err error
	if r.kinds, err = discover(reference); err != nil {
		return 0, err
	}
	for _, name := range flags.Args() {
		raw, err := os.ReadFile(name)
		if err != nil {
			return 0, fmt.Errorf("read objects: %w", err)
		}
		for _, document := range bytes.Split(raw, []byte("\n---\n")) {
			var base map[string]any
			if err := yaml.Unmarshal(document, &base, useNumber); err != nil {
				return 0, fmt.Errorf("read objects of %s: %w", name, err)
			}
			if base == nil {
				continue
			}
			if err := r.object(base, strings.Split(*ways, ",")); err != nil {
				return 0, err
			}
		}
	}
	fmt.Printf("mutate: %d of %d exchanges agree; %d distinct differences\n", r.total-r.different, r.total, len(r.groups))
	return r.different, nil
}

func useNumber(d *json.Decoder) *json.Decoder { d.UseNumber(); return d }

// object runs every way over one object. It is created for the ways that need a
// living one, and deleted at the end.
func (r *runner) object(base map[string]any, ways []string) error {
	k, ok := r.kinds[text(base, "apiVersion")+"/"+text(base, "kind")]
	if !ok {
		return fmt.Errorf("find resource of %v %v: the reference does not serve it", base["apiVersion"], base["kind"])
	}
	collection := k.collection(text(meta(base), "namespace"))
	full := r.populated(base)
	if slices.Contains(ways, "create") {
		for _, m := range mutations(base, full) {
			r.try(exchange{ID: "create", Method: "POST", Path: collection + "?dryRun=All"}, base, base, m, m)
		}
	}
	if !slices.ContainsFunc(ways, func(w string) bool { return w != "create" }) {
		return nil
	}
	want, err := r.reference.send(exchange{ID: "base", Method: "POST", Path: collection, Body: encode(base)})
	if err != nil {
		return err
	}
	got, err := r.own.send(exchange{ID: "base", Method: "POST", Path: collection, Body: encode(base)})
	if err != nil {
		return err
	}
	r.note("base", k.name, mutation{}, compare(want, got))
	live, ok1 := want.body.(map[string]any)
	own, ok2 := got.body.(map[string]any)
	if want.status != 201 || got.status != 201 || !ok1 || !ok2 {
		fmt.Printf("base object of %s is refused: %d %s | %d %s\n", k.name, want.status, short(want.body), got.status, short(got.body))
		if want.status != 201 {
			return nil
		}
		own = live
	}
	path := collection + "/" + text(meta(live), "name")
	if status, ok := base["status"]; ok && k.status {
		// A create takes no status, so the base's is written after it.
		live, own = r.withStatus(k.name, path, status, live, own)
	}
	for _, way := range ways {
		switch way {
		case "update":
			r.each(exchange{ID: way, Method: "PUT", Path: path + "?dryRun=All"}, live, own, full)
		case "status":
			if k.status {
				r.each(exchange{ID: way, Method: "PUT", Path: path + "/status?dryRun=All"}, live, own, full)
			}
		case "apply":
			x := exchange{ID: way, Method: "PATCH", Path: path + "?dryRun=All&fieldManager=mutate&force=true", Headers: map[string]string{"Content-Type": "application/apply-patch+yaml"}}
			for _, m := range mutations(base, full) {
				r.try(x, base, base, m, m)
			}
		default:
			r.each(exchange{ID: way, Method: "PUT", Path: path + "/" + way + "?dryRun=All"}, live, own, full)
		}
	}
	gone := exchange{ID: "gone", Method: "DELETE", Path: path + "?gracePeriodSeconds=0&propagationPolicy=Background"}
	if _, err := r.reference.send(gone); err != nil {
		return err
	}
	_, err = r.own.send(gone)
	return err
}

// withStatus writes a status to the living object of both servers, and returns what they now hold.
func (r *runner) withStatus(kind, path string, status any, live, own map[string]any) (map[string]any, map[string]any) {
	put := mutation{path: []any{"status"}, value: status}
	var answers [2]answer
	for i, s := range []*server{r.reference, r.own} {
		object := []map[string]any{live, own}[i]
		var err error
		if answers[i], err = s.send(exchange{ID: "base status", Method: "PUT", Path: path + "/status", Body: encode(put.apply(object))}); err != nil {
			fmt.Println(err)
			return live, own
		}
	}
	r.note("base status", kind, put, compare(answers[0], answers[1]))
	want, ok1 := answers[0].body.(map[string]any)
	got, ok2 := answers[1].body.(map[string]any)
	if answers[0].status != 200 || answers[1].status != 200 || !ok1 || !ok2 {
		fmt.Printf("base status of %s is refused: %d %s | %d %s\n", kind, answers[0].status, gist(answers[0].body), answers[1].status, gist(answers[1].body))
		return live, own
	}
	return want, got
}

// each makes every change to the living object of both servers. A value may carry what
// differs between them, such as a uid in a label, so each side's changes are made from its own.
func (r *runner) each(x exchange, live, own, full map[string]any) {
	wants, gots := mutations(live, full), mutations(own, full)
	for i, m := range wants {
		if len(gots) != len(wants) || gots[i].place() != m.place() {
			r.try(x, live, own, m, m)
			continue
		}
		r.try(x, live, own, m, gots[i])
	}
}

// try sends an object with one change to both servers; each gets its own living object.
func (r *runner) try(x exchange, want, got map[string]any, m, mine mutation) {
	if r.only != nil && !r.only.MatchString(m.String()) {
		return
	}
	wx, gx := x, x
	wx.Body, gx.Body = encode(m.apply(want)), encode(mine.apply(got))
	w, err := r.reference.send(wx)
	if err != nil {
		fmt.Println(err)
		return
	}
	r.total++
	g, err := r.own.send(gx)
	if err != nil {
		r.note(x.ID, text(want, "kind"), m, []string{err.Error()})
		return
	}
	r.note(x.ID, text(want, "kind"), m, compare(w, g))
}

// note prints a difference the first time that the same places of an answer
// differ after a change in the same place.
func (r *runner) note(way, kind string, m mutation, found []string) {
	if len(found) == 0 {
		return
	}
	r.different++
	group := way + " " + kind + " " + m.place()
	for _, line := range found {
		place, _, _ := strings.Cut(line, ": ")
		group += " " + place
	}
	r.groups[group]++
	if r.groups[group] == 1 {
		report(way+" "+kind+" "+m.String(), found, false)
	}
}

// populated reads the fully populated object of base's kind, or returns nil.
func (r *runner) populated(base map[string]any) map[string]any {
	if r.graft == "" {
		return nil
	}
	group, version, found := strings.Cut(text(base, "apiVersion"), "/")
	if !found {
		group, version = "core", group
	}
	raw, err := os.ReadFile(filepath.Join(r.graft, group+"."+version+"."+text(base, "kind")+".json"))
	if err != nil {
		return nil
	}
	full, _ := parse(raw).(map[string]any)
	return full
}

func encode(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // maps, slices and strings only
	}
	return raw
}

func meta(object map[string]any) map[string]any {
	m, _ := object["metadata"].(map[string]any)
	return m
}

func text(object map[string]any, name string) string { v, _ := object[name].(string); return v }
