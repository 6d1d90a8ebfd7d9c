package sandbox

import "testing"

func TestKeyLike(t *testing.T) {
	for name, want := range map[string]bool{
		".env": true, ".env.local": true, ".ENV": true, "prod.env": true, "server.pem": true, "tls.key": true, "id_rsa": true, "id_ed25519": true, "id_work": true,
		"credentials": true, ".netrc": true, ".npmrc": true, "secrets.yaml": true, "service-account-1.json": true, "terraform.tfstate": true,
		".env.example": false, ".env.sample": false, "id_rsa.pub": false, "id_map.go": false, "env": false, "environment.go": false, "key.go": false, "monkey": false, "README.md": false,
	} {
		if got := KeyLike(name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}
