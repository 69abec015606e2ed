package wire_test

import (
	"encoding/json"
	"testing"

	"kuberow/api/wire"
)

func TestSplice(t *testing.T) {
	const managed = `[{"manager":"m"}]`
	for name, c := range map[string]struct {
		splice wire.Splice
		value  string
		want   string
	}{
		"after uid, and last": {
			wire.Splice{Revision: 7, ManagedFields: []byte(managed)},
			`{"kind":"K","apiVersion":"v1","metadata":{"name":"a","uid":"u","labels":{"b":"c"}},"data":{}}`,
			`{"kind":"K","apiVersion":"v1","metadata":{"name":"a","uid":"u","resourceVersion":"7","labels":{"b":"c"},"managedFields":[{"manager":"m"}]},"data":{}}`,
		},
		"nothing after the name": {
			wire.Splice{Revision: 7},
			`{"kind":"K","apiVersion":"v1","metadata":{"name":"a"}}`,
			`{"kind":"K","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7"}}`,
		},
		"empty metadata": {
			wire.Splice{Revision: 7, ManagedFields: []byte(managed)},
			`{"kind":"K","apiVersion":"v1","metadata":{},"x":1}`,
			`{"kind":"K","apiVersion":"v1","metadata":{"resourceVersion":"7","managedFields":[{"manager":"m"}]},"x":1}`,
		},
		"a dry run has no revision": {
			wire.Splice{},
			`{"kind":"K","apiVersion":"v1","metadata":{"name":"a","uid":"u"}}`,
			`{"kind":"K","apiVersion":"v1","metadata":{"name":"a","uid":"u"}}`,
		},
		"an item leaves its kind to the list": {
			wire.Splice{Revision: 7, Item: true},
			`{"kind":"K","apiVersion":"v1","metadata":{"name":"a"},"spec":{}}`,
			`{"metadata":{"name":"a","resourceVersion":"7"},"spec":{}}`,
		},
		"custom resources sort their keys": {
			wire.Splice{Revision: 7, ManagedFields: []byte(managed), Sorted: true},
			`{"apiVersion":"g/v1","kind":"K","metadata":{"labels":{},"name":"a","uid":"u"},"spec":{}}`,
			`{"apiVersion":"g/v1","kind":"K","metadata":{"labels":{},"managedFields":[{"manager":"m"}],"name":"a","resourceVersion":"7","uid":"u"},"spec":{}}`,
		},
		"quotes and braces inside strings are text": {
			wire.Splice{Revision: 7},
			`{"kind":"K","apiVersion":"v1","metadata":{"name":"a","annotations":{"x":"\"}],{\\"}},"data":{}}`,
			`{"kind":"K","apiVersion":"v1","metadata":{"name":"a","resourceVersion":"7","annotations":{"x":"\"}],{\\"}},"data":{}}`,
		},
		"metadata behind other fields": {
			wire.Splice{Revision: 7},
			`{"spec":{"metadata":{"name":"inner"}},"n":-1.5e3,"metadata":{"name":"a"}}`,
			`{"spec":{"metadata":{"name":"inner"}},"n":-1.5e3,"metadata":{"name":"a","resourceVersion":"7"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.splice.Append(nil, []byte(c.value))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// FuzzSplice looks for values that make the scanner run wild: whatever comes,
// it answers with valid JSON or with an error.
func FuzzSplice(f *testing.F) {
	f.Add([]byte(`{"kind":"K","apiVersion":"v1","metadata":{"name":"a"},"x":[1,"]"]}`))
	f.Add([]byte(`{"metadata":`))
	f.Add([]byte(`{"metadata":{"a":"\\`))
	f.Fuzz(func(t *testing.T, value []byte) {
		got, err := wire.Splice{Revision: 7, ManagedFields: []byte("[]")}.Append(nil, value)
		if err == nil && json.Valid(value) && isCompactObject(value) && !json.Valid(got) {
			t.Errorf("%s became %s", value, got)
		}
	})
}

// isCompactObject tells whether a value is as our encoder writes it.
func isCompactObject(value []byte) bool {
	var m map[string]json.RawMessage
	if json.Unmarshal(value, &m) != nil {
		return false
	}
	var meta map[string]json.RawMessage
	if json.Unmarshal(m["metadata"], &meta) != nil {
		return false
	}
	again, err := json.Marshal(m)
	return err == nil && len(again) == len(value)
}
