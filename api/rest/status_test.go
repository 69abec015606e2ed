package rest

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"kuberow/sqlstore"
)

// Every code of the store has its status, and the store's advice reaches the client.
func TestAStoreErrorBecomesAStatus(t *testing.T) {
	for code, want := range map[sqlstore.Code]int{
		sqlstore.CodeCompacted: http.StatusGone,
		sqlstore.CodeFuture:    http.StatusGatewayTimeout,
		sqlstore.CodeNotFound:  http.StatusInternalServerError,
		sqlstore.CodeExists:    http.StatusInternalServerError,
		sqlstore.CodeInvalid:   http.StatusBadRequest,
		sqlstore.CodeBusy:      http.StatusServiceUnavailable,
		sqlstore.CodeFull:      http.StatusServiceUnavailable,
		sqlstore.CodeCorrupt:   http.StatusInternalServerError,
		sqlstore.CodeForeign:   http.StatusInternalServerError,
		sqlstore.CodeNewer:     http.StatusInternalServerError,
		sqlstore.CodeLocked:    http.StatusInternalServerError,
		sqlstore.CodeOpen:      http.StatusServiceUnavailable,
		sqlstore.CodeClosed:    http.StatusServiceUnavailable,
		sqlstore.CodeTooLarge:  http.StatusRequestEntityTooLarge,
		sqlstore.CodeInternal:  http.StatusInternalServerError,
	} {
		err := fmt.Errorf("write pods: %w", &sqlstore.Error{Code: code, Message: "do this", Err: errors.New("cause")})
		s := StatusOf(err)
		if s.Code != int32(want) || s.Status != "Failure" || s.Reason == "" {
			t.Errorf("%s: %d %s %s, want %d", code, s.Code, s.Status, s.Reason, want)
		}
		if code != sqlstore.CodeCompacted && !strings.Contains(s.Message, "do this") {
			t.Errorf("%s: the advice is lost: %s", code, s.Message)
		}
		if retry := s.Details != nil && s.Details.RetryAfterSeconds > 0; retry != (want == http.StatusServiceUnavailable || want == http.StatusGatewayTimeout) {
			t.Errorf("%s: Retry-After is %v", code, retry)
		}
	}
}
