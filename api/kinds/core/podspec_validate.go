package core

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	unversionedvalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// The rules of a PodSpec, one file per topic: this one calls them in order and
// holds what belongs to the pod as a whole. A podCheck is one spec under test;
// volumes and claims are what its containers may refer to.
//
// Upstream loosens a rule for objects that an older version stored while it
// broke it. Nothing that this server stored does, so there is no such path here.
type podCheck struct {
	faults
	spec    *corev1.PodSpec
	meta    *metav1.ObjectMeta
	path    *field.Path                    // of spec
	pod     bool                           // a pod, not a template
	volumes map[string]corev1.VolumeSource // the valid ones by name
	claims  sets.Set[string]               // spec.resourceClaims by name
}

// ValidatePodTemplateSpec checks a template that stands at path.
func ValidatePodTemplateSpec(t *corev1.PodTemplateSpec, path *field.Path) field.ErrorList {
	all := common.Labels(t.Labels, path.Child("labels"))
	annotations := path.Child("annotations")
	all = append(all, common.Annotations(t.Annotations, annotations)...)
	all = append(all, podAnnotations(t.Annotations, &t.Spec, annotations)...)
	c := &podCheck{spec: &t.Spec, path: path.Child("spec")}
	c.run()
	all = append(all, c.all...)
	all = append(all, appArmorAgrees(t.Annotations, &t.Spec, path.Child("spec"))...)
	if len(t.Spec.EphemeralContainers) > 0 {
		all = append(all, field.Forbidden(path.Child("spec", "ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	}
	return all
}

func (c *podCheck) run() {
	s, path := c.spec, c.path
	if s.TerminationGracePeriodSeconds == nil {
		c.required(path.Child("terminationGracePeriodSeconds"), "")
	}
	c.checkVolumes(path.Child("volumes"))
	c.checkClaims(path.Child("resourceClaims"))
	c.checkContainers(path.Child("containers"))
	c.checkInitContainers(path.Child("initContainers"))
	c.checkEphemeral(path.Child("ephemeralContainers"))
	c.checkPodResources(path.Child("resources"))
	c.checkHostPorts()
	needed(&c.faults, path.Child("restartPolicy"), s.RestartPolicy, corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
	needed(&c.faults, path.Child("dnsPolicy"), s.DNSPolicy, corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)
	c.add(common.Labels(s.NodeSelector, path.Child("nodeSelector")))
	c.checkPodSecurity(path.Child("securityContext"))
	if s.ShareProcessNamespace != nil && s.HostPID && *s.ShareProcessNamespace {
		c.invalid(path.Child("shareProcessNamespace"), *s.ShareProcessNamespace, "ShareProcessNamespace and HostPID cannot both be enabled")
	}
	c.checkAffinity(path.Child("affinity"))
	c.checkDNS(path.Child("dnsConfig"))
	for i, g := range s.ReadinessGates {
		c.add(common.QualifiedName(string(g.ConditionType), path.Child("readinessGates").Index(i).Child("conditionType")))
	}
	c.checkGates(path.Child("schedulingGates"))
	c.checkSpread(path.Child("topologySpreadConstraints"))
	c.checkHostProcess()
	c.checkHostUsers()
	c.checkHostname()
	c.checkNames()
	c.checkOS()
	c.checkFileKeys()
}

// checkNames: the fields that name something else, and the numbers between them, in upstream's order.
func (c *podCheck) checkNames() {
	s, path := c.spec, c.path
	if s.ServiceAccountName != "" {
		c.invalids(path.Child("serviceAccountName"), s.ServiceAccountName, validation.IsDNS1123Subdomain(s.ServiceAccountName))
	}
	if s.NodeName != "" {
		c.invalids(path.Child("nodeName"), s.NodeName, validation.IsDNS1123Subdomain(s.NodeName))
	}
	if n := s.ActiveDeadlineSeconds; n != nil && (*n < 1 || *n > math.MaxInt32) {
		c.invalid(path.Child("activeDeadlineSeconds"), *n, validation.InclusiveRangeError(1, math.MaxInt32))
	}
	if s.Hostname != "" {
		c.add(common.DNSLabel(s.Hostname, path.Child("hostname")))
	}
	if s.Subdomain != "" {
		c.add(common.DNSLabel(s.Subdomain, path.Child("subdomain")))
	}
	c.checkTolerations(path.Child("tolerations"))
	for i, alias := range s.HostAliases {
		path := path.Child("hostAliases").Index(i)
		c.add(validation.IsValidIPForLegacyField(path.Child("ip"), alias.IP, true, nil))
		for j, name := range alias.Hostnames {
			c.add(common.DNSSubdomain(name, path.Child("hostnames").Index(j)))
		}
	}
	if s.PriorityClassName != "" {
		c.invalids(path.Child("priorityClassName"), s.PriorityClassName, validation.IsDNS1123Subdomain(s.PriorityClassName))
	}
	if s.RuntimeClassName != nil {
		c.add(common.DNSSubdomain(*s.RuntimeClassName, path.Child("runtimeClassName")))
	}
	if s.PreemptionPolicy != nil {
		needed(&c.faults, path.Child("preemptionPolicy"), *s.PreemptionPolicy, corev1.PreemptLowerPriority, corev1.PreemptNever)
	}
	if s.Overhead != nil {
		c.checkRequirements(&corev1.ResourceRequirements{Limits: s.Overhead}, path.Child("overhead"), ValidateContainerResourceName)
	}
}

func (c *podCheck) checkGates(path *field.Path) {
	seen := sets.New[string]()
	for i, g := range c.spec.SchedulingGates {
		c.add(common.QualifiedName(g.Name, path.Index(i)))
		if seen.Has(g.Name) {
			c.duplicate(path.Index(i), g.Name)
		}
		seen.Insert(g.Name)
	}
}

const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchChars = 2048
)

func (c *podCheck) checkDNS(path *field.Path) {
	d := c.spec.DNSConfig
	if c.spec.DNSPolicy == corev1.DNSNone {
		if d == nil {
			c.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
			return
		}
		if len(d.Nameservers) == 0 {
			c.required(path.Child("nameservers"), "must provide at least one DNS nameserver when `dnsPolicy` is None")
			return
		}
	}
	if d == nil {
		return
	}
	if len(d.Nameservers) > maxNameservers {
		c.invalid(path.Child("nameservers"), d.Nameservers, "must not have more than 3 nameservers")
	}
	for i, ns := range d.Nameservers {
		c.add(validation.IsValidIPForLegacyField(path.Child("nameservers").Index(i), ns, true, nil))
	}
	searches := path.Child("searches")
	if len(d.Searches) > maxSearches {
		c.invalid(searches, d.Searches, "must not have more than 32 search paths")
	}
	if len(strings.Join(d.Searches, " ")) > maxSearchChars {
		c.invalid(searches, d.Searches, "must not have more than 2048 characters (including spaces) in the search list")
	}
	for i, search := range d.Searches {
		if search != "." {
			name := strings.TrimSuffix(search, ".")
			c.invalids(searches.Index(i), name, validation.IsDNS1123SubdomainWithUnderscore(name))
		}
	}
	for i, o := range d.Options {
		if o.Name == "" {
			c.required(path.Child("options").Index(i), "must not be empty")
		}
	}
}

func (c *podCheck) checkHostname() {
	name := c.spec.HostnameOverride
	if name == nil {
		return
	}
	path := c.path.Child("hostnameOverride")
	if f := c.spec.SetHostnameAsFQDN; f != nil && *f {
		c.forbidden(path, "may not be specified when setHostnameAsFQDN is true")
	}
	if c.spec.HostNetwork {
		c.forbidden(path, "may not be specified when hostNetwork is true")
	}
	c.add(common.MaxBytes(*name, 64, path))
	c.add(common.DNSSubdomain(*name, path))
}

// checkHostPorts: a template may leave host ports out, they are filled in when a pod is made of it.
func (c *podCheck) checkHostPorts() {
	if !c.spec.HostNetwork {
		return
	}
	for i := range c.spec.Containers {
		for j, p := range c.spec.Containers[i].Ports {
			if (c.pod || p.HostPort != 0) && p.HostPort != p.ContainerPort {
				c.invalid(c.path.Child("containers").Index(i).Child("ports").Index(j).Child("hostPort"), p.HostPort,
					"must match `containerPort` when `hostNetwork` is true")
			}
		}
	}
}

// eachContainer visits all containers in upstream's order, with their paths.
func eachContainer(s *corev1.PodSpec, path *field.Path, visit func(c *corev1.Container, path *field.Path)) {
	for i := range s.InitContainers {
		visit(&s.InitContainers[i], path.Child("initContainers").Index(i))
	}
	for i := range s.Containers {
		visit(&s.Containers[i], path.Child("containers").Index(i))
	}
	for i := range s.EphemeralContainers {
		visit((*corev1.Container)(&s.EphemeralContainers[i].EphemeralContainerCommon), path.Child("ephemeralContainers").Index(i))
	}
}

func (c *podCheck) checkFileKeys() {
	all := map[string]*corev1.VolumeSource{}
	for i := range c.spec.Volumes {
		all[c.spec.Volumes[i].Name] = &c.spec.Volumes[i].VolumeSource
	}
	eachContainer(c.spec, c.path, func(ctr *corev1.Container, path *field.Path) {
		for i, e := range ctr.Env {
			if e.ValueFrom == nil || e.ValueFrom.FileKeyRef == nil {
				continue
			}
			path, name := path.Child("env").Index(i).Child("valueFrom", "fileKeyRef", "volumeName"), e.ValueFrom.FileKeyRef.VolumeName
			if source, found := all[name]; !found {
				c.missing(path, name)
			} else if source.EmptyDir == nil {
				c.invalid(path, name, "referenced volume must be of type emptyDir")
			}
		}
	})
}

func labelName(name string, path *field.Path) field.ErrorList {
	return unversionedvalidation.ValidateLabelName(name, path)
}
