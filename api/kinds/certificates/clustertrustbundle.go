package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"slices"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"kuberow/api/kinds"
	"kuberow/api/kinds/common"
	"kuberow/sqlstore"
)

type bundle = certificatesv1.ClusterTrustBundle

const maxBundle = 1 << 20

// A ClusterTrustBundle of a signer has the signer's name in its own, with
// colons: example.com:signer:NAME.
func clusterTrustBundles() *kinds.Resource {
	v := common.Version[bundle, certificatesv1.ClusterTrustBundleList](gvk("ClusterTrustBundle"))
	return &kinds.Resource{
		Group: certificatesv1.GroupName, Name: "clustertrustbundles", Singular: "clustertrustbundle", Kind: "ClusterTrustBundle",
		Verbs: common.Verbs(), Versions: []*kinds.Version{v}, Hub: v, Prefix: "/registry/clustertrustbundles", StorageVersionHash: "v5yhuVertL4=",
		Strategy: common.Typed[bundle, *bundle]{
			Validate: func(_ *kinds.Context, o *bundle) field.ErrorList {
				return append(validateBundle(o), validateAnchors(field.NewPath("spec", "trustBundle"), o.Spec.TrustBundle)...)
			},
			ValidateUpdate: func(_ *kinds.Context, o, old *bundle) field.ErrorList {
				errs := validateBundle(o)
				if o.Spec.TrustBundle != old.Spec.TrustBundle {
					errs = append(errs, validateAnchors(field.NewPath("spec", "trustBundle"), o.Spec.TrustBundle)...)
				}
				return append(errs, common.Immutable(o.Spec.SignerName, old.Spec.SignerName, field.NewPath("spec", "signerName"))...)
			},
			ValidateName:              func(string, bool) []string { return nil }, // depends on the signer: validateBundle
			FieldNames:                []string{"spec.signerName"},
			Fields:                    func(o *bundle) []sqlstore.Pair { return common.Pairs("spec.signerName", o.Spec.SignerName) },
			ForbidUnconditionalUpdate: true,
		}.Strategy(),
	}
}

func validateBundle(o *bundle) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, common.Invalid(bundleName(o.Name, o.Spec.SignerName), o.Name, field.NewPath("metadata", "name"))...)
	if o.Spec.SignerName != "" {
		errs = append(errs, validateSignerName(field.NewPath("spec", "signerName"), o.Spec.SignerName)...)
	}
	return errs
}

func bundleName(name, signer string) []string {
	if name == "" {
		return nil // said elsewhere
	}
	if signer == "" {
		if strings.Contains(name, ":") {
			return []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
		}
		return apivalidation.NameIsDNSSubdomain(name, false)
	}
	prefix := strings.ReplaceAll(signer, "/", ":") + ":"
	rest, ok := strings.CutPrefix(name, prefix)
	if !ok {
		return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer, prefix)}
	}
	return apivalidation.NameIsDNSSubdomain(rest, false)
}

// validateAnchors wants different CA certificates and at least one.
func validateAnchors(path *field.Path, text string) field.ErrorList {
	if len(text) > maxBundle {
		return field.ErrorList{field.TooLong(path, "", maxBundle)}
	}
	var errs field.ErrorList
	bad := func(format string, args ...any) {
		errs = append(errs, field.Invalid(path, "<value omitted>", fmt.Sprintf(format, args...)))
	}
	seen := map[string][]int{}
	rest := []byte(text)
	for i := 0; ; i++ {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		switch {
		case block.Type != "CERTIFICATE":
			bad("entry %d has bad block type: %v", i, block.Type)
		case len(block.Headers) != 0:
			bad("entry %d has PEM block headers", i)
		case err != nil:
			bad("entry %d does not parse as X.509", i)
		case !cert.IsCA:
			bad("entry %d does not have the CA bit set", i)
		case !cert.BasicConstraintsValid:
			bad("entry %d has invalid basic constraints", i)
		default:
			seen[string(block.Bytes)] = append(seen[string(block.Bytes)], i)
		}
	}
	if len(errs) > 0 {
		return errs
	}
	if len(seen) == 0 {
		bad("at least one trust anchor must be provided")
	}
	for _, k := range slices.Sorted(maps.Keys(seen)) {
		if len(seen[k]) > 1 {
			bad("duplicate trust anchor (indices %v)", seen[k])
		}
	}
	return errs
}
