package clients

import (
	"context"
	"testing"
)

// contextOf makes a context that ends with the test, or before.
func contextOf(t *testing.T) (context.Context, context.CancelFunc) {
	return context.WithCancel(t.Context())
}
