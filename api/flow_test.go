package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/api/apitest"
	"kuberow/api/kinds/core"
	"kuberow/api/kinds/flowcontrol"
)

// The answer's headers name the first schema, by precedence and then by name, that has a level and matches: as upstream's.
func TestAnswersNameTheirFlowSchema(t *testing.T) {
	s := apitest.Start(t, slices.Concat(core.Resources(), flowcontrol.Resources()), nil)
	const all = "/apis/flowcontrol.apiserver.k8s.io/v1/"
	create := func(collection, body string) {
		t.Helper()
		if code, answer := s.Do("POST", all+collection, body, "Content-Type", "application/yaml"); code != http.StatusCreated {
			t.Fatalf("%d %s", code, answer)
		}
	}
	schema := func(name, precedence, level, rules string) {
		t.Helper()
		create("flowschemas", "metadata: {name: "+name+"}\nspec: {matchingPrecedence: "+precedence+", priorityLevelConfiguration: {name: "+level+"}, rules: ["+rules+"]}\n")
	}
	create("prioritylevelconfigurations", "metadata: {name: l}\nspec: {type: Limited, limited: {nominalConcurrencyShares: 1, limitResponse: {type: Reject}}}\n")
	const anyone = "subjects: [{kind: Group, group: {name: '*'}}]"
	schema("last", "9000", "l", "{"+anyone+", resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*']}], nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]}")
	schema("no-level", "2", "none", "{"+anyone+", nonResourceRules: [{verbs: ['*'], nonResourceURLs: ['*']}]}")
	schema("health", "100", "l", "{"+anyone+", nonResourceRules: [{verbs: [get], nonResourceURLs: [/readyz]}]}")
	schema("account", "100", "l", "{subjects: [{kind: ServiceAccount, serviceAccount: {namespace: ns, name: '*'}}], resourceRules: [{verbs: [list, watch], apiGroups: [''], resources: [pods], namespaces: [default]}]}")
	schema("bob", "200", "l", "{subjects: [{kind: User, user: {name: bob}}], resourceRules: [{verbs: ['*'], apiGroups: [''], resources: [pods, pods/status], clusterScope: true}]}")
	names := map[string]string{}
	for _, name := range []string{"last", "no-level", "health", "account", "bob"} {
		names[uidOf(t, s, all+"flowschemas/"+name)] = name
	}
	level := uidOf(t, s, all+"prioritylevelconfigurations/l")

	for _, c := range []struct{ user, path, want string }{
		{"bob", "/readyz", "health"},
		{"bob", "/readyz/ping", "health"},
		{"bob", "/readyzzz", "last"},
		{"bob", "/api/v1/pods", "bob"},
		{"bob", "/api/v1/namespaces/default/pods", "last"}, // his rule is about all namespaces at once only
		{"bob", "/api/v1/nodes", "last"},
		{"system:serviceaccount:ns:sa", "/api/v1/namespaces/default/pods", "account"},
		{"system:serviceaccount:ns:sa", "/api/v1/namespaces/default/pods?watch=1&timeoutSeconds=1", "account"},
		{"system:serviceaccount:ns2:sa", "/api/v1/namespaces/default/pods", "last"},
		{"system:serviceaccount:ns:sa", "/api/v1/namespaces/default/pods/none", "last"},
		{"system:serviceaccount:ns:sa", "/api/v1/namespaces/default/pods/none/log", ""}, // long, and no watch: not classified
	} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", s.URL+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+c.user)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := names[resp.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID)]; got != c.want {
			t.Errorf("%s for %s: schema %q, want %q", c.path, c.user, got, c.want)
		}
		if got := resp.Header.Get(flowcontrolv1.ResponseHeaderMatchedPriorityLevelConfigurationUID); (got == level) != (c.want != "") {
			t.Errorf("%s for %s: level %q", c.path, c.user, got)
		}
	}
}

func uidOf(t *testing.T, s *apitest.Server, path string) string {
	t.Helper()
	_, body := s.Do("GET", path, "")
	var m metav1.PartialObjectMetadata
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.UID == "" {
		t.Fatalf("%v in %s", err, body)
	}
	return string(m.UID)
}

// What naming the FlowSchema costs a read: with none, and behind as many that do not match as a new cluster has.
func BenchmarkFlowSchemas(b *testing.B) {
	s := apitest.Start(b, slices.Concat(core.Resources(), flowcontrol.Resources()), nil)
	s.Do("POST", configmaps, `{"metadata":{"name":"a"}}`, "Content-Type", "application/json")
	read := func(b *testing.B) {
		for b.Loop() {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest("GET", configmaps+"/a", nil))
			if w.Code != http.StatusOK {
				b.Fatal(w.Body)
			}
		}
	}
	b.Run("none", read)
	s.Do("POST", "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations",
		"metadata: {name: l}\nspec: {type: Limited, limited: {nominalConcurrencyShares: 1, limitResponse: {type: Reject}}}\n", "Content-Type", "application/yaml")
	for i := range 11 {
		subject := "{kind: User, user: {name: nobody}}"
		if i == 10 {
			subject = "{kind: Group, group: {name: '*'}}"
		}
		code, answer := s.Do("POST", "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", fmt.Sprintf("metadata: {name: s%d}\nspec: {matchingPrecedence: %d, "+
			"priorityLevelConfiguration: {name: l}, rules: [{subjects: [%s], resourceRules: [{verbs: ['*'], apiGroups: ['*'], resources: ['*'], namespaces: ['*']}]}]}\n",
			i, 100+i, subject), "Content-Type", "application/yaml")
		if code != http.StatusCreated {
			b.Fatal(answer)
		}
	}
	b.Run("eleven", read)
}
