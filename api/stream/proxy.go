package stream

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// proxy serves pods/proxy and services/proxy: the rest of the path is asked of
// a port of the pod, or of a pod behind the service, through its node.
func (h *Handler) proxy(w http.ResponseWriter, r *http.Request, info *request.RequestInfo) error {
	scheme, name, port, valid := utilnet.SplitSchemeNamePort(info.Name)
	if !valid {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid %s request %q", strings.TrimSuffix(info.Resource, "s"), info.Name))
	}
	if scheme == "" {
		scheme = "http"
	}
	var pod *corev1.Pod
	var number int32
	var err error
	switch info.Resource {
	case "pods":
		pod, number, err = h.podPort(r, info.Namespace, name, port)
	case "services":
		pod, number, err = h.servicePort(r, info.Namespace, name, port)
	default:
		node, err := h.Reader.Get(r.Context(), schema.GroupResource{Resource: "nodes"}, "", name)
		if err != nil {
			return err
		}
		if known := node.(*corev1.Node).Status.Addresses; len(known) == 0 {
			return &apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusInternalServerError,
				Message: fmt.Sprintf("no preferred addresses found; known addresses: %v", known),
			}}
		}
		return apierrors.NewServiceUnavailable("nodes of kuberow serve no port of their own: use pods/proxy, logs or exec")
	}
	if err != nil {
		return err
	}
	prefix := strings.Join([]string{"", "api", "v1", "namespaces", info.Namespace, info.Resource, info.Name, "proxy"}, "/")
	target := &url.URL{Scheme: scheme, Host: net.JoinHostPort(pod.Name, strconv.Itoa(int(number)))}
	(&httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.Out.URL.Scheme, p.Out.URL.Host = target.Scheme, target.Host
			p.Out.URL.Path = strings.TrimPrefix(p.In.URL.Path, prefix)
			if p.Out.URL.Path == "" {
				p.Out.URL.Path = "/"
			}
			p.Out.URL.RawPath = ""
			p.Out.Header.Del("Authorization") // the cluster's credentials are not the pod's
			p.SetXForwarded()
		},
		Transport: &http.Transport{
			DisableKeepAlives: true,
			DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
				return h.Nodes.Dial(ctx, pod, "tcp", number)
			},
		},
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			h.Fail(w, r, apierrors.NewServiceUnavailable(fmt.Sprintf("error trying to reach service: %v", err)))
		},
	}).ServeHTTP(w, r)
	return nil
}

// podPort is the pod and the port: the one named, else the first one declared.
func (h *Handler) podPort(r *http.Request, namespace, name, port string) (*corev1.Pod, int32, error) {
	pod, err := h.pod(r, namespace, name)
	if err != nil {
		return nil, 0, err
	}
	// Wherever the pod is: without an address of its own there is nothing to dial.
	if ip := net.ParseIP(pod.Status.PodIP); ip == nil || !ip.IsGlobalUnicast() {
		return nil, 0, apierrors.NewBadRequest("address not allowed")
	}
	number := int32(80)
	for _, c := range pod.Spec.Containers {
		if len(c.Ports) > 0 {
			number = c.Ports[0].ContainerPort
			break
		}
	}
	if port != "" {
		n, err := strconv.ParseInt(port, 10, 32)
		if err != nil {
			return nil, 0, apierrors.NewBadRequest(fmt.Sprintf("invalid port %q of pod %s", port, name))
		}
		number = int32(n)
	}
	return pod, number, nil
}

// servicePort is a ready pod behind the service, and its port: the one of that
// name, which is empty for a service's only port, or of that number.
func (h *Handler) servicePort(r *http.Request, namespace, name, port string) (*corev1.Pod, int32, error) {
	wanted := port
	if number, err := strconv.ParseInt(port, 10, 64); err == nil {
		obj, err := h.Reader.Get(r.Context(), schema.GroupResource{Resource: "services"}, namespace, name)
		if err != nil {
			return nil, 0, err
		}
		if wanted, err = portName(obj.(*corev1.Service), number); err != nil {
			return nil, 0, err
		}
	}
	slices, err := h.Reader.List(r.Context(), schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}, namespace,
		labels.SelectorFromSet(labels.Set{discoveryv1.LabelServiceName: name}))
	if err != nil {
		return nil, 0, err
	}
	for _, obj := range slices {
		slice := obj.(*discoveryv1.EndpointSlice)
		for _, p := range slice.Ports {
			if p.Name == nil || *p.Name != wanted || p.Port == nil {
				continue
			}
			for _, e := range slice.Endpoints {
				if e.TargetRef == nil || e.TargetRef.Kind != "Pod" || (e.Conditions.Ready != nil && !*e.Conditions.Ready) {
					continue
				}
				pod, err := h.pod(r, namespace, e.TargetRef.Name)
				if err == nil {
					return pod, *p.Port, nil
				}
			}
		}
	}
	return nil, 0, apierrors.NewServiceUnavailable(fmt.Sprintf("no endpoints available for service %q", name))
}

// portName gives the name of the service's port with a number.
func portName(svc *corev1.Service, number int64) (string, error) {
	for _, p := range svc.Spec.Ports {
		if int64(p.Port) == number {
			return p.Name, nil
		}
	}
	return "", apierrors.NewServiceUnavailable(fmt.Sprintf("no service port %d found for service %q", number, svc.Name))
}
