package core

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
)

func ValidatePodTemplateSpec(t, old *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	return nil
}
func PodTemplateWarnings(t, old *corev1.PodTemplateSpec, path *field.Path) []string { return nil }
func validateEndpoints(_ *kinds.Context, e *corev1.Endpoints) field.ErrorList       { return nil }
func validateEndpointsUpdate(_ *kinds.Context, e, old *corev1.Endpoints) field.ErrorList {
	return nil
}
func endpointsWarnings(_ *kinds.Context, e, old *corev1.Endpoints) []string           { return nil }
func validateLimitRange(_ *kinds.Context, l *corev1.LimitRange) field.ErrorList       { return nil }
func validateResourceQuota(_ *kinds.Context, l *corev1.ResourceQuota) field.ErrorList { return nil }
func validateResourceQuotaUpdate(_ *kinds.Context, l, old *corev1.ResourceQuota) field.ErrorList {
	return nil
}
func validateResourceQuotaStatus(_ *kinds.Context, l, old *corev1.ResourceQuota) field.ErrorList {
	return nil
}
func validateEvent(_ *kinds.Context, l *corev1.Event) field.ErrorList            { return nil }
func validateEventUpdate(_ *kinds.Context, l, old *corev1.Event) field.ErrorList { return nil }
func validateNode(_ *kinds.Context, l *corev1.Node) field.ErrorList              { return nil }
func validateNodeUpdate(_ *kinds.Context, l, old *corev1.Node) field.ErrorList   { return nil }
func validateNodeStatus(_ *kinds.Context, l, old *corev1.Node) field.ErrorList   { return nil }
func nodeWarnings(_ *kinds.Context, l, old *corev1.Node) []string                { return nil }
func validatePersistentVolume(_ *kinds.Context, l *corev1.PersistentVolume) field.ErrorList {
	return nil
}
func validatePersistentVolumeUpdate(_ *kinds.Context, l, old *corev1.PersistentVolume) field.ErrorList {
	return nil
}
func persistentVolumeWarnings(_ *kinds.Context, l, old *corev1.PersistentVolume) []string {
	return nil
}
func validateClaim(_ *kinds.Context, l *corev1.PersistentVolumeClaim) field.ErrorList { return nil }
func validateClaimUpdate(_ *kinds.Context, l, old *corev1.PersistentVolumeClaim) field.ErrorList {
	return nil
}
func validateClaimStatus(_ *kinds.Context, l, old *corev1.PersistentVolumeClaim) field.ErrorList {
	return nil
}
func claimWarnings(_ *kinds.Context, l, old *corev1.PersistentVolumeClaim) []string { return nil }
func validateReplicationController(_ *kinds.Context, l *corev1.ReplicationController) field.ErrorList {
	return nil
}
func validateReplicationControllerUpdate(_ *kinds.Context, l, old *corev1.ReplicationController) field.ErrorList {
	return nil
}
func validateReplicationControllerStatus(_ *kinds.Context, l, old *corev1.ReplicationController) field.ErrorList {
	return nil
}
func validatePod(_ *kinds.Context, l *corev1.Pod) field.ErrorList                  { return nil }
func validatePodUpdate(_ *kinds.Context, l, old *corev1.Pod) field.ErrorList       { return nil }
func validatePodStatusUpdate(_ *kinds.Context, l, old *corev1.Pod) field.ErrorList { return nil }
func podStatusWarnings(_ *kinds.Context, l, old *corev1.Pod) []string              { return nil }
func validateEphemeralUpdate(_ *kinds.Context, l, old *corev1.Pod) field.ErrorList { return nil }
func validatePodResize(_ *kinds.Context, l, old *corev1.Pod) field.ErrorList       { return nil }
func validateServiceCreate(_ *kinds.Context, l *corev1.Service) field.ErrorList    { return nil }
func validateServiceUpdate(_ *kinds.Context, l, old *corev1.Service) field.ErrorList {
	return nil
}
func validateServiceStatus(_ *kinds.Context, l, old *corev1.Service) field.ErrorList { return nil }
func serviceWarnings(_ *kinds.Context, l, old *corev1.Service) []string              { return nil }
func serviceStatusWarnings(_ *kinds.Context, l, old *corev1.Service) []string        { return nil }
func validateClusterIPs(s, old *corev1.Service) field.ErrorList                      { return nil }
func isHugePages(name corev1.ResourceName) bool {
	return len(name) > len(corev1.ResourceHugePagesPrefix) && name[:len(corev1.ResourceHugePagesPrefix)] == corev1.ResourceHugePagesPrefix
}
func ValidateClaimSpec(s, old *corev1.PersistentVolumeClaimSpec, path *field.Path) field.ErrorList {
	return nil
}
func ClaimSpecWarnings(s *corev1.PersistentVolumeClaimSpec, path *field.Path) []string { return nil }
func ValidateContainerResourceName(n corev1.ResourceName, path *field.Path) field.ErrorList {
	return nil
}
