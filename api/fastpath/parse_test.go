package fastpath

import (
	"bufio"
	"bytes"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// request joins the lines of a request.
func request(lines ...string) string { return strings.Join(lines, "\r\n") + "\r\n\r\n" }

var samples = []struct {
	name, text string
	taken      bool
}{
	{"what curl sends", request("GET /api/signals HTTP/1.1", "Host: 127.0.0.1:8080", "User-Agent: curl/7.88.1", "Accept: */*"), true},
	{"what Python's requests sends", request("GET /a HTTP/1.1", "Host: h", "User-Agent: python-requests/2.31.0",
		"Accept-Encoding: gzip, deflate, br", "Accept: */*", "Connection: keep-alive"), true},
	{"a poll", request("GET /a HTTP/1.1", "Host: h", `If-None-Match: "0123", W/"45"`), true},
	{"names in small letters", request("GET /a HTTP/1.1", "host: [::1]:80", "accept: application/json"), true},

	{"a query", request("GET /a?as_of=2026-01-01T00:00:00Z HTTP/1.1", "Host: h"), false},
	{"an encoded path", request("GET /%61 HTTP/1.1", "Host: h"), false},
	{"a target that is no path", request("GET 0 HTTP/1.1", "Host: h"), false},
	{"a whole URL", request("GET http://h/a HTTP/1.1", "Host: h"), false},
	{"nothing", "", false},
	{"half a request", "GET /a HTTP/1.1\r\nHost: h\r\n", false},
	{"another method", request("HEAD /a HTTP/1.1", "Host: h"), false},
	{"another version", request("GET /a HTTP/1.0", "Host: h"), false},
	{"no host", request("GET /a HTTP/1.1", "Accept: */*"), false},
	{"two hosts", request("GET /a HTTP/1.1", "Host: h", "Host: i"), false},
	{"a host that is none", request("GET /a HTTP/1.1", "Host: h/../i"), false},
	{"a field twice", request("GET /a HTTP/1.1", "Host: h", "Accept: text/html", "Accept: */*"), false},
	{"a key", request("GET /a HTTP/1.1", "Host: h", "Authorization: Bearer x"), false},
	{"a payment", request("GET /a HTTP/1.1", "Host: h", "X-PAYMENT: x"), false},
	{"an id", request("GET /a HTTP/1.1", "Host: h", "X-Request-Id: x"), false},
	{"a proxy", request("GET /a HTTP/1.1", "Host: h", "X-Forwarded-For: 192.0.2.1"), false},
	{"a body", request("GET /a HTTP/1.1", "Host: h", "Content-Length: 1") + "x", false},
	{"a body in chunks", request("GET /a HTTP/1.1", "Host: h", "Transfer-Encoding: chunked") + "0\r\n\r\n", false},
	{"an expectation", request("GET /a HTTP/1.1", "Host: h", "Expect: 100-continue"), false},
	{"an upgrade", request("GET /a HTTP/1.1", "Host: h", "Connection: Upgrade", "Upgrade: websocket"), false},
	{"the last of its connection", request("GET /a HTTP/1.1", "Host: h", "Connection: close"), false},
	{"a folded line", "GET /a HTTP/1.1\r\nHost: h\r\nAccept: text/html,\r\n */*\r\n\r\n", false},
	{"a space before the colon", request("GET /a HTTP/1.1", "Host : h"), false},
	{"no space after the colon", request("GET /a HTTP/1.1", "Host:h"), false},
	{"lines that end with LF", "GET /a HTTP/1.1\nHost: h\n\n", false},
	{"an LF inside", "GET /a HTTP/1.1\r\nHost: h\r\nAccept: */*\nConnection: close\r\n\r\n", false},
	{"a CR inside", "GET /a HTTP/1.1\r\nHost: h\r\nAccept: */*\rConnection: close\r\n\r\n", false},
	{"a character beyond ASCII", request("GET /a HTTP/1.1", "Host: h", "User-Agent: é"), false},
	{"a zero byte", request("GET /a\x00 HTTP/1.1", "Host: h"), false},
	{"two targets", request("GET /a /b HTTP/1.1", "Host: h"), false},
	{"HTTP/2 with prior knowledge", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", false},
	{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", false},
}

func TestWhatIsTaken(t *testing.T) {
	t.Parallel()
	for _, tc := range samples {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var r Request
			size, ok := parse([]byte(tc.text+"GET /next"), &r)
			if ok != tc.taken {
				t.Fatalf("taken: %t, want %t", ok, tc.taken)
			}
			if ok && size != len(tc.text) {
				t.Errorf("it takes %d bytes, want %d", size, len(tc.text))
			}
		})
	}
}

// FuzzParse compares accepted requests with net/http's reading of the same bytes.
func FuzzParse(f *testing.F) {
	for _, s := range samples {
		f.Add([]byte(s.text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var r Request
		size, ok := parse(b, &r)
		if !ok {
			return
		}
		left := bytes.NewReader(b)
		reader := bufio.NewReader(left)
		theirs, err := http.ReadRequest(reader)
		if err != nil {
			t.Fatalf("net/http refuses what was taken: %v", err)
		}
		if theirs.Method != http.MethodGet || theirs.RequestURI != string(r.Path) || theirs.ContentLength != 0 || theirs.Body != http.NoBody ||
			theirs.TransferEncoding != nil || theirs.Close || theirs.ProtoMajor != 1 || theirs.ProtoMinor != 1 {
			t.Errorf("net/http reads %+v", theirs)
		}
		if read := len(b) - left.Len() - reader.Buffered(); read != size {
			t.Errorf("net/http takes %d bytes, the lane %d", read, size)
		}
		for name, ours := range map[string][]byte{"Accept": r.Accept, "Accept-Encoding": r.AcceptEncoding, "If-None-Match": r.IfNoneMatch} {
			var want []string
			if ours != nil {
				want = []string{string(ours)}
			}
			if !slices.Equal(theirs.Header[name], want) {
				t.Errorf("%s is %q, for net/http %q", name, want, theirs.Header[name])
			}
		}
	})
}
