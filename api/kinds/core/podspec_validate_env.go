package core

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// Environment variables, and the references to a pod's own fields and resources
// that variables and downwardAPI volumes share.

func (c *podCheck) checkEnv(vars []corev1.EnvVar, path *field.Path) {
	for i, v := range vars {
		path := path.Index(i)
		if v.Name == "" {
			c.required(path.Child("name"), "")
		} else {
			c.invalids(path.Child("name"), v.Name, validation.IsRelaxedEnvVarName(v.Name))
		}
		c.checkEnvSource(&v, path.Child("valueFrom"))
	}
}

func (c *podCheck) checkEnvSource(v *corev1.EnvVar, path *field.Path) {
	s := v.ValueFrom
	if s == nil {
		return
	}
	sources := 0
	if s.FieldRef != nil {
		sources++
		c.fieldRef(s.FieldRef, envFields(), path.Child("fieldRef"))
	}
	if s.ResourceFieldRef != nil {
		sources++
		c.resourceRef(s.ResourceFieldRef, path.Child("resourceFieldRef"))
	}
	if r := s.ConfigMapKeyRef; r != nil {
		sources++
		c.keyRef(r.Name, r.Key, path.Child("configMapKeyRef"))
	}
	if r := s.SecretKeyRef; r != nil {
		sources++
		c.keyRef(r.Name, r.Key, path.Child("secretKeyRef"))
	}
	if s.FileKeyRef != nil {
		sources++
		c.fileKeyRef(s.FileKeyRef, path.Child("fileKeyRef"))
	}
	switch {
	case sources == 0:
		c.invalid(path, "", "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`")
	case v.Value != "":
		c.invalid(path, "", "may not be specified when `value` is not empty")
	case sources > 1:
		c.invalid(path, "", "may not have more than one field specified at a time")
	}
}

func (c *podCheck) keyRef(name, key string, path *field.Path) {
	c.invalids(path.Child("name"), name, validation.IsDNS1123Subdomain(name))
	if key == "" {
		c.required(path.Child("key"), "")
	} else {
		c.invalids(path.Child("key"), key, validation.IsConfigMapKey(key))
	}
}

func (c *podCheck) fileKeyRef(r *corev1.FileKeySelector, path *field.Path) {
	if r.Key == "" {
		c.required(path.Child("key"), "")
	} else {
		c.invalids(path.Child("key"), r.Key, validation.IsRelaxedEnvVarName(r.Key))
	}
	if r.VolumeName == "" {
		c.required(path.Child("volumeName"), "")
	} else {
		c.add(common.DNSLabel(r.VolumeName, path.Child("volumeName")))
	}
	if r.Path == "" {
		c.required(path.Child("path"), "")
	} else {
		c.noBacksteps(r.Path, path.Child("path"))
	}
}

func (c *podCheck) checkEnvFrom(sources []corev1.EnvFromSource, path *field.Path) {
	named := func(name string, path *field.Path) {
		if name == "" {
			c.required(path.Child("name"), "")
		} else {
			c.invalids(path.Child("name"), name, apivalidation.NameIsDNSSubdomain(name, true))
		}
	}
	for i, s := range sources {
		at := path.Index(i)
		if s.Prefix != "" {
			c.invalids(at.Child("prefix"), s.Prefix, validation.IsRelaxedEnvVarName(s.Prefix))
		}
		if s.ConfigMapRef != nil {
			named(s.ConfigMapRef.Name, at.Child("configMapRef"))
		}
		if s.SecretRef != nil {
			named(s.SecretRef.Name, at.Child("secretRef"))
		}
		switch {
		case s.ConfigMapRef == nil && s.SecretRef == nil:
			c.invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
		case s.ConfigMapRef != nil && s.SecretRef != nil:
			c.invalid(path, "", "may not have more than one field specified at a time")
		}
	}
}

func envFields() []string {
	return []string{"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
		"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs"}
}

func volumeFields() []string {
	return []string{"metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"}
}

// downwardFields are all fields that upstream can convert; envFields and volumeFields are what may be used where.
func downwardFields() sets.Set[string] {
	return sets.New("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid",
		"spec.nodeName", "spec.restartPolicy", "spec.serviceAccountName", "spec.schedulerName",
		"status.phase", "status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", "spec.host")
}

func (c *podCheck) fieldRef(r *corev1.ObjectFieldSelector, allowed []string, path *field.Path) {
	if r.APIVersion == "" {
		c.required(path.Child("apiVersion"), "")
		return
	}
	if r.FieldPath == "" {
		c.required(path.Child("fieldPath"), "")
		return
	}
	name, key, subscripted := splitSubscript(r.FieldPath)
	if r.APIVersion != "v1" {
		c.invalid(path.Child("fieldPath"), r.FieldPath, fmt.Sprintf("error converting fieldPath: unsupported pod version: %s", r.APIVersion))
		return
	}
	if subscripted {
		switch name {
		case "metadata.annotations":
			c.add(common.QualifiedName(strings.ToLower(key), path))
		case "metadata.labels":
			c.add(common.QualifiedName(key, path))
		default:
			c.invalid(path.Child("fieldPath"), r.FieldPath, fmt.Sprintf("error converting fieldPath: field label does not support subscript: %s", r.FieldPath))
		}
		return
	}
	if !downwardFields().Has(name) {
		c.invalid(path.Child("fieldPath"), r.FieldPath, "error converting fieldPath: field label not supported: "+r.FieldPath)
		return
	}
	if name == "spec.host" {
		name = "spec.nodeName"
	}
	oneOf(&c.faults, path.Child("fieldPath"), name, allowed...)
}

// splitSubscript takes metadata.labels['a'] apart.
func splitSubscript(path string) (name, key string, ok bool) {
	if !strings.HasSuffix(path, "']") {
		return path, "", false
	}
	name, key, ok = strings.Cut(strings.TrimSuffix(path, "']"), "['")
	if !ok || name == "" {
		return path, "", false
	}
	return name, key, true
}

func resourceFields() []string {
	return []string{"limits.cpu", "limits.ephemeral-storage", "limits.memory", "requests.cpu", "requests.ephemeral-storage", "requests.memory"}
}

func (c *podCheck) resourceRef(r *corev1.ResourceFieldSelector, path *field.Path) {
	if r.Resource == "" {
		c.required(path.Child("resource"), "")
	} else if !isHugePagesField(r.Resource) {
		oneOf(&c.faults, path.Child("resource"), r.Resource, resourceFields()...)
	}
	c.divisor(r, path.Child("divisor"))
}

func isHugePagesField(name string) bool {
	return strings.HasPrefix(name, "requests.hugepages-") || strings.HasPrefix(name, "limits.hugepages-")
}

func (c *podCheck) divisor(r *corev1.ResourceFieldSelector, path *field.Path) {
	if r.Divisor.Cmp(resource.Quantity{}) == 0 {
		return
	}
	bytes := sets.New("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
	const list = "only divisor's values 1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei are supported with the %s resource"
	what := ""
	switch {
	case strings.HasSuffix(r.Resource, ".cpu"):
		if !sets.New("1m", "1").Has(r.Divisor.String()) {
			c.invalid(path, r.Resource, "only divisor's values 1m and 1 are supported with the cpu resource")
		}
		return
	case strings.HasSuffix(r.Resource, ".memory"):
		what = "memory"
	case strings.HasSuffix(r.Resource, ".ephemeral-storage"):
		what = "local ephemeral storage"
	case isHugePagesField(r.Resource):
		what = "hugepages"
	}
	if what != "" && !bytes.Has(r.Divisor.String()) {
		c.invalid(path, r.Resource, fmt.Sprintf(list, what))
	}
}
