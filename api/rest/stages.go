package rest

import (
	"fmt"
	"strings"

	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kuberow/api/admission"
)

// The stages of a write, one method each, in the order in which a write
// passes them. A stage either lets the object on or ends the request.

// The operations of admission.
const (
	opCreate = "CREATE"
	opUpdate = "UPDATE"
	opDelete = "DELETE"
)

// defaults fills in what the client left out.
func (o *op) defaults(obj runtime.Object) {
	if v := o.Version; v != nil && v.Default != nil {
		v.Default(obj)
		return
	}
	if s := o.Resource.Strategy; s != nil && s.Default != nil {
		s.Default(obj)
	}
}

// mutatingAdmission lets plugins change obj.
func (o *op) mutatingAdmission(operation string, obj, old runtime.Object) error {
	a := &admission.Attributes{Context: &o.Context, Operation: operation, Object: obj, Old: old, Options: o.options}
	for i := range o.rest.Admission {
		if p := &o.rest.Admission[i]; p.Mutate != nil {
			if err := p.Mutate(a); err != nil {
				return o.admissionError(err)
			}
		}
	}
	return nil
}

// validatingAdmission lets plugins refuse.
func (o *op) validatingAdmission(operation string, obj, old runtime.Object) error {
	a := &admission.Attributes{Context: &o.Context, Operation: operation, Object: obj, Old: old, Options: o.options}
	for i := range o.rest.Admission {
		if p := &o.rest.Admission[i]; p.Validate != nil {
			if err := p.Validate(a); err != nil {
				return o.admissionError(err)
			}
		}
	}
	return nil
}

// prepareCreate runs a new object through its strategy.
func (o *op) prepareCreate(obj runtime.Object) error {
	s := o.strategy
	if s.PrepareForCreate != nil {
		s.PrepareForCreate(&o.Context, obj)
	}
	if s.BeginCreate != nil {
		if err := s.BeginCreate(&o.Context, obj); err != nil {
			return err
		}
	}
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("create %s: %w", o.Resource.Name, err)
	}
	errs := o.kindMeta(m)
	if s.Validate != nil {
		errs = append(errs, s.Validate(&o.Context, obj)...)
	}
	if len(errs) == 0 {
		errs = o.anyMeta(m)
	}
	if err := o.invalid(m.GetName(), errs); err != nil {
		return err
	}
	if s.Warnings != nil {
		o.warnAll(s.Warnings(&o.Context, obj, nil))
	}
	if s.Canonicalize != nil {
		s.Canonicalize(obj)
	}
	return nil
}

// prepareUpdate runs a changed object through its strategy. What a client may
// never change about metadata is put back first.
func (o *op) prepareUpdate(obj, old runtime.Object) error {
	m, err := meta.Accessor(obj)
	if err != nil {
		return fmt.Errorf("update %s: %w", o.Resource.Name, err)
	}
	before, err := meta.Accessor(old)
	if err != nil {
		return fmt.Errorf("update %s: %w", o.Resource.Name, err)
	}
	m.SetGeneration(before.GetGeneration())
	s := o.strategy
	if s.PrepareForUpdate != nil {
		s.PrepareForUpdate(&o.Context, obj, old)
	}
	keepSystemMeta(m, before)
	if s.BeginUpdate != nil {
		if err := s.BeginUpdate(&o.Context, obj, old); err != nil {
			return err
		}
	}
	errs := append(o.anyMeta(m), validation.ValidateObjectMetaAccessorUpdate(m, before, metadata)...)
	errs = append(errs, o.updatedMeta(m)...)
	if s.ValidateUpdate != nil {
		errs = append(errs, s.ValidateUpdate(&o.Context, obj, old)...)
	}
	if err := o.invalid(m.GetName(), errs); err != nil {
		return err
	}
	if s.Warnings != nil {
		o.warnAll(s.Warnings(&o.Context, obj, old))
	}
	if s.Canonicalize != nil {
		s.Canonicalize(obj)
	}
	return nil
}

// keepSystemMeta carries over what only the server sets.
func keepSystemMeta(m, before metav1.Object) {
	if m.GetUID() == "" {
		m.SetUID(before.GetUID())
	}
	if t := before.GetCreationTimestamp(); !t.IsZero() {
		m.SetCreationTimestamp(t)
	}
	if t := before.GetDeletionTimestamp(); !t.IsZero() {
		m.SetDeletionTimestamp(t)
	}
	if g := before.GetDeletionGracePeriodSeconds(); g != nil && m.GetDeletionGracePeriodSeconds() == nil {
		m.SetDeletionGracePeriodSeconds(g)
	}
}

// systemMeta gives a new object what the server decides: uid, creationTimestamp, a generated name.
func (o *op) systemMeta(m metav1.Object) {
	m.SetCreationTimestamp(metav1.NewTime(o.Now))
	m.SetUID(o.UID())
	if m.GetName() == "" && m.GetGenerateName() != "" {
		m.SetName(generatedName(m.GetGenerateName(), o.Random))
	}
	if m.GetName() != "" {
		o.Name = m.GetName()
	}
}

// wipeSystemMeta drops what a client may not say about a new object.
func wipeSystemMeta(m metav1.Object) {
	m.SetCreationTimestamp(metav1.Time{})
	m.SetDeletionTimestamp(nil)
	m.SetDeletionGracePeriodSeconds(nil)
	m.SetUID(types.UID(""))
	m.SetSelfLink("")
}

// generatedName cuts the prefix so that the five characters fit into a label.
func generatedName(prefix string, random func(int) string) string {
	const suffix = 5
	if most := 63 - suffix; len(prefix) > most {
		prefix = prefix[:most]
	}
	return prefix + random(suffix)
}

// checkNamespace makes the object's namespace that of the request, or refuses.
func (o *op) checkNamespace(m metav1.Object) error {
	want := o.Namespace
	if !o.Resource.Namespaced {
		want = ""
	}
	switch ns := m.GetNamespace(); {
	case ns == want:
		return nil
	case ns == "":
		m.SetNamespace(want)
		return nil
	case want == "" && !o.Resource.Namespaced:
		// Real Kubernetes forgets a namespace on a cluster-scoped object.
		m.SetNamespace("")
		return nil
	}
	return apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
}

// checkName refuses an object whose name is not the URL's.
func (o *op) checkName(m metav1.Object) error {
	if m.GetName() == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s based on URL) was undeterminable: name must be provided", o.Name))
	}
	if m.GetName() != o.Name {
		return apierrors.NewBadRequest(fmt.Sprintf("the name of the object (%s) does not match the name on the URL (%s)", m.GetName(), o.Name))
	}
	return nil
}

// dedupeOwners drops owner references that are there twice, with a warning.
func (o *op) dedupeOwners(m metav1.Object, afterAdmission bool) {
	refs := m.GetOwnerReferences()
	if len(refs) < 2 {
		return
	}
	var kept []metav1.OwnerReference
	var dropped []string
	for _, ref := range refs {
		twice := false
		for _, k := range kept {
			twice = twice || apiequality.Semantic.DeepEqual(ref, k)
		}
		if twice {
			dropped = append(dropped, string(ref.UID))
			continue
		}
		kept = append(kept, ref)
	}
	if len(dropped) == 0 {
		return
	}
	format := ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %v"
	if afterAdmission {
		format = ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: %v"
	}
	o.Warn(fmt.Sprintf(format, strings.Join(dropped, ", ")))
	m.SetOwnerReferences(kept)
}

func (o *op) warnAll(texts []string) {
	for _, t := range texts {
		o.Warn(t)
	}
}
