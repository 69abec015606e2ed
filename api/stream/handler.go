package stream

import (
	"fmt"
	"net/http"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kuberow/api/kinds"
)

// Kubelet's own figures: how long an idle stream stays open, and how long a
// client may take to open its streams.
const (
	idleTimeout     = 4 * time.Hour
	creationTimeout = 30 * time.Second
)

// Handler serves the Connect subresources of pods, services and nodes. The
// request is authenticated and authorized, and carries its RequestInfo and user.
type Handler struct {
	Nodes      Nodes
	Reader     kinds.Reader
	Authorizer authorizer.Authorizer // asked again for create when a WebSocket GET opens a shell
	Fail       func(w http.ResponseWriter, r *http.Request, err error)

	local pipeServer // serves SPDY to the WebSocket v5 translator
}

// ServeHTTP chooses by resource and subresource.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w = hijackable{w}
	info, ok := request.RequestInfoFrom(r.Context())
	if !ok {
		h.Fail(w, r, apierrors.NewInternalError(fmt.Errorf("request without its RequestInfo")))
		return
	}
	var err error
	switch info.Resource + "/" + info.Subresource {
	case "pods/log":
		err = h.log(w, r, info)
	case "pods/exec", "pods/attach":
		err = h.command(w, r, info)
	case "pods/portforward":
		err = h.portForward(w, r, info)
	case "pods/proxy", "services/proxy", "nodes/proxy":
		err = h.proxy(w, r, info)
	default:
		err = apierrors.NewNotFound(schema.GroupResource{Resource: info.Resource}, info.Name)
	}
	if err != nil {
		h.Fail(w, r, err)
	}
}

func (h *Handler) pod(r *http.Request, namespace, name string) (*corev1.Pod, error) {
	obj, err := h.Reader.Get(r.Context(), schema.GroupResource{Resource: "pods"}, namespace, name)
	if err != nil {
		return nil, err
	}
	return obj.(*corev1.Pod), nil
}

// placed is pod, with the container that a client means, on a node.
func (h *Handler) placed(r *http.Request, info *request.RequestInfo, container string) (*corev1.Pod, string, error) {
	pod, err := h.pod(r, info.Namespace, info.Name)
	if err != nil {
		return nil, "", err
	}
	if container, err = chooseContainer(pod, container); err != nil {
		return nil, "", err
	}
	return pod, container, h.onNode(r, pod)
}

// onNode makes sure that the pod's node can be asked.
func (h *Handler) onNode(r *http.Request, pod *corev1.Pod) error {
	if pod.Spec.NodeName == "" {
		return apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", pod.Name))
	}
	obj, err := h.Reader.Get(r.Context(), schema.GroupResource{Resource: "nodes"}, "", pod.Spec.NodeName)
	if apierrors.IsNotFound(err) { // upstream names the request's resource
		return apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, pod.Spec.NodeName)
	}
	if err != nil {
		return err
	}
	if known := obj.(*corev1.Node).Status.Addresses; len(known) == 0 {
		return fmt.Errorf("no preferred addresses found; known addresses: %v", known)
	}
	return nil
}

// chooseContainer gives the container that was named, or the only one.
func chooseContainer(pod *corev1.Pod, name string) (string, error) {
	var all []string
	for i := range pod.Spec.InitContainers {
		all = append(all, pod.Spec.InitContainers[i].Name)
	}
	for i := range pod.Spec.Containers {
		all = append(all, pod.Spec.Containers[i].Name)
	}
	for i := range pod.Spec.EphemeralContainers {
		all = append(all, pod.Spec.EphemeralContainers[i].Name)
	}
	if name == "" {
		if len(pod.Spec.Containers) == 1 {
			return pod.Spec.Containers[0].Name, nil
		}
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, all))
	}
	for _, known := range all {
		if known == name {
			return name, nil
		}
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", name, pod.Name))
}

// mayCreate asks for the verb create where the request itself was a GET: a
// WebSocket cannot POST, and reading pods/exec must not be enough for a shell.
func (h *Handler) mayCreate(r *http.Request, info *request.RequestInfo) error {
	user, ok := request.UserFrom(r.Context())
	if !ok || h.Authorizer == nil {
		return nil
	}
	decision, reason, err := h.Authorizer.Authorize(r.Context(), authorizer.AttributesRecord{
		User: user, Verb: "create", Namespace: info.Namespace, APIGroup: info.APIGroup, APIVersion: info.APIVersion,
		Resource: info.Resource, Subresource: info.Subresource, Name: info.Name, ResourceRequest: true, Path: info.Path,
	})
	if decision == authorizer.DecisionAllow {
		return nil
	}
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	return apierrors.NewForbidden(schema.GroupResource{Resource: info.Resource + "/" + info.Subresource}, info.Name,
		fmt.Errorf("User %q cannot create resource %q in API group %q in the namespace %q%s", user.GetName(),
			info.Resource+"/"+info.Subresource, info.APIGroup, info.Namespace, because(reason)))
}

func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
