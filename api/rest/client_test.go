package rest_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/api"
	"kuberow/api/admission"
	"kuberow/api/apitest"
	"kuberow/api/kinds"
	"kuberow/api/kinds/core"
	"kuberow/sqlstore"
)

var configmapsGR = schema.GroupResource{Resource: "configmaps"}

func write(name string, obj runtime.Object) kinds.Write {
	return kinds.Write{User: controller("test"), Agent: "test-controller", Resource: configmapsGR, Namespace: "default", Name: name, Object: obj}
}

// TestMutateLosesNoUpdate: many writers count in one object; each must see the others.
func TestMutateLosesNoUpdate(t *testing.T) {
	s := start(t)
	c := s.Client()
	_, err := c.Create(t.Context(), write("", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Data: map[string]string{"n": "0"}}))
	if err != nil {
		t.Fatal(err)
	}
	const writers, times = 8, 5
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range times {
				w := write("n", nil)
				w.Mutate = func(obj runtime.Object) error {
					m := obj.(*corev1.ConfigMap)
					n, err := strconv.Atoi(m.Data["n"])
					m.Data["n"] = strconv.Itoa(n + 1)
					return err
				}
				if _, err := c.Mutate(t.Context(), w); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	obj, err := s.Reader().Get(t.Context(), configmapsGR, "default", "n")
	if err != nil {
		t.Fatal(err)
	}
	if got := obj.(*corev1.ConfigMap).Data["n"]; got != strconv.Itoa(writers*times) {
		t.Errorf("counted %s, want %d", got, writers*times)
	}
}

func TestClientErrors(t *testing.T) {
	s := start(t)
	c := s.Client()
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", Namespace: "default"}}
	created, err := c.Create(t.Context(), write("", m.DeepCopy()))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Create(t.Context(), write("", m.DeepCopy())); !apierrors.IsAlreadyExists(err) {
		t.Errorf("create twice: %v", err)
	}
	stale := created.DeepCopyObject().(*corev1.ConfigMap)
	stale.Data = map[string]string{"k": "1"}
	if _, err := c.Update(t.Context(), write("a", stale)); err != nil {
		t.Fatal(err)
	}
	stale.Data["k"] = "2"
	if _, err := c.Update(t.Context(), write("a", stale)); !apierrors.IsConflict(err) {
		t.Errorf("update of an old version: %v", err)
	}
	w := write("a", nil)
	w.UID = "other"
	if _, err := c.Delete(t.Context(), w); !apierrors.IsConflict(err) {
		t.Errorf("delete of another uid: %v", err)
	}
	if _, err := c.Delete(t.Context(), write("a", nil)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Reader().Get(t.Context(), configmapsGR, "default", "a"); !apierrors.IsNotFound(err) {
		t.Errorf("get after delete: %v", err)
	}
}

// TestSharedObjectsStayAsTheyAre: readers share decoded objects, so no write may reach into one.
func TestSharedObjectsStayAsTheyAre(t *testing.T) {
	s := start(t)
	want(t, s, 201, "POST", configmaps, configMap("a", `"labels":{"l":"1"}`, `"k":"1"`))
	list, err := s.Reader().List(t.Context(), configmapsGR, "", labels.Everything())
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	shared := list[0].(*corev1.ConfigMap)
	before, _ := json.Marshal(shared)
	want(t, s, 200, "PATCH", configmaps+"/a", `{"metadata":{"labels":{"l":"2"}},"data":{"k":"2"}}`, "Content-Type", "application/strategic-merge-patch+json")
	want(t, s, 200, "PATCH", configmaps+"/a?fieldManager=m&force=true", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"3"}}`, "Content-Type", "application/apply-patch+yaml")
	want(t, s, 200, "DELETE", configmaps+"/a?propagationPolicy=Foreground", "")
	if after, _ := json.Marshal(shared); string(after) != string(before) {
		t.Errorf("a shared object changed:\n%s\n%s", before, after)
	}
}

// TestAdmissionStages: mutating plugins change what is stored, validating
// ones see the result and refuse; both see controllers as well as HTTP.
func TestAdmissionStages(t *testing.T) {
	var seen []string
	plugins := []admission.Plugin{
		{Name: "Refuse", Validate: func(a *admission.Attributes) error {
			seen = append(seen, a.Operation+" "+a.User.GetName())
			if m, ok := a.Object.(*corev1.ConfigMap); ok && m.Data["mark"] == "" {
				return fmt.Errorf("it is not marked")
			}
			if a.Operation == "DELETE" {
				return fmt.Errorf("nothing is deleted here")
			}
			return nil
		}},
		{Name: "Mark", Mutate: func(a *admission.Attributes) error {
			if m, ok := a.Object.(*corev1.ConfigMap); ok && m.Name != "bare" {
				m.Data = map[string]string{"mark": "1"}
			}
			return nil
		}},
	}
	s := apitest.Start(t, core.Resources(), func(c *api.Config) { c.Admission = plugins })
	o := want(t, s, 201, "POST", configmaps, configMap("a", "", ""))
	if o.text("data", "mark") != "1" {
		t.Errorf("not mutated: %v", o)
	}
	o = want(t, s, 403, "POST", configmaps, configMap("bare", "", ""))
	if o.text("message") != `configmaps "bare" is forbidden: it is not marked` {
		t.Errorf("message %q", o.text("message"))
	}
	want(t, s, 403, "DELETE", configmaps+"/a", "")
	_, err := s.Client().Create(t.Context(), write("", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "bare"}}))
	if !apierrors.IsForbidden(err) {
		t.Errorf("a controller passed admission: %v", err)
	}
	if got := fmt.Sprint(seen); got != "[CREATE admin CREATE admin DELETE admin CREATE system:serviceaccount:kube-system:test]" {
		t.Errorf("seen %s", got)
	}
}

// TestRequestRow: every write leaves who asked, with what and why.
func TestRequestRow(t *testing.T) {
	s := start(t)
	want(t, s, 201, "POST", configmaps, configMap("cause", "", ""))
	kv, _, err := s.Store.Get(t.Context(), "/registry/configmaps/default/cause", 0)
	if err != nil {
		t.Fatal(err)
	}
	w := write("", &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a"}})
	w.Cause = sqlstore.Cause{Revision: kv.ModRevision, ID: kv.ID}
	if _, err := s.Client().Create(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	var got string
	err = s.Store.Reader().GetContext(t.Context(), &got,
		`SELECT user || '|' || agent || '|' || verb || '|' || path || '|' || cause_revision || '|' || cause_id FROM request ORDER BY id DESC LIMIT 1`)
	if err != nil {
		t.Fatal(err)
	}
	wanted := fmt.Sprintf("system:serviceaccount:kube-system:test|test-controller|create|/api/v1/namespaces/default/configmaps|%d|%d", kv.ModRevision, kv.ID)
	if got != wanted {
		t.Errorf("got  %s\nwant %s", got, wanted)
	}
}

// TestCompactedReads: below compact_revision lists and watches are told so.
func TestCompactedReads(t *testing.T) {
	s := start(t)
	many(t, s, 4)
	page := want(t, s, 200, "GET", configmaps+"?limit=2", "")
	for range 3 {
		want(t, s, 200, "PATCH", configmaps+"/c00", fmt.Sprintf(`{"data":{"i":"%d"}}`, time.Now().UnixNano()), "Content-Type", "application/merge-patch+json")
	}
	res, err := s.Proposer.Propose(t.Context(), &sqlstore.Command{Compact: &sqlstore.Compact{Revision: s.Store.Revision()}})
	if err != nil || res.Err != nil {
		t.Fatal(err, res.Err)
	}
	o := want(t, s, 410, "GET", configmaps+"?limit=2&continue="+page.text("metadata", "continue"), "")
	if o.text("reason") != "Expired" {
		t.Errorf("answer %v", o)
	}
	rest := want(t, s, 200, "GET", configmaps+"?continue="+o.text("metadata", "continue"), "")
	if got := fmt.Sprint(rest.names()); got != "[c02 c03]" {
		t.Errorf("the token of the answer goes on with %s", got)
	}
	want(t, s, 410, "GET", configmaps+"?resourceVersionMatch=Exact&resourceVersion="+page.version(), "")
	next := watch(t, s, "resourceVersion="+page.version())
	k, e := next()
	if k != "ERROR" || e.at("code") != 410.0 || !strings.HasPrefix(e.text("message"), "too old resource version: ") {
		t.Errorf("event %s %v", k, e)
	}
}

// TestManagedFieldsTime: the entries carry the request's time, so that a run can be repeated exactly.
func TestManagedFieldsTime(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := apitest.Start(t, core.Resources(), func(c *api.Config) { c.Clock = func() time.Time { return at } })
	o := want(t, s, 201, "POST", configmaps, configMap("a", "", `"k":"1"`))
	b, _ := json.Marshal(o.at("metadata"))
	if n := strings.Count(string(b), "2026-01-02T03:04:05Z"); n != 2 {
		t.Errorf("%d times from the clock, want creation and the one manager's: %s", n, b)
	}
}

// TestEventsAreLeased: an event is put under a lease of --event-ttl, one for all that come within a minute.
func TestEventsAreLeased(t *testing.T) {
	s := apitest.Start(t, core.Resources(), nil)
	for i := range 3 {
		want(t, s, 201, "POST", "/api/v1/namespaces/default/events",
			fmt.Sprintf(`{"metadata":{"name":"e%d"},"involvedObject":{"namespace":"default","kind":"Pod","name":"p"},"reason":"R","type":"Normal"}`, i))
	}
	kv, _, err := s.Store.Get(t.Context(), "/registry/events/default/e0", 0)
	if err != nil {
		t.Fatal(err)
	}
	lease, there, err := s.Store.Lease(t.Context(), kv.Lease)
	if err != nil || !there || lease.TTL < 3600 || lease.TTL > 3700 {
		t.Errorf("lease %+v, %v, %v; want an hour and a little", lease, there, err)
	}
	keys, err := s.Store.LeaseKeys(t.Context(), kv.Lease)
	if err != nil || len(keys) != 3 {
		t.Errorf("keys under the lease: %v, %v", keys, err)
	}
	res, err := s.Proposer.Propose(t.Context(), &sqlstore.Command{LeaseRevoke: &sqlstore.LeaseRevoke{ID: kv.Lease, At: time.Now().UnixNano()}})
	if err != nil || res.Err != nil {
		t.Fatal(err, res.Err)
	}
	want(t, s, 404, "GET", "/api/v1/namespaces/default/events/e0", "")
	body := `{"metadata":{"name":"e9"},"involvedObject":{"namespace":"default","kind":"Pod","name":"p"},"reason":"R","type":"Normal"}`
	if code, text := s.Do("POST", "/api/v1/namespaces/default/events", body); code != 500 || !strings.Contains(text, "ServerTimeout") {
		t.Errorf("a write under a lease that is gone: %d %s", code, text)
	}
	want(t, s, 201, "POST", "/api/v1/namespaces/default/events", body)
}
