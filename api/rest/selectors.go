package rest

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"

	"kuberow/api/kinds"
	"kuberow/sqlstore"
)

// A selector is used in two ways: as terms of a SQL query over the tables
// label and field, for the keys that live now; and in Go on a decoded object,
// for changes and for the past, which those tables do not describe.

// selector is what a list or a watch is restricted to.
type selector struct {
	labels labels.Selector
	fields fields.Selector
}

func (s selector) empty() bool {
	return (s.labels == nil || s.labels.Empty()) && (s.fields == nil || s.fields.Empty())
}

// fieldLabel refuses a field that the kind has no index for. A kind that names
// no fields of its own knows both of metadata's, in whatever scope; one that
// does knows a namespace only if it has one.
func (c *call) fieldLabel(name, value string) (string, string, error) {
	s := c.Resource.Strategy
	own := !c.Resource.Custom && s != nil && len(s.FieldNames) > 0
	if own && s.FieldAliases[name] != "" {
		name = s.FieldAliases[name]
	}
	switch {
	case name == "metadata.name", name == "metadata.namespace" && (c.Resource.Namespaced || !own):
		return name, value, nil
	case s != nil && slices.Contains(s.FieldNames, name):
		return name, value, nil
	case !own:
		return "", "", fmt.Errorf("%q is not a known field selector: only %q, %q", name, "metadata.name", "metadata.namespace")
	case s.UnknownField != nil:
		return "", "", s.UnknownField(c.Version.GVK, name)
	}
	return "", "", fmt.Errorf("field label not supported: %s", name)
}

// matches decides in Go.
func (s selector) matches(res *kinds.Resource, obj runtime.Object) bool {
	m, err := meta.Accessor(obj)
	if err != nil {
		return false
	}
	if s.labels != nil && !s.labels.Empty() && !s.labels.Matches(labels.Set(m.GetLabels())) {
		return false
	}
	if s.fields == nil || s.fields.Empty() {
		return true
	}
	set := fields.Set{"metadata.name": m.GetName(), "metadata.namespace": m.GetNamespace()}
	for _, p := range fieldPairs(res, obj) {
		set[p.Name] = p.Value
	}
	return s.fields.Matches(set)
}

// reach is the range of keys that can match: one key when the name is given,
// one namespace when that is given.
func (s selector) reach(res *kinds.Resource, namespace string) (from, to string) {
	if s.fields != nil {
		if ns, ok := s.fields.RequiresExactMatch("metadata.namespace"); ok && res.Namespaced && namespace == "" && plain(ns) {
			namespace = ns
		}
		name, ok := s.fields.RequiresExactMatch("metadata.name")
		if ok && plain(name) && (namespace != "" || !res.Namespaced) {
			return res.Key(namespace, name), ""
		}
	}
	from = res.Range(namespace)
	return from, sqlstore.PrefixEnd(from)
}

// plain tells whether a name can be part of a key.
func plain(name string) bool { return name != "" && !strings.Contains(name, "/") }

// terms translates the selector to SQL terms; sqlstore knows metadata.name and metadata.namespace as columns.
func (s selector) terms() (terms []sqlstore.Term) {
	if s.labels != nil {
		requirements, _ := s.labels.Requirements()
		for _, r := range requirements {
			terms = append(terms, labelTerm(r))
		}
	}
	if s.fields != nil {
		for _, r := range s.fields.Requirements() {
			op := sqlstore.Is
			if r.Operator == selection.NotEquals {
				op = sqlstore.IsNot
			}
			terms = append(terms, sqlstore.Term{Field: true, Name: r.Field, Op: op, Values: []string{r.Value}})
		}
	}
	return terms
}

func labelTerm(r labels.Requirement) sqlstore.Term {
	t := sqlstore.Term{Name: r.Key(), Values: r.ValuesUnsorted()}
	switch r.Operator() {
	case selection.Equals, selection.DoubleEquals:
		t.Op = sqlstore.Is
	case selection.NotEquals:
		t.Op = sqlstore.IsNot
	case selection.In:
		t.Op = sqlstore.In
	case selection.NotIn:
		t.Op = sqlstore.NotIn
	case selection.Exists:
		t.Op, t.Values = sqlstore.Exists, nil
	case selection.DoesNotExist:
		t.Op, t.Values = sqlstore.NotExists, nil
	case selection.GreaterThan:
		t.Op = sqlstore.GreaterThan
	case selection.LessThan:
		t.Op = sqlstore.LessThan
	}
	return t
}
