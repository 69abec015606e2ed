package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// A volume's place stays; only a label's old name may become its new one.
func TestVolumeKeepsItsPlace(t *testing.T) {
	const old, renamed = corev1.LabelFailureDomainBetaZone, corev1.LabelTopologyZone
	at := func(key, zone string) *corev1.VolumeNodeAffinity {
		return &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchExpressions: []corev1.NodeSelectorRequirement{{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{zone}}}}}}}
	}
	for _, c := range []struct {
		name     string
		was, now *corev1.VolumeNodeAffinity
		want     bool
	}{
		{"the same", at(old, "a"), at(old, "a"), true},
		{"the new name", at(old, "a"), at(renamed, "a"), true},
		{"back to the old name", at(renamed, "a"), at(old, "a"), false},
		{"another zone", at(old, "a"), at(renamed, "b"), false},
		{"another label", at(renamed, "a"), at(corev1.LabelHostname, "a"), false},
		{"nowhere", at(old, "a"), nil, false},
	} {
		if got := onlyRenamedLabels(c.now, c.was); got != c.want {
			t.Errorf("%s: got %t, want %t", c.name, got, c.want)
		}
	}
}
