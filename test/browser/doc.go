// Package browser drives the pages of the running program in a real browser, as visitors do. `make browser` sees to the browser and to the
// packages and runs this; go test alone skips it. The steps are in npm/pages.test.mjs, and for
// a service that shows what is free in npm/free.test.mjs. The pages of MCP Apps are in npm/apps.test.mjs. A page of
// another site reads the daily data set in npm/duckdb.test.mjs. `make pictures` takes the pictures of npm/states.test.mjs instead.
package browser
