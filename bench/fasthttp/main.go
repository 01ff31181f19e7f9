// Command fasthttp serves one file with fasthttp, the library that P1 of the bench compares api/fastpath with. It is a separate module, so that
// the program does not depend on it.
//
//	fasthttp ADDRESS FILE [NAME VALUE]...
//
// Each pair is a header field of the answer. It knows the path /latest, and the ETag among the fields.
package main

import (
	"fmt"
	"os"

	"github.com/valyala/fasthttp"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "fasthttp:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 2 || len(args)%2 != 0 {
		return fmt.Errorf("usage: fasthttp ADDRESS FILE [NAME VALUE]")
	}
	body, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	header, etag := args[2:], ""
	for i := 0; i < len(header); i += 2 {
		if header[i] == fasthttp.HeaderETag {
			etag = header[i+1]
		}
	}
	s := &fasthttp.Server{NoDefaultServerHeader: true, NoDefaultContentType: true, Handler: func(c *fasthttp.RequestCtx) {
		if string(c.Path()) != "/latest" {
			c.SetStatusCode(fasthttp.StatusNotFound)
			return
		}
		for i := 0; i < len(header); i += 2 {
			c.Response.Header.Set(header[i], header[i+1])
		}
		if etag != "" && string(c.Request.Header.Peek(fasthttp.HeaderIfNoneMatch)) == etag {
			c.NotModified()
			return
		}
		c.Response.SetBodyRaw(body)
	}}
	return s.ListenAndServe(args[0])
}
