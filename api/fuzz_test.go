package api_test

import (
	"database/sql"
	"encoding/base64"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"

	"kuberow/api"
	"kuberow/api/apitest"
	"kuberow/api/auth"
	"kuberow/api/kinds/builtin"
)

// Whatever a client sends, the server neither panics nor calls it its own
// fault: every answer is below 500, but for 503 and 504, and for the few that
// Real Kubernetes, too, answers with a 500 that tells the client's mistake. All
// writes are dry runs, so that one input does not change what the next one meets.

const (
	deployments = "/apis/apps/v1/namespaces/default/deployments"
	web         = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","labels":{"a":"b"}},"spec":{"replicas":2,` +
		`"selector":{"matchLabels":{"app":"web"}},"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[` +
		`{"name":"c","image":"i","ports":[{"containerPort":80}],"env":[{"name":"A","value":"1"}]}]}}}}`
)

// fuzzServer has a Deployment that patches can be tried on.
func fuzzServer(f *testing.F) *apitest.Server {
	s := apitest.Start(f, builtin.Resources(), func(c *api.Config) {
		c.Cluster.ClusterDNS, c.Cluster.ClusterDomain = "10.96.0.10", "cluster.local"
	})
	authorizer, err := auth.NewAuthorizer([]string{"RBAC"}, s.Store, s.Reader())
	if err != nil {
		f.Fatal(err)
	}
	s.Cluster.Access = auth.Access{Authorizer: authorizer, Authenticator: &auth.Authenticator{}}
	for path, body := range map[string]string{
		"/api/v1/namespaces": `{"metadata":{"name":"default"}}`,
		deployments:          web,
		configmaps:           `{"metadata":{"name":"a"},"data":{"k":"v"}}`,
	} {
		if code, answer := s.Do("POST", path, body, "Content-Type", "application/json"); code != 201 {
			f.Fatalf("prepare: %d %s", code, answer)
		}
	}
	return s
}

// ask sends a request without a network in between. headers are name, value, ...
func ask(t *testing.T, s *apitest.Server, method, target string, body []byte, headers ...string) {
	t.Helper()
	u, err := url.Parse(target)
	if err != nil {
		t.Skip("no URL")
	}
	req := httptest.NewRequest(method, "/", strings.NewReader(string(body)))
	req.URL, req.RequestURI = u, target
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req.WithContext(t.Context()))
	switch w.Code {
	case http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return
	}
	if req.Header.Get("Content-Type") == strategic && w.Code == 500 && !strings.Contains(w.Body.String(), `"reason"`) {
		return // the library that applies the patch does not say whose fault it is, and upstream passes that on
	}
	if w.Code >= 500 && !slices.ContainsFunc(mistakes, func(text string) bool { return strings.Contains(w.Body.String(), text) }) {
		t.Errorf("%s %s with %q: %d %s", method, target, body, w.Code, w.Body)
	}
}

// mistakes are words of the 500s that upstream's server answers too, which recorded exchanges hold us to.
var mistakes = []string{
	"resourceVersion: Invalid value:", "resourceVersion should not be set on objects to be created",
	"failed to create typed patch object", "target.kind: ",
}

const strategic = "application/strategic-merge-patch+json"

// collections are the paths that bodies are sent to.
var collections = []string{
	"/api/v1/namespaces/default/pods", "/api/v1/namespaces/default/services", "/api/v1/namespaces/default/secrets", "/api/v1/nodes",
	"/api/v1/namespaces/default/events", "/api/v1/persistentvolumes", deployments, "/apis/apps/v1/namespaces/default/statefulsets",
	"/apis/batch/v1/namespaces/default/cronjobs", "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
	"/apis/networking.k8s.io/v1/namespaces/default/ingresses", "/apis/rbac.authorization.k8s.io/v1/clusterroles",
	"/apis/apiextensions.k8s.io/v1/customresourcedefinitions", "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
	"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas", "/apis/certificates.k8s.io/v1/certificatesigningrequests",
	"/apis/resource.k8s.io/v1/namespaces/default/resourceclaims", "/apis/authorization.k8s.io/v1/subjectaccessreviews",
	"/apis/discovery.k8s.io/v1/namespaces/default/endpointslices", "/apis/storage.k8s.io/v1/storageclasses",
}

func FuzzBodies(f *testing.F) {
	s := fuzzServer(f)
	f.Add(uint8(6), uint8(0), []byte(web))
	f.Add(uint8(6), uint8(1), []byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: x}\nspec: &a {template: {spec: *a}}\n"))
	f.Add(uint8(0), uint8(1), []byte("a: &a [x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b,*b,*b]\n"))
	f.Add(uint8(0), uint8(0), []byte(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}],"volumes":[{"name":"v"}]}}`))
	f.Add(uint8(1), uint8(0), []byte(`{"metadata":{"name":"s"},"spec":{"ports":[{"port":80,"targetPort":"x"}],"clusterIP":"10.96.0.9"}}`))
	f.Add(uint8(12), uint8(0), []byte(`{"metadata":{"name":"as.b.c"},"spec":{"group":"b.c","names":{"plural":"as","kind":"A"},"scope":"Cluster","versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-validations":[{"rule":"self == 1"}]}}}]}}`))
	f.Add(uint8(0), uint8(0), []byte(strings.Repeat(`{"a":`, 11000)))
	for i, obj := range []runtime.Object{&corev1.Pod{}, &corev1.Service{}, &corev1.Secret{}, &corev1.Node{}, &corev1.Event{}, &corev1.PersistentVolume{}, &appsv1.Deployment{}} {
		gvks, _, err := scheme.Scheme.ObjectKinds(obj)
		if err != nil {
			f.Fatal(err)
		}
		obj.GetObjectKind().SetGroupVersionKind(gvks[0])
		text, err := runtime.Encode(protobuf.NewSerializer(scheme.Scheme, scheme.Scheme), obj)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), uint8(2), text)
	}
	types := []string{"application/json", "application/yaml", "application/vnd.kubernetes.protobuf"}
	f.Fuzz(func(t *testing.T, where, how uint8, body []byte) {
		path, contentType := collections[int(where)%len(collections)], types[int(how)%len(types)]
		ask(t, s, "POST", path+"?dryRun=All", body, "Content-Type", contentType)
		ask(t, s, "PUT", path+"/web?dryRun=All&fieldValidation=Strict", body, "Content-Type", contentType)
		ask(t, s, "DELETE", path+"/web?dryRun=All", body, "Content-Type", contentType)
	})
}

func FuzzPatches(f *testing.F) {
	s := fuzzServer(f)
	types := []string{
		"application/json-patch+json", "application/merge-patch+json", strategic, "application/apply-patch+yaml",
	}
	for i, bodies := range [][]string{
		{`[{"op":"add","path":"/metadata/labels/x","value":"y"}]`, `[{"op":"copy","from":"/spec","path":"/spec/template"}]`, `[{"op":"test","path":""}]`, `[{"op":"test","path":"/spec/replicas","value":2},{"op":"remove","path":"/spec/template/spec/containers/0"},{"op":"move","from":"/spec","path":"/metadata/-"}]`},
		{`{"spec":{"replicas":null,"template":{"spec":{"containers":[]}}}}`, `{"metadata":{"name":"other"}}`, `{"spec":{"replicas":1e400}}`},
		{`{"spec":{"template":{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}}}`, `{"$retainKeys":["a"],"spec":{"strategy":{"$retainKeys":["type"],"type":"Recreate"}}}`,
			`{"spec":{"template":{"spec":{"$setElementOrder/containers":[{"name":"c"}],"containers":[{"name":"d","image":"x"}]}}}}`, `{"metadata":{"$deleteFromPrimitiveList/finalizers":["x"]}}`},
		{web, "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, managedFields: [{}]}\nspec: {replicas: 3}\n", `{"apiVersion":"apps/v1","kind":"Deployment","spec":{"template":{"spec":{"containers":[{"image":"x"}]}}}}`},
	} {
		for _, body := range bodies {
			f.Add(uint8(i), []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, how uint8, body []byte) {
		contentType := types[int(how)%len(types)]
		for _, path := range []string{deployments + "/web", deployments + "/web/status", deployments + "/web/scale", configmaps + "/a", configmaps + "/new"} {
			ask(t, s, "PATCH", path+"?dryRun=All&fieldManager=f", body, "Content-Type", contentType)
		}
		ask(t, s, "PATCH", deployments+"/web?dryRun=All&fieldManager=f&fieldValidation=Ignore", body, "Content-Type", contentType)
	})
}

func FuzzQueries(f *testing.F) {
	s := fuzzServer(f)
	for _, q := range []string{
		"labelSelector=a+in+(b,c),!d", "fieldSelector=metadata.name%3Da,spec.x!=y", "limit=1", "limit=-1", "resourceVersion=0&resourceVersionMatch=NotOlderThan",
		"resourceVersion=x", "timeoutSeconds=1", "continue=abc", "sendInitialEvents=true", "pretty=1", "includeObject=None", "dryRun=All&propagationPolicy=Orphan",
		"gracePeriodSeconds=-5", "fieldValidation=x", "labelSelector=" + strings.Repeat("a,", 500), "limit=9999999999999999999",
	} {
		f.Add(q, "")
	}
	f.Add("", "application/json;as=Table;g=meta.k8s.io;v=v1")
	f.Add("", "application/vnd.kubernetes.protobuf;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1, */*;q=0.1")
	f.Fuzz(func(t *testing.T, query, accept string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Skip("no query")
		}
		q.Del("watch") // a watch would last
		for _, path := range []string{configmaps, deployments, "/api/v1/pods", configmaps + "/a", "/api/v1/namespaces/default/events", "/api", "/apis/apps/v1"} {
			ask(t, s, "GET", path+"?"+q.Encode(), nil, "Accept", accept)
		}
		q.Set("dryRun", "All")
		ask(t, s, "DELETE", configmaps+"?"+q.Encode(), nil, "Accept", accept)
		ask(t, s, "POST", configmaps+"?"+q.Encode(), []byte(`{"metadata":{"generateName":"x"}}`), "Accept", accept, "Content-Type", "application/json")
	})
}

func FuzzSelectors(f *testing.F) {
	s := fuzzServer(f)
	f.Add("a=b", "metadata.name=a")
	f.Add("a notin (b, c), d exists", `status.phase!=Running,spec.nodeName=`)
	f.Add("!a,b>5", `metadata.name=a\,b`)
	f.Fuzz(func(t *testing.T, label, field string) {
		q := url.Values{"labelSelector": {label}, "fieldSelector": {field}}.Encode()
		ask(t, s, "GET", configmaps+"?"+q, nil)
		ask(t, s, "GET", "/api/v1/pods?"+q, nil, "Accept", "application/json;as=Table;g=meta.k8s.io;v=v1")
	})
}

func FuzzContinue(f *testing.F) {
	s := fuzzServer(f)
	f.Add([]byte(`{"v":"meta.k8s.io/v1","rv":1,"start":"default/a"}`))
	f.Add([]byte(`{"v":"meta.k8s.io/v1","rv":-1,"start":"../x\u0000"}`))
	f.Add([]byte(`{"v":"meta.k8s.io/v1","rv":99999999999,"start":""}`))
	f.Fuzz(func(t *testing.T, token []byte) {
		for _, text := range []string{base64.RawURLEncoding.EncodeToString(token), string(token)} {
			ask(t, s, "GET", configmaps+"?"+url.Values{"continue": {text}, "limit": {"1"}}.Encode(), nil)
		}
	})
}

func FuzzPaths(f *testing.F) {
	s := fuzzServer(f)
	for _, p := range []string{"/api/v1/namespaces/default/pods/x/log", "/apis//v1", "/api/v1/watch/pods/x", "/api/v1/namespaces/%2e%2e/pods", "/healthz/../x", "/apis/apps/v1/namespaces/default/deployments/web/scale/x", "/version/", "//"} {
		f.Add(p, "GET")
		f.Add(p, "POST")
	}
	f.Fuzz(func(t *testing.T, path, method string) {
		switch method {
		case "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS":
		default:
			t.Skip("no method")
		}
		if strings.Contains(path, "watch") || !strings.HasPrefix(path, "/") {
			t.Skip("lasts, or no path")
		}
		u := url.URL{Path: path, RawQuery: "dryRun=All"}
		ask(t, s, method, u.String(), nil, "Content-Type", "application/json")
	})
}

// FuzzProposals makes wishes of rows that any process may write: each is carried out or refused.
func FuzzProposals(f *testing.F) {
	s := fuzzServer(f)
	for _, value := range []string{`{"data":{"a":"b"}}`, `{"metadata":null}`, `{"metadata":{"name":"other"}}`, `null`, `[]`, `{"apiVersion":"v2","kind":7}`, web} {
		f.Add("/registry/configmaps/default/x", value)
	}
	f.Add("/registry/deployments/default/web", web)
	f.Add("/registry/configmaps/../x", `{}`)
	f.Add("/registry/events/default/a?b#c%2f", `{"apiVersion":"events.k8s.io/v1","metadata":{}}`)
	f.Add("/registry/namespaces/", "")
	f.Fuzz(func(t *testing.T, key, value string) {
		err := s.CarryOut(t.Context(), key, sql.NullString{String: value, Valid: value != ""})
		if status := apierrors.APIStatus(nil); errors.As(err, &status) && status.Status().Code >= 500 &&
			!slices.ContainsFunc(mistakes, func(text string) bool { return strings.Contains(err.Error(), text) }) {
			t.Errorf("%q %q: %v", key, value, err)
		}
	})
}
