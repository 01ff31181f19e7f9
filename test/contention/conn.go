package contention

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgproto3"
)

// errCut is the error that a client reads from a cut connection.
var errCut = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}

// conn is one connection of the program to Postgres. It reads what passes in both directions, and lets its Tap act at each statement.
type conn struct {
	net.Conn
	tap *Tap
	// pid is the server's process. It is 0 while the connection is being set up; the messages sent then belong to no statement.
	pid uint32

	// Only the goroutine that writes uses the next fields.
	begun    bool
	unsent   []byte
	prepared map[string]string

	// server is the reader's position in the server's messages.
	server stream

	mu sync.Mutex
	// inTx reports whether the server's session is in a transaction.
	inTx bool
	// afterNext cuts the connection when the server has done a statement, before its answer arrives.
	afterNext bool
	// answer is read in place of the server's messages; then the connection ends.
	answer []byte
	cut    bool
}

// Write passes messages on to the server. A message that comes in parts is passed on when it is complete.
func (c *conn) Write(b []byte) (int, error) {
	if !c.begun { // the first message has no type
		c.begun = true
		return c.Conn.Write(b)
	}
	if c.isCut() {
		return len(b), nil // bytes sent to an unreachable host are lost without an error
	}
	c.unsent = append(c.unsent, b...)
	out := make([]byte, 0, len(c.unsent))
	for len(c.unsent) >= 5 {
		size := 1 + int(binary.BigEndian.Uint32(c.unsent[1:5]))
		if len(c.unsent) < size {
			break
		}
		message, drop := c.frontend(c.unsent[:size])
		out = append(out, message...)
		c.unsent = c.unsent[size:]
		if drop {
			c.unsent = nil
			return len(b), nil
		}
	}
	if len(out) > 0 {
		if _, err := c.Conn.Write(out); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// frontend handles one message of the client and returns the message to send in its place. drop reports that nothing more is sent.
func (c *conn) frontend(m []byte) (out []byte, drop bool) {
	if c.pid == 0 {
		return m, false
	}
	switch m[0] {
	case 'P':
		name, rest := text(m[5:])
		sql, _ := text(rest)
		c.prepared[name] = Normalize(sql)
	case 'B':
		_, rest := text(m[5:])
		name, _ := text(rest)
		class := c.tap.statement(c, c.prepared[name])
		if state, ok := class.refused(); ok {
			b := &pgproto3.Bind{PreparedStatement: refusal(state)}
			replaced, err := b.Encode(nil)
			if err != nil {
				panic(err) // it has no parameters
			}
			return replaced, false
		}
		return m, c.do(class)
	case 'Q':
		sql, _ := text(m[5:])
		class := c.tap.statement(c, Normalize(sql))
		if state, ok := class.refused(); ok {
			q := "do $$ begin perform contention.refuse('" + state + "'); end $$"
			if strings.HasPrefix(sql, "commit") { // a commit that fails ends the transaction
				q = "rollback; " + q
			}
			replaced, err := (&pgproto3.Query{String: q}).Encode(nil)
			if err != nil {
				panic(err)
			}
			return replaced, false
		}
		return m, c.do(class)
	}
	return m, false
}

// do applies a class to the connection. It reports whether the statement must not be sent.
func (c *conn) do(class Class) (drop bool) {
	switch class {
	case Terminated:
		c.tap.terminate(c.pid) // the server says why, and closes the connection
		return true
	case Cut:
		c.sever(nil)
		return true
	case AnswerLost:
		c.mu.Lock()
		c.afterNext = true
		c.mu.Unlock()
	case Full:
		m, err := (&pgproto3.ErrorResponse{
			Severity: "FATAL", SeverityUnlocalized: "FATAL", Code: "53300", Message: "sorry, too many clients already (by contention)",
		}).Encode(nil)
		if err != nil {
			panic(err)
		}
		c.sever(m)
		return true
	}
	return false
}

// sever cuts the connection. answer is read before its end.
func (c *conn) sever(answer []byte) {
	c.mu.Lock()
	c.cut, c.answer = true, answer
	c.mu.Unlock()
	_ = c.SetReadDeadline(time.Unix(1, 0)) // wakes a reader
	_ = c.Close()                          // the server ends its session, with all that it held
}

func (c *conn) isCut() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.cut
}

// left reads the rest of a connection that was cut: the prepared answer, then errCut.
func (c *conn) left(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answer) > 0 {
		n := copy(b, c.answer)
		c.answer = c.answer[n:]
		return n, nil
	}
	return 0, errCut
}

// Read returns what the server sends, up to where the connection is cut.
func (c *conn) Read(b []byte) (int, error) {
	if c.isCut() {
		return c.left(b)
	}
	n, err := c.Conn.Read(b)
	if err != nil {
		if c.isCut() {
			return c.left(b)
		}
		if errors.Is(err, io.EOF) {
			return n, io.EOF
		}
		return n, err
	}
	c.mu.Lock()
	cutAt := -1
	c.server.pass(b[:n], func(at int, kind byte, state byte) {
		switch {
		case kind == 'Z' && state != 0:
			c.inTx = state != 'I'
		case kind == 'C' && state == 0 && c.afterNext && cutAt < 0:
			cutAt = at
		}
	})
	c.mu.Unlock()
	if cutAt < 0 {
		return n, nil
	}
	c.sever(nil)
	if cutAt == 0 {
		return c.left(b)
	}
	return cutAt, nil
}

// SetDeadline ignores deadlines on a connection that was cut, so that the client reads the end and not a timeout.
func (c *conn) SetDeadline(t time.Time) error {
	if c.isCut() {
		return nil
	}
	return c.Conn.SetDeadline(t)
}

// stream follows the messages of the server through the parts in which they are read.
type stream struct {
	head []byte
	kind byte
	left int
}

// pass advances through b. It calls tell where each message begins, with state 0, as far as b holds its header, and for each ReadyForQuery
// with its state.
func (s *stream) pass(b []byte, tell func(at int, kind, state byte)) {
	for i := 0; i < len(b); {
		if s.left == 0 {
			if len(s.head) == 0 {
				tell(i, b[i], 0)
			}
			s.head = append(s.head, b[i])
			i++
			if len(s.head) == 5 {
				s.kind, s.left = s.head[0], int(binary.BigEndian.Uint32(s.head[1:]))-4
				s.head = s.head[:0]
			}
			continue
		}
		n := min(s.left, len(b)-i)
		if s.kind == 'Z' {
			tell(i, 'Z', b[i])
		}
		s.left -= n
		i += n
	}
}

// text cuts a string of a message off what follows it.
func text(b []byte) (string, []byte) {
	head, rest, _ := bytes.Cut(b, []byte{0})
	return string(head), rest
}
