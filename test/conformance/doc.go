// Package conformance holds the running program to the suites that others publish for its contracts. `make conformance` installs what
// they need and runs this; go test alone skips it. A suite is a step: to add one, add its package to npm/package.json and a line to
// steps.
package conformance
