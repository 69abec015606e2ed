package build

// The records: each object's JSON, and its managedFields as the library
// computes them from what its writers sent.

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"kuberow/api/auth/bootstrap"
	"kuberow/api/kinds"
	"kuberow/sqlstore"
)

// Files makes the text of objects.txt and managed.txt from dir's data.
func Files(dir string) (objectsText, managedText string, err error) {
	now, err := time.Parse(time.RFC3339, bootstrap.TimePlace)
	if err != nil {
		return "", "", err
	}
	fixed, err := objects(dir, now)
	if err != nil {
		return "", "", err
	}
	// Addresses do not show in managedFields, so any will do.
	network, err := bootstrap.NetworkObjects(bootstrap.Settings{Now: now, HostName: "host",
		Cluster: &kinds.Cluster{ServiceCIDRs: []string{"10.96.0.0/16"}, AdvertiseAddress: "192.0.2.1", SecurePort: 6443}})
	if err != nil {
		return "", "", err
	}
	w, err := newWriters(now)
	if err != nil {
		return "", "", err
	}
	records, err := w.records(fixed)
	if err != nil {
		return "", "", err
	}
	others, err := w.records(network)
	if err != nil {
		return "", "", err
	}
	for i := range others {
		others[i] = bootstrap.Object{Group: others[i].Group, Resource: others[i].Resource, Managed: others[i].Managed}
	}
	return bootstrap.Format(records), bootstrap.Format(others), nil
}

func (w *writers) records(typed []bootstrap.Typed) ([]bootstrap.Object, error) {
	var out []bootstrap.Object
	for _, t := range typed {
		t.Object.SetUID(bootstrap.UIDPlace)
		t.Object.SetCreationTimestamp(metav1.NewTime(w.now))
		value, err := json.Marshal(t.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s: %w", t.Object.GetName(), err)
		}
		managed, err := w.managed(t)
		if err != nil {
			return nil, fmt.Errorf("compute managedFields of %s %s: %w", t.Resource, t.Object.GetName(), err)
		}
		o := bootstrap.Object{Group: t.Group, Resource: t.Resource, Namespace: t.Object.GetNamespace(), Name: t.Object.GetName(),
			Value: string(value), Managed: managed}
		labels := t.Object.GetLabels()
		for _, k := range slices.Sorted(maps.Keys(labels)) {
			o.Labels = append(o.Labels, sqlstore.Pair{Name: k, Value: labels[k]})
		}
		out = append(out, o)
	}
	return out, nil
}

// managed replays the writers of one object.
func (w *writers) managed(t bootstrap.Typed) (string, error) {
	sent := t.Object.(runtime.Object).DeepCopyObject()
	creator, status := "kube-apiserver", ""
	switch o := sent.(type) {
	case *corev1.Namespace: // the server adds the rest
		o.Spec.Finalizers, o.Status = nil, corev1.NamespaceStatus{}
	case *corev1.Service:
		o.Spec.ClusterIPs, o.Spec.IPFamilies = nil, nil
	case *apiregistrationv1.APIService:
		o.Status = apiregistrationv1.APIServiceStatus{}
	case *flowcontrolv1.FlowSchema:
		o.Status = flowcontrolv1.FlowSchemaStatus{}
		creator, status = "api-priority-and-fairness-config-producer-v1", "api-priority-and-fairness-config-consumer-v1"
	case *flowcontrolv1.PriorityLevelConfiguration:
		creator = "api-priority-and-fairness-config-producer-v1"
	case *networkingv1.ServiceCIDR:
		o.Status = networkingv1.ServiceCIDRStatus{}
		status = "kubernetes-service-cidr-controller"
	}
	live, err := w.create(sent, creator)
	if err != nil {
		return "", err
	}
	if status != "" {
		if live, err = w.applyStatus(live, t.Object.(runtime.Object), status); err != nil {
			return "", err
		}
	}
	entries := live.(metav1.Object).GetManagedFields()
	for i := range entries {
		at := metav1.NewTime(w.now)
		entries[i].Time = &at
	}
	data, err := json.Marshal(entries)
	return string(data), err
}

func (w *writers) create(obj runtime.Object, manager string) (runtime.Object, error) {
	m, err := w.manager(obj, "")
	if err != nil {
		return nil, err
	}
	gvk := obj.GetObjectKind().GroupVersionKind()
	empty, err := w.scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	empty.GetObjectKind().SetGroupVersionKind(gvk)
	return m.Update(empty, obj, manager)
}

// applyStatus applies the status conditions of want, as the controllers do.
func (w *writers) applyStatus(live, want runtime.Object, manager string) (runtime.Object, error) {
	m, err := w.manager(live, "status")
	if err != nil {
		return nil, err
	}
	all, err := runtime.DefaultUnstructuredConverter.ToUnstructured(want)
	if err != nil {
		return nil, err
	}
	conditions, _, _ := unstructured.NestedSlice(all, "status", "conditions")
	for _, c := range conditions {
		maps.DeleteFunc(c.(map[string]any), func(_ string, v any) bool { return v == "" }) // what a controller gives no value, it does not apply
	}
	if err := unstructured.SetNestedSlice(all, conditions, "status", "conditions"); err != nil {
		return nil, err
	}
	patch := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": all["apiVersion"], "kind": all["kind"], "status": all["status"],
		"metadata": map[string]any{"name": want.(metav1.Object).GetName()},
	}}
	return m.Apply(live, patch, manager, true)
}

func (w *writers) manager(obj runtime.Object, subresource string) (*managedfields.FieldManager, error) {
	gvk := obj.GetObjectKind().GroupVersionKind()
	return managedfields.NewDefaultFieldManager(w, w.scheme, w.scheme, w.scheme, gvk, gvk.GroupVersion(), subresource, nil)
}
