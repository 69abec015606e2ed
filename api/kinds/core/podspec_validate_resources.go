package core

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/resource"
	"kuberow/api/kinds/common"
)

// Resources of containers and of the pod, and the names that resources have: a
// standard name (cpu), a huge page size, or the qualified name of an extended resource.

const (
	requestsPrefix = "requests."
	notInteger     = "must be an integer"
)

func isHugePages(name corev1.ResourceName) bool {
	return strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix)
}

// isNative: without a domain, or in Kubernetes' own.
func isNative(name corev1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), corev1.ResourceDefaultNamespacePrefix)
}

func isExtended(name corev1.ResourceName) bool {
	if isNative(name) || strings.HasPrefix(string(name), requestsPrefix) {
		return false
	}
	return len(validation.IsQualifiedName(requestsPrefix+string(name))) == 0
}

// canOvercommit: the sum of limits may exceed the node for these.
func canOvercommit(name corev1.ResourceName) bool { return isNative(name) && !isHugePages(name) }

func standardContainerNames() sets.Set[corev1.ResourceName] {
	return sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage)
}

func standardNames() sets.Set[corev1.ResourceName] {
	return sets.New(corev1.ResourceCPU, corev1.ResourceMemory, corev1.ResourceEphemeralStorage,
		corev1.ResourceRequestsCPU, corev1.ResourceRequestsMemory, corev1.ResourceRequestsEphemeralStorage,
		corev1.ResourceLimitsCPU, corev1.ResourceLimitsMemory, corev1.ResourceLimitsEphemeralStorage,
		corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers,
		corev1.ResourceSecrets, corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims, corev1.ResourceStorage,
		corev1.ResourceRequestsStorage, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers)
}

func resourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	var f faults
	f.invalids(path, name, validation.IsQualifiedName(string(name)))
	if len(f.all) == 0 && !strings.Contains(string(name), "/") && !standardNames().Has(name) && !isQuotaHugePages(name) {
		f.invalid(path, name, "must be a standard resource type or fully qualified")
	}
	return f.all
}

func isQuotaHugePages(name corev1.ResourceName) bool {
	return isHugePages(name) || strings.HasPrefix(string(name), corev1.ResourceRequestsHugePagesPrefix)
}

// ValidateContainerResourceName checks the name of a resource that a container asks for.
func ValidateContainerResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	all := resourceName(name, path)
	if !strings.Contains(string(name), "/") {
		if !standardContainerNames().Has(name) && !isHugePages(name) {
			all = append(all, field.Invalid(path, name, "must be a standard resource for containers"))
		}
	} else if !isNative(name) && !isExtended(name) {
		all = append(all, field.Invalid(path, name, "doesn't follow extended resource name standard"))
	}
	return all
}

func podResourceName(name corev1.ResourceName, path *field.Path) field.ErrorList {
	all := resourceName(name, path)
	if len(all) == 0 && !resource.IsSupportedPodLevelResource(name) {
		all = append(all, field.NotSupported(path, name, sets.List(resource.SupportedPodLevelResources())))
	}
	return all
}

// resourceAmount: not negative, and whole where only whole units exist.
func resourceAmount(name corev1.ResourceName, q apiresource.Quantity, path *field.Path) field.ErrorList {
	var all field.ErrorList
	if q.Sign() < 0 {
		all = append(all, field.Invalid(path, q.String(), apivalidation.IsNegativeErrorMsg))
	}
	if isWhole(name) && q.MilliValue()%1000 != 0 {
		all = append(all, field.Invalid(path, q, notInteger))
	}
	return all
}

func isWhole(name corev1.ResourceName) bool {
	switch name {
	case corev1.ResourcePods, corev1.ResourceQuotas, corev1.ResourceServices, corev1.ResourceReplicationControllers, corev1.ResourceSecrets,
		corev1.ResourceConfigMaps, corev1.ResourcePersistentVolumeClaims, corev1.ResourceServicesNodePorts, corev1.ResourceServicesLoadBalancers:
		return true
	}
	return isExtended(name)
}

// checkRequirements checks limits and requests; the amounts are visited in the order of their names.
func (c *podCheck) checkRequirements(r *corev1.ResourceRequirements, path *field.Path, named func(corev1.ResourceName, *field.Path) field.ErrorList) {
	limits, requests := path.Child("limits"), path.Child("requests")
	compute, huge := false, false
	note := func(name corev1.ResourceName) {
		compute = compute || name == corev1.ResourceCPU || name == corev1.ResourceMemory
		huge = huge || isHugePages(name)
	}
	for _, name := range common.Keys(r.Limits) {
		c.checkAmount(name, r.Limits[name], limits.Key(string(name)), named)
		c.checkPages(name, r.Limits[name], limits.Key(string(name)))
		note(name)
	}
	for _, name := range common.Keys(r.Requests) {
		amount := r.Requests[name]
		c.checkAmount(name, amount, requests.Key(string(name)), named)
		if limit, has := r.Limits[name]; has {
			if amount.Cmp(limit) != 0 && !canOvercommit(name) {
				c.invalid(requests, amount.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String()))
			} else if amount.Cmp(limit) > 0 {
				c.invalid(requests, amount.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name, limit.String()))
			}
		} else if !canOvercommit(name) {
			c.required(limits, "Limit must be set for non overcommitable resources")
		}
		c.checkPages(name, amount, requests.Key(string(name)))
		note(name)
	}
	if huge && !compute {
		c.forbidden(path, "HugePages require cpu or memory")
	}
	c.checkClaimRefs(r.Claims, path.Child("claims"))
}

func (c *podCheck) checkAmount(name corev1.ResourceName, q apiresource.Quantity, path *field.Path, named func(corev1.ResourceName, *field.Path) field.ErrorList) {
	c.add(named(name, path))
	c.add(resourceAmount(name, q, path))
}

// checkPages wants memory in huge pages to be a whole number of them.
func (c *podCheck) checkPages(name corev1.ResourceName, q apiresource.Quantity, path *field.Path) {
	if isHugePages(name) && !dividesPages(name, q) {
		c.invalid(path, q.String(), fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name))
	}
}

func dividesPages(name corev1.ResourceName, q apiresource.Quantity) bool {
	size, err := apiresource.ParseQuantity(strings.TrimPrefix(string(name), corev1.ResourceHugePagesPrefix))
	if err != nil || size.Sign() <= 0 {
		return false
	}
	return q.Value()%size.Value() == 0 && q.Sign() >= 0
}

// checkClaims: spec.resourceClaims, the devices that containers may name.
func (c *podCheck) checkClaims(path *field.Path) {
	c.claims = sets.New[string]()
	for i := range c.spec.ResourceClaims {
		if name := c.spec.ResourceClaims[i].Name; name != "" {
			c.claims.Insert(name)
		}
	}
	seen := sets.New[string]()
	for i, claim := range c.spec.ResourceClaims {
		path := path.Index(i)
		if c.meta != nil {
			if _, mirror := c.meta.Annotations[corev1.MirrorPodAnnotationKey]; mirror {
				c.forbidden(field.NewPath(""), "static pods do not support resource claims")
				continue
			}
		}
		if claim.Name == "" {
			c.required(path.Child("name"), "")
		} else if seen.Has(claim.Name) {
			c.duplicate(path.Child("name"), claim.Name)
		} else {
			c.add(common.DNSLabel(claim.Name, path.Child("name")))
			seen.Insert(claim.Name)
		}
		if claim.ResourceClaimName != nil && claim.ResourceClaimTemplateName != nil {
			c.invalid(path, claim, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified")
		}
		if claim.ResourceClaimName == nil && claim.ResourceClaimTemplateName == nil {
			c.invalid(path, claim, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`")
		}
		if n := claim.ResourceClaimName; n != nil {
			c.add(common.DNSSubdomain(*n, path.Child("resourceClaimName")))
		}
		if n := claim.ResourceClaimTemplateName; n != nil {
			c.add(common.DNSSubdomain(*n, path.Child("resourceClaimTemplateName")))
		}
	}
}

// checkClaimRefs: a container uses a whole claim or some of its requests, not both.
func (c *podCheck) checkClaimRefs(refs []corev1.ResourceClaim, path *field.Path) {
	seen := sets.New[string]()
	for i, r := range refs {
		path := path.Index(i)
		if r.Name == "" {
			c.required(path, "")
			continue
		}
		key := r.Name
		if r.Request != "" {
			key += "/" + r.Request
		}
		switch {
		case seen.Has(r.Name):
			c.duplicate(path, r.Name)
		default:
			if r.Request != "" {
				c.add(common.DNSLabel(r.Request, path.Child("request")))
			}
			if seen.Has(key) {
				c.duplicate(path, key)
			} else if r.Request == "" {
				for other := range seen {
					if strings.HasPrefix(other, r.Name+"/") {
						c.duplicate(path, r.Name)
					}
				}
			}
			seen.Insert(key)
		}
		if !c.claims.Has(r.Name) {
			missing := field.NotFound(path, r.Name)
			missing.Detail = "must be one of the names in pod.spec.resourceClaims which is empty"
			if c.claims.Len() > 0 {
				missing.Detail = "must be one of the names in pod.spec.resourceClaims: " + strings.Join(sets.List(c.claims), ", ")
			}
			c.all = append(c.all, missing)
		}
	}
}

// checkPodResources: the pod as a whole asks for at least what its containers ask for.
func (c *podCheck) checkPodResources(path *field.Path) {
	r := c.spec.Resources
	if r == nil {
		return
	}
	if c.spec.OS != nil && c.spec.OS.Name == corev1.Windows {
		c.forbidden(path, "may not be set for a windows pod")
		return
	}
	if r.Claims != nil {
		c.forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level")
	}
	c.checkRequirements(r, path, podResourceName)
	pod := &corev1.Pod{Spec: *c.spec}
	sum := resource.AggregateContainerRequests(pod, resource.PodResourcesOptions{})
	for _, name := range common.Keys(sum) {
		of, has := r.Requests[name]
		if total := sum[name]; has && total.Cmp(of) > 0 {
			c.invalid(path.Child("requests").Key(string(name)), of.String(), "must be greater than or equal to aggregate container requests of "+total.String())
		}
	}
	limits := resource.AggregateContainerLimits(pod, resource.PodResourcesOptions{})
	for _, name := range common.Keys(limits) {
		of, has := r.Limits[name]
		if total := limits[name]; isHugePages(name) && has && total.Cmp(of) > 0 {
			c.invalid(path.Child("limits").Key(string(name)), of.String(), "must be greater than or equal to aggregate container limits of "+total.String())
		}
	}
	for i := range c.spec.Containers {
		list := c.spec.Containers[i].Resources.Limits
		for _, name := range common.Keys(list) {
			of, has := r.Limits[name]
			if limit := list[name]; has && limit.Cmp(of) > 0 {
				c.invalid(path.Child("containers").Index(i).Key(string(name)).Child("limits"), limit.String(), "must be less than or equal to pod limits of "+of.String())
			}
		}
	}
}
