package api

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"kuberow/api/kinds"
)

// Metrics, under the names and with the labels that dashboards of Kubernetes
// know. A label's values must be few and never the client's to choose: of a path
// that this server does not have only the verb is told.

var (
	durationBuckets = []float64{0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60}
	targetLabels    = []string{"verb", "group", "version", "resource", "subresource", "scope", "component"}
	dryRunLabels    = []string{"verb", "dry_run", "group", "version", "resource", "subresource", "scope", "component"}
	storeLabels     = []string{"operation", "group", "resource"}
)

type metrics struct {
	registry *prometheus.Registry
	kinds    *kinds.Registry
	total    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	sli      *prometheus.HistogramVec
	sizes    *prometheus.HistogramVec
	running  *prometheus.GaugeVec
	ended    *prometheus.CounterVec
	store    *prometheus.HistogramVec
	requests *prometheus.CounterVec
	handler  http.Handler
}

func newMetrics(s *Server) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(), kinds: s.Registry,
		total: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_request_total",
			Help: "Requests by verb, dry run value, group, version, resource, scope, component and HTTP response code.",
		}, append(slices.Clone(dryRunLabels), "code")),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "apiserver_request_duration_seconds", Buckets: durationBuckets,
			Help: "Seconds until a request was answered.",
		}, dryRunLabels),
		sli: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "apiserver_request_sli_duration_seconds", Buckets: durationBuckets[2:],
			Help: "Seconds until a request was answered, without what others took of them (webhooks: there are none).",
		}, targetLabels),
		sizes: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "apiserver_response_sizes", Buckets: prometheus.ExponentialBuckets(1000, 10, 7),
			Help: "Bytes of answers.",
		}, targetLabels),
		running: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "apiserver_longrunning_requests",
			Help: "Long-running requests that are under way.",
		}, targetLabels),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_request_terminations_total",
			Help: "Requests that were refused in self-defence.",
		}, append(slices.Clone(targetLabels), "code")),
		store: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "etcd_request_duration_seconds", Buckets: durationBuckets,
			Help: "Seconds that the store took, by operation and kind of object.",
		}, storeLabels),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "etcd_requests_total",
			Help: "Requests to the store, by operation and kind of object.",
		}, storeLabels),
	}
	m.registry.MustRegister(m.total, m.duration, m.sli, m.sizes, m.running, m.ended, m.store, m.requests,
		stateCollector{s}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	m.handler = promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
	return m
}

// begin counts a request as under way; the function it gives counts it as answered.
func (m *metrics) begin(info *request.RequestInfo, req *http.Request, long bool) func(*writer) {
	start := time.Now()
	target := m.target(info, req)
	if long && info.IsResourceRequest {
		m.running.WithLabelValues(target...).Inc()
	}
	return func(w *writer) {
		if long && info.IsResourceRequest {
			m.running.WithLabelValues(target...).Dec()
		}
		dry := append([]string{target[0], dryRun(req)}, target[1:]...)
		m.total.WithLabelValues(append(slices.Clone(dry), strconv.Itoa(w.code))...).Inc()
		took := time.Since(start).Seconds()
		m.duration.WithLabelValues(dry...).Observe(took)
		m.sli.WithLabelValues(target...).Observe(took)
		if target[0] == "GET" || target[0] == "LIST" {
			m.sizes.WithLabelValues(target...).Observe(float64(w.bytes))
		}
	}
}

// dropped counts a 429.
func (m *metrics) dropped(info *request.RequestInfo, req *http.Request) {
	m.ended.WithLabelValues(append(m.target(info, req), "429")...).Inc()
}

// stored counts a request to the store.
func (m *metrics) stored(operation string, gr schema.GroupResource, took time.Duration) {
	m.store.WithLabelValues(operation, gr.Group, gr.Resource).Observe(took.Seconds())
	m.requests.WithLabelValues(operation, gr.Group, gr.Resource).Inc()
}

func (m *metrics) serve(w http.ResponseWriter, req *http.Request) { m.handler.ServeHTTP(w, req) }

const component = "apiserver"

// target are the values of targetLabels.
func (m *metrics) target(info *request.RequestInfo, req *http.Request) []string {
	if !info.IsResourceRequest {
		verb, sub := knownVerb(req.Method), ""
		if name, _, _ := strings.Cut(strings.TrimPrefix(info.Path, "/"), "/"); slices.Contains([]string{"healthz", "livez", "readyz", "metrics", "version"}, name) {
			sub = "/" + name
		}
		return []string{verb, "", "", "", sub, "", ""}
	}
	if !m.served(info) {
		return []string{reportedVerb(info, req), "", "", "", "", "", component}
	}
	scope := "cluster"
	switch {
	case info.Name != "" || info.Verb == "create":
		scope = "resource"
	case info.Namespace != "":
		scope = "namespace"
	}
	return []string{reportedVerb(info, req), info.APIGroup, info.APIVersion, info.Resource, info.Subresource, scope, component}
}

// served tells whether the path is one that this server has: any other text is the client's.
func (m *metrics) served(info *request.RequestInfo) bool {
	res := m.kinds.Get(schema.GroupResource{Group: info.APIGroup, Resource: info.Resource})
	return res != nil && res.Version(info.APIVersion) != nil && (info.Subresource == "" || res.Subresource(info.Subresource) != nil)
}

// reportedVerb is the method, but for reads and what upstream tells apart.
func reportedVerb(info *request.RequestInfo, req *http.Request) string {
	switch info.Verb {
	case "get", "list", "watch", "deletecollection":
		if slices.Contains(longSubresources, info.Subresource) && info.Subresource != "log" {
			return "CONNECT"
		}
		return strings.ToUpper(info.Verb) // these four are made by the server, not taken from the path
	case "create":
		if slices.Contains(longSubresources, info.Subresource) {
			return "CONNECT"
		}
	case "patch":
		if strings.HasPrefix(req.Header.Get("Content-Type"), "application/apply-patch+yaml") {
			return "APPLY"
		}
	}
	return knownVerb(req.Method)
}

func knownVerb(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return method
	case http.MethodHead:
		return http.MethodGet
	}
	return "other"
}

// dryRun is the label's value: what the query says when it is a value that is served.
func dryRun(req *http.Request) string {
	if !strings.Contains(req.URL.RawQuery, "dryRun") {
		return ""
	}
	for _, v := range req.URL.Query()["dryRun"] {
		if v != "All" {
			return "invalid"
		}
	}
	return "All"
}
