package core

import (
	corev1 "k8s.io/api/core/v1"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
)

// Endpoints is the old form of EndpointSlice: all addresses of a Service in one object.

const endpointsController = "endpoint-controller"

func endpoints() *kinds.Resource {
	v := common.Version[corev1.Endpoints, corev1.EndpointsList](gvk("Endpoints"))
	v.Deprecated = "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
	return single(kinds.Resource{
		Name: "endpoints", Singular: "endpoints", ShortNames: []string{"ep"}, Namespaced: true,
		Verbs: common.Verbs(), Prefix: "/registry/services/endpoints", StorageVersionHash: "fWeeMqaN/OA=",
		Strategy: common.Typed[corev1.Endpoints, *corev1.Endpoints]{
			Default:             defaultEndpoints,
			Validate:            validateEndpoints,
			ValidateUpdate:      validateEndpointsUpdate,
			Warnings:            endpointsWarnings,
			AllowCreateOnUpdate: true,
		}.Strategy(),
	}, v)
}

func defaultEndpoints(e *corev1.Endpoints) {
	for i := range e.Subsets {
		ports := e.Subsets[i].Ports
		for j := range ports {
			if ports[j].Protocol == "" {
				ports[j].Protocol = corev1.ProtocolTCP
			}
		}
	}
}
