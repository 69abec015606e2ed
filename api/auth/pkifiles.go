package auth

// Reading and writing of the PEM files of pki.go. A pair is its key file and
// its certificate file, each written whole under another name and renamed; a
// file that is missing or empty (the machine went down during the first start)
// counts as absent, and the pair is made again.

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// newKey makes a P-256 key: the next 32 bytes of random that are a valid scalar.
func newKey(random io.Reader) (*ecdsa.PrivateKey, error) {
	if random == nil {
		return ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	}
	scalar := make([]byte, 32)
	for {
		if err := readRandom(random, scalar); err != nil {
			return nil, err
		}
		// Only zero and numbers beyond the group's order are refused: about one in 2^32.
		if key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), scalar); err == nil {
			return key, nil
		}
	}
}

func readRandom(random io.Reader, b []byte) error {
	if random == nil {
		random = rand.Reader
	}
	if _, err := io.ReadFull(random, b); err != nil {
		return fmt.Errorf("read random bytes: %w", err)
	}
	return nil
}

// steadySigner signs deterministically whatever reader it is given.
type steadySigner struct{ *ecdsa.PrivateKey }

func (s steadySigner) Sign(_ io.Reader, digest []byte, opts crypto.SignerOpts) ([]byte, error) {
	return s.PrivateKey.Sign(nil, digest, opts)
}

func readPair(dir, name string) (Pair, bool, error) {
	key, found, err := readKey(filepath.Join(dir, name+".key"))
	if err != nil || !found {
		return Pair{}, false, err
	}
	certPEM, found, err := readFile(filepath.Join(dir, name+".crt"))
	if err != nil || !found {
		return Pair{}, false, err
	}
	cert, err := parseCertificate(certPEM)
	if err != nil {
		return Pair{}, false, fmt.Errorf("read %s: %w; move it and its key away to have them made again", filepath.Join(dir, name+".crt"), err)
	}
	if !key.PublicKey.Equal(cert.PublicKey) {
		return Pair{}, false, nil // one half is of an interrupted renewal
	}
	keyPEM, err := EncodeKey(key)
	return Pair{Cert: cert, Key: key, CertPEM: certPEM, KeyPEM: keyPEM}, true, err
}

func readKey(path string) (*ecdsa.PrivateKey, bool, error) {
	data, found, err := readFile(path)
	if err != nil || !found {
		return nil, false, err
	}
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, false, fmt.Errorf("read %s: no PEM block in it; move it away to have a key made again", path)
	}
	key, err := x509.ParseECPrivateKey(block.Bytes)
	if err != nil {
		return nil, false, fmt.Errorf("read %s: %w", path, err)
	}
	return key, true, nil
}

func readFile(path string) (data []byte, found bool, err error) {
	data, err = os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read pki file: %w", err)
	}
	return data, true, nil
}

func writePair(dir, name string, cert *x509.Certificate, key *ecdsa.PrivateKey) (Pair, error) {
	keyPEM, err := EncodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	pair := Pair{Cert: cert, Key: key, KeyPEM: keyPEM, CertPEM: EncodeCertificate(cert.Raw)}
	if err := WriteSecretFile(filepath.Join(dir, name+".key"), keyPEM); err != nil {
		return Pair{}, err
	}
	return pair, WriteSecretFile(filepath.Join(dir, name+".crt"), pair.CertPEM)
}

func writeKey(dir, name string, key *ecdsa.PrivateKey) error {
	keyPEM, err := EncodeKey(key)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		return fmt.Errorf("encode public key: %w", err)
	}
	if err := WriteSecretFile(filepath.Join(dir, name+".key"), keyPEM); err != nil {
		return err
	}
	return WriteSecretFile(filepath.Join(dir, name+".pub"), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public}))
}

// WriteSecretFile replaces a file, readable by its owner only.
func WriteSecretFile(path string, data []byte) error {
	part := path + ".part"
	if err := os.WriteFile(part, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(part, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// EncodeKey gives a key as PEM.
func EncodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encode key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

// EncodeCertificate gives a certificate as PEM.
func EncodeCertificate(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func parseCertificate(data []byte) (*x509.Certificate, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE" {
		return nil, errors.New("no certificate in it")
	}
	return x509.ParseCertificate(block.Bytes)
}
