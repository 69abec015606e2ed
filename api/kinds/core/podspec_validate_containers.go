package core

import (
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds/common"
)

// Containers of the three kinds: what they share, and what each kind may not have.

func (c *podCheck) checkContainers(path *field.Path) {
	if len(c.spec.Containers) == 0 {
		c.required(path, "")
		return
	}
	names := sets.New[string]()
	for i := range c.spec.Containers {
		ctr, path := &c.spec.Containers[i], path.Index(i)
		c.checkContainer(ctr, path)
		if names.Has(ctr.Name) {
			c.duplicate(path.Child("name"), ctr.Name)
		}
		names.Insert(ctr.Name)
		c.checkLifecycle(ctr.Lifecycle, path.Child("lifecycle"))
		c.checkProbes(ctr, path)
		c.checkRestart(ctr, path)
	}
	c.uniqueHostPorts(c.spec.Containers, path)
}

func (c *podCheck) checkInitContainers(path *field.Path) {
	names := sets.New[string]()
	for i := range c.spec.Containers {
		names.Insert(c.spec.Containers[i].Name)
	}
	for i := range c.spec.InitContainers {
		ctr, list := &c.spec.InitContainers[i], path
		path := path.Index(i)
		c.checkContainer(ctr, path)
		c.checkInitRestart(ctr, path)
		if names.Has(ctr.Name) {
			c.duplicate(path.Child("name"), ctr.Name)
		} else if ctr.Name != "" {
			names.Insert(ctr.Name)
		}
		c.uniqueHostPorts(c.spec.InitContainers[i:i+1], list)
		if isSidecar(ctr) {
			c.checkLifecycle(ctr.Lifecycle, path.Child("lifecycle"))
			c.checkProbes(ctr, path)
			continue
		}
		c.runsOnce(ctr, path)
	}
}

// isSidecar: an init container that goes on running.
func isSidecar(ctr *corev1.Container) bool {
	return ctr.RestartPolicy != nil && *ctr.RestartPolicy == corev1.ContainerRestartPolicyAlways
}

// runsOnce: what ends before the pod starts has no probes and is not resized by a restart.
func (c *podCheck) runsOnce(ctr *corev1.Container, path *field.Path) {
	const detail = "may not be set for init containers without restartPolicy=Always"
	if ctr.Lifecycle != nil {
		c.forbidden(path.Child("lifecycle"), detail)
	}
	if ctr.LivenessProbe != nil {
		c.forbidden(path.Child("livenessProbe"), detail)
	}
	if ctr.ReadinessProbe != nil {
		c.forbidden(path.Child("readinessProbe"), detail)
	}
	if ctr.StartupProbe != nil {
		c.forbidden(path.Child("startupProbe"), detail)
	}
	for i, p := range ctr.ResizePolicy {
		if p.RestartPolicy == corev1.RestartContainer {
			c.invalid(path.Child("resizePolicy").Index(i).Child("restartPolicy"), p.RestartPolicy,
				"must not be set to 'RestartContainer' for non-sidecar initContainers")
		}
	}
}

const notEphemeral = "cannot be set for an Ephemeral Container"

// ephemeralFields are the fields that a container added to a running pod may have.
func ephemeralFields() sets.Set[string] {
	return sets.New("Name", "Image", "Command", "Args", "WorkingDir", "Env", "EnvFrom", "VolumeMounts", "VolumeDevices",
		"ImagePullPolicy", "SecurityContext", "Stdin", "StdinOnce", "TTY", "TerminationMessagePath", "TerminationMessagePolicy")
}

func (c *podCheck) checkEphemeral(path *field.Path) {
	others, names := sets.New[string](), sets.New[string]()
	for _, list := range [][]corev1.Container{c.spec.Containers, c.spec.InitContainers} {
		for i := range list {
			others.Insert(list[i].Name)
			names.Insert(list[i].Name)
		}
	}
	for i := range c.spec.EphemeralContainers {
		e, path := &c.spec.EphemeralContainers[i], path.Index(i)
		ctr := (*corev1.Container)(&e.EphemeralContainerCommon)
		c.checkContainer(ctr, path)
		c.trimmedImage(ctr, path)
		if names.Has(e.Name) {
			c.duplicate(path.Child("name"), e.Name)
		}
		names.Insert(e.Name)
		if e.TargetContainerName != "" && !others.Has(e.TargetContainerName) {
			c.missing(path.Child("targetContainerName"), e.TargetContainerName)
		}
		c.onlyFields(e.EphemeralContainerCommon, ephemeralFields(), notEphemeral, path)
		for j, m := range e.VolumeMounts {
			path := path.Child("volumeMounts").Index(j)
			if m.SubPath != "" {
				c.forbidden(path.Child("subPath"), notEphemeral)
			}
			if m.SubPathExpr != "" {
				c.forbidden(path.Child("subPathExpr"), notEphemeral)
			}
		}
	}
}

// onlyFields refuses fields of a struct by exclusion, so that a new one is refused until it is allowed.
func (f *faults) onlyFields(value any, allowed sets.Set[string], detail string, path *field.Path) {
	v := reflect.ValueOf(value)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !allowed.Has(name) && !v.Field(i).IsZero() {
			f.forbidden(path.Child(strings.ToLower(name[:1])+name[1:]), detail)
		}
	}
}

// trimmedImage holds for pods only; old templates may have spaces, and their pods fail.
func (c *podCheck) trimmedImage(ctr *corev1.Container, path *field.Path) {
	if len(ctr.Image) != len(strings.TrimSpace(ctr.Image)) {
		c.invalid(path.Child("image"), ctr.Image, "must not have leading or trailing whitespace")
	}
}

func (c *podCheck) checkContainer(ctr *corev1.Container, path *field.Path) {
	if ctr.Name == "" {
		c.required(path.Child("name"), "")
	} else {
		c.add(common.DNSLabel(ctr.Name, path.Child("name")))
	}
	if ctr.Image == "" {
		c.required(path.Child("image"), "")
	}
	needed(&c.faults, path.Child("terminationMessagePolicy"), ctr.TerminationMessagePolicy, corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)
	c.checkPorts(ctr.Ports, path.Child("ports"))
	c.checkEnv(ctr.Env, path.Child("env"))
	c.checkEnvFrom(ctr.EnvFrom, path.Child("envFrom"))
	c.checkMounts(ctr, path.Child("volumeMounts"))
	c.checkDevices(ctr, path.Child("volumeDevices"))
	needed(&c.faults, path.Child("imagePullPolicy"), ctr.ImagePullPolicy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
	c.checkRequirements(&ctr.Resources, path.Child("resources"), ValidateContainerResourceName)
	c.checkResizePolicy(ctr.ResizePolicy, path.Child("resizePolicy"))
	c.checkSecurity(ctr.SecurityContext, path.Child("securityContext"))
}

func (c *podCheck) checkPorts(ports []corev1.ContainerPort, path *field.Path) {
	names := sets.New[string]()
	for i, p := range ports {
		path := path.Index(i)
		if p.Name != "" {
			if messages := validation.IsValidPortName(p.Name); len(messages) > 0 {
				c.invalids(path.Child("name"), p.Name, messages)
			} else if names.Has(p.Name) {
				c.duplicate(path.Child("name"), p.Name)
			}
			names.Insert(p.Name)
		}
		if p.ContainerPort == 0 {
			c.required(path.Child("containerPort"), "")
		} else {
			c.invalids(path.Child("containerPort"), p.ContainerPort, validation.IsValidPortNum(int(p.ContainerPort)))
		}
		if p.HostPort != 0 {
			c.invalids(path.Child("hostPort"), p.HostPort, validation.IsValidPortNum(int(p.HostPort)))
		}
		needed(&c.faults, path.Child("protocol"), p.Protocol, corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)
	}
}

func (c *podCheck) uniqueHostPorts(list []corev1.Container, path *field.Path) {
	seen := sets.New[string]()
	for i := range list {
		for j, p := range list[i].Ports {
			if p.HostPort == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", p.Protocol, p.HostIP, p.HostPort)
			if seen.Has(key) {
				c.duplicate(path.Index(i).Child("ports").Index(j).Child("hostPort"), key)
			}
			seen.Insert(key)
		}
	}
}

func (c *podCheck) checkResizePolicy(policies []corev1.ContainerResizePolicy, path *field.Path) {
	seen := sets.New[corev1.ResourceName]()
	for i, p := range policies {
		if seen.Has(p.ResourceName) {
			c.duplicate(path.Index(i), p.ResourceName)
		}
		seen.Insert(p.ResourceName)
		needed(&c.faults, path, p.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)
		needed(&c.faults, path, p.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)
		if c.spec.RestartPolicy == corev1.RestartPolicyNever && p.RestartPolicy != corev1.NotRequired {
			c.invalid(path, p.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'")
		}
	}
}

const (
	maxRestartRules = 20
	maxRestartCodes = 255
	noRestartPolicy = "must specify restartPolicy when restart rules are used"
)

// checkInitRestart: without a policy, an init container's rules are not looked at.
func (c *podCheck) checkInitRestart(ctr *corev1.Container, path *field.Path) {
	if ctr.RestartPolicy != nil {
		c.checkRestart(ctr, path)
	} else if len(ctr.RestartPolicyRules) > 0 {
		c.required(path.Child("restartPolicy"), noRestartPolicy)
	}
}

func (c *podCheck) checkRestart(ctr *corev1.Container, path *field.Path) {
	rules, policy := ctr.RestartPolicyRules, path.Child("restartPolicy")
	if ctr.RestartPolicy == nil {
		if len(rules) == 0 {
			return
		}
		c.required(policy, noRestartPolicy)
	} else {
		oneOf(&c.faults, policy, *ctr.RestartPolicy, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)
	}
	if len(rules) > maxRestartRules {
		c.all = append(c.all, field.TooMany(path.Child("restartPolicyRules"), len(rules), maxRestartRules))
	}
	for i, r := range rules {
		path := path.Child("restartPolicyRules").Index(i)
		oneOf(&c.faults, path.Child("action"), r.Action, corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)
		if r.ExitCodes == nil {
			c.required(path.Child("exitCodes"), "must be specified")
			continue
		}
		path = path.Child("exitCodes")
		oneOf(&c.faults, path.Child("operator"), r.ExitCodes.Operator, corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)
		if n := len(r.ExitCodes.Values); n > maxRestartCodes {
			c.all = append(c.all, field.TooMany(path.Child("values"), n, maxRestartCodes))
		}
	}
}
