package rest_test

import (
	"strings"
	"testing"
)

const deployments = "/apis/apps/v1/namespaces/default/deployments"

func deployment(name string) string {
	return `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"` + name + `"},"spec":{"selector":{"matchLabels":{"a":"b"}},` +
		`"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`
}

// Where server-side apply differs from an update, and a part of an object from the whole.
func TestApplyRefusals(t *testing.T) {
	s := start(t)
	want(t, s, 201, "POST", deployments, deployment("d"))
	const status = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"none"},"status":{"replicas":1}}`
	for name, c := range map[string]struct {
		path, body string
		code       int
		want       string // in the message
	}{
		"a part of nothing":   {deployments + "/none/status", status, 404, `deployments.apps "none" not found`},
		"a version of nobody": {configmaps + "/new", configMap("new", `"resourceVersion":"5"`, ""), 201, ""},
		"a uid of nobody":     {configmaps + "/other", configMap("other", `"uid":"5"`, ""), 409, "no existing object was found"},
		"no YAML":             {configmaps + "/a", "a: b: c", 400, "error encoding patch: yaml: mapping values are not allowed in this context"},
		"a wrong type": {deployments + "/d", strings.Replace(deployment("d"), `"spec":{`, `"spec":{"minReadySeconds":2.5,`, 1), 500,
			"unable to convert unstructured object to apps/v1, Kind=Deployment: cannot convert float64 to int32"},
	} {
		t.Run(name, func(t *testing.T) {
			o := want(t, s, c.code, "PATCH", c.path+"?fieldManager=m", c.body, "Content-Type", "application/apply-patch+yaml")
			if got := o.text("message"); !strings.Contains(got, c.want) {
				t.Errorf("message %q, want %q in it", got, c.want)
			}
		})
	}
	o := want(t, s, 409, "PATCH", deployments+"/d/scale", `{"metadata":{"uid":"x"}}`, "Content-Type", "application/merge-patch+json")
	if got := o.text("message"); !strings.HasPrefix(got, `Operation cannot be fulfilled on deployments/scale.apps "d": Precondition failed: UID`) {
		t.Errorf("scale of another object: %q", got)
	}
}

// An entry says when its manager changed something: at the request's time, but a time
// that the client sent stays, and an apply that changes only who owns what has none.
func TestTimesOfManagedFields(t *testing.T) {
	s := start(t)
	times := func(o object) (all []any) {
		entries, _ := o.at("metadata", "managedFields").([]any)
		for _, e := range entries {
			all = append(all, object(e.(map[string]any))["time"])
		}
		return all
	}
	const sent = `"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","time":"2001-01-01T00:00:00Z","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}]`
	o := want(t, s, 201, "POST", configmaps, configMap("a", sent, `"a":"1"`))
	if got := times(o); len(got) != 1 || got[0] == nil {
		t.Fatalf("create: %v", got)
	}
	o = want(t, s, 200, "PUT", configmaps+"/a", configMap("a", sent, `"a":"1"`))
	if got := times(o); len(got) != 1 || got[0] != "2001-01-01T00:00:00Z" {
		t.Errorf("a time that was sent: %v", got)
	}
	o = want(t, s, 200, "PATCH", configmaps+"/a?fieldManager=two", configMap("a", "", `"a":"1"`), "Content-Type", "application/apply-patch+yaml")
	if got := times(o); len(got) != 2 || got[0] != nil {
		t.Errorf("an apply that shares a field: %v", got)
	}
}
