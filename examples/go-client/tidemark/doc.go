// Package tidemark is a client of the service. `go generate ./tidemark` writes it from the description of the server that TIDEMARK_URL
// names; go.mod pins the generator. It prunes the schemas of webhooks by default, and then leaves their names without types.
package tidemark

//go:generate go tool oapi-codegen -generate types,client,skip-prune -package tidemark -o client.gen.go $TIDEMARK_URL/openapi.json
