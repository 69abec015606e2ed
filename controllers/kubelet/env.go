package kubelet

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// The environment of a container: services first, envFrom over them, env over
// both, in the order in which it is declared, since $(VAR) may use what stands above.

// environ is a container's variables.
type environ struct {
	declared map[string]string // envFrom and env
	services map[string]string
}

func (e environ) lookup(name string) (string, bool) {
	if v, ok := e.declared[name]; ok {
		return v, true
	}
	v, ok := e.services[name]
	return v, ok
}

// sorted gives all variables by name.
func (e environ) sorted() []EnvVar {
	out := make([]EnvVar, 0, len(e.declared)+len(e.services))
	for n, v := range e.declared {
		out = append(out, EnvVar{n, v})
	}
	for n, v := range e.services {
		if _, ok := e.declared[n]; !ok {
			out = append(out, EnvVar{n, v})
		}
	}
	slices.SortFunc(out, func(a, b EnvVar) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// expandAll expands command and args.
func (e environ) expandAll(in []string) []string {
	if in == nil {
		return nil
	}
	out := make([]string, len(in))
	for i, s := range in {
		out[i] = expand(s, e.lookup)
	}
	return out
}

func lookupIn(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) { v, ok := m[name]; return v, ok }
}

// expand replaces $(NAME) where the name is known; $$ is a plain dollar.
func expand(s string, lookup func(string) (string, bool)) string {
	var out strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '$' || i+1 == len(s) {
			out.WriteByte(s[i])
			continue
		}
		switch next := s[i+1]; next {
		case '$':
			out.WriteByte('$')
			i++
		case '(':
			end := strings.IndexByte(s[i+2:], ')')
			if end < 0 {
				out.WriteString("$(")
				i++
				continue
			}
			name := s[i+2 : i+2+end]
			if v, ok := lookup(name); ok {
				out.WriteString(v)
			} else {
				out.WriteString("$(" + name + ")")
			}
			i += 2 + end
		default:
			out.WriteByte('$')
		}
	}
	return out.String()
}

// environment resolves all variables of a container.
func (k *Kubelet) environment(ctx context.Context, pod *corev1.Pod, c *corev1.Container, ips []string) (environ, error) {
	e := environ{declared: map[string]string{}}
	if k.sim == nil {
		var err error
		if e.services, err = k.serviceEnv(ctx, pod); err != nil {
			return e, err
		}
	}
	for _, from := range c.EnvFrom {
		if err := k.envFrom(ctx, pod, from, e.declared); err != nil {
			return e, err
		}
	}
	for _, v := range c.Env {
		value, ok := v.Value, true
		switch {
		case value != "":
			value = expand(value, e.lookup)
		case v.ValueFrom != nil:
			var err error
			if value, ok, err = k.envSource(ctx, pod, c, v.ValueFrom, ips); err != nil {
				return e, err
			}
		}
		if ok {
			e.declared[v.Name] = value
		}
	}
	return e, nil
}

// envFrom takes over a whole config map or secret.
func (k *Kubelet) envFrom(ctx context.Context, pod *corev1.Pod, from corev1.EnvFromSource, into map[string]string) error {
	switch {
	case from.ConfigMapRef != nil:
		m, err := k.configMap(ctx, pod.Namespace, from.ConfigMapRef.Name)
		if err != nil {
			return ignoreMissing(err, from.ConfigMapRef.Optional)
		}
		for name, v := range m.Data {
			into[from.Prefix+name] = v
		}
	case from.SecretRef != nil:
		s, err := k.secret(ctx, pod.Namespace, from.SecretRef.Name)
		if err != nil {
			return ignoreMissing(err, from.SecretRef.Optional)
		}
		for name, v := range s.Data {
			into[from.Prefix+name] = string(v)
		}
	}
	return nil
}

func ignoreMissing(err error, optional *bool) error {
	if optional != nil && *optional && apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// envSource resolves one valueFrom; false when it is optional and not there.
func (k *Kubelet) envSource(ctx context.Context, pod *corev1.Pod, c *corev1.Container, from *corev1.EnvVarSource, ips []string) (string, bool, error) {
	switch {
	case from.FieldRef != nil:
		v, err := k.podField(pod, from.FieldRef.FieldPath, ips)
		return v, true, err
	case from.ResourceFieldRef != nil:
		v, err := k.resourceField(pod, c, from.ResourceFieldRef)
		return v, true, err
	case from.ConfigMapKeyRef != nil:
		r := from.ConfigMapKeyRef
		m, err := k.configMap(ctx, pod.Namespace, r.Name)
		if err != nil {
			return "", false, ignoreMissing(err, r.Optional)
		}
		v, ok := m.Data[r.Key]
		if !ok && (r.Optional == nil || !*r.Optional) {
			return "", false, fmt.Errorf("couldn't find key %v in ConfigMap %v/%v", r.Key, pod.Namespace, r.Name)
		}
		return v, ok, nil
	case from.SecretKeyRef != nil:
		r := from.SecretKeyRef
		s, err := k.secret(ctx, pod.Namespace, r.Name)
		if err != nil {
			return "", false, ignoreMissing(err, r.Optional)
		}
		v, ok := s.Data[r.Key]
		if !ok && (r.Optional == nil || !*r.Optional) {
			return "", false, fmt.Errorf("couldn't find key %v in Secret %v/%v", r.Key, pod.Namespace, r.Name)
		}
		return string(v), ok, nil
	case from.FileKeyRef != nil:
		return "", false, fmt.Errorf("environment variables from a file of volume %q are not supported", from.FileKeyRef.VolumeName)
	}
	return "", true, nil
}

// configMap and secret read through the Reader; a NotFound has upstream's words: configmap "x" not found.
func (k *Kubelet) configMap(ctx context.Context, namespace, name string) (*corev1.ConfigMap, error) {
	o, err := k.Reader.Get(ctx, configMapResource, namespace, name)
	if err != nil {
		return nil, singular(err, "configmap", name)
	}
	m, ok := o.(*corev1.ConfigMap)
	if !ok {
		return nil, fmt.Errorf("read configmap %q: got a %T", name, o)
	}
	return m, nil
}

func (k *Kubelet) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	o, err := k.Reader.Get(ctx, secretResource, namespace, name)
	if err != nil {
		return nil, singular(err, "secret", name)
	}
	s, ok := o.(*corev1.Secret)
	if !ok {
		return nil, fmt.Errorf("read secret %q: got a %T", name, o)
	}
	return s, nil
}

// notFound is a NotFound error in the kubelet's words.
type notFound struct {
	error
	text string
}

func (e notFound) Error() string { return e.text }
func (e notFound) Unwrap() error { return e.error }

func singular(err error, kind, name string) error {
	if apierrors.IsNotFound(err) {
		return notFound{err, fmt.Sprintf("%s %q not found", kind, name)}
	}
	return err
}
