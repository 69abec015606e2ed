// The HTTP side: which document a path names, and in which form the client
// wants it.
package discovery

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"kuberow/api/kinds"
	"kuberow/api/wire"
)

// Handler serves /api, /api/VERSION, /apis, /apis/GROUP and /apis/GROUP/VERSION, with or without a slash at
// the end. It answers what is not there, below /api and /apis, as upstream does.
func Handler(registry *kinds.Registry, cluster *kinds.Cluster) http.Handler {
	return &handler{registry: registry, cluster: cluster, aggregates: &aggregates{registry: registry}}
}

type handler struct {
	registry   *kinds.Registry
	cluster    *kinds.Cluster
	aggregates *aggregates
}

// ServeHTTP implements http.Handler.
func (h *handler) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if w.Header().Get("Cache-Control") == "" {
		w.Header().Set("Cache-Control", "no-cache, private")
	}
	parts := strings.Split(strings.Trim(req.URL.Path, "/"), "/")
	root := parts[0]
	switch {
	case root == "api" && len(parts) == 1, root == "apis" && len(parts) == 1:
		h.serveRoot(w, req, root == "api")
	case root == "api" && len(parts) == 2:
		h.serveVersion(w, req, find(groups(h.registry), ""), parts[1])
	case root == "apis" && len(parts) <= 3:
		h.serveGroup(w, req, parts[1:])
	default:
		notFoundText(w)
	}
}

func (h *handler) serveRoot(w http.ResponseWriter, req *http.Request, core bool) {
	if core && !readOnly(w, req) { // what lists groups answers any method, as upstream's aggregator does
		return
	}
	if mediaType := wantsAggregated(req); mediaType != "" && req.URL.Path != "/apis/" { // which only has the old form
		if err := h.writeAggregate(w, req, core, mediaType); err != nil {
			wire.WriteStatus(w, req, failure(http.StatusInternalServerError, "", err.Error()))
		}
		return
	}
	if core {
		h.write(w, req, true, &metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
			ServerAddressByClientCIDRs: []metav1.ServerAddressByClientCIDR{{ClientCIDR: "0.0.0.0/0", ServerAddress: h.address()}},
		})
		return
	}
	h.write(w, req, false, groupList(groups(h.registry)))
}

// address is where clients outside are told to come: the host's default route, as upstream chooses it, since
// the advertised address is the pods'. No client is known to use it.
func (h *handler) address() string {
	host := h.cluster.AdvertiseAddress
	if ip, err := utilnet.ChooseHostInterface(); err == nil {
		host = ip.String()
	}
	return net.JoinHostPort(host, strconv.Itoa(h.cluster.SecurePort))
}

func (h *handler) serveGroup(w http.ResponseWriter, req *http.Request, parts []string) {
	g := find(groups(h.registry), parts[0])
	if g == nil || parts[0] == "" {
		notFoundText(w)
		return
	}
	if len(parts) == 2 {
		h.serveVersion(w, req, g, parts[1])
		return
	}
	// The aggregator's own group has a route; those that it lists for others answer any method, as the list does.
	routed := parts[0] == "apiregistration.k8s.io"
	if routed && !readOnly(w, req) {
		return
	}
	doc := g.document()
	doc.TypeMeta = metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}
	h.write(w, req, routed, &doc)
}

func (h *handler) serveVersion(w http.ResponseWriter, req *http.Request, g *group, version string) {
	if g == nil || !g.serves(version) {
		NotFound(w, req)
		return
	}
	if readOnly(w, req) {
		h.write(w, req, !g.custom, g.resourceList(version))
	}
}

// write answers in a media type that the client accepts. routed: upstream's router refuses before its
// handler could, with a text of its own.
func (h *handler) write(w http.ResponseWriter, req *http.Request, routed bool, obj runtime.Object) {
	if routed && !wire.Acceptable(req, wire.Representations(false)) {
		wire.WriteStatus(w, req, failure(http.StatusNotAcceptable, metav1.StatusReasonNotAcceptable,
			"406: Not Acceptable\n\nAvailable representations: "+strings.Join(wire.Representations(false), ", ")))
		return
	}
	out, err := wire.NegotiatePlain(req)
	if err != nil {
		err := wire.NotAcceptable(wire.Representations(false)).(*wire.StatusError)
		wire.WriteStatus(w, req, err.S)
		return
	}
	if err := wire.WriteObject(w, req, http.StatusOK, out, obj); err != nil {
		wire.WriteStatus(w, req, failure(http.StatusInternalServerError, "", err.Error()))
	}
}

// writeAggregate answers 304 to a client that has the document.
func (h *handler) writeAggregate(w http.ResponseWriter, req *http.Request, core bool, mediaType string) error {
	doc, err := h.aggregates.get(core)
	if err != nil {
		return err
	}
	w.Header().Set("ETag", doc.etag)
	w.Header().Set("Vary", "Accept")
	w.Header().Set("Cache-Control", "public")
	if req.Header.Get("If-None-Match") == doc.etag {
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	typed := withType{w, mediaType + ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"}
	out := wire.Output{MediaType: mediaType}
	if mediaType == wire.Protobuf {
		return wire.WriteObject(typed, req, http.StatusOK, out, doc.list)
	}
	return wire.WriteJSON(typed, req, http.StatusOK, out, doc.json)
}

// withType sets the Content-Type that names the form of the document too.
type withType struct {
	http.ResponseWriter
	contentType string
}

// WriteHeader implements http.ResponseWriter.
func (w withType) WriteHeader(code int) {
	w.Header().Set("Content-Type", w.contentType)
	w.ResponseWriter.WriteHeader(code)
}

// wantsAggregated gives the media type in which the first clause that can be served asks for the aggregated
// form, "" when that clause asks for the legacy one.
func wantsAggregated(req *http.Request) string {
	for _, clause := range goautoneg.ParseAccept(req.Header.Get("Accept")) {
		for _, m := range wire.Representations(false) {
			t, sub, _ := strings.Cut(m, "/")
			if clause.Type != t && clause.Type != "*" || clause.SubType != sub && clause.SubType != "*" {
				continue
			}
			p := clause.Params
			if p["as"] == "" && p["g"] == "" && p["v"] == "" {
				return ""
			}
			if p["as"] == "APIGroupDiscoveryList" && p["g"] == "apidiscovery.k8s.io" && p["v"] == "v2" {
				return m
			}
		}
	}
	return ""
}

// readOnly refuses every method but GET.
func readOnly(w http.ResponseWriter, req *http.Request) bool {
	if req.Method == http.MethodGet {
		return true
	}
	wire.WriteStatus(w, req, wire.MethodNotAllowed())
	return false
}

// NotFound answers a path of a served group that leads nowhere.
func NotFound(w http.ResponseWriter, req *http.Request) {
	wire.WriteStatus(w, req, failure(http.StatusNotFound, metav1.StatusReasonNotFound, "the server could not find the requested resource"))
}

// notFoundText answers a path that belongs to no group.
func notFoundText(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(http.StatusNotFound)
	fmt.Fprintln(w, "404 page not found")
}

func failure(code int32, reason metav1.StatusReason, message string) metav1.Status {
	return metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message, Details: &metav1.StatusDetails{}}
}
