package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/docker/docker/api/types/image"
	"github.com/docker/docker/api/types/registry"
	"github.com/docker/docker/errdefs"

	"kuberow/controllers/kubelet"
)

// Images made from this very binary; nothing is pulled for the cluster itself.
const (
	pauseImage = "kuberow.dev/pause:1"
	selfImage  = "kuberow.dev/kuberow"
)

// ImagePresent asks the engine without pulling.
func (r *Runtime) ImagePresent(ctx context.Context, name string) (bool, error) {
	_, err := r.engine.ImageInspect(ctx, name)
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("inspect image %s: %w", name, err)
	}
	return true, nil
}

// PullImage tries the credentials one after the other, then none.
func (r *Runtime) PullImage(ctx context.Context, name string, auths []kubelet.RegistryAuth) (kubelet.Image, error) {
	var tokens []string
	for _, a := range auths {
		b, err := json.Marshal(registry.AuthConfig{Username: a.Username, Password: a.Password, ServerAddress: a.Registry})
		if err != nil {
			return kubelet.Image{}, fmt.Errorf("encode the credentials of %s: %w", a.Registry, err)
		}
		tokens = append(tokens, base64.URLEncoding.EncodeToString(b))
	}
	var err error
	for _, token := range append(tokens, "") {
		if err = r.pull(ctx, name, token); err == nil {
			break
		}
	}
	if err != nil {
		return kubelet.Image{}, fmt.Errorf("pull image %s: %w", name, err)
	}
	found, err := r.engine.ImageInspect(ctx, name)
	if err != nil {
		return kubelet.Image{}, fmt.Errorf("inspect image %s after the pull: %w", name, err)
	}
	return kubelet.Image{ID: found.ID, Size: found.Size}, nil
}

// pull reads the progress to its end: an error may come in the middle of it.
func (r *Runtime) pull(ctx context.Context, name, token string) error {
	progress, err := r.engine.ImagePull(ctx, name, image.PullOptions{RegistryAuth: token})
	if err != nil {
		return err
	}
	defer progress.Close()
	lines := json.NewDecoder(progress)
	for {
		var line struct {
			Error string `json:"error"`
		}
		if err := lines.Decode(&line); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		if line.Error != "" {
			return fmt.Errorf("%s", line.Error)
		}
	}
}

// ensurePause imports the sandbox's image for the engine's architecture.
func (r *Runtime) ensurePause(ctx context.Context) (string, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pauseID != "" {
		return r.pauseID, nil
	}
	if there, err := r.ImagePresent(ctx, pauseImage); err != nil {
		return "", err
	} else if !there {
		info, err := r.engine.Info(ctx)
		if err != nil {
			return "", fmt.Errorf("ask the Docker engine for its architecture: %w", err)
		}
		program, err := pauseELF(info.Architecture)
		if err != nil {
			return "", err
		}
		if err := r.importProgram(ctx, pauseImage, "pause", bytes.NewReader(program), int64(len(program))); err != nil {
			return "", err
		}
	}
	r.pauseID = pauseImage
	return r.pauseID, nil
}

// ensureSelf imports the running binary as an image, one for each content:
// the tag carries the cluster binary's hash, so a new build makes a new image.
func (r *Runtime) ensureSelf(ctx context.Context) (string, error) {
	path := r.Program
	if path == "" {
		own, err := os.Executable()
		if err != nil {
			return "", fmt.Errorf("find this program's file: %w", err)
		}
		path = own
	}
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open this program's file: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err != nil {
		return "", fmt.Errorf("read this program's file: %w", err)
	}
	name := selfImage + ":" + hex.EncodeToString(sum.Sum(nil))[:12]
	if there, err := r.ImagePresent(ctx, name); err != nil || there {
		return name, err
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("read this program's file: %w", err)
	}
	return name, r.importProgram(ctx, name, "kuberow", file, size)
}

// importProgram makes an image from nothing: one static executable. The layer
// goes to the engine as it is read, since the program may be large.
func (r *Runtime) importProgram(ctx context.Context, name, file string, program io.Reader, size int64) error {
	layer, fill := io.Pipe()
	go func() {
		w := tar.NewWriter(fill)
		err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o755, Size: size, Typeflag: tar.TypeReg})
		if err == nil {
			_, err = io.Copy(w, program)
		}
		if err == nil {
			err = w.Close()
		}
		fill.CloseWithError(err) // nil is the end of the layer
	}()
	defer layer.Close() // the writer ends when the engine refused
	answer, err := r.engine.ImageImport(ctx, image.ImportSource{Source: layer, SourceName: "-"}, name,
		image.ImportOptions{Changes: []string{`ENTRYPOINT ["/` + file + `"]`}, Message: "made by kuberow from its own bytes"})
	if err != nil {
		return fmt.Errorf("import image %s: %w", name, err)
	}
	defer answer.Close()
	said, err := io.ReadAll(answer)
	if err != nil {
		return fmt.Errorf("import image %s: %w", name, err)
	}
	if strings.Contains(string(said), `"error"`) {
		return fmt.Errorf("import image %s: the engine said %s", name, said)
	}
	return nil
}
