package kubelet

// Busy says whether a worker or a probe of the kubelet is at work.
func (k *Kubelet) Busy() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, w := range k.pods {
		w.mu.Lock()
		busy := w.busy
		for _, p := range w.probes {
			busy = busy || p.busy
		}
		w.mu.Unlock()
		if busy {
			return true
		}
	}
	return false
}
