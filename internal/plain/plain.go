// Package plain puts the errors of the operating system, the network and libraries into words for people. Errors keep their types for
// programs; a text is translated once, where a person reads it. Start at Text.
package plain

import (
	"regexp"
	"strings"
)

// Error returns an error's text in plain words, "" for nil.
func Error(err error) string {
	if err == nil {
		return ""
	}
	return Text(err.Error())
}

// Parts of patterns: an address of a network, a path, a URL in quotes.
const (
	addr = `([^\s:,;]*(?:\[[^\]\s]*\])?:[\w-]+)`
	path = `((?:[^:\n]|:[^\s])+?)`
	url  = `"(\w+://[^"\s]*)"`
	// connection is a socket's two ends; the second is the other side.
	connection = `\w+ (?:\S+->)?` + addr
)

// Beginnings of phrases that identify a text.
const (
	NoAnswer     = "no answer in time"
	NoListener   = "nothing listens at"
	NoName       = "no host has the name"
	NoNameServer = "the name server does not say"
	NoWay        = "the network has no way"
	NoRoom       = "no room is left on the disk"
)

// phrases are the texts of Go, its libraries and the system, with their meaning. Earlier ones are replaced first: they are parts of a later
// text, or say more about the event.
var phrases = []struct {
	of      *regexp.Regexp
	meaning string
}{
	// The client of Postgres, which names each address that it tried.
	{regexp.MustCompile("failed to connect to `user=(\\S*) database=([^`]*)`:\\s*"), "no connection to Postgres (user $1, database $2): "},
	{regexp.MustCompile(`\S+ \([^()\s]+\): (dial error|server error|failed to [a-z ]+|[a-z ]*error): `), ""},
	{regexp.MustCompile(`hostname resolving error: `), ""},
	{regexp.MustCompile(`server refused TLS connection\n\s*(\S)`), "$1"}, // it was asked again without TLS, unless sslmode forbids it
	{regexp.MustCompile(`cannot execute [A-Z ]+ in a read-only transaction`), "the server is read-only: a replica, or default_transaction_read_only is on"},
	// The client of HTTP.
	{regexp.MustCompile(`(?:context deadline exceeded|net/http: request canceled|net/http: request canceled while waiting for connection) \(Client\.Timeout[^)]*\)`), NoAnswer},
	{regexp.MustCompile(`net/http: (?:timeout awaiting response headers|TLS handshake timeout)`), NoAnswer},
	{regexp.MustCompile(`http: server gave HTTP response to HTTPS client`), "it speaks HTTP without TLS (http:// instead of https://)"},
	{regexp.MustCompile(`(?:Get|Head|Post|Put|Patch|Delete) ` + url + `: EOF`), "$1: it closed the connection without an answer"},
	{regexp.MustCompile(`(?:Get|Head|Post|Put|Patch|Delete) ` + url), "$1"},
	// Names.
	{regexp.MustCompile(`(?:dial \w+: )?lookup (\S+?)(?: on \S+)?: no such host`), NoName + " $1"},
	{regexp.MustCompile(`(?:dial \w+: )?lookup (\S+?)(?: on (\S+?))?: (?:server misbehaving|\w+ ` + connection + `: i/o timeout|i/o timeout|` +
		`\w+ ` + connection + `: \w+: connection refused)`), NoNameServer + " where $1 is"},
	{regexp.MustCompile(`listen \w+: address (\S+?): invalid port`), "$1 is not a port"},
	{regexp.MustCompile(`listen ` + connection + `: bind: address already in use`), "another process listens at $1"},
	{regexp.MustCompile(`listen ` + connection + `: bind: cannot assign requested address`), "$1 is not an address of this machine"},
	{regexp.MustCompile(`listen ` + connection + `: bind: permission denied`), "this user must not listen at $1"},
	// Sockets.
	{regexp.MustCompile(`dial unix (\S+): connect: (?:no such file or directory|connection refused)`), NoListener + " $1"},
	{regexp.MustCompile(`dial ` + connection + `: connect: connection refused`), NoListener + " $1"},
	{regexp.MustCompile(`dial ` + connection + `: (?:i/o timeout|connect: connection timed out|context deadline exceeded|operation was canceled)`), NoAnswer + " from $1"},
	{regexp.MustCompile(`dial ` + connection + `: connect: (?:no route to host|network is unreachable|host is down)`), NoWay + " to $1"},
	{regexp.MustCompile(`dial \w+: address (\S+?): (?:invalid port|missing port in address)`), "$1 is not a host and a port"},
	{regexp.MustCompile(`(?:read|write) ` + connection + `: i/o timeout`), NoAnswer + " from $1"},
	{regexp.MustCompile(`(?:read|write) ` + connection + `: (?:read: |write: )?(?:connection reset by peer|broken pipe|use of closed network connection)`), "$1 closed the connection"},
	{regexp.MustCompile(`tls: failed to verify certificate: x509: certificate signed by unknown authority`), "its certificate is of an authority that this machine does not know"},
	{regexp.MustCompile(`tls: failed to verify certificate: x509: `), "its certificate is not valid: "},
	// Files and programs.
	{regexp.MustCompile(`exec: "([^"]*)": executable file not found in \$PATH`), "the program $1 is not on this machine (PATH)"},
	{regexp.MustCompile(`fork/exec ` + path + `: no such file or directory`), "the program $1 is not on this machine"},
	{regexp.MustCompile(fileCalls + path + `: (?:no such file or directory|file does not exist)`), "$1 does not exist"},
	{regexp.MustCompile(fileCalls + path + `: permission denied`), "this user has no right to $1"},
	{regexp.MustCompile(fileCalls + path + `: not a directory`), "a part of the path $1 is not a folder"},
	{regexp.MustCompile(fileCalls + path + `: is a directory`), "$1 is a folder"},
	{regexp.MustCompile(fileCalls + path + `: read-only file system`), "$1 is on a disk that must not be written to"},
	{regexp.MustCompile(fileCalls + path + `: no space left on device`), NoRoom + " of $1"},
	{regexp.MustCompile(`could not (?:extend|write(?: to)?) file "[^"]*": No space left on device`), "Postgres: " + NoRoom},
	{regexp.MustCompile(`OOM command not allowed when used memory > 'maxmemory'`), "Redis: its memory is full (maxmemory)"},
	{regexp.MustCompile(`READONLY You can't write against a read only replica`), "Redis: it is a replica, which accepts no changes"},
	{regexp.MustCompile(`MISCONF Errors writing to the AOF file: No space left on device`), "Redis: " + NoRoom},
	{regexp.MustCompile(`[nN]o space left on device`), NoRoom},
	// What has no subject.
	{regexp.MustCompile(`(?:timeout: )?context deadline exceeded`), NoAnswer},
	{regexp.MustCompile(`i/o timeout`), NoAnswer},
	{regexp.MustCompile(`connect: connection refused`), "nothing listens there"},
	{regexp.MustCompile(`connection reset by peer|broken pipe`), "the other side closed the connection"},
	{regexp.MustCompile(`context canceled`), "it was stopped"},
	{regexp.MustCompile(`no rows in result set`), "it does not exist"},
	{regexp.MustCompile(`invalid character .{1,12} (?:looking for|in|after) [\w ':,-]+`), "it is not JSON"},
	{regexp.MustCompile(`unexpected end of JSON input`), "the JSON ends too early"},
	{regexp.MustCompile(`strconv\.\w+: parsing ("[^"]*"): (?:invalid syntax|value out of range)`), "$1 is not a number, or too large"},
}

// fileCalls are the calls of the system that Go names before a path.
const fileCalls = `\b(?:open|openat|stat|lstat|statat|newfstatat|mkdir|mkdirat|readdirent|readlink|chdir|remove|unlinkat|read|write|sync|fsync|truncate|chmod|statfs|CreateFile) `

// Text returns a text in which the phrases of Go, its libraries and the system are replaced by their meaning. If several lines or parts say
// the same, one stays. Text may be called again with its result.
func Text(s string) string {
	for _, p := range phrases {
		s = p.of.ReplaceAllString(s, p.meaning)
	}
	return once(s)
}

// once removes lines that repeat the one before, and a part of a line that repeats the part before it, as in "URL: URL: nothing listens".
func once(s string) string {
	lines := strings.Split(s, "\n")
	kept := lines[:0]
	for _, line := range lines {
		parts := strings.SplitAfter(line, ": ")
		whole := parts[:0]
		for i, part := range parts {
			if i > 0 && strings.Contains(part, "://") && strings.HasSuffix(part, ": ") && strings.Contains(strings.Join(whole, ""), strings.TrimSuffix(part, ": ")) {
				continue
			}
			whole = append(whole, part)
		}
		line = strings.Join(whole, "")
		if last := len(kept) - 1; last >= 0 && strings.TrimSpace(line) != "" && strings.HasSuffix(strings.TrimSpace(kept[last]), strings.TrimSpace(line)) {
			continue
		}
		kept = append(kept, line)
	}
	return strings.Join(kept, "\n")
}
