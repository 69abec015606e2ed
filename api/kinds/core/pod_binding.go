package core

import (
	"fmt"
	"maps"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A Binding assigns a pod to a node. It is not stored; it is the one write
// that may set spec.nodeName, and only of a pod that has none, is not being
// deleted and is not gated. POST to /bindings and to pods/NAME/binding are the same.
//
// The write goes through the pipeline as an update of the subresource
// "binding", which has no update verb over HTTP: its Strategy below exists
// only for this.

// bindingPath names the write in messages, as upstream does.
func bindingPath() schema.GroupResource { return schema.GroupResource{Resource: "pods/binding"} }

func podsGR() schema.GroupResource { return schema.GroupResource{Resource: "pods"} }

func bindings() *kinds.Resource {
	return single(kinds.Resource{
		Name: "bindings", Singular: "binding", Namespaced: true, Verbs: []string{"create"}, Create: createBinding,
	}, common.Version[corev1.Binding, corev1.List](gvk("Binding")))
}

// podBindingStrategy lets the merged object through: bind made the change, and checked it.
func podBindingStrategy(main podTyped) podTyped {
	return podTyped{Default: main.Default, Fields: main.Fields, FieldNames: main.FieldNames, FieldAliases: main.FieldAliases}
}

func createBinding(r *kinds.Context, in runtime.Object) (runtime.Object, error) {
	b := in.(*corev1.Binding)
	if r.Name != "" && r.Name != b.Name {
		return nil, errors.NewBadRequest("name in URL does not match name in Binding object")
	}
	if all := validateBinding(b); len(all) > 0 {
		return nil, all.ToAggregate()
	}
	if b.Name == "" {
		return nil, errors.NewBadRequest("Name parameter required.")
	}
	_, err := r.Client.Mutate(r.Ctx, kinds.Write{
		User: r.User, Agent: r.Agent, Resource: podsGR(), Subresource: "binding",
		Namespace: r.Namespace, Name: b.Name, Cause: r.Cause, DryRun: r.DryRun,
		Mutate: func(obj runtime.Object) error { return bind(r, obj.(*corev1.Pod), b) },
	})
	if err != nil {
		return nil, err
	}
	return &metav1.Status{Status: metav1.StatusSuccess, Code: 201}, nil
}

func validateBinding(b *corev1.Binding) field.ErrorList {
	var all field.ErrorList
	target := field.NewPath("target")
	node := b.Target.Kind == "" || b.Target.Kind == "Node"
	if !node {
		all = append(all, field.NotSupported(target.Child("kind"), b.Target.Kind, []string{"Node", "<empty>"}))
	}
	if b.Target.Name == "" {
		return append(all, field.Required(target.Child("name"), ""))
	}
	if node {
		all = append(all, common.DNSSubdomain(b.Target.Name, target.Child("name"))...)
	}
	return all
}

// bind is the change itself. A precondition of the binding's metadata is checked here, against
// the pod that is about to be replaced.
func bind(r *kinds.Context, p *corev1.Pod, b *corev1.Binding) error {
	if b.UID != "" && b.UID != p.UID {
		return unmet(r, p, fmt.Sprintf("UID in precondition: %v, UID in object meta: %v", b.UID, p.UID))
	}
	if b.ResourceVersion != "" && b.ResourceVersion != p.ResourceVersion {
		return unmet(r, p, fmt.Sprintf("ResourceVersion in precondition: %v, ResourceVersion in object meta: %v", b.ResourceVersion, p.ResourceVersion))
	}
	var refused error
	switch {
	case p.DeletionTimestamp != nil:
		refused = fmt.Errorf("pod %s is being deleted, cannot be assigned to a host", p.Name)
	case p.Spec.NodeName != "":
		refused = fmt.Errorf("pod %v is already assigned to node %q", p.Name, p.Spec.NodeName)
	case len(p.Spec.SchedulingGates) != 0:
		refused = fmt.Errorf("pod %v has non-empty .spec.schedulingGates", p.Name)
	}
	if refused != nil {
		return errors.NewConflict(bindingPath(), p.Name, refused)
	}
	p.Spec.NodeName = b.Target.Name
	p.Status.NominatedNodeName = ""
	p.Annotations = merge(p.Annotations, b.Annotations)
	p.Labels = merge(p.Labels, b.Labels)
	setPodCondition(&p.Status, corev1.PodCondition{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, metav1.NewTime(r.Now))
	return nil
}

// unmet is a failed precondition, told in the words of upstream's storage; a dry run does not
// get as far as the part of it that knows where keys begin.
func unmet(r *kinds.Context, p *corev1.Pod, detail string) error {
	key := "/registry/pods/" + p.Namespace + "/" + p.Name
	if r.DryRun {
		key = strings.TrimPrefix(key, "/registry")
	}
	return errors.NewConflict(podsGR(), p.Name, fmt.Errorf("StorageError: invalid object, Code: 4, Key: %s, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: %s", key, detail))
}

func merge(into, from map[string]string) map[string]string {
	if len(from) == 0 {
		return into
	}
	if into == nil {
		into = make(map[string]string, len(from))
	}
	maps.Copy(into, from)
	return into
}

// setPodCondition adds or replaces a condition; the time moves only with the status.
func setPodCondition(s *corev1.PodStatus, c corev1.PodCondition, now metav1.Time) {
	c.LastTransitionTime = now
	for i := range s.Conditions {
		if old := &s.Conditions[i]; old.Type == c.Type {
			if old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			*old = c
			return
		}
	}
	s.Conditions = append(s.Conditions, c)
}
