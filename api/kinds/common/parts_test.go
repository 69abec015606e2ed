package common

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func deploymentParts() Parts[appsv1.Deployment, appsv1.DeploymentSpec, appsv1.DeploymentStatus, *appsv1.Deployment] {
	return NewParts(
		func(d *appsv1.Deployment) *appsv1.DeploymentSpec { return &d.Spec },
		func(d *appsv1.Deployment) *appsv1.DeploymentStatus { return &d.Status })
}

func TestGenerationMovesOnlyWithTheSpec(t *testing.T) {
	p := deploymentParts()
	old := &appsv1.Deployment{}
	old.Generation, old.Status.Replicas = 7, 3

	same := old.DeepCopy()
	same.Generation, same.Status.Replicas = 99, 8
	p.PrepareForUpdate(nil, same, old)
	if same.Generation != 7 || same.Status.Replicas != 3 {
		t.Errorf("generation %d, status.replicas %d; want 7 and 3", same.Generation, same.Status.Replicas)
	}

	changed := old.DeepCopy()
	changed.Spec.Paused = true
	p.PrepareForUpdate(nil, changed, old)
	if changed.Generation != 8 {
		t.Errorf("generation %d after a change of spec, want 8", changed.Generation)
	}
}

func TestStatusPathKeepsTheSpec(t *testing.T) {
	p := deploymentParts()
	old := &appsv1.Deployment{}
	old.Generation = 2
	obj := old.DeepCopy()
	obj.Spec.Paused, obj.Status.Replicas = true, 5
	p.PrepareStatus(nil, obj, old)
	if obj.Spec.Paused || obj.Status.Replicas != 5 || obj.Generation != 2 {
		t.Errorf("got paused %v, replicas %d, generation %d", obj.Spec.Paused, obj.Status.Replicas, obj.Generation)
	}
}

func TestStrategyKeepsNilFunctionsNil(t *testing.T) {
	var seen *appsv1.Deployment = &appsv1.Deployment{}
	s := Typed[appsv1.Deployment, *appsv1.Deployment]{
		Warnings: nil,
		Related:  nil,
		Default:  func(d *appsv1.Deployment) { d.Spec.Paused = true },
	}.Strategy()
	if s.Warnings != nil || s.Related != nil || s.Validate != nil || s.Fields != nil {
		t.Error("a function that was not given is set")
	}
	s.Default(seen)
	if !seen.Spec.Paused {
		t.Error("Default was not called with the object")
	}
}

func TestFaultsOfMapsComeInOneOrder(t *testing.T) {
	bad := map[string]string{"c d": "", "a b": "", "e f": "", "g h": ""}
	for range 20 {
		for _, all := range []field.ErrorList{
			Labels(bad, nil), Annotations(bad, nil), LabelSelector(&metav1.LabelSelector{MatchLabels: bad}, nil),
		} {
			if len(all) != 4 || all[0].BadValue != "a b" || all[3].BadValue != "g h" {
				t.Fatalf("got %v", all)
			}
		}
	}
}
