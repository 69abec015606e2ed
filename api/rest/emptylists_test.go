package rest

import (
	"encoding/json"
	"reflect"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
)

func TestEmptyListsAreStoredAsNone(t *testing.T) {
	role := &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{}}
	dropEmptyLists(reflect.ValueOf(role))
	if b, _ := json.Marshal(role); string(b) != `{"metadata":{},"rules":null}` {
		t.Errorf("got %s", b)
	}
}
