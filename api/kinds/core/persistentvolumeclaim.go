package core

import (
	corev1 "k8s.io/api/core/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// A claim's dataSource and dataSourceRef are two names for one thing, kept in
// step: the older field knows only claims and snapshots, and drops the rest in silence.

func persistentVolumeClaims() *kinds.Resource {
	strategy := common.Typed[corev1.PersistentVolumeClaim, *corev1.PersistentVolumeClaim]{
		Default: DefaultVolumeClaim,
		PrepareForCreate: func(_ *kinds.Context, c *corev1.PersistentVolumeClaim) {
			c.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimPending}
			settleDataSources(&c.Spec, nil)
		},
		PrepareForUpdate: func(_ *kinds.Context, c, old *corev1.PersistentVolumeClaim) {
			c.Status = old.Status
			settleDataSources(&c.Spec, &old.Spec)
		},
		Validate:       validateClaim,
		ValidateUpdate: validateClaimUpdate,
		Warnings:       claimWarnings,
		ResetFields:    []string{"status"},
	}
	status := strategy
	status.PrepareForUpdate = func(_ *kinds.Context, c, old *corev1.PersistentVolumeClaim) {
		c.Spec = old.Spec
		if old.Status.HealthStatus == nil {
			c.Status.HealthStatus = nil
		}
	}
	status.ValidateUpdate = validateClaimStatus
	status.Warnings = nil
	status.ResetFields = []string{"spec"}
	v := common.Version[corev1.PersistentVolumeClaim, corev1.PersistentVolumeClaimList](gvk("PersistentVolumeClaim"))
	return single(kinds.Resource{
		Name: "persistentvolumeclaims", Singular: "persistentvolumeclaim", ReturnsDeleted: true, ShortNames: []string{"pvc"}, Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/persistentvolumeclaims", StorageVersionHash: "QWTyNDq0dC4=",
		Strategy: strategy.Strategy(), Subresources: []*kinds.Subresource{common.Status(v.GVK, status.Strategy())},
	}, v)
}

func settleDataSources(s, old *corev1.PersistentVolumeClaimSpec) {
	had := old != nil && (old.DataSource != nil || old.DataSourceRef != nil)
	// A source in another namespace is an alpha feature, off here as it is upstream.
	if r := s.DataSourceRef; r != nil && r.Namespace != nil && *r.Namespace != "" && (old == nil || old.DataSourceRef == nil) {
		s.DataSourceRef = nil
	}
	if !had && s.DataSourceRef == nil && !claimOrSnapshot(s.DataSource) {
		s.DataSource = nil
	}
	switch a, b := s.DataSource, s.DataSourceRef; {
	case a != nil && b == nil:
		s.DataSourceRef = &corev1.TypedObjectReference{APIGroup: a.APIGroup, Kind: a.Kind, Name: a.Name}
	case b != nil && a == nil && (b.Namespace == nil || *b.Namespace == ""):
		s.DataSource = &corev1.TypedLocalObjectReference{APIGroup: b.APIGroup, Kind: b.Kind, Name: b.Name}
	}
}

func claimOrSnapshot(d *corev1.TypedLocalObjectReference) bool {
	if d == nil {
		return false
	}
	group := ""
	if d.APIGroup != nil {
		group = *d.APIGroup
	}
	return (d.Kind == "PersistentVolumeClaim" && group == "") || (d.Kind == "VolumeSnapshot" && group == "snapshot.storage.k8s.io")
}
