package docker

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"kuberow/controllers/kubelet"
)

// verifyNonRoot refuses a container that must not run as root and would. Only
// the engine knows the user of the image, and only a number tells who it is.
func (r *Runtime) verifyNonRoot(ctx context.Context, c kubelet.ContainerConfig) error {
	if !mustBeNonRoot(c) {
		return nil
	}
	which := fmt.Sprintf("(pod: \"%s_%s(%s)\", container: %s)", c.Pod.Name, c.Pod.Namespace, c.Pod.UID, c.Container.Name)
	uid, _, _ := strings.Cut(user(c), ":")
	if uid == "0" {
		return &kubelet.ConfigError{Err: fmt.Errorf("container's runAsUser breaks non-root policy %s", which)}
	}
	if uid != "" {
		return nil
	}
	image, err := r.engine.ImageInspect(ctx, c.Container.Image)
	if err != nil {
		return fmt.Errorf("inspect image %s: %w", c.Container.Image, err)
	}
	name := ""
	if image.Config != nil {
		name, _, _ = strings.Cut(image.Config.User, ":")
	}
	if name == "" || name == "0" {
		return &kubelet.ConfigError{Err: fmt.Errorf("container has runAsNonRoot and image will run as root %s", which)}
	}
	if _, err := strconv.Atoi(name); err != nil {
		return &kubelet.ConfigError{Err: fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root %s", name, which)}
	}
	return nil
}

// mustBeNonRoot is runAsNonRoot, the container's before the pod's.
func mustBeNonRoot(c kubelet.ContainerConfig) bool {
	if sc := c.Container.SecurityContext; sc != nil && sc.RunAsNonRoot != nil {
		return *sc.RunAsNonRoot
	}
	sc := c.Pod.Spec.SecurityContext
	return sc != nil && sc.RunAsNonRoot != nil && *sc.RunAsNonRoot
}
