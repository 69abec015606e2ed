package rest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kuberow/api/kinds"
	"kuberow/sqlstore"
)

// LIST. Rows are read 500 at a time, and the reader's connection is given back
// in between, so that no list however long holds the WAL. All pages of one
// answer are read at the revision of the first. A list with a limit collects
// its rows before it answers, since the token for the next page stands in
// front of the items; one without a limit is written as it is read.

// pageRows is how many rows one read takes.
const pageRows = 500

// lister reads the rows of one list.
type lister struct {
	rest     *REST
	res      *kinds.Resource
	selector selector
	from, to string // the range of keys that is left
	revision int64  // 0 until the first page has been read, unless an old one is asked for
	inGo     bool   // the selector is applied here, not in SQL
	limit    int    // how many rows are still wanted; 0 is all
	count    bool   // count what is left beyond the limit

	more      bool
	remaining int64
	last      string // key of the last row given
}

// next reads the next rows; none means that the list has ended.
func (l *lister) next(ctx context.Context) ([]sqlstore.KV, error) {
	for {
		q := sqlstore.Query{From: l.from, To: l.to, Revision: l.revision, Limit: pageRows}
		if l.limit > 0 && !l.inGo && l.limit <= pageRows {
			q.Limit, q.Count = l.limit, l.count
		}
		if !l.inGo {
			q.Terms = l.selector.terms()
		}
		start := time.Now()
		page, err := l.rest.Store.Range(ctx, q)
		l.rest.observe("list", l.res, start)
		if err != nil {
			return nil, err
		}
		if l.revision == 0 {
			// From here on the rows are history: label and field describe the present only.
			l.revision, l.inGo = page.Revision, !l.selector.empty()
		}
		rows, more := page.Rows, page.More
		l.more, l.remaining = more, page.Remaining
		if n := len(rows); n > 0 {
			l.last = rows[n-1].Key
		}
		if l.inGo && len(q.Terms) == 0 && !l.selector.empty() {
			if rows, err = l.filter(rows); err != nil {
				return nil, err
			}
		}
		if l.limit > 0 && len(rows) >= l.limit {
			// What follows counts as more even if none of it is selected: who pages finds out.
			rows = rows[:l.limit]
			l.more = l.more || l.last > rows[l.limit-1].Key
			l.last, l.limit = rows[l.limit-1].Key, -1
			if !l.more && len(q.Terms) > 0 {
				if l.more, err = l.anyAfter(ctx); err != nil {
					return nil, err
				}
			}
		} else if l.limit > 0 {
			l.limit -= len(rows)
		}
		l.from = l.last + "\x00"
		if len(rows) > 0 || !more || l.to == "" {
			return rows, nil
		}
	}
}

// anyAfter tells whether the range has a key after the last row given.
func (l *lister) anyAfter(ctx context.Context) (bool, error) {
	if l.to == "" {
		return false, nil
	}
	page, err := l.rest.Store.Range(ctx, sqlstore.Query{From: l.last + "\x00", To: l.to, Revision: l.revision, Limit: 1})
	return len(page.Rows) > 0, err
}

// done tells whether there is nothing more to read.
func (l *lister) done() bool { return !l.more || l.limit < 0 || l.to == "" }

// all gives the rows at hand and all that follow.
func (l *lister) all(ctx context.Context, rows []sqlstore.KV) ([]sqlstore.KV, error) {
	for !l.done() {
		more, err := l.next(ctx)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

func (l *lister) filter(rows []sqlstore.KV) ([]sqlstore.KV, error) {
	var kept []sqlstore.KV
	for i := range rows {
		obj, err := l.rest.objects.Object(&rows[i], l.res.Hub.New)
		if err != nil {
			return nil, err
		}
		if l.selector.matches(l.res, obj) {
			kept = append(kept, rows[i])
		}
	}
	return kept, nil
}

// newLister prepares a list after the options of the request.
func (c *call) newLister(o *internalversion.ListOptions) (*lister, error) {
	l := &lister{
		rest: c.rest, res: c.Resource, limit: int(o.Limit),
		selector: selector{labels: o.LabelSelector, fields: o.FieldSelector},
	}
	l.from, l.to = l.selector.reach(c.Resource, c.listNamespace())
	l.count = l.selector.empty()
	if o.ResourceVersion == "0" && c.Resource.Name != "events" {
		// Whatever state there is: upstream takes it from its cache (which events have none of), all at once.
		l.limit = 0
	}
	if o.Continue != "" {
		return l, c.resume(l, o)
	}
	revision, err := c.revisionOf(o.ResourceVersion)
	if err != nil {
		return nil, apierrors.NewBadRequest("invalid resource version: " + err.Error())
	}
	if revision > 0 {
		if err := c.waitFor(revision); err != nil {
			return nil, err
		}
		// Without a match rule, a limit makes it an exact revision: that is how old clients paged.
		if o.ResourceVersionMatch == metav1.ResourceVersionMatchExact ||
			o.ResourceVersionMatch == "" && o.Limit > 0 {
			l.revision, l.inGo = revision, !l.selector.empty()
		}
	}
	return l, nil
}

// listNamespace is "" for all namespaces, and for what is in none.
func (c *call) listNamespace() string {
	if !c.Resource.Namespaced {
		return ""
	}
	return c.Namespace
}

// waitFor waits for a revision that has not happened yet, not for long.
func (c *call) waitFor(revision int64) error {
	const most = 3 * time.Second
	if c.rest.Store.Revision() >= revision {
		return nil
	}
	ctx, cancel := context.WithTimeout(c.Ctx, most)
	defer cancel()
	err := c.rest.Store.Wait(ctx, revision-1)
	switch {
	case err == nil:
		return nil
	case c.Ctx.Err() != nil:
		return c.Ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return tooLarge(revision, c.rest.Store.Revision())
	}
	return err
}

// continueToken is what a continue parameter holds, as upstream encodes it.
type continueToken struct {
	Version  string `json:"v"`
	Revision int64  `json:"rv"`
	Start    string `json:"start"`
}

// resume continues a list where its token says.
func (c *call) resume(l *lister, o *internalversion.ListOptions) error {
	if o.ResourceVersion != "" && o.ResourceVersion != "0" {
		return apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	t, err := parseToken(o.Continue)
	if err != nil {
		return apierrors.NewBadRequest("invalid continue token: " + err.Error())
	}
	l.from = c.Resource.Range(c.listNamespace()) + strings.TrimPrefix(t.Start, "/")
	if t.Revision > 0 {
		if err := c.waitFor(t.Revision); err != nil {
			return err
		}
		l.revision, l.inGo = t.Revision, !l.selector.empty()
	}
	return nil
}

func parseToken(s string) (continueToken, error) {
	const bad = "continue key is not valid"
	data, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		return continueToken{}, fmt.Errorf("%s: %w", bad, err)
	}
	var t continueToken
	if err := json.Unmarshal(data, &t); err != nil {
		// The message names the type, which upstream has in another package.
		return continueToken{}, fmt.Errorf("%s: %s", bad, strings.Replace(err.Error(), "rest.", "storage.", 1))
	}
	if t.Version != "meta.k8s.io/v1" {
		return continueToken{}, fmt.Errorf("%s: server does not recognize this encoded version %s", bad, t.Version)
	}
	if t.Revision == 0 {
		return continueToken{}, fmt.Errorf("%s: incorrect encoded start resourceVersion (version meta.k8s.io/v1)", bad)
	}
	if t.Start == "" {
		return continueToken{}, fmt.Errorf("%s: encoded start key empty (version meta.k8s.io/v1)", bad)
	}
	key := t.Start
	if !strings.HasPrefix(key, "/") {
		key = "/" + key
	}
	if path.Clean(key) != key {
		return continueToken{}, fmt.Errorf("%s: %s", bad, t.Start)
	}
	return t, nil
}

func (t continueToken) String() string {
	b, err := json.Marshal(t)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(b)
}

const (
	continueExpired = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
	listExpired     = "The resourceVersion for the provided list is too old."
)

// listError words an error of reading rows: below compact_revision a client is
// told to start again, or given a token that goes on in the present.
func (c *call) listError(err error, l *lister, o *internalversion.ListOptions) error {
	if sqlstore.CodeOf(err) != sqlstore.CodeCompacted {
		return err
	}
	if o.Continue == "" {
		return expired(listExpired)
	}
	status := apierrors.NewResourceExpired(continueExpired)
	t, parseErr := parseToken(o.Continue)
	if parseErr == nil {
		t.Revision = -1
		status.ErrStatus.ListMeta.Continue = t.String()
	}
	return status
}

// listMeta is the metadata of a list answer.
func (c *call) listMeta(l *lister, o *internalversion.ListOptions) metav1.ListMeta {
	m := metav1.ListMeta{ResourceVersion: fmt.Sprint(l.revision)}
	if l.more && l.limit < 0 {
		start := strings.TrimPrefix(l.last+"\x00", c.Resource.Range(c.listNamespace()))
		m.Continue = continueToken{Version: "meta.k8s.io/v1", Revision: l.revision, Start: start}.String()
		if l.selector.empty() && l.count {
			n := l.remaining
			m.RemainingItemCount = &n
		}
	}
	return m
}

// serveList answers GET on a collection.
func (c *call) serveList() error {
	o, err := c.listOptions()
	if err != nil {
		return err
	}
	l, err := c.newLister(o)
	if err != nil {
		return err
	}
	if c.out.As != nil && c.out.As.Kind == "PartialObjectMetadata" {
		return c.listAsObject()
	}
	rows, err := l.next(c.Ctx)
	if err != nil {
		return c.listError(err, l, o)
	}
	for l.limit > 0 && !l.done() { // a page needs all of its rows before its token
		more, err := l.next(c.Ctx)
		if err != nil {
			return c.listError(err, l, o)
		}
		rows = append(rows, more...)
	}
	return c.answerList(l, c.listMeta(l, o), rows)
}
