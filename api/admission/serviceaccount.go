package admission

// ServiceAccount: a pod that names no service account gets "default", the one
// it names must exist, and unless it is told not to, the pod gets a volume
// with the account's token, the cluster's CA and its namespace at the path
// where clients in pods look for them.

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

const (
	defaultAccount = "default"
	tokenVolume    = "kube-api-access-"
	tokenMountPath = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenSeconds   = 3607 // TokenRequest knows the number: api/kinds/authentication
	mountableOnly  = "kubernetes.io/enforce-mountable-secrets"

	// A namespace's default account is made by a controller just after the namespace. A client that makes
	// both a namespace and a pod in it should not have to wait itself.
	accountWait  = time.Second
	accountRetry = 20 * time.Millisecond
)

func serviceAccount(l *lookup) Plugin {
	return Plugin{
		Name: "ServiceAccount",
		Mutate: func(a *Attributes) error {
			pod := a.newPod()
			if pod == nil {
				return nil
			}
			if mirrorPod(pod) {
				return checkMirror(a, pod) // before the pod's own rules, which would refuse some of this, too
			}
			if pod.Spec.ServiceAccountName == "" {
				pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = defaultAccount, defaultAccount
			}
			account, err := findAccount(a, l, pod.Spec.ServiceAccountName)
			if err != nil {
				return err
			}
			if automount(account, pod) {
				mountToken(a, pod)
			}
			if len(pod.Spec.ImagePullSecrets) == 0 {
				pod.Spec.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
			}
			return checkSecrets(a, account, pod)
		},
		Validate: func(a *Attributes) error {
			if pod, ok := a.Object.(*corev1.Pod); ok && a.Operation == update && a.is("", "pods", "ephemeralcontainers") {
				return checkEphemeral(a, l, pod)
			}
			pod := a.newPod()
			if pod == nil {
				return nil
			}
			if mirrorPod(pod) {
				return checkMirror(a, pod)
			}
			if pod.Spec.ServiceAccountName == "" {
				return forbidden(a, "no service account specified for pod %s/%s", a.Namespace, pod.Name)
			}
			return nil
		},
	}
}

// findAccount waits for the default account. A controller's write does not
// wait: it is tried again anyway, and may come from the loop that makes the account.
func findAccount(a *Attributes, l *lookup, name string) (*corev1.ServiceAccount, error) {
	deadline := time.Now().Add(accountWait)
	for {
		account, err := l.account(a.Ctx, a.Namespace, name)
		if err == nil && account == nil {
			err = apierrors.NewNotFound(schema.GroupResource{Resource: "serviceaccount"}, name)
		}
		if err == nil {
			return account, nil
		}
		if !apierrors.IsNotFound(err) || name != defaultAccount || a.Cause.Revision != 0 || time.Now().After(deadline) {
			return nil, forbidden(a, "error looking up service account %s/%s: %w", a.Namespace, name, err)
		}
		select {
		case <-a.Ctx.Done():
			return nil, a.Ctx.Err()
		case <-time.After(accountRetry):
		}
	}
}

func automount(account *corev1.ServiceAccount, pod *corev1.Pod) bool {
	for _, say := range []*bool{pod.Spec.AutomountServiceAccountToken, account.AutomountServiceAccountToken} {
		if say != nil {
			return *say
		}
	}
	return true
}

// mountToken adds the mount where a container has nothing at that path, and the volume when one needs it.
func mountToken(a *Attributes, pod *corev1.Pod) {
	name, there := "", false
	for _, v := range pod.Spec.Volumes {
		if strings.HasPrefix(v.Name, tokenVolume) {
			name, there = v.Name, true
			break
		}
	}
	if !there {
		name = tokenVolume + a.Random(5)
	}
	needed := false
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			if slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenMountPath }) {
				continue
			}
			c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenMountPath})
			needed = true
		}
	}
	if needed && !there {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: tokenSource()}})
	}
}

func tokenSource() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{DefaultMode: new(int32(0o644)), Sources: []corev1.VolumeProjection{
		{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(tokenSeconds))}},
		{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
			Items: []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}}}},
		{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
			{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}}}}},
	}}
}

// checkMirror: a static pod of a kubelet must not reach what its node may not give it.
func checkMirror(a *Attributes, pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName != "" {
		return forbidden(a, "a mirror pod may not reference service accounts")
	}
	secrets := len(pod.Spec.ImagePullSecrets) > 0
	for _, v := range pod.Spec.Volumes {
		secrets = secrets || v.Secret != nil
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			secrets = secrets || s.Secret != nil
			if s.ServiceAccountToken != nil {
				return forbidden(a, "a mirror pod may not use ServiceAccountToken volume projections")
			}
		}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		secrets = secrets || len(envSecrets(c.Env, c.EnvFrom)) > 0
	}
	if secrets {
		return forbidden(a, "a mirror pod may not reference secrets")
	}
	return nil
}

// secretRef is a Secret that a container names, with the words that a refusal has for it.
type secretRef struct{ where, name string }

func envSecrets(env []corev1.EnvVar, from []corev1.EnvFromSource) []secretRef {
	var out []secretRef
	for _, e := range env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			out = append(out, secretRef{"with envVar " + e.Name, e.ValueFrom.SecretKeyRef.Name})
		}
	}
	for _, e := range from {
		if e.SecretRef != nil {
			out = append(out, secretRef{"with envFrom", e.SecretRef.Name})
		}
	}
	return out
}

// checkSecrets: an account may say that its pods can only use the Secrets that it lists.
func checkSecrets(a *Attributes, account *corev1.ServiceAccount, pod *corev1.Pod) error {
	if only, _ := strconv.ParseBool(account.Annotations[mountableOnly]); !only {
		return nil
	}
	allowed := func(name string) bool {
		return slices.ContainsFunc(account.Secrets, func(s corev1.ObjectReference) bool { return s.Name == name })
	}
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil && !allowed(v.Secret.SecretName) {
			return forbidden(a, "volume with secret.secretName=%q is not allowed because service account %s does not reference that secret", v.Secret.SecretName, account.Name)
		}
	}
	for kind, containers := range map[string][]corev1.Container{"init container": pod.Spec.InitContainers, "container": pod.Spec.Containers} {
		for _, c := range containers {
			if err := checkEnv(kind, c.Name, account.Name, envSecrets(c.Env, c.EnvFrom), allowed); err != nil {
				return forbidden(a, "%w", err)
			}
		}
	}
	for i, s := range pod.Spec.ImagePullSecrets {
		if !slices.Contains(account.ImagePullSecrets, s) {
			return forbidden(a, "imagePullSecrets[%d].name=%q is not allowed because service account %s does not reference that imagePullSecret", i, s.Name, account.Name)
		}
	}
	return nil
}

func checkEnv(kind, container, account string, refs []secretRef, allowed func(string) bool) error {
	for _, ref := range refs {
		if !allowed(ref.name) {
			return fmt.Errorf("%s %s %s referencing secret.secretName=%q is not allowed because service account %s does not reference that secret",
				kind, container, ref.where, ref.name, account)
		}
	}
	return nil
}

func checkEphemeral(a *Attributes, l *lookup, pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName == "" {
		return forbidden(a, "no service account specified for pod %s/%s", a.Namespace, pod.Name)
	}
	account, err := findAccount(a, l, pod.Spec.ServiceAccountName)
	if err != nil {
		return err
	}
	if only, _ := strconv.ParseBool(account.Annotations[mountableOnly]); !only {
		return nil
	}
	var errs []error
	for _, c := range pod.Spec.EphemeralContainers {
		errs = append(errs, checkEnv("ephemeral container", c.Name, account.Name, envSecrets(c.Env, c.EnvFrom), func(name string) bool {
			return slices.ContainsFunc(account.Secrets, func(s corev1.ObjectReference) bool { return s.Name == name })
		}))
	}
	if err := utilerrors.NewAggregate(errs); err != nil {
		return failed("%v", err)
	}
	return nil
}
