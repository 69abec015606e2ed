package controllers

import (
	"fmt"
	"slices"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/sets"
)

// The names of a CustomResourceDefinition are accepted when no other
// definition of its group has them; then it is established. Key: a definition.
// Woken by it, and by the others of its group when one gives up names. The
// steps of a definition, each a write, as watchers know them:
//
//	names        status.acceptedNames, NamesAccepted, Established False (Installing)
//	established  Established True: from now on its kind is served
//
// For groups of the Kubernetes community a third condition says whether the API was approved.

// DefinitionNames decides about the names of definitions.
func DefinitionNames() Controller {
	return Controller{
		Name: "crd-naming-condition-controller", User: serverUser,
		Keys: keyMap{CustomResourceDefinitions: func(v View, c Object) []Key {
			keys := []Key{NameKey(c.Current())}
			gone, ok := c.Prev.(*v1.CustomResourceDefinition)
			if !ok {
				return keys
			}
			now, still := c.Now.(*v1.CustomResourceDefinition)
			if still && equality.Semantic.DeepEqual(now.Status.AcceptedNames, gone.Status.AcceptedNames) {
				return keys
			}
			for _, d := range typed[*v1.CustomResourceDefinition](v.List(CustomResourceDefinitions, "", nil)) {
				if d.Name != gone.Name && d.Spec.Group == gone.Spec.Group {
					keys = append(keys, NameKey(d))
				}
			}
			return keys
		}},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			given := map[string]*usedNames{}
			for _, k := range keys {
				if d := get[*v1.CustomResourceDefinition](v, CustomResourceDefinitions, "", k.Name); d != nil {
					stepNames(v, k, d, given, &out)
				}
			}
			return out
		},
	}
}

// stepNames writes the status that a definition should have next.
func stepNames(v View, k Key, d *v1.CustomResourceDefinition, given map[string]*usedNames, out *Outcome) {
	next := d.DeepCopy()
	switch {
	case !equality.Semantic.DeepEqual(d.Spec.Names, d.Status.AcceptedNames):
		if given[d.Spec.Group] == nil {
			given[d.Spec.Group] = namesInUse(v, d.Spec.Group)
		}
		decideNames(next, given[d.Spec.Group])
	case apihelpers.IsCRDConditionTrue(d, v1.NamesAccepted) && !apihelpers.IsCRDConditionTrue(d, v1.Established):
		establish(next)
	}
	if c := approval(d); c != nil && !apihelpers.IsCRDConditionEquivalent(c, apihelpers.FindCRDCondition(d, c.Type)) {
		apihelpers.SetCRDCondition(next, *c)
	}
	if equality.Semantic.DeepEqual(next.Status, d.Status) {
		return
	}
	w := mutation(k, CustomResourceDefinitions, "status", d, func(now *v1.CustomResourceDefinition) error {
		if now.ResourceVersion != d.ResourceVersion {
			return conflict(CustomResourceDefinitions, d.Name, "it has changed since its names were looked at")
		}
		now.Status = *next.Status.DeepCopy()
		return nil
	})
	w.Agent, w.Ignore = serverManager, Gone
	out.Writes = append(out.Writes, w)
	if apihelpers.IsCRDConditionTrue(next, v1.NamesAccepted) && !apihelpers.IsCRDConditionTrue(next, v1.Established) {
		then := mutation(k, CustomResourceDefinitions, "status", d, func(now *v1.CustomResourceDefinition) error {
			if apihelpers.IsCRDConditionTrue(now, v1.NamesAccepted) {
				establish(now)
			}
			return nil
		})
		then.Agent, then.Ignore = serverManager, Gone
		out.Writes = append(out.Writes, then)
	}
}

// usedNames are the names that the definitions of a group hold.
type usedNames struct{ resources, kinds sets.Set[string] }

func namesInUse(v View, group string) *usedNames {
	u := &usedNames{resources: sets.New[string](), kinds: sets.New[string]()}
	for _, d := range typed[*v1.CustomResourceDefinition](v.List(CustomResourceDefinitions, "", nil)) {
		if d.Spec.Group == group {
			u.take(&d.Status.AcceptedNames)
		}
	}
	return u
}

func (u *usedNames) take(n *v1.CustomResourceDefinitionNames) {
	u.resources.Insert(n.Plural, n.Singular)
	u.resources.Insert(n.ShortNames...)
	u.kinds.Insert(n.Kind, n.ListKind)
}

// decideNames sets accepted names and the two conditions. What is accepted counts as used for the next one of the same step.
func decideNames(d *v1.CustomResourceDefinition, used *usedNames) {
	wanted, names := d.Spec.Names, &d.Status.AcceptedNames
	accepted := v1.CustomResourceDefinitionCondition{
		Type: v1.NamesAccepted, Status: v1.ConditionTrue, Reason: "NoConflicts", Message: "no conflicts found",
	}
	refuse := func(reason string, err error) {
		accepted.Status, accepted.Reason, accepted.Message = v1.ConditionFalse, reason, err.Error()
	}
	for _, one := range []struct {
		want   string
		have   *string
		used   sets.Set[string]
		reason string
	}{
		{wanted.Plural, &names.Plural, used.resources, "PluralConflict"},
		{wanted.Singular, &names.Singular, used.resources, "SingularConflict"},
		{"", nil, nil, ""}, // short names come here: a later reason replaces an earlier one
		{wanted.Kind, &names.Kind, used.kinds, "KindConflict"},
		{wanted.ListKind, &names.ListKind, used.kinds, "ListKindConflict"},
	} {
		switch {
		case one.have == nil:
			if err := freeShortNames(wanted.ShortNames, names.ShortNames, used.resources); err != nil {
				refuse("ShortNamesConflict", err)
			} else {
				names.ShortNames = wanted.ShortNames
			}
		case one.want != *one.have && one.used.Has(one.want):
			refuse(one.reason, inUse(one.want))
		default:
			*one.have = one.want
		}
	}
	names.Categories = wanted.Categories
	apihelpers.SetCRDCondition(d, accepted)
	switch old := apihelpers.FindCRDCondition(d, v1.Established); {
	case old != nil && old.Status == v1.ConditionTrue:
	case accepted.Status == v1.ConditionTrue:
		apihelpers.SetCRDCondition(d, v1.CustomResourceDefinitionCondition{
			Type: v1.Established, Status: v1.ConditionFalse, Reason: "Installing", Message: "the initial names have been accepted"})
	case old == nil:
		apihelpers.SetCRDCondition(d, v1.CustomResourceDefinitionCondition{
			Type: v1.Established, Status: v1.ConditionFalse, Reason: "NotAccepted", Message: "not all names are accepted"})
	}
	used.take(names)
}

func freeShortNames(want, have []string, used sets.Set[string]) error {
	var errs []error
	for _, name := range want {
		if !slices.Contains(have, name) && used.Has(name) {
			errs = append(errs, inUse(name))
		}
	}
	return utilerrors.NewAggregate(errs)
}

func inUse(name string) error { return fmt.Errorf("%q is already in use", name) }

// establish says that the kind is served.
func establish(d *v1.CustomResourceDefinition) {
	apihelpers.SetCRDCondition(d, v1.CustomResourceDefinitionCondition{
		Type: v1.Established, Status: v1.ConditionTrue, Reason: "InitialNamesAccepted", Message: "the initial names have been accepted"})
}

// approval is the condition of definitions in groups of the Kubernetes community, nil for all others.
func approval(d *v1.CustomResourceDefinition) *v1.CustomResourceDefinitionCondition {
	if !apihelpers.IsProtectedCommunityGroup(d.Spec.Group) {
		return nil
	}
	c := &v1.CustomResourceDefinitionCondition{Type: v1.KubernetesAPIApprovalPolicyConformant, Status: v1.ConditionFalse}
	state, message := apihelpers.GetAPIApprovalState(d.Annotations)
	c.Message = message
	switch state {
	case apihelpers.APIApproved:
		c.Status, c.Reason = v1.ConditionTrue, "ApprovedAnnotation"
	case apihelpers.APIApprovalBypassed:
		c.Reason = "UnapprovedAnnotation"
	case apihelpers.APIApprovalMissing:
		c.Reason = "MissingAnnotation"
	default:
		c.Reason = "InvalidAnnotation"
	}
	return c
}
