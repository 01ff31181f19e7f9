// Package tamper changes every field of a real server's record, once as it is stored and once as it is sent, and checks that each change is
// found. It has tests only.
package tamper
