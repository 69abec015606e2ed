package kubelet

import (
	"context"
	"fmt"
	"time"

	"github.com/distribution/reference"
	corev1 "k8s.io/api/core/v1"
)

// Having a container's image: the pull policy, pulling, and the back-off after a pull that failed.

// ensureImage makes the image present as the pull policy says; an empty reason is success.
func (k *Kubelet) ensureImage(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer) reason {
	path := c.fieldPath()
	if _, err := reference.ParseNormalizedNamed(c.Image); err != nil {
		msg := fmt.Sprintf("Failed to apply default image tag %q: couldn't parse image name %q: %v", c.Image, c.Image, err)
		k.event(pod, path, corev1.EventTypeWarning, "InspectFailed", msg)
		return reason{reasonImageName, msg}
	}
	if c.ImagePullPolicy != corev1.PullAlways {
		present, err := k.Runtime.ImagePresent(ctx, c.Image)
		switch {
		case err != nil:
			msg := fmt.Sprintf("Failed to inspect image %q: %v", c.Image, err)
			k.event(pod, path, corev1.EventTypeWarning, "InspectFailed", msg)
			w.mu.Lock()
			w.again(k.Clock.Now().Add(retryStart))
			w.mu.Unlock()
			return reason{reasonInspect, msg}
		case present:
			k.event(pod, path, corev1.EventTypeNormal, "Pulled",
				fmt.Sprintf("Container image %q already present on machine and can be accessed by the pod", c.Image))
			return reason{}
		case c.ImagePullPolicy == corev1.PullNever:
			msg := fmt.Sprintf("Container image %q is not present with pull policy of Never", c.Image)
			k.event(pod, path, corev1.EventTypeWarning, "ErrImageNeverPull", msg)
			w.mu.Lock()
			w.again(k.Clock.Now().Add(retryStart))
			w.mu.Unlock()
			return reason{reasonNeverPull, msg}
		}
	}
	return k.pull(ctx, w, pod, c)
}

// showPullError is how long ErrImagePull stands before it becomes ImagePullBackOff.
const showPullError = 2 * time.Second

// showsPullError says whether the last pull failed so recently that ErrImagePull still stands.
func (k *Kubelet) showsPullError(w *worker, c specContainer) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	until := w.backoffOf("pull/" + c.Image).last.Add(showPullError)
	if w.reasons[c.Name].Reason != reasonPull || !k.Clock.Now().Before(until) {
		return false
	}
	w.again(until)
	return true
}

// pull pulls an image unless it is backing off from an earlier failure.
func (k *Kubelet) pull(ctx context.Context, w *worker, pod *corev1.Pod, c specContainer) reason {
	path, now := c.fieldPath(), k.Clock.Now()
	w.mu.Lock()
	b := w.backoffOf("pull/" + c.Image)
	wait, note := b.until(b.last, now), b.note
	shown := w.reasons[c.Name].Reason == reasonPullBackOff
	if !wait.IsZero() {
		w.again(wait)
	}
	w.mu.Unlock()
	if !wait.IsZero() {
		msg := fmt.Sprintf("Back-off pulling image %q", c.Image)
		if !shown {
			k.event(pod, path, corev1.EventTypeNormal, "BackOff", msg)
		}
		return reason{reasonPullBackOff, msg + ": " + note}
	}
	k.event(pod, path, corev1.EventTypeNormal, "Pulling", fmt.Sprintf("Pulling image %q", c.Image))
	image, err := k.Runtime.PullImage(ctx, c.Image, k.pullSecrets(ctx, pod))
	if err != nil {
		if ctx.Err() != nil {
			return reason{reasonPull, err.Error()}
		}
		k.event(pod, path, corev1.EventTypeWarning, "Failed", fmt.Sprintf("Failed to pull image %q: %v", c.Image, err))
		failed := k.Clock.Now()
		w.mu.Lock()
		b.next(failed, failed)
		b.note = reasonPull + ": " + err.Error()
		w.again(failed.Add(showPullError))
		w.mu.Unlock()
		return reason{reasonPull, err.Error()}
	}
	took := k.Clock.Since(now).Truncate(time.Millisecond)
	k.event(pod, path, corev1.EventTypeNormal, "Pulled",
		fmt.Sprintf("Successfully pulled image %q in %v (%v including waiting). Image size: %v bytes.", c.Image, took, took, image.Size))
	return reason{}
}
