package bootstrap

// The form of objects.txt and managed.txt: records of three lines,
//
//	GROUP <tab> RESOURCE <tab> NAMESPACE <tab> NAME <tab> LABEL=VALUE <tab> ...
//	the object as it is stored, without managedFields
//	its managedFields
//
// with UIDPlace and TimePlace where the start puts what it makes. managed.txt
// leaves the second line empty.

import (
	_ "embed"
	"fmt"
	"strings"

	"kuberow/sqlstore"
)

// Placeholders in the prepared JSON: values that a typed object can hold.
const (
	UIDPlace  = "00000000-0000-0000-0000-000000000000"
	TimePlace = "2000-01-01T00:00:00Z"
)

//go:embed objects.txt
var objectsText string

//go:embed managed.txt
var managedText string

// Object is one prepared object.
type Object struct {
	Group, Resource, Namespace, Name string
	Labels                           []sqlstore.Pair // sorted by name
	Value, Managed                   string          // JSON
}

// Format writes records.
func Format(objects []Object) string {
	var b strings.Builder
	for _, o := range objects {
		fmt.Fprintf(&b, "%s\t%s\t%s\t%s", o.Group, o.Resource, o.Namespace, o.Name)
		for _, l := range o.Labels {
			fmt.Fprintf(&b, "\t%s=%s", l.Name, l.Value)
		}
		fmt.Fprintf(&b, "\n%s\n%s\n", o.Value, o.Managed)
	}
	return b.String()
}

// Parse reads records.
func Parse(text string) ([]Object, error) {
	var out []Object
	for text != "" {
		var lines [3]string
		for i := range lines {
			line, rest, ok := strings.Cut(text, "\n")
			if !ok {
				return nil, fmt.Errorf("parse prepared objects: record %d is cut short", len(out)+1)
			}
			lines[i], text = line, rest
		}
		head := strings.Split(lines[0], "\t")
		if len(head) < 4 {
			return nil, fmt.Errorf("parse prepared objects: record %d names no object", len(out)+1)
		}
		o := Object{Group: head[0], Resource: head[1], Namespace: head[2], Name: head[3], Value: lines[1], Managed: lines[2]}
		for _, l := range head[4:] {
			name, value, _ := strings.Cut(l, "=")
			o.Labels = append(o.Labels, sqlstore.Pair{Name: name, Value: value})
		}
		out = append(out, o)
	}
	return out, nil
}
