package controllers

import (
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	v1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A CustomResourceDefinition that is being deleted takes its objects with it.
// Key: such a definition. Steps, each on what the one before left:
//
//	objects    each is deleted; they may wait for finalizers of their own
//	definition when none is left, the finalizer goes, and with it the definition

// objectsPatience is how often the objects of a deleted definition are looked for.
const objectsPatience = time.Second

// DefinitionFinalizer ends definitions.
func DefinitionFinalizer() Controller {
	return Controller{
		Name: "crd-finalizer", User: serverUser,
		Keys: keyMap{CustomResourceDefinitions: itself},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			for _, k := range keys {
				d := get[*v1.CustomResourceDefinition](v, CustomResourceDefinitions, "", k.Name)
				if d != nil && d.DeletionTimestamp != nil && apihelpers.CRDHasFinalizer(d, v1.CustomResourceCleanupFinalizer) {
					endDefinition(v, k, d, &out)
				}
			}
			return out
		},
	}
}

// endDefinition does one of the steps.
func endDefinition(v View, k Key, d *v1.CustomResourceDefinition, out *Outcome) {
	last := v1.CustomResourceDefinitionCondition{
		Type: v1.Terminating, Status: v1.ConditionFalse, Reason: "InstanceDeletionCompleted", Message: "removed all instances",
	}
	gr := schema.GroupResource{Group: d.Spec.Group, Resource: d.Spec.Names.Plural}
	res := v.Registry().Get(gr)
	switch {
	case res != nil && !res.Custom:
		last.Reason, last.Message = "OverlappingBuiltInResource", "instances overlap with built-in resources in storage"
	case !apihelpers.IsCRDConditionTrue(d, v1.Established):
		last.Reason, last.Message = "NeverEstablished", "resource was never established"
	case res != nil:
		if objs := v.List(gr, "", nil); len(objs) > 0 {
			out.Writes = append(out.Writes, sayTerminating(k, d, v1.CustomResourceDefinitionCondition{
				Type: v1.Terminating, Status: v1.ConditionTrue, Reason: "InstanceDeletionInProgress", Message: "CustomResource deletion is in progress",
			}))
			out.Writes = append(out.Writes, deleteAll(k, res, objs)...)
			out.Again = map[Key]time.Time{k: v.Now().Add(objectsPatience)}
			return
		}
	}
	w := mutation(k, CustomResourceDefinitions, "status", d, func(now *v1.CustomResourceDefinition) error {
		apihelpers.SetCRDCondition(now, last)
		apihelpers.CRDRemoveFinalizer(now, v1.CustomResourceCleanupFinalizer)
		return nil
	})
	w.Agent, w.Ignore = serverManager, Gone
	out.Writes = append(out.Writes, w)
}

// sayTerminating sets the condition that tells how far the deletion is.
func sayTerminating(k Key, d *v1.CustomResourceDefinition, c v1.CustomResourceDefinitionCondition) Write {
	w := mutation(k, CustomResourceDefinitions, "status", d, func(now *v1.CustomResourceDefinition) error {
		apihelpers.SetCRDCondition(now, c)
		return nil
	})
	w.Agent, w.Ignore = serverManager, Gone
	return w
}
