// Package deploy has the files that docker-compose.yml mounts, and the proxy's configuration for where there is no container.
package deploy

import (
	_ "embed"
	"strings"
)

//go:embed nginx.conf
var nginx string

// Nginx returns the configuration of the proxy that docker-compose.yml starts, but with files below dir in place of the container's, the
// address to listen on, and the address of one API, each as host:port. The name server is left out: nginx before 1.27.3 does not ask it about
// an upstream.
func Nginx(dir, listen, api string) string {
	return strings.NewReplacer("/tmp/", dir+"/", "server api:8080 resolve", "server "+api, "listen 8080;", "listen "+listen+";").Replace(nginx)
}
