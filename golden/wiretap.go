package golden

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Wiretap stands between a client and an API server and notes each request in
// one line. It speaks HTTP/1.1 on both sides, so that exec, attach and
// port-forward upgrade through it as they are. A client that sends the wiretap's
// own token is known to the server as the user of the kubeconfig that the wiretap
// was opened with; any other credentials pass as they are.
type Wiretap struct {
	server *httptest.Server

	mu    sync.Mutex
	notes []*note
}

// ownToken stands for the kubeconfig's user. It opens nothing but the wiretap;
// kubectl asks for a password when it has no credentials at all.
const ownToken = "user-of-the-kubeconfig"

// note is a request whose answer may still be out.
type note struct {
	request string
	status  string // "" until the head of the answer arrived
}

// OpenWiretap listens on a free port of loopback for the server of a kubeconfig.
func OpenWiretap(config *rest.Config) (*Wiretap, error) {
	target, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("read server address: %w", err)
	}
	withUser, err := transportFor(config)
	if err != nil {
		return nil, err
	}
	withoutUser, err := transportFor(rest.AnonymousClientConfig(config))
	if err != nil {
		return nil, err
	}
	w := &Wiretap{}
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target); r.Out.Host = target.Host },
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			switch r.Header.Get("Authorization") {
			case "Bearer " + ownToken:
				r.Header.Del("Authorization")
				return withUser.RoundTrip(r)
			default:
				return withoutUser.RoundTrip(r)
			}
		}),
		ModifyResponse: func(r *http.Response) error {
			answered(r.Request, strings.TrimSpace(fmt.Sprintf("%d %s", r.StatusCode, short(r.Header.Get("Content-Type")))))
			return nil
		},
	}
	w.server = httptest.NewUnstartedServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		n := w.note(r)
		defer w.settle(n, "no answer")
		proxy.ServeHTTP(rw, r.WithContext(withNote(r.Context(), func(status string) { w.settle(n, status) })))
	}))
	w.server.Config.ErrorLog = log.New(io.Discard, "", 0)
	w.server.StartTLS()
	return w, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// transportFor makes a transport of a kubeconfig's user that never speaks HTTP/2,
// which has no upgrades.
func transportFor(config *rest.Config) (http.RoundTripper, error) {
	config = rest.CopyConfig(config)
	config.NextProtos = []string{"http/1.1"}
	config.UserAgent = ""
	tlsConfig, err := rest.TLSConfigFor(config)
	if err != nil {
		return nil, fmt.Errorf("read TLS of the kubeconfig: %w", err)
	}
	if tlsConfig == nil {
		tlsConfig = &tls.Config{RootCAs: x509.NewCertPool()}
	}
	var rt http.RoundTripper = &http.Transport{TLSClientConfig: tlsConfig, MaxIdleConnsPerHost: 100, DisableCompression: true}
	return rest.HTTPWrappersForConfig(config, rt)
}

// note begins the line of a request.
func (w *Wiretap) note(r *http.Request) *note {
	line := r.Method + " " + r.URL.RequestURI()
	if sent := r.Header.Get("Content-Type"); sent != "" {
		line += " sends " + short(sent) + ","
	}
	if accept := r.Header.Get("Accept"); accept != "" {
		line += " accepts " + short(accept)
	}
	if upgrade := r.Header.Get("Upgrade"); upgrade != "" {
		line += " upgrades to " + upgrade
	}
	n := &note{request: strings.TrimRight(line, ",")}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.notes = append(w.notes, n)
	return n
}

func (w *Wiretap) settle(n *note, status string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n.status == "" {
		n.status = status
	}
}

// short leaves out of media types what is the same in all.
func short(media string) string {
	return strings.NewReplacer("application/", "", ";g=meta.k8s.io", "", ";g=apidiscovery.k8s.io", "", "; ", ";", ", ", ",").Replace(media)
}

// Take returns the lines noted since the last Take, a repeated one once. A
// request whose client has gone before the answer came says so.
func (w *Wiretap) Take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var lines []string
	seen := map[string]bool{}
	for _, n := range w.notes {
		line := n.request + " -> " + n.status
		if !seen[line] {
			seen[line] = true
			lines = append(lines, line)
		}
	}
	w.notes = nil
	return lines
}

// Kubeconfig is for the client: this server, a namespace, the wiretap's token.
func (w *Wiretap) Kubeconfig(namespace string) ([]byte, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["golden"] = &clientcmdapi.Cluster{Server: w.server.URL, InsecureSkipTLSVerify: true}
	config.AuthInfos["golden"] = &clientcmdapi.AuthInfo{Token: ownToken}
	config.Contexts["golden"] = &clientcmdapi.Context{Cluster: "golden", AuthInfo: "golden", Namespace: namespace}
	config.CurrentContext = "golden"
	return clientcmd.Write(*config)
}

// Close ends every connection and stops listening.
func (w *Wiretap) Close() {
	w.server.CloseClientConnections()
	w.server.Close()
}
