package base_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tidemark/chain/base"
)

// The key and keystore of the Web3 Secret Storage definition's own test vector (PBKDF2), with its password.
const (
	vectorKey      = "7a28b5ba57c53603b0b07b56bba752f7784bf506fa95edc395f5cf6c7514fe9d"
	vectorPassword = "testpassword"
	vectorAddress  = "0x008AeEda4D805471dF9b2A5B0f38A0C3bCBA786b"
	vectorStore    = `{"crypto":{"cipher":"aes-128-ctr","cipherparams":{"iv":"6087dab2f9fdbbfaddc31a909735c1e6"},
"ciphertext":"5318b4d5bcd28de64ee5559e671353e16f075ecae9f99c7a79a38af5f869aa46","kdf":"pbkdf2",
"kdfparams":{"c":262144,"dklen":32,"prf":"hmac-sha256","salt":"ae3cd4e7013836a3df6bd7241b12db061dbe2c6785853cce422d148a624ce0bd"},
"mac":"517ead924a9d0dc3124507e3393d175ce3ff7c1e96529c6c555ce9e51205e9b2"},"id":"3198bc9c-6672-5ab3-d995-4942343ae5b6","version":3}`
)

func file(tb testing.TB, mode os.FileMode, content string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "file")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		tb.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		tb.Fatal(err)
	}
	return path
}

func TestKeysAreReadFromPrivateFiles(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ key, password string }{
		"hex":                        {file(t, 0o600, vectorKey+"\n"), ""},
		"hex with 0x":                {file(t, 0o400, "0x"+vectorKey), ""},
		"a keystore":                 {file(t, 0o600, vectorStore), file(t, 0o600, vectorPassword)},
		"a password with a line end": {file(t, 0o600, vectorStore), file(t, 0o600, vectorPassword+"\r\n")},
	} {
		s, err := base.LoadSigner(tt.key, tt.password)
		if err != nil || s.Address().Hex() != vectorAddress {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	for name, tt := range map[string]struct{ key, password, says string }{
		"a key that the group can read":   {file(t, 0o640, vectorKey), "", "0600"},
		"a key that all can read":         {file(t, 0o604, vectorKey), "", "0600"},
		"a password that others can read": {file(t, 0o600, vectorStore), file(t, 0o644, vectorPassword), "0600"},
		"a wrong password":                {file(t, 0o600, vectorStore), file(t, 0o600, "s3cret-wrong"), "keystore"},
		"a keystore without a password":   {file(t, 0o600, vectorStore), "", "password"},
		"half a key":                      {file(t, 0o600, vectorKey[:40]), "", "neither"},
		"no file":                         {filepath.Join(t.TempDir(), "none"), "", "no such file"},
		"a folder":                        {t.TempDir(), "", "is not a file"},
		"an empty file":                   {file(t, 0o600, ""), "", "neither"},
	} {
		_, err := base.LoadSigner(tt.key, tt.password)
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if strings.Contains(err.Error(), vectorKey[:20]) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: the secret is shown: %v", name, err)
		}
	}
}

func TestAKeyIsNeverShown(t *testing.T) {
	t.Parallel()
	s, err := base.LoadSigner(file(t, 0o600, vectorKey), "")
	if err != nil {
		t.Fatal(err)
	}
	holder := struct{ S *base.Signer }{s}
	var shown bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		fmt.Fprintf(&shown, verb+" "+verb+" ", s, holder)
	}
	log := slog.New(slog.NewJSONHandler(&shown, nil))
	log.Info("attester", "signer", s, "holder", holder)
	slog.New(slog.NewTextHandler(&shown, nil)).Info("attester", "signer", s, "holder", holder)
	b, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	shown.Write(b)
	if text := shown.String(); strings.Contains(strings.ToLower(text), vectorKey[:16]) || strings.Contains(text, "55257") {
		t.Errorf("the key is shown: %s", text)
	} else if !strings.Contains(text, vectorAddress) {
		t.Errorf("not even the address is shown: %s", text)
	}
}
