package clients

import (
	"os"
	"os/exec"
	"testing"
)

// testNode runs node/client.mjs with @kubernetes/client-node. It wants node and
// what npm ci puts into node/node_modules (make test does that where npm is).
func testNode(t *testing.T, s *server) {
	if _, err := os.Stat("node/node_modules/@kubernetes/client-node"); err != nil {
		if os.Getenv("KUBEROW_REQUIRE_NODE") != "" {
			t.Fatalf("@kubernetes/client-node is not installed: %v", err)
		}
		t.Skip("@kubernetes/client-node is not installed: run npm ci in golden/clients/node")
	}
	cmd := exec.CommandContext(t.Context(), "node", "client.mjs")
	cmd.Dir = "node"
	cmd.Env = append(os.Environ(), "KUBECONFIG="+s.kubeconfig, "CLIENT_NAMESPACE="+s.namespace(t, "node"))
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Fatal(err)
	}
}
