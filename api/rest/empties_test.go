package rest

import (
	"encoding/json"
	"reflect"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// TestEmptiesAreDropped: a list that is always shown comes back as protobuf would keep it.
func TestEmptiesAreDropped(t *testing.T) {
	slice := &discoveryv1.EndpointSlice{Endpoints: []discoveryv1.Endpoint{}, Ports: []discoveryv1.EndpointPort{{}}}
	dropEmpties(reflect.ValueOf(slice))
	text, err := json.Marshal(slice)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"metadata":{},"addressType":"","endpoints":null,"ports":[{}]}`; string(text) != want {
		t.Errorf("got %s, want %s", text, want)
	}
}
