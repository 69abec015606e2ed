# kuberow: everything a contributor types. `make` alone lists it.
export CGO_ENABLED ?= 0
KUBECTL = bin/kubectl-1.37
KUBECTLS_OLD = bin/kubectl-1.32 bin/kubectl-1.34

.DEFAULT_GOAL := help
.PHONY: help build run test quick race fuzz bench fault generate verify fmt kubectl clients golden reference clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: bin/kuberow ## build bin/kuberow, one static binary

run: bin/kuberow ## start a cluster in .kuberow (Docker pods when an engine answers, else simulated)
	bin/kuberow serve

test: bin/kuberow $(KUBECTL) $(KUBECTLS_OLD) clients ## all tests; those on Docker when an engine answers (required with KUBEROW_REQUIRE_DOCKER=1)
	go vet ./...
	cd golden/reference && go vet . && KUBEROW=$(CURDIR)/bin/kuberow go test -count=1 .
	KUBEROW_E2E=1 KUBEROW=$(CURDIR)/bin/kuberow KUBECTL=$(CURDIR)/$(KUBECTL) KUBECTL_1_32=$(CURDIR)/bin/kubectl-1.32 KUBECTL_1_34=$(CURDIR)/bin/kubectl-1.34 go test -timeout 30m ./...

clients: bin/kuberow golden/clients/node/node_modules ## the tests of other clients: client-go, controller-runtime, helm, client-node
	cd golden/clients && go vet . && KUBEROW=$(CURDIR)/bin/kuberow go test -count=1 .

golden: bin/kuberow $(KUBECTL) $(KUBECTLS_OLD) ## record the kubectl transcripts again; read the diff before committing it
	KUBEROW_E2E=1 KUBEROW=$(CURDIR)/bin/kuberow KUBECTL=$(CURDIR)/$(KUBECTL) KUBECTL_1_32=$(CURDIR)/bin/kubectl-1.32 KUBECTL_1_34=$(CURDIR)/bin/kubectl-1.34 go test -count=1 -run TestTranscripts ./golden -update

quick: ## the tests that need nothing, as go test ./... runs them
	go test ./...

race: ## the quick tests under the race detector (wants a C compiler)
	CGO_ENABLED=1 go test -race -timeout 30m ./sqlstore/... ./raftlog/... ./tables/... ./api/... ./controllers/... ./docker/... ./golden/...

fault: ## 200 rounds of kill -9 under a write load, then the check
	KUBEROW_E2E=1 KUBEROW_KILL_ROUNDS=200 go test -timeout 60m -count=1 -run 'Kill' -v ./raftlog/... ./golden/...

FUZZTIME ?= 10s
fuzz: ## every fuzz target for FUZZTIME (10s) each
	@set -e; mkdir -p bin/fuzz; for pkg in api api/auth api/wire raftlog sqlstore; do \
		binary=$(CURDIR)/bin/fuzz/$$(echo $$pkg | tr / -).test; go test -c -fuzz Fuzz -o $$binary ./$$pkg; \
		for target in $$($$binary -test.list '^Fuzz'); do echo "$$pkg $$target"; \
			(cd $$pkg && $$binary -test.run '^$$' -test.fuzz "^$$target\$$" -test.fuzztime $(FUZZTIME) -test.fuzzcachedir $(CURDIR)/bin/fuzz/cache); \
		done; done

bench: ## the Go benchmarks of the hot paths
	go test -run '^$$' -bench . -benchmem ./sqlstore/... ./raftlog/... ./tables/... ./api/...

generate: ## copy schema.sql into sqlstore and rebuild what is made at build time
	cp schema.sql sqlstore/schema.sql
	go generate ./...

verify: ## what a review would ask: format, vet, tidy modules, generated files
	@test -z "$$(gofmt -l . | tee /dev/stderr)"
	go vet ./...
	go mod tidy -diff
	cmp schema.sql sqlstore/schema.sql

fmt: ## gofmt
	gofmt -w .

kubectl: $(KUBECTL) $(KUBECTLS_OLD) ## build kubectl 1.32, 1.34 and 1.37 from k8s.io/kubectl (golden/kubectl/VERSION)

reference: bin/kuberow ## build upstream's control plane and the command that compares its answers with kuberow's (golden/reference)
	cd golden/reference && mkdir -p $(CURDIR)/bin && version=$$(go list -m -f "{{.Version}}" k8s.io/kubernetes) && \
		go build -o $(CURDIR)/bin/reference . && go build -o $(CURDIR)/bin/etcd go.etcd.io/etcd/server/v3 && \
		go build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=37" \
			-o $(CURDIR)/bin/ k8s.io/kubernetes/cmd/kube-apiserver k8s.io/kubernetes/cmd/kube-controller-manager k8s.io/kubernetes/cmd/kube-scheduler

bin/kuberow: FORCE
	go build -ldflags '-s -w' -o $@ .

bin/kubectl-%: golden/kubectl/%/go.mod golden/kubectl/%/main.go
	cd golden/kubectl/$* && version=$$(awk '$$1 == "k8s.io/kubectl" { sub("v0", "v1", $$2); print $$2 }' go.mod) && \
		go build -ldflags "-s -w -X k8s.io/component-base/version.gitVersion=$$version -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(subst 1.,,$*)" -o $(CURDIR)/$@ .

golden/clients/node/node_modules: golden/clients/node/package-lock.json
	if command -v npm >/dev/null; then cd golden/clients/node && npm ci --no-audit --no-fund --silent && touch node_modules; \
	else echo "no npm here: the test of client-node is skipped"; fi

clean: ## remove bin
	rm -rf bin

FORCE:
