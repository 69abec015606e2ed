package cluster

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"strconv"

	"k8s.io/apiserver/pkg/authentication/authenticator"

	"kuberow/api"
	"kuberow/api/admission"
	"kuberow/api/auth"
	"kuberow/api/auth/bootstrap"
	"kuberow/api/discovery"
	"kuberow/api/kinds"
	"kuberow/api/kinds/builtin"
	"kuberow/api/openapi"
	"kuberow/api/rest"
	"kuberow/api/stream"
	"kuberow/api/wire"
)

// openAPI builds the pipeline that every request passes. The door needs to
// read objects (bound tokens, the nodes' pods), so it is set last.
func (c *Cluster) openAPI(context.Context, context.Context) (err error) {
	c.registry, err = kinds.NewRegistry(builtin.Resources()...)
	if err != nil {
		return err
	}
	plugins, err := admission.Default(admission.Options{
		Source: c.store, Enable: c.config.EnableAdmissionPlugins, Disable: c.config.DisableAdmissionPlugins,
	})
	if err != nil {
		return wrongFlag("--enable-admission-plugins, --disable-admission-plugins: %v", err)
	}
	streams := &stream.Handler{Nodes: lateNodes{c}, Fail: func(w http.ResponseWriter, r *http.Request, err error) {
		wire.WriteStatus(w, r, rest.StatusOf(err))
	}}
	c.accounts, err = auth.NewServiceAccounts(c.pki.ServiceAccount, c.settings.Issuer)
	if err != nil {
		return err
	}
	external := func() string {
		return net.JoinHostPort(c.settings.AdvertiseAddress, strconv.Itoa(c.settings.SecurePort))
	}
	if c.config.AuditLogPath != "" && c.config.AuditPolicyFile != "" { // as upstream: both or nothing
		if c.audit, err = api.OpenAudit(c.config.AuditLogPath, c.config.AuditPolicyFile, c.log); err != nil {
			return err
		}
	}
	c.api, err = api.New(api.Config{
		RequestTimeout: c.config.RequestTimeout, MaxInflight: c.config.MaxInflight, MaxMutatingInflight: c.config.MaxMutatingInflight, Audit: c.audit,
		Store: c.store, Views: c.views, Proposer: c.node, Registry: c.registry, Cluster: c.settings, Admission: plugins,
		Impersonate: auth.NewImpersonator().Impersonate, Clock: c.clock.Now, Random: c.random, UID: c.uid, Logger: c.log,
		Discovery: discovery.Handler(c.registry, c.settings), Connect: streams, Types: openapi.TypeConverter,
		Prefixes: map[string]http.Handler{
			auth.OpenIDConfigPath: c.accounts.ServeOpenIDConfig(external), auth.JWKSPath: c.accounts.ServeJWKS(),
			"/openapi/": openapi.Handler(c.registry, openapi.Options{Version: minorVersion}),
		},
	})
	if err != nil {
		return err
	}
	streams.Reader = c.api.Reader()
	return c.guard(streams)
}

// guard makes the door: who may come in, as whom, and to what.
func (c *Cluster) guard(streams *stream.Handler) (err error) {
	c.accounts.Reader, c.accounts.Client, c.accounts.Logger, c.accounts.Now = c.api.Reader(), c.api.Client(), c.log, c.clock.Now
	clients := x509.NewCertPool()
	clients.AddCert(c.pki.CA.Cert)
	var tokens authenticator.Token
	if c.config.TokenAuthFile != "" {
		if tokens, err = auth.ReadTokenFile(c.config.TokenAuthFile); err != nil {
			return wrongFlag("--token-auth-file=%s: %v; give a file of lines token,user,uid", c.config.TokenAuthFile, err)
		}
	}
	authn := &auth.Authenticator{
		ClientCAs: clients, TokenFile: tokens, ServiceAccounts: c.accounts, Reader: c.api.Reader(),
		Anonymous: c.config.AnonymousAuth, Now: c.clock.Now,
	}
	if c.config.OIDC.IssuerURL != "" {
		if authn.OIDC, err = auth.NewOIDC(c.config.OIDC, c.clock.Now); err != nil {
			return err
		}
	}
	authz, err := auth.NewAuthorizer(c.config.AuthorizationMode, c.store, c.api.Reader())
	if err != nil {
		return wrongFlag("%v", err)
	}
	c.settings.Access = auth.Access{Authorizer: authz, Authenticator: authn}
	streams.Authorizer = authz
	c.api.Guard(authn, authz)
	return nil
}

// takeProposals listens for wishes of other processes, now that everything can answer them.
func (c *Cluster) takeProposals(_, background context.Context) error {
	c.work.Go(func() { c.api.TakeProposals(background) })
	return nil
}

// bootstrap makes the objects that a cluster has before anybody asked for any.
func (c *Cluster) bootstrap(ctx, _ context.Context) error {
	return bootstrap.Ensure(ctx, bootstrap.Options{
		Settings: bootstrap.Settings{Cluster: c.settings, HostName: hostName(), Now: c.clock.Now()},
		Store:    c.store, Proposer: c.node, Registry: c.registry, UID: c.uid,
	})
}
