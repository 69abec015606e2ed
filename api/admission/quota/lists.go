package quota

// Arithmetic of resource lists. None of these changes its arguments.

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Keys lists the names, sorted.
func Keys(l corev1.ResourceList) []corev1.ResourceName { return slices.Sorted(maps.Keys(l)) }

// Mask keeps the given names.
func Mask(l corev1.ResourceList, names []corev1.ResourceName) corev1.ResourceList {
	out := corev1.ResourceList{}
	for _, n := range names {
		if q, there := l[n]; there {
			out[n] = q.DeepCopy()
		}
	}
	return out
}

// Add sums up, name by name.
func Add(x, y corev1.ResourceList) corev1.ResourceList {
	out := Mask(x, Keys(x))
	for n, q := range y {
		sum := out[n].DeepCopy()
		if _, there := out[n]; !there {
			sum = q.DeepCopy()
		} else {
			sum.Add(q)
		}
		out[n] = sum
	}
	return out
}

// Growth is what x has more than y, without what it has not more of.
func Growth(x, y corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for n, q := range x {
		d := q.DeepCopy()
		if old, there := y[n]; there {
			d.Sub(old)
		}
		if d.Sign() > 0 {
			out[n] = d
		}
	}
	return out
}

// Exceeded lists the names of x that are over the limit.
func Exceeded(x, limit corev1.ResourceList) []corev1.ResourceName {
	var out []corev1.ResourceName
	for _, n := range Keys(x) {
		q := x[n]
		if most, there := limit[n]; there && q.Cmp(most) > 0 {
			out = append(out, n)
		}
	}
	return out
}

// Text prints name=quantity, as quota messages do.
func Text(l corev1.ResourceList) string {
	var parts []string
	for _, n := range Keys(l) {
		q := l[n]
		parts = append(parts, string(n)+"="+q.String())
	}
	return strings.Join(parts, ",")
}
