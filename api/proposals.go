package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"kuberow/api/kinds"
	"kuberow/sqlstore"
)

// The door for other processes: rows of the table proposal. A second process
// must not write the cluster's tables, but it may insert a wish:
//
//	INSERT INTO proposal(key, value) VALUES ('/registry/configmaps/default/x', '{"data":{"a":"b"}}');
//
// TakeProposals sees it by PRAGMA data_version, makes of it the HTTP request
// that kubectl replace, create or delete would send, and has it answered by
// AsAdmin: so defaults, admission, validation and history are those of any other
// request. The outcome goes into the row. States of a row:
//
//	pending --answered 2xx--> done
//	        --answered else-> refused, error says why
//	        --no answer-----> pending: full disk, locked file; tried again at the next poll
//
// A server that dies between the write and the outcome makes the same wish again when it
// starts. Putting an object twice changes nothing; deleting it twice is refused as not found.

// proposalInterval is how often data_version is compared; one comparison takes some 5 µs.
const proposalInterval = 200 * time.Millisecond

// proposalAgent names these requests in request.agent.
const proposalAgent = "proposal"

// TakeProposals carries out proposals until ctx ends.
func (s *Server) TakeProposals(ctx context.Context) {
	tick := time.NewTicker(proposalInterval)
	defer tick.Stop()
	var seen int64 // data_version is never 0: the first look finds what was proposed while no server ran
	for {
		if version, err := s.Store.DataVersion(ctx); err == nil && version != seen {
			switch err := s.takePending(ctx); {
			case err == nil:
				seen = version
			case ctx.Err() == nil:
				s.Logger.Warn("proposals wait", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// takePending deals with all pending rows in their order; an error leaves the rest for later.
func (s *Server) takePending(ctx context.Context) error {
	const some = 100
	for {
		pending, err := s.Store.Proposals(ctx, some)
		if err != nil || len(pending) == 0 {
			return err
		}
		for _, p := range pending {
			outcome, reason := sqlstore.ProposalDone, ""
			if err := s.carryOut(ctx, p); later(err) {
				return err
			} else if err != nil {
				outcome, reason = sqlstore.ProposalRefused, err.Error()
			}
			if err := s.Store.FinishProposal(ctx, p.ID, outcome, reason); err != nil {
				return fmt.Errorf("finish proposal %d: %w", p.ID, err)
			}
		}
	}
}

// later says whether a request failed for a reason that passes by itself.
func later(err error) bool {
	return apierrors.IsServiceUnavailable(err) || apierrors.IsTimeout(err) || apierrors.IsTooManyRequests(err) || errors.Is(err, context.Canceled)
}

// carryOut makes one wish a request and has it answered.
func (s *Server) carryOut(ctx context.Context, p sqlstore.Proposal) error {
	body := map[string]json.RawMessage{}
	var gv schema.GroupVersion
	if p.Value.Valid {
		if err := json.Unmarshal([]byte(p.Value.String), &body); err != nil {
			return fmt.Errorf("value is no JSON object: %w", err)
		}
		var apiVersion string
		_ = json.Unmarshal(body["apiVersion"], &apiVersion) // what it is if not a text, the request will say
		gv, _ = schema.ParseGroupVersion(apiVersion)
	}
	to, err := s.place(p.Key, gv)
	if err != nil {
		return err
	}
	if !p.Value.Valid {
		return s.ask(ctx, http.MethodDelete, to.path(to.name), nil)
	}
	const attempts = 5 // against a writer that comes in between: the row names no version, so the last one wins
	for n := 1; ; n++ {
		if err = s.putProposed(ctx, to, body); !apierrors.IsConflict(err) || n == attempts {
			return err
		}
	}
}

// putProposed creates or replaces the object.
func (s *Server) putProposed(ctx context.Context, to place, body map[string]json.RawMessage) error {
	now, exists, err := s.Store.Get(ctx, to.key, 0)
	if err != nil {
		return err
	}
	value, err := to.complete(body, now.ModRevision)
	if err != nil {
		return err
	}
	if exists {
		return s.ask(ctx, http.MethodPut, to.path(to.name), value)
	}
	return s.ask(ctx, http.MethodPost, to.path(""), value)
}

// place is what a key means.
type place struct {
	key       string
	resource  *kinds.Resource
	version   string
	namespace string
	name      string
}

// place finds the resource whose keys look like this. Two resources may share
// a prefix (events): then the object's group decides.
func (s *Server) place(key string, gv schema.GroupVersion) (place, error) {
	var found []place
	for _, r := range s.Registry.All() {
		rest, ok := strings.CutPrefix(key, r.Prefix+"/")
		if r.Prefix == "" || !ok {
			continue
		}
		p := place{key: key, resource: r, version: r.Hub.GVK.Version, name: rest}
		if r.Namespaced {
			p.namespace, p.name, _ = strings.Cut(rest, "/")
		}
		if p.name == "" || strings.Contains(p.name, "/") {
			continue
		}
		if r.Group == gv.Group && r.Version(gv.Version) != nil {
			p.version = gv.Version
			return p, nil
		}
		found = append(found, p)
	}
	if len(found) == 0 {
		return place{}, fmt.Errorf("key %q names no object: keys look like /registry/configmaps/NAMESPACE/NAME; SELECT prefix FROM resource shows those in use", key)
	}
	return found[0], nil
}

// path of the collection, or of an object in it.
func (p place) path(name string) string {
	parts := []string{"apis", p.resource.Group, p.version}
	if p.resource.Group == "" {
		parts = []string{"api", p.version}
	}
	if p.resource.Namespaced {
		parts = append(parts, "namespaces", p.namespace)
	}
	parts = append(parts, p.resource.Name)
	if name != "" {
		parts = append(parts, name)
	}
	return "/" + strings.Join(parts, "/")
}

// complete adds to metadata what the key says already, and the version that is being replaced.
func (p place) complete(body map[string]json.RawMessage, revision int64) ([]byte, error) {
	metadata := map[string]json.RawMessage{}
	if raw, there := body["metadata"]; there {
		if err := json.Unmarshal(raw, &metadata); err != nil {
			return nil, fmt.Errorf("metadata is no JSON object: %w", err)
		}
	}
	if metadata == nil { // the object says null
		metadata = map[string]json.RawMessage{}
	}
	for field, said := range map[string]string{"name": p.name, "namespace": p.namespace} {
		if _, there := metadata[field]; !there && said != "" {
			metadata[field], _ = json.Marshal(said)
		}
		var has string
		if err := json.Unmarshal(metadata[field], &has); said != "" && (err != nil || has != said) {
			return nil, fmt.Errorf("the key says that metadata.%s is %q, the object says %s", field, said, metadata[field])
		}
	}
	if _, there := metadata["resourceVersion"]; !there && revision > 0 {
		metadata["resourceVersion"], _ = json.Marshal(strconv.FormatInt(revision, 10))
	}
	whole := map[string]any{"metadata": metadata}
	for field, raw := range body {
		if field != "metadata" {
			whole[field] = raw
		}
	}
	return json.Marshal(whole)
}

// ask sends a request through the whole chain, as the administrator, and gives the Status of a refusal.
func (s *Server) ask(ctx context.Context, method, path string, body []byte) error {
	target := url.URL{Path: path}
	if body != nil {
		target.RawQuery = "fieldValidation=Strict" // a row has no place for a warning
	}
	req, err := http.NewRequestWithContext(ctx, method, target.String(), bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("build request: %w", err)
	}
	req.Header = http.Header{"User-Agent": {proposalAgent}, "Content-Type": {"application/json"}, "Accept": {"application/json"}}
	a := &recording{header: http.Header{}}
	s.AsAdmin().ServeHTTP(a, req)
	if slices.Contains([]int{http.StatusOK, http.StatusCreated, http.StatusAccepted}, a.code) {
		return nil
	}
	var status metav1.Status
	if err := json.Unmarshal(a.body.Bytes(), &status); err != nil {
		return fmt.Errorf("%s %s answered %d: %s", method, path, a.code, a.body.String())
	}
	return apierrors.FromObject(&status)
}

// recording is an http.ResponseWriter that keeps the answer.
type recording struct {
	header http.Header
	code   int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (r *recording) Header() http.Header { return r.header }

// WriteHeader implements http.ResponseWriter.
func (r *recording) WriteHeader(code int) {
	if r.code == 0 {
		r.code = code
	}
}

// Write implements http.ResponseWriter.
func (r *recording) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}
