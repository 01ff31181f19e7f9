# One image for every role: the command says which. It was not built in this repository's tests (see docs/commands.md).
FROM golang:1.26.8-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=dev
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /tidemark ./cmd/tidemark

# git and ssh write, sign and push the ledger of the picks; the client programs of Postgres make backups.
FROM debian:bookworm-slim
RUN apt-get update && apt-get install -y --no-install-recommends ca-certificates git openssh-client postgresql-client && rm -rf /var/lib/apt/lists/* \
    && useradd --system --create-home --home-dir /var/lib/tidemark tidemark
COPY --from=build /tidemark /usr/local/bin/tidemark
USER tidemark:tidemark
ENV STATE_DIR=/var/lib/tidemark ADDR=0.0.0.0:8080
ENTRYPOINT ["/usr/local/bin/tidemark"]
CMD ["api"]
