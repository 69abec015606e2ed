package scheduler

import "k8s.io/apimachinery/pkg/api/resource"

// scale is the unit of a number of a quantity.
type scale string

const (
	milli scale = "thousandths"
	unit  scale = "units"
)

// quantity makes a quantity of a number.
func quantity(n int64, s scale) *resource.Quantity {
	if s == milli {
		return resource.NewMilliQuantity(n, resource.DecimalSI)
	}
	return resource.NewQuantity(n, resource.BinarySI)
}
