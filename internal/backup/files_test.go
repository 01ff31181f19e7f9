package backup

import (
	"strings"
	"testing"
)

func TestWhatAClientProgramSaysIsShort(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tool, out, want string }{
		"a whole function": {
			"pg_restore", "pg_restore: while PROCESSING TOC:\npg_restore: from TOC entry 312; 1255 17001 FUNCTION f() tidemark\n" +
				"pg_restore: error: could not execute query: ERROR:  function \"f\" already exists with same argument types\n" +
				"Command was: CREATE FUNCTION public.f() RETURNS trigger\n    LANGUAGE plpgsql\n    AS $$ begin\n return old; end $$;\n",
			`function "f" already exists with same argument types`,
		},
		"a login without rights": {
			"pg_dump", "pg_dump: error: query failed: ERROR:  permission denied for table accounts\npg_dump: detail: Query was: LOCK TABLE public.accounts IN ACCESS SHARE MODE\n",
			"permission denied for table accounts (DATABASE_URL must be the login of the database's owner, that of `tidemark migrate`)",
		},
		"no server":      {"pg_dump", "pg_dump: error: connection to server at \"127.0.0.1\", port 1 failed: Connection refused\n\tIs the server running?\n", `connection to server at "127.0.0.1", port 1 failed: Connection refused`},
		"a word":         {"pg_dump", "Killed\n", "Killed"},
		"something long": {"pg_dump", strings.Repeat("x", 1000), strings.Repeat("x", 300) + "..."},
	} {
		if got := complaint(c.tool, c.out); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
