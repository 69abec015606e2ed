package core

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// What a kubelet reports of containers: the user they run as, and the health of
// the devices that they were given.

// dropStatusFields takes out what belongs to features that are off.
func dropStatusFields(s *corev1.PodStatus) {
	s.NodeAllocatableResourceClaimStatuses = nil
	s.VolumeHealth = nil
	for _, list := range [][]corev1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses, s.EphemeralContainerStatuses} {
		for i := range list {
			for j := range list[i].VolumeMounts {
				list[i].VolumeMounts[j].VolumeStatus = nil
			}
		}
	}
}

// extendedClaim: the claim that the scheduler made for extended resources, and which request of it is whose.
func (f *faults) extendedClaim(s *corev1.PodExtendedResourceClaimStatus, spec *corev1.PodSpec, path *field.Path) {
	if s == nil {
		return
	}
	containers := map[string]*corev1.Container{}
	for _, list := range [][]corev1.Container{spec.InitContainers, spec.Containers} {
		for i := range list {
			containers[list[i].Name] = &list[i]
		}
	}
	mappings := path.Child("requestMappings")
	if len(s.RequestMappings) == 0 {
		f.required(mappings, "at least one request mapping is required")
	}
	seen := sets.New[corev1.ContainerExtendedResourceRequest]()
	for i, m := range s.RequestMappings {
		at := mappings.Index(i)
		if c, known := containers[m.ContainerName]; !known {
			f.invalid(at.Child("containerName"), m.ContainerName, "must match the name of an entry in spec.initContainers.name or spec.containers.name")
		} else if _, asked := c.Resources.Requests[corev1.ResourceName(m.ResourceName)]; !asked {
			f.invalid(at.Child("resourceName"), m.ResourceName, "must match the extended resource name of an entry in spec.initContainers.resources.requests or spec.containers.resources.requests")
		}
		f.add(common.DNSLabel(m.RequestName, path.Child("requestName")))
		if seen.Has(m) {
			f.duplicate(at.Child("containerName"), m.ContainerName)
			f.duplicate(at.Child("resourceName"), m.ResourceName)
			f.duplicate(at.Child("requestName"), m.RequestName)
		}
		seen.Insert(m)
	}
	if name := path.Child("resourceClaimName"); s.ResourceClaimName == "" {
		f.required(name, "")
	} else {
		f.invalids(name, s.ResourceClaimName, validation.IsDNS1123Subdomain(s.ResourceClaimName))
	}
}

// statusUsers: a runtime may report any uid_t, more than a spec may ask for.
func (f *faults) statusUsers(list []corev1.ContainerStatus, os *corev1.PodOS, path *field.Path) {
	for i, s := range list {
		if s.User == nil || s.User.Linux == nil {
			continue
		}
		u, at := s.User.Linux, path.Index(i).Child("user", "linux")
		if os != nil && os.Name != corev1.Linux {
			if os.Name == corev1.Windows {
				f.forbidden(at, "cannot be set for a windows pod")
			}
			continue
		}
		if u.UID < 0 || u.UID > math.MaxUint32 {
			f.invalid(at.Child("uid"), u.UID, "must be between 0 and 4294967295, inclusive")
		}
		f.invalids(at.Child("gid"), u.GID, validation.IsValidGroupID(u.GID))
		for j, gid := range u.SupplementalGroups {
			f.invalids(at.Child("supplementalGroups").Index(j), gid, validation.IsValidGroupID(gid))
		}
	}
}

// allocatedResources checks the health of what was given to containers.
func (f *faults) allocatedResources(list []corev1.ContainerStatus, containers []corev1.Container, status *corev1.PodStatus, path *field.Path) {
	for i, s := range list {
		var c *corev1.Container
		for j := range containers {
			if containers[j].Name == s.Name {
				c = &containers[j]
				break
			}
		}
		for j, r := range s.AllocatedResourcesStatus {
			at := path.Index(i).Child("allocatedResourcesStatus").Index(j)
			if c != nil {
				f.allocatedName(r.Name, c, status.ExtendedResourceClaimStatus, at.Child("name"))
			}
			f.resourceHealth(r.Resources, at.Child("resources"))
		}
	}
}

const claimPrefix = "claim:"

func (f *faults) allocatedName(name corev1.ResourceName, c *corev1.Container, extended *corev1.PodExtendedResourceClaimStatus, path *field.Path) {
	claim, isClaim := strings.CutPrefix(string(name), claimPrefix)
	if !isClaim {
		if _, asked := c.Resources.Requests[name]; !asked {
			f.invalid(path, name, "must match one of the container's resource requests")
		}
		return
	}
	for _, r := range c.Resources.Claims {
		if claim == r.Name && r.Request == "" || r.Request != "" && claim == r.Name+"/"+r.Request {
			return
		}
	}
	if !grantedBy(extended, c, claim) {
		f.invalid(path, name, "must match one of the container's resource claims as 'claim:<claimName>/<requestName>' when container.resources.claims[*].request is set or 'claim:<claimName>' when it is empty")
	}
}

// grantedBy: the request of an extended resource's claim that stands for something the container asked for.
func grantedBy(s *corev1.PodExtendedResourceClaimStatus, c *corev1.Container, claim string) bool {
	name, request, _ := strings.Cut(claim, "/")
	if s == nil || request == "" || name == "" || name != s.ResourceClaimName {
		return false
	}
	for _, m := range s.RequestMappings {
		if m.ContainerName == c.Name && m.RequestName == request {
			if q, asked := c.Resources.Requests[corev1.ResourceName(m.ResourceName)]; asked && !q.IsZero() {
				return true
			}
		}
	}
	return false
}

func (f *faults) resourceHealth(list []corev1.ResourceHealth, path *field.Path) {
	seen := sets.New[corev1.ResourceID]()
	for i, r := range list {
		at := path.Index(i)
		oneOf(f, at.Child("health"), r.Health, corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy, corev1.ResourceHealthStatusUnknown)
		if m := r.Message; m != nil && *m == "" {
			f.required(at.Child("message"), "must be non-empty if specified")
		} else if m != nil {
			f.add(common.MaxBytes(*m, corev1.ResourceHealthMessageMaxLength, at.Child("message")))
		}
		if seen.Has(r.ResourceID) {
			f.duplicate(at.Child("resourceID"), r.ResourceID)
		}
		seen.Insert(r.ResourceID)
	}
}

func (f *faults) noAllocatedResources(list []corev1.ContainerStatus, path *field.Path) {
	for i := range list {
		if len(list[i].AllocatedResourcesStatus) > 0 {
			f.forbidden(path.Index(i).Child("allocatedResourcesStatus"), "must not be specified in container status")
		}
	}
}
