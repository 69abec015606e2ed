package sqlstore_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kuberow/sqlstore"
)

func TestSelectors(t *testing.T) {
	d := open(t)
	object := func(name string, labels, fields []sqlstore.Pair) sqlstore.Op {
		op := put("/registry/pods/ns/"+name, "{}")
		op.Object = sqlstore.ObjectRef{Resource: "pods", Namespace: "ns", Name: name, UID: "uid-" + name}
		op.Labels, op.Fields = labels, fields
		return op
	}
	p := func(kv ...string) (pairs []sqlstore.Pair) {
		for i := 0; i < len(kv); i += 2 {
			pairs = append(pairs, sqlstore.Pair{Name: kv[i], Value: kv[i+1]})
		}
		return pairs
	}
	d.do(txn(
		object("a", p("app", "web", "n", "5"), p("spec.nodeName", "n1")),
		object("b", p("app", "db", "n", "07"), p("spec.nodeName", "n2")),
		object("c", p("n", "99999999999999999999", "x", ""), p("spec.nodeName", "")),
		object("d", p("app", "web", "n", "-3"), nil),
		object("e", nil, p("spec.nodeName", "n1")),
	))
	term := func(field bool, name string, op sqlstore.TermOp, values ...string) sqlstore.Term {
		return sqlstore.Term{Field: field, Name: name, Op: op, Values: values}
	}
	tests := map[string]struct {
		terms []sqlstore.Term
		want  string
	}{
		"is":                             {[]sqlstore.Term{term(false, "app", sqlstore.Is, "web")}, "ad"},
		"is of an empty value":           {[]sqlstore.Term{term(false, "x", sqlstore.Is, "")}, "c"},
		"is not matches absent labels":   {[]sqlstore.Term{term(false, "app", sqlstore.IsNot, "web")}, "bce"},
		"in":                             {[]sqlstore.Term{term(false, "app", sqlstore.In, "web", "db")}, "abd"},
		"in one":                         {[]sqlstore.Term{term(false, "app", sqlstore.In, "db")}, "b"},
		"in none":                        {[]sqlstore.Term{term(false, "app", sqlstore.In)}, ""},
		"not in matches absent labels":   {[]sqlstore.Term{term(false, "app", sqlstore.NotIn, "web", "x")}, "bce"},
		"exists":                         {[]sqlstore.Term{term(false, "x", sqlstore.Exists)}, "c"},
		"does not exist":                 {[]sqlstore.Term{term(false, "app", sqlstore.NotExists)}, "ce"},
		"greater than, as numbers":       {[]sqlstore.Term{term(false, "n", sqlstore.GreaterThan, "5")}, "b"},
		"less than":                      {[]sqlstore.Term{term(false, "n", sqlstore.LessThan, "6")}, "ad"},
		"two terms":                      {[]sqlstore.Term{term(false, "app", sqlstore.Is, "web"), term(true, "spec.nodeName", sqlstore.Is, "n1")}, "a"},
		"two values of one label":        {[]sqlstore.Term{term(false, "app", sqlstore.Is, "web"), term(false, "app", sqlstore.Is, "db")}, ""},
		"field":                          {[]sqlstore.Term{term(true, "spec.nodeName", sqlstore.Is, "n1")}, "ae"},
		"an absent field is empty":       {[]sqlstore.Term{term(true, "spec.nodeName", sqlstore.Is, "")}, "cd"},
		"field is not":                   {[]sqlstore.Term{term(true, "spec.nodeName", sqlstore.IsNot, "n1")}, "bcd"},
		"field is not empty":             {[]sqlstore.Term{term(true, "spec.nodeName", sqlstore.IsNot, "")}, "abe"},
		"metadata.name":                  {[]sqlstore.Term{term(true, "metadata.name", sqlstore.Is, "b")}, "b"},
		"metadata.name is not":           {[]sqlstore.Term{term(true, "metadata.name", sqlstore.IsNot, "b"), term(false, "app", sqlstore.Exists)}, "ad"},
		"metadata.namespace":             {[]sqlstore.Term{term(true, "metadata.namespace", sqlstore.Is, "other")}, ""},
		"metadata.namespace of them all": {[]sqlstore.Term{term(true, "metadata.namespace", sqlstore.Is, "ns")}, "abcde"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			prefix := "/registry/pods/"
			page, err := d.Range(t.Context(), sqlstore.Query{From: prefix, To: sqlstore.PrefixEnd(prefix), Terms: test.terms, Limit: 1, Count: true})
			if err != nil {
				t.Fatal(err)
			}
			if want := max(0, len(test.want)-1); page.Remaining != int64(want) {
				t.Errorf("Remaining after one row is %d, want %d", page.Remaining, want)
			}
			var got string
			for _, row := range d.all(prefix, 0, test.terms...) {
				got += strings.TrimPrefix(row, prefix+"ns/")[:1]
			}
			if got != test.want {
				t.Errorf("selected %q, want %q", got, test.want)
			}
		})
	}
	for _, bad := range []sqlstore.Term{term(false, "n", sqlstore.GreaterThan, "five"), term(false, "n", sqlstore.Is), term(false, "n", 99, "x")} {
		_, err := d.Range(t.Context(), sqlstore.Query{From: "/", Terms: []sqlstore.Term{bad}})
		wantCode(t, err, sqlstore.CodeInvalid)
	}
}

func TestLabelsFollowTheObject(t *testing.T) {
	d := open(t)
	web := put("k", "1")
	web.Labels, web.Owners = []sqlstore.Pair{{Name: "app", Value: "web"}}, []string{"o1", "o2"}
	d.do(txn(web))
	rows := func() (out []string) {
		err := d.Reader().Select(&out, `SELECT name || '=' || value FROM label UNION ALL SELECT uid FROM owner ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if diff := cmp.Diff([]string{"app=web", "o1", "o2"}, rows()); diff != "" {
		t.Error(diff)
	}
	web.Labels, web.Owners = []sqlstore.Pair{{Name: "app", Value: "db"}, {Name: "b", Value: ""}}, []string{"o2"}
	d.do(txn(web))
	if diff := cmp.Diff([]string{"app=db", "b=", "o2"}, rows()); diff != "" {
		t.Error(diff)
	}
	d.do(txn(del("k")))
	if got := rows(); len(got) != 0 {
		t.Errorf("rows of a deleted key are left: %v", got)
	}
}

func TestOwnedFindsChildrenAndByUIDTheOwner(t *testing.T) {
	d := open(t)
	owner := put("/registry/replicasets/ns/r", "{}")
	owner.Object = sqlstore.ObjectRef{Group: "apps", Resource: "replicasets", Namespace: "ns", Name: "r", UID: "u1"}
	child := put("/registry/pods/ns/p", "{}")
	child.Object, child.Owners = sqlstore.ObjectRef{Resource: "pods", Namespace: "ns", Name: "p", UID: "u2"}, []string{"u1"}
	d.do(txn(owner, child, put("etcd", "")))
	objects, err := d.OwnedObjects(t.Context(), "u1")
	if err != nil || len(objects) != 1 || objects[0].Ref != child.Object {
		t.Errorf("owned by u1: %+v, %v", objects, err)
	}
	o, ok, err := d.ByUID(t.Context(), "u1")
	if err != nil || !ok || o.Ref != owner.Object || o.Key != owner.Key {
		t.Errorf("ByUID: %+v %v %v", o, ok, err)
	}
	if _, ok, err = d.ByUID(t.Context(), ""); ok || err != nil {
		t.Errorf("an etcd key was found by its missing uid")
	}
	keys, err := d.Owned(t.Context(), "u2")
	if err != nil || len(keys) != 0 {
		t.Errorf("owned by u2: %v, %v", keys, err)
	}
}
