package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"kuberow/api/kinds"
	"kuberow/sqlstore"
	"kuberow/sqlstore/storetest"
)

// world is a real store with objects in it, seen by the plugins through their
// mirror and through a Reader.
type world struct {
	*sqlstore.Store
	t        testing.TB
	index    uint64
	objects  map[string]runtime.Object // RESOURCE/NAMESPACE/NAME
	warnings []string
}

func newWorld(t testing.TB) *world {
	w := &world{Store: storetest.Open(t), t: t, objects: map[string]runtime.Object{}}
	w.put("namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	w.put("serviceaccounts", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "ns"},
		ImagePullSecrets: []corev1.LocalObjectReference{{Name: "pull"}}})
	return w
}

func (w *world) put(resource string, o metav1.Object) {
	w.t.Helper()
	data, err := json.Marshal(o)
	if err != nil {
		w.t.Fatal(err)
	}
	key := "/registry/" + resource + "/" + strings.TrimPrefix(o.GetNamespace()+"/"+o.GetName(), "/")
	tx, err := w.Begin(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	w.index++
	if r := tx.Apply(w.index, &sqlstore.Command{Txn: &sqlstore.Txn{Then: []sqlstore.Op{{Type: sqlstore.OpPut, Key: key, Value: data,
		Object: sqlstore.ObjectRef{Resource: resource, Namespace: o.GetNamespace(), Name: o.GetName(), UID: key}}}}}); r.Err != nil {
		w.t.Fatal(r.Err)
	}
	if err := tx.Commit(); err != nil {
		w.t.Fatal(err)
	}
	w.objects[resource+"/"+o.GetNamespace()+"/"+o.GetName()] = o.(runtime.Object)
}

func (w *world) Get(_ context.Context, gr schema.GroupResource, namespace, name string) (runtime.Object, error) {
	if o := w.objects[gr.Resource+"/"+namespace+"/"+name]; o != nil {
		return o, nil
	}
	return nil, apierrors.NewNotFound(gr, name)
}

func (w *world) List(_ context.Context, gr schema.GroupResource, namespace string, _ labels.Selector) (out []runtime.Object, _ error) {
	for k, o := range w.objects {
		if strings.HasPrefix(k, gr.Resource+"/"+namespace) {
			out = append(out, o)
		}
	}
	return out, nil
}

// Mutate is all of kinds.Client that plugins use.
func (w *world) Mutate(_ context.Context, write kinds.Write) (runtime.Object, error) {
	key := write.Resource.Resource + "/" + write.Namespace + "/" + write.Name
	o := w.objects[key].DeepCopyObject()
	if err := write.Mutate(o); err != nil {
		return nil, err
	}
	w.put(write.Resource.Resource, o.(metav1.Object))
	return o, nil
}

func (*world) Create(context.Context, kinds.Write) (runtime.Object, error) { panic("not used") }
func (*world) Update(context.Context, kinds.Write) (runtime.Object, error) { panic("not used") }
func (*world) Delete(context.Context, kinds.Write) (runtime.Object, error) { panic("not used") }

// write is a write of o to a resource; old makes it an update.
func (w *world) write(resource, sub string, o, old runtime.Object) *Attributes {
	a := &Attributes{Operation: create, Object: o, Old: old, Context: &kinds.Context{
		Ctx: w.t.Context(), User: &user.DefaultInfo{Name: "alice"}, Resource: &kinds.Resource{Name: resource, Namespaced: true}, Subresource: sub,
		Reader: w, Client: w, Now: time.Unix(1e9, 0), Random: func(n int) string { return strings.Repeat("x", n) },
		Warn: func(s string) { w.warnings = append(w.warnings, s) }, Cluster: &kinds.Cluster{},
	}}
	if old != nil {
		a.Operation = update
	}
	if m, ok := o.(metav1.Object); ok {
		a.Name, a.Namespace = m.GetName(), m.GetNamespace()
	}
	return a
}

// pass runs all plugins: those that mutate, then those that validate.
func (w *world) pass(a *Attributes) error {
	w.t.Helper()
	all, err := Default(Options{Source: w})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, p := range all {
		if p.Mutate != nil {
			if err := p.Mutate(a); err != nil {
				return err
			}
		}
	}
	for _, p := range all {
		if p.Validate != nil {
			if err := p.Validate(a); err != nil {
				return err
			}
		}
	}
	return nil
}

func pod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "ns"}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}}}
	if change != nil {
		change(p)
	}
	return p
}

func TestPodIsCompleted(t *testing.T) {
	w := newWorld(t)
	p := pod(nil)
	if err := w.pass(w.write("pods", "", p, nil)); err != nil {
		t.Fatal(err)
	}
	if p.Spec.ServiceAccountName != "default" || p.Spec.DeprecatedServiceAccount != "default" || len(p.Spec.ImagePullSecrets) != 1 {
		t.Errorf("service account %q, %v", p.Spec.ServiceAccountName, p.Spec.ImagePullSecrets)
	}
	if *p.Spec.Priority != 0 || *p.Spec.PreemptionPolicy != corev1.PreemptLowerPriority {
		t.Errorf("priority %v %v", *p.Spec.Priority, *p.Spec.PreemptionPolicy)
	}
	want := []corev1.VolumeMount{{Name: "kube-api-access-xxxxx", ReadOnly: true, MountPath: "/var/run/secrets/kubernetes.io/serviceaccount"}}
	if diff := cmp.Diff(want, p.Spec.Containers[0].VolumeMounts); diff != "" || len(p.Spec.Volumes) != 1 {
		t.Errorf("%v %s", p.Spec.Volumes, diff)
	}
	var tolerated []string
	for _, to := range p.Spec.Tolerations {
		tolerated = append(tolerated, fmt.Sprint(to.Key, to.Effect, *to.TolerationSeconds))
	}
	if !slices.Equal(tolerated, []string{"node.kubernetes.io/not-readyNoExecute300", "node.kubernetes.io/unreachableNoExecute300"}) {
		t.Errorf("tolerations %q", tolerated)
	}
}

func TestPodKeepsWhatItSays(t *testing.T) {
	w := newWorld(t)
	w.put("priorityclasses", &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "high"}, Value: 7})
	p := pod(func(p *corev1.Pod) {
		p.Spec.AutomountServiceAccountToken = new(false)
		p.Spec.PriorityClassName = "high"
		p.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
	})
	if err := w.pass(w.write("pods", "", p, nil)); err != nil {
		t.Fatal(err)
	}
	if len(p.Spec.Volumes) != 0 || *p.Spec.Priority != 7 || len(p.Spec.Tolerations) != 1 {
		t.Errorf("volumes %v priority %d tolerations %v", p.Spec.Volumes, *p.Spec.Priority, p.Spec.Tolerations)
	}
}

func TestRefusals(t *testing.T) {
	w := newWorld(t)
	w.put("namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ending"}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating}})
	w.put("namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "strict", Labels: map[string]string{
		"pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/warn": "restricted"}}})
	w.put("serviceaccounts", &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default", Namespace: "strict"}})
	in := func(namespace string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Namespace = namespace } }
	for _, c := range []struct {
		name string
		a    *Attributes
		want string
	}{
		{"no namespace", w.write("pods", "", pod(in("gone")), nil), `namespaces "gone" not found`},
		{"ending namespace", w.write("pods", "", pod(in("ending")), nil),
			`pods "p" is forbidden: unable to create new content in namespace ending because it is being terminated`},
		{"no account", w.write("pods", "", pod(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "gone" }), nil),
			`pods "p" is forbidden: error looking up service account ns/gone: serviceaccount "gone" not found`},
		{"no class", w.write("pods", "", pod(func(p *corev1.Pod) { p.Spec.PriorityClassName = "gone" }), nil),
			`pods "p" is forbidden: no PriorityClass with name gone was found`},
		{"own priority", w.write("pods", "", pod(func(p *corev1.Pod) { p.Spec.Priority = new(int32(5)) }), nil),
			`pods "p" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name`},
		{"no runtime", w.write("pods", "", pod(func(p *corev1.Pod) { p.Spec.RuntimeClassName = new("gone") }), nil),
			`pods "p" is forbidden: pod rejected: RuntimeClass "gone" not found`},
		{"own overhead", w.write("pods", "", pod(func(p *corev1.Pod) { p.Spec.Overhead = corev1.ResourceList{"cpu": resource.MustParse("1")} }), nil),
			`pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`},
		{"privileged", w.write("pods", "", pod(func(p *corev1.Pod) { p.Namespace = "strict"; p.Spec.HostNetwork = true }), nil),
			`pods "p" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`},
	} {
		err := w.pass(c.a)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s: %v, want %s", c.name, err, c.want)
		}
	}
	w.warnings = nil
	if err := w.pass(w.write("pods", "", pod(in("strict")), nil)); err != nil || len(w.warnings) != 1 || !strings.HasPrefix(w.warnings[0], `would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false`) {
		t.Errorf("%v, warnings %q", err, w.warnings)
	}
	system := w.write("namespaces", "", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}, nil)
	system.Operation, system.Object = remove, nil
	if err := w.pass(system); err == nil || err.Error() != `namespaces "kube-system" is forbidden: this namespace may not be deleted` {
		t.Error(err)
	}
}

func TestLimitRange(t *testing.T) {
	w := newWorld(t)
	list := func(cpu, memory string) corev1.ResourceList {
		out := corev1.ResourceList{}
		for name, q := range map[corev1.ResourceName]string{"cpu": cpu, "memory": memory} {
			if q != "" {
				out[name] = resource.MustParse(q)
			}
		}
		return out
	}
	w.put("limitranges", &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "lr", Namespace: "ns"}, Spec: corev1.LimitRangeSpec{Limits: []corev1.LimitRangeItem{
		{Type: corev1.LimitTypeContainer, Default: list("200m", "64Mi"), DefaultRequest: list("100m", "64Mi"), Max: list("1", ""), Min: list("50m", ""), MaxLimitRequestRatio: list("4", "")},
		{Type: corev1.LimitTypePod, Max: list("2", "")},
	}}})
	p := pod(nil)
	if err := w.pass(w.write("pods", "", p, nil)); err != nil {
		t.Fatal(err)
	}
	if got := p.Annotations[limitRangerAnnotation]; got != "LimitRanger plugin set: cpu, memory request for container c; cpu, memory limit for container c" {
		t.Errorf("annotation %q", got)
	}
	for want, r := range map[string]corev1.ResourceRequirements{
		"[maximum cpu usage per Container is 1, but limit is 3, maximum cpu usage per Pod is 2, but limit is 3]":                                           {Limits: list("3", ""), Requests: list("3", "")},
		"[minimum cpu usage per Container is 50m, but request is 10m, cpu max limit to request ratio per Container is 4, but provided ratio is 20.000000]": {Requests: list("10m", "")},
	} {
		err := w.pass(w.write("pods", "", pod(func(p *corev1.Pod) { p.Spec.Containers[0].Resources = r }), nil))
		if err == nil || err.Error() != `pods "p" is forbidden: `+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func TestQuotaIsChargedUntilItIsUsedUp(t *testing.T) {
	w := newWorld(t)
	hard := corev1.ResourceList{"pods": resource.MustParse("2"), "requests.cpu": resource.MustParse("1")}
	q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q", Namespace: "ns"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}
	w.put("resourcequotas", q)
	cpu := func(amount string) *corev1.Pod {
		return pod(func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse(amount)}
		})
	}
	if err := w.pass(w.write("pods", "", pod(nil), nil)); err != nil {
		t.Errorf("before the controller has seen the quota: %v", err)
	}
	q = q.DeepCopy()
	q.Status = corev1.ResourceQuotaStatus{Hard: hard, Used: corev1.ResourceList{"pods": resource.MustParse("0"), "requests.cpu": resource.MustParse("0")}}
	w.put("resourcequotas", q)
	for _, c := range []struct {
		p    *corev1.Pod
		want string
	}{
		{pod(nil), `failed quota: q: must specify requests.cpu for: c`},
		{cpu("600m"), ""},
		{cpu("600m"), `exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=600m, limited: requests.cpu=1`},
		{cpu("100m"), ""},
		{cpu("100m"), `exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2`},
	} {
		err := w.pass(w.write("pods", "", c.p, nil))
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != `pods "p" is forbidden: `+c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
	if used := w.objects["resourcequotas/ns/q"].(*corev1.ResourceQuota).Status.Used; used.Pods().Value() != 2 || used.Name("requests.cpu", resource.DecimalSI).String() != "700m" {
		t.Errorf("used %v", used)
	}
	dry := w.write("pods", "", cpu("100m"), nil)
	dry.DryRun = true
	if err := w.pass(dry); err == nil {
		t.Error("a dry run passes a quota that is used up")
	}
}

func TestKubeletWritesOnlyItsOwn(t *testing.T) {
	w := newWorld(t)
	node := func(name string, labels map[string]string) *corev1.Node {
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	bound := pod(func(p *corev1.Pod) { p.Spec.NodeName = "n2" })
	for _, c := range []struct {
		name string
		a    *Attributes
		want string
	}{
		{"itself", w.write("nodes", "", node("n1", map[string]string{"kubernetes.io/hostname": "n1", "own": "x"}), nil), ""},
		{"another", w.write("nodes", "", node("n2", nil), nil), `nodes "n2" is forbidden: node "n1" is not allowed to modify node "n2"`},
		{"labels", w.write("nodes", "", node("n1", map[string]string{"node-restriction.kubernetes.io/x": "y"}), nil),
			`nodes "n1" is forbidden: node "n1" is not allowed to set the following labels: node-restriction.kubernetes.io/x`},
		{"a pod", w.write("pods", "", pod(nil), nil),
			`pods "p" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods`},
		{"another's pod", w.write("pods", "status", bound, bound),
			`pods "p" is forbidden: node "n1" can only update pod status for pods with spec.nodeName set to itself`},
	} {
		c.a.User = &user.DefaultInfo{Name: "system:node:n1", Groups: []string{user.NodesGroup}}
		err := nodeRestriction().Mutate(c.a)
		if c.want == "" && err != nil || c.want != "" && (err == nil || err.Error() != c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func TestPluginsAreChosenByName(t *testing.T) {
	all, err := Default(Options{Source: newWorld(t), Disable: []string{"LimitRanger"}})
	if err != nil || slices.ContainsFunc(all, func(p Plugin) bool { return p.Name == "LimitRanger" }) {
		t.Errorf("LimitRanger is still on (%v)", err)
	}
	if _, err := Default(Options{Disable: []string{"Nonsense"}}); err == nil {
		t.Error("a plugin that does not exist can be disabled")
	}
}

func BenchmarkPod(b *testing.B) {
	w := newWorld(b)
	all, err := Default(Options{Source: w})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		a := w.write("pods", "", pod(nil), nil)
		for _, p := range all {
			for _, f := range []func(*Attributes) error{p.Mutate, p.Validate} {
				if f != nil {
					if err := f(a); err != nil {
						b.Fatal(err)
					}
				}
			}
		}
	}
}
