package main

// up starts a real control plane and a kuberow side by side, with the same token
// file, service range and authorizers, and prints their addresses. It stops them
// when it is interrupted, and removes what they kept.

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// users are who the exchanges are sent by.
const users = `admintoken,admin,admin-uid,"system:masters"
alicetoken,alice,alice-uid,"devs,readers"
bobtoken,bob,bob-uid
n1token,system:node:n1,n1-uid,"system:nodes"
n2token,system:node:n2,n2-uid,"system:nodes"
badnodetoken,system:node:n3,n3-uid
`

const kubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: a, cluster: {server: "%s", insecure-skip-tls-verify: true}}]
users: [{name: a, user: {token: admintoken}}]
contexts: [{name: a, context: {cluster: a, user: a}}]
current-context: a
`

// more is what each server is started with beside its usual flags, so that an
// option of both (audit, client certificates, admission plugins) can be compared.
type more struct{ reference, own string }

type plane struct {
	dir, bin    string
	controllers bool
	more        more
	processes   []*exec.Cmd
}

func up(args []string) error {
	flags := flag.NewFlagSet("up", flag.ExitOnError)
	p := &plane{}
	flags.StringVar(&p.bin, "bin", "bin", "directory with etcd, kube-apiserver and, for -controllers, kube-controller-manager and kube-scheduler")
	own := flags.String("own", "", "the kuberow binary; none is started without")
	refPort := flags.Int("reference-port", 17443, "port of kube-apiserver; the two after it are etcd's")
	ownPort := flags.Int("port", 16443, "port of kuberow")
	flags.BoolVar(&p.controllers, "controllers", false, "also start the controllers and the scheduler, on both sides")
	nodes := flags.Int("nodes", 0, "simulated nodes of kuberow")
	tokenFile := flags.String("token-auth-file", "", "token file for both; default: admintoken for a cluster administrator, and the users of the exchanges")
	flags.StringVar(&p.more.reference, "reference-flags", "", "more flags for kube-apiserver, separated by spaces")
	flags.StringVar(&p.more.own, "flags", "", "more flags for kuberow, separated by spaces")
	flags.Parse(args)

	made, err := newPlane()
	if err != nil {
		return err
	}
	p.dir = made.dir
	defer p.remove()
	if *tokenFile == "" {
		*tokenFile = p.tokenFile()
	}
	if err := p.upstream(*refPort, *tokenFile); err != nil {
		return err
	}
	if *own != "" {
		if err := p.kuberow(*own, *ownPort, *nodes, *tokenFile); err != nil {
			return err
		}
	}
	fmt.Printf("ready; Ctrl-C stops. Files are in %s\n", p.dir)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	<-interrupted
	return nil
}

// newPlane makes the directory of a plane, with a token file in it.
func newPlane() (*plane, error) {
	dir, err := os.MkdirTemp("", "reference-")
	if err != nil {
		return nil, fmt.Errorf("make directory: %w", err)
	}
	p := &plane{dir: dir}
	if err := os.WriteFile(p.tokenFile(), []byte(users), 0o600); err != nil {
		return nil, fmt.Errorf("write token file: %w", err)
	}
	return p, nil
}

func (p *plane) tokenFile() string { return filepath.Join(p.dir, "tokens.csv") }

// remove stops the servers and forgets what they kept.
func (p *plane) remove() {
	p.stop()
	os.RemoveAll(p.dir)
}

// upstream starts etcd, kube-apiserver and, if asked, what reacts to them.
func (p *plane) upstream(port int, tokenFile string) error {
	key := filepath.Join(p.dir, "sa.key")
	if err := writeKey(key); err != nil {
		return err
	}
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", port+1), fmt.Sprintf("http://127.0.0.1:%d", port+2)
	if err := p.start("etcd", filepath.Join(p.bin, "etcd"), "--data-dir", filepath.Join(p.dir, "etcd"), "--unsafe-no-fsync",
		"--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
		"--initial-advertise-peer-urls", peer, "--initial-cluster", "default="+peer); err != nil {
		return err
	}
	address := fmt.Sprintf("https://127.0.0.1:%d", port)
	apiserver := append([]string{"--etcd-servers", client,
		"--bind-address", "127.0.0.1", "--advertise-address", "127.0.0.1", "--secure-port", fmt.Sprint(port), "--cert-dir", filepath.Join(p.dir, "apiserver"),
		"--authorization-mode", "Node,RBAC", "--token-auth-file", tokenFile, "--service-cluster-ip-range", "10.96.0.0/16",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", key, "--service-account-signing-key-file", key,
		"--allow-privileged", "--enable-bootstrap-token-auth", "--endpoint-reconciler-type", "none"}, strings.Fields(p.more.reference)...)
	if err := p.start("kube-apiserver", filepath.Join(p.bin, "kube-apiserver"), apiserver...); err != nil {
		return err
	}
	if err := wait(address); err != nil {
		return err
	}
	config := filepath.Join(p.dir, "reference.kubeconfig")
	if err := os.WriteFile(config, fmt.Appendf(nil, kubeconfig, address), 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	fmt.Printf("reference %s  kubeconfig %s\n", address, config)
	if !p.controllers {
		return nil
	}
	if err := p.start("kube-controller-manager", filepath.Join(p.bin, "kube-controller-manager"), "--kubeconfig", config,
		"--use-service-account-credentials", "--service-account-private-key-file", key,
		"--root-ca-file", filepath.Join(p.dir, "apiserver", "apiserver.crt"), "--leader-elect=false", "--secure-port", "0"); err != nil {
		return err
	}
	return p.start("kube-scheduler", filepath.Join(p.bin, "kube-scheduler"), "--kubeconfig", config, "--leader-elect=false", "--secure-port", "0")
}

func (p *plane) kuberow(binary string, port, nodes int, tokenFile string) error {
	controllers := "-*"
	if p.controllers {
		controllers = "*"
	}
	data := filepath.Join(p.dir, "kuberow")
	serve := append([]string{"serve", "--data-dir", data, "--secure-port", fmt.Sprint(port), "--token-auth-file", tokenFile,
		"--nodes", fmt.Sprint(nodes), "--container-runtime", "simulated", "--controllers=" + controllers}, strings.Fields(p.more.own)...)
	if err := p.start("kuberow", binary, serve...); err != nil {
		return err
	}
	address := fmt.Sprintf("https://127.0.0.1:%d", port)
	fmt.Printf("kuberow   %s  kubeconfig %s\n", address, filepath.Join(data, "kubeconfig"))
	return wait(address)
}

// start runs a program with its output in a file of the directory.
func (p *plane) start(name string, program string, args ...string) error {
	log, err := os.Create(filepath.Join(p.dir, name+".log"))
	if err != nil {
		return fmt.Errorf("make log of %s: %w", name, err)
	}
	defer log.Close()
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	p.processes = append(p.processes, cmd)
	return nil
}

// stop ends what was started, the last first.
func (p *plane) stop() {
	for i := len(p.processes) - 1; i >= 0; i-- {
		cmd := p.processes[i]
		cmd.Process.Signal(syscall.SIGTERM)
		killer := time.AfterFunc(5*time.Second, func() { cmd.Process.Kill() })
		cmd.Wait()
		killer.Stop()
	}
}

// wait returns when a server says that it is ready.
func wait(address string) error {
	for deadline := time.Now().Add(60 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		resp, err := client.Get(address + "/readyz")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return nil
			}
			err = fmt.Errorf("status %d", resp.StatusCode)
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("wait for %s: %w", address, err)
		}
	}
}

// writeKey makes the key that signs service account tokens.
func writeKey(name string) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return fmt.Errorf("make key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	if err := os.WriteFile(name, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		return fmt.Errorf("write key: %w", err)
	}
	return nil
}
