package auth

// The kubeconfig that a start writes: cluster, user and context "kuberow" with
// the CA and the admin's certificate inside, so that the file works from
// anywhere and alone. Mode 0600: whoever reads it owns the cluster.

import (
	"bytes"
	"fmt"
	"os"

	"encoding/base64"
)

// WriteKubeconfig writes a kubeconfig for the given server URL, only when its text changed.
func WriteKubeconfig(path, server string, ca []byte, user Pair) error {
	text := Kubeconfig(server, ca, user)
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, text) {
		return nil
	}
	return WriteSecretFile(path, text)
}

// Kubeconfig gives the text of a kubeconfig. Its keys stand in the order in
// which kubectl config view prints them.
func Kubeconfig(server string, ca []byte, user Pair) []byte {
	b64 := base64.StdEncoding.EncodeToString
	return fmt.Appendf(nil, `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: %s
    server: %s
  name: kuberow
contexts:
- context:
    cluster: kuberow
    user: admin
  name: kuberow
current-context: kuberow
kind: Config
preferences: {}
users:
- name: admin
  user:
    client-certificate-data: %s
    client-key-data: %s
`, b64(ca), server, b64(user.CertPEM), b64(user.KeyPEM))
}
