// Package tidemark is a client of the service. `go generate ./tidemark` writes it from the description of the server that TIDEMARK_URL
// names; go.mod pins the generator.
package tidemark

//go:generate go tool oapi-codegen -generate types,client -package tidemark -o client.gen.go $TIDEMARK_URL/openapi.json
