// Package tamper tries to change a record that a real server serves, in every field, as it is stored and as it is sent, and checks that
// each change is found. It has tests only.
package tamper
