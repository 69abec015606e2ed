package builtin_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	pb "k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"

	"kuberow/api/apitest"
	"kuberow/api/kinds"
	"kuberow/api/kinds/builtin"
)

const protobuf = "application/vnd.kubernetes.protobuf"

// TestEveryKindSurvivesTheServer takes every kind of k8s.io/api, with all of its fields set, from a client's JSON through
// the store to a client that reads protobuf, and what that one read back as protobuf to a client that reads JSON: each must decode
// the object that was sent. The kinds have no rules here, since no real object has all fields.
func TestEveryKindSurvivesTheServer(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatalf("find k8s.io/api: %v", err)
	}
	resources := builtin.Resources()
	for _, r := range resources {
		r.Strategy, r.Holds = nil, nil
	}
	server := apitest.Start(t, resources, nil)
	if code, answer := server.Do("POST", "/api/v1/namespaces", `{"metadata":{"name":"default"}}`, "Content-Type", "application/json"); code != 201 {
		t.Fatalf("prepare: %d %s", code, answer)
	}
	n := 0
	for _, r := range resources {
		if r.Prefix == "" || !slices.Contains(r.Verbs, "create") {
			continue
		}
		for _, v := range r.Versions {
			n++
			t.Run(v.GVK.GroupVersion().String()+"/"+r.Name, func(t *testing.T) {
				passes(t, server, r, v, filepath.Join(strings.TrimSpace(string(dir)), "testdata", "HEAD"))
			})
		}
	}
	if n < 60 {
		t.Errorf("%d kinds went through, want at least 60", n)
	}
}

func passes(t *testing.T, server *apitest.Server, r *kinds.Resource, v *kinds.Version, dir string) {
	group := v.GVK.Group
	if group == "" {
		group = "core"
	}
	raw, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%s.%s.%s.json", group, v.GVK.Version, v.GVK.Kind)))
	if os.IsNotExist(err) {
		t.Skip("k8s.io/api has no object of this kind")
	}
	if err != nil {
		t.Fatal(err)
	}
	sent := decode(t, raw)
	body, err := json.Marshal(storable(t, sent))
	if err != nil {
		t.Fatal(err)
	}
	collection := "/apis/" + v.GVK.GroupVersion().String() + "/"
	if v.GVK.Group == "" {
		collection = "/api/v1/"
	}
	if r.Namespaced {
		collection += "namespaces/default/"
	}
	collection += r.Name
	first := relay(t, server, collection, string(body), "application/json", protobuf)
	if diff := cmp.Diff(text(t, sent), text(t, decode(t, []byte(first)))); diff != "" {
		t.Errorf("JSON to protobuf (-sent +read):\n%s", diff)
	}
	again, err := runtime.Encode(pb.NewSerializer(scheme.Scheme, scheme.Scheme), storable(t, decode(t, []byte(first))))
	if err != nil {
		t.Fatal(err)
	}
	second := relay(t, server, collection, string(again), protobuf, "application/json")
	if diff := cmp.Diff(text(t, sent), text(t, decode(t, []byte(second)))); diff != "" {
		t.Errorf("protobuf to JSON (-sent +read):\n%s", diff)
	}
}

// relay creates an object, reads it as another media type and deletes it.
func relay(t *testing.T, server *apitest.Server, collection, body, sends, accepts string) string {
	t.Helper()
	if code, answer := server.Do("POST", collection, body, "Content-Type", sends); code != 201 {
		t.Fatalf("create as %s: %d %s", sends, code, answer)
	}
	code, read := server.Do("GET", collection+"/web", "", "Accept", accepts)
	if code != 200 {
		t.Fatalf("read as %s: %d %s", accepts, code, read)
	}
	if code, answer := server.Do("DELETE", collection+"/web", `{"propagationPolicy":"Background","gracePeriodSeconds":0}`, "Content-Type", "application/json"); code != 200 {
		t.Fatalf("delete: %d %s", code, answer)
	}
	return read
}

// storable gives an object metadata that a server takes; every other field stays as it is.
func storable(t *testing.T, obj runtime.Object) runtime.Object {
	t.Helper()
	m, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	m.SetName("web")
	m.SetFinalizers(nil)
	m.SetManagedFields(nil)
	unsettable(m)
	return obj
}

// unsettable clears what the server itself sets, and the annotation that a conversion adds.
func unsettable(m metav1.Object) {
	m.SetNamespace("")
	m.SetGenerateName("")
	m.SetUID("")
	m.SetSelfLink("")
	m.SetResourceVersion("")
	m.SetGeneration(0)
	m.SetCreationTimestamp(metav1.Time{})
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetManagedFields(nil)
	annotations := m.GetAnnotations()
	delete(annotations, "autoscaling.alpha.kubernetes.io/current-metrics") // what autoscaling/v1 has no fields for
}

// decode is what client-go makes of an answer, JSON or protobuf.
func decode(t *testing.T, raw []byte) runtime.Object {
	t.Helper()
	obj, err := runtime.Decode(scheme.Codecs.UniversalDeserializer(), raw)
	if err != nil {
		t.Fatalf("decode: %v", err)
	}
	return obj
}

// text is an object as its client sees it, less what the server itself sets.
func text(t *testing.T, obj runtime.Object) string {
	t.Helper()
	m, err := meta.Accessor(obj)
	if err != nil {
		t.Fatal(err)
	}
	unsettable(m)
	raw, err := json.MarshalIndent(obj, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
