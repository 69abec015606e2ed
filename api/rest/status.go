package rest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/sqlstore"
)

// This file is the only place where an error becomes an HTTP status. An error
// that knows its Status (apimachinery's, wire's) keeps it; the store's codes
// are mapped; anything else is a 500 that says what happened.

// StatusOf gives the Status that answers for err.
func StatusOf(err error) metav1.Status {
	var known apierrors.APIStatus
	if errors.As(err, &known) {
		s := known.Status()
		if s.Status == "" {
			s.Status = metav1.StatusFailure
		}
		if s.Code == 0 {
			s.Code = http.StatusInternalServerError
		}
		return s
	}
	switch code := sqlstore.CodeOf(err); code {
	case "":
	case sqlstore.CodeCompacted:
		return apierrors.NewResourceExpired("The resourceVersion for the provided list is too old.").Status()
	case sqlstore.CodeBusy, sqlstore.CodeFull, sqlstore.CodeOpen, sqlstore.CodeClosed: // passes, when somebody does what err says
		s := apierrors.NewServiceUnavailable(err.Error()).Status()
		s.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
		return s
	case sqlstore.CodeTooLarge:
		return apierrors.NewRequestEntityTooLargeError(err.Error()).Status()
	case sqlstore.CodeInvalid:
		return apierrors.NewBadRequest(err.Error()).Status()
	case sqlstore.CodeFuture:
		return apierrors.NewTimeoutError(err.Error(), 1).Status()
	default: // a damaged file, or a row that should be there: asking again will not help
		return apierrors.NewInternalError(err).Status()
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return apierrors.NewTimeoutError("request did not complete within the allotted timeout", 0).Status()
	case errors.Is(err, context.Canceled):
		return apierrors.NewTimeoutError("the request was canceled by the client", 0).Status()
	}
	return metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}
}

// tooLarge is the 504 for a revision that has not happened yet.
func tooLarge(asked, current int64) error {
	err := apierrors.NewTimeoutError(fmt.Sprintf("Too large resource version: %d, current: %d", asked, current), 1)
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{
		Type: metav1.CauseTypeResourceVersionTooLarge, Message: "Too large resource version",
	}}
	return err
}

// modified is the 409 of a write that was based on an old version.
func (o *op) modified() error {
	return apierrors.NewConflict(o.groupResource(), o.Name,
		errors.New("the object has been modified; please apply your changes to the latest version and try again"))
}

// expired is the 410 of a read below compact_revision.
func expired(text string) error { return apierrors.NewResourceExpired(text) }

// admissionError is what is answered when a plugin refused: an error of its own, or 403.
func (o *op) admissionError(err error) error {
	var known apierrors.APIStatus
	if errors.As(err, &known) || sqlstore.CodeOf(err) != "" {
		return err
	}
	return apierrors.NewForbidden(o.groupResource(), o.Name, errors.New(strings.TrimSpace(err.Error())))
}
