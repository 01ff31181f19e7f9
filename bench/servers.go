package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"tidemark/deploy"
)

// findNginx looks where distributions put it.
func findNginx() (string, error) {
	for _, name := range []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("nginx is not installed; on Debian: apt-get install nginx-light")
}

const nginxConfig = `
daemon off;
worker_processes auto;
pid DIR/nginx.pid;
error_log DIR/nginx.log;
events {}
http {
	access_log off;
	sendfile SENDFILE;
	tcp_nopush on;
	keepalive_requests 1000000000;
	open_file_cache max=100;
	open_file_cache_valid 1h;
	default_type application/json;
	client_body_temp_path DIR/nginx-body;
	proxy_temp_path DIR/nginx-proxy;
	fastcgi_temp_path DIR/nginx-fastcgi;
	uwsgi_temp_path DIR/nginx-uwsgi;
	scgi_temp_path DIR/nginx-scgi;
	server {
		listen ADDRESS;
		root FILES;
	}
}
`

// startNginx serves a folder, and returns the address, the process and what ends it. sendfile is faster for long files, and slower for short ones.
func startNginx(ctx context.Context, program, dir, files string, sendfile bool) (address string, pid int, stop func(), err error) {
	address, pid, stop, err = startServer(ctx, func(address string) (*exec.Cmd, error) {
		config := filepath.Join(dir, "nginx.conf")
		text := strings.NewReplacer("DIR", dir, "ADDRESS", address, "FILES", files, "SENDFILE", map[bool]string{true: "on", false: "off"}[sendfile]).Replace(nginxConfig)
		return exec.CommandContext(ctx, program, "-p", dir, "-c", config), os.WriteFile(config, []byte(text), 0o644) //nolint:gosec // nginx's workers run as another user
	})
	if err != nil {
		said, _ := os.ReadFile(filepath.Join(dir, "nginx.log"))
		err = fmt.Errorf("nginx: %w: %s", err, said)
	}
	return address, pid, stop, err
}

// startProxy starts the proxy that docker-compose.yml has before the APIs, before one API at an address.
func startProxy(ctx context.Context, program, dir, api string) (address string, pid int, stop func(), err error) {
	address, pid, stop, err = startServer(ctx, func(address string) (*exec.Cmd, error) {
		config := filepath.Join(dir, "proxy.conf")
		text := deploy.Nginx(dir, address, api)
		return exec.CommandContext(ctx, program, "-p", dir, "-c", config, "-g", "daemon off;"), os.WriteFile(config, []byte(text), 0o600) //nolint:gosec // our own
	})
	if err != nil {
		err = fmt.Errorf("nginx as the proxy of the APIs: %w", err)
	}
	return address, pid, stop, err
}

// startFasthttp builds a server of the library fasthttp, and serves a file with header fields at /latest.
func startFasthttp(ctx context.Context, dir, file string, header http.Header) (address string, pid int, stop func(), err error) {
	binary := filepath.Join(dir, "fasthttp")
	_, source, _, _ := runtime.Caller(0)
	build := exec.CommandContext(ctx, "go", "build", "-C", filepath.Join(filepath.Dir(source), "fasthttp"), "-o", binary, ".") //nolint:gosec // our own
	if out, err := build.CombinedOutput(); err != nil {
		return "", 0, nil, fmt.Errorf("build a server of fasthttp: %w: %s", err, out)
	}
	return startServer(ctx, func(address string) (*exec.Cmd, error) {
		args := []string{address, file}
		for name, values := range header {
			if name != "Date" && name != "Content-Length" && name != "Connection" { // each server writes them itself
				args = append(args, name, strings.Join(values, ", "))
			}
		}
		return exec.CommandContext(ctx, binary, args...), nil //nolint:gosec // our own
	})
}

// startServer starts a server at a free local address and waits until it accepts a connection.
func startServer(ctx context.Context, command func(address string) (*exec.Cmd, error)) (base string, pid int, stop func(), err error) {
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", 0, nil, err
	}
	address := ln.Addr().String()
	if err := ln.Close(); err != nil {
		return "", 0, nil, err
	}
	cmd, err := command(address)
	if err != nil {
		return "", 0, nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", 0, nil, err
	}
	stop = func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	}
	for range 500 {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err == nil {
			return "http://" + address, cmd.Process.Pid, stop, conn.Close()
		}
		select {
		case <-ctx.Done():
			stop()
			return "", 0, nil, ctx.Err()
		case <-time.After(10 * time.Millisecond):
		}
	}
	stop()
	return "", 0, nil, errors.New("it does not answer")
}
