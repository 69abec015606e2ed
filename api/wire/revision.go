package wire

import (
	"strconv"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Revision writes a revision as a resourceVersion; 0 is "".
func Revision(rev int64) string {
	if rev == 0 {
		return ""
	}
	return strconv.FormatInt(rev, 10)
}

// ParseRevision reads a resourceVersion; "" and "0" are 0.
func ParseRevision(s string) (int64, error) {
	if s == "" || s == "0" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil || n > 1<<63-1 {
		if err == nil {
			err = strconv.ErrRange
		}
		return 0, field.Invalid(field.NewPath("resourceVersion"), s, err.Error())
	}
	return int64(n), nil
}
