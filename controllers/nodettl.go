package controllers

import (
	"strconv"

	corev1 "k8s.io/api/core/v1"
)

// How long a node may keep Secrets and ConfigMaps before it asks again is an
// annotation of the node, which grows with the cluster. Key: a Node; woken by it.
// The number of nodes is looked at when a node changes: a heartbeat is soon enough.

// NodeTTL is ttl-controller.
func NodeTTL() Controller {
	return Controller{
		Name: "ttl-controller", Account: "ttl-controller",
		Keys: keyMap{Nodes: itself},
		Step: func(v View, keys []Key) Outcome {
			var out Outcome
			want := ""
			for _, k := range keys {
				n := get[*corev1.Node](v, Nodes, "", k.Name)
				if n == nil {
					continue
				}
				if want == "" {
					want = strconv.Itoa(secondsFor(len(v.List(Nodes, "", nil))))
				}
				if n.Annotations[corev1.ObjectTTLAnnotationKey] != want {
					out.Writes = append(out.Writes, annotateTTL(k, n, want))
				}
			}
			return out
		},
	}
}

func annotateTTL(k Key, n *corev1.Node, want string) Write {
	w := mutation(k, Nodes, "", n, func(now *corev1.Node) error {
		if now.Annotations == nil {
			now.Annotations = map[string]string{}
		}
		now.Annotations[corev1.ObjectTTLAnnotationKey] = want
		return nil
	})
	w.Ignore, w.Patch = Gone, true
	return w
}

// secondsFor is the time for a number of nodes.
func secondsFor(nodes int) int {
	for _, step := range []struct{ most, seconds int }{{100, 0}, {500, 15}, {1000, 30}, {2000, 60}} {
		if nodes <= step.most {
			return step.seconds
		}
	}
	return 300
}
