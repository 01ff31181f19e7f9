// Package archive keeps the raw bytes of publishers' responses by their SHA-256, in a folder or a bucket. It also defines the archive
// folder in which recorded responses travel: a manifest and its bodies. README.md in this folder describes that format for users. Start
// at Store for the bytes and at Folder for the manifest.
package archive

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"gocloud.dev/blob"
	"gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
	_ "gocloud.dev/blob/s3blob" // s3://
	"gocloud.dev/gcerrors"

	"tidemark/ingest"
)

const (
	// compressFrom is the min length in bytes of a body that is compressed.
	compressFrom = 512
	// maxBody is the max unpacked size of a stored body, in bytes.
	maxBody = 1 << 30
	gzipExt = ".gz"
)

var digestForm = regexp.MustCompile(`^[0-9a-f]{64}$`)

// Store keeps bodies by the digest of their raw bytes. It is an ingest.Archive and safe for concurrent use, also by several
// processes on one folder or bucket.
type Store struct {
	bucket *blob.Bucket
	// folder is where the bodies of a bucket are that is one, empty elsewhere, and opened what stood there when the store was opened.
	folder string
	opened os.FileInfo
	// durable reports whether blobs are files, which are synced to disk.
	durable bool
	// colder is the store that MoveCold moves bodies to; nil if none is configured.
	colder *Store
	proof  proof

	mu sync.Mutex
	// lasting holds the folders of bodies whose own names are on the disk, up to the store's root.
	lasting map[string]bool
}

var _ ingest.Archive = (*Store)(nil)

// Open opens the store at a folder path, which it creates, or at a bucket URL:
//
//   - file:// is a folder, mem:// a store in memory that ends with the process.
//   - s3://bucket?region=... is a bucket of S3 or of a compatible server (endpoint=, use_path_style=true, prefix=live/). gocloud.dev/aws
//     and gocloud.dev/blob/s3blob document the other options.
//
// The AWS libraries find the credentials: environment variables, files, the machine's role. Open does not create a bucket, and sends it no
// request. The caller closes the store.
func Open(ctx context.Context, location string) (*Store, error) { return openAt(ctx, location, true) }

// openAt is Open, where a folder that is not there may be an error.
func openAt(ctx context.Context, location string, create bool) (*Store, error) {
	scheme, rest, isURL := strings.Cut(location, "://")
	switch {
	case location == "":
		return nil, errors.New("open the archive: no folder or bucket is named")
	case !isURL:
		return openFolder(location, create)
	case scheme == fileblob.Scheme && !strings.Contains(rest, "?"):
		dir, err := LocalFolder(location)
		if err != nil {
			return nil, err
		}
		return openFolder(dir, create)
	case scheme == memblob.Scheme:
		return &Store{bucket: memblob.OpenBucket(nil)}, nil
	}
	if !blob.DefaultURLMux().ValidBucketScheme(scheme) {
		return nil, fmt.Errorf("open the archive %s: this program is built without the driver for %s://; it has %s", location, scheme,
			strings.Join(blob.DefaultURLMux().BucketSchemes(), ", "))
	}
	bucket, err := blob.OpenBucket(ctx, location)
	if err != nil {
		return nil, fmt.Errorf("open the archive %s: %w", location, err)
	}
	return &Store{bucket: bucket}, nil
}

func openFolder(dir string, create bool) (*Store, error) {
	if _, err := os.Stat(dir); !create && errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("open the archive %s: %w", dir, &LostError{})
	}
	bucket, err := fileblob.OpenBucket(dir, &fileblob.Options{
		CreateDir: true,
		// The temporary file is in the folder of the final one: a rename across file systems is not atomic, and TMPDIR belongs to others.
		NoTempDir: true,
		Metadata:  fileblob.MetadataDontWrite,
	})
	if err != nil {
		return nil, fmt.Errorf("open the archive %s: %w", dir, err)
	}
	opened, err := os.Stat(dir)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the archive %s: %w", dir, err), bucket.Close())
	}
	return &Store{bucket: bucket, folder: dir, opened: opened, durable: true, lasting: map[string]bool{}}, nil
}

// present returns an error if the opened folder was replaced or is missing. The library would create a missing folder again, empty, and
// continue there, for example after a disk was unmounted.
func (s *Store) present() error {
	if s.folder == "" {
		return nil
	}
	now, err := os.Stat(s.folder)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("the folder %s is missing: is its disk mounted?", s.folder)
	case err != nil:
		return err
	case !os.SameFile(s.opened, now):
		return fmt.Errorf("the folder %s is another one than when this process began: is its disk mounted? Start the process again if it was replaced on purpose", s.folder)
	}
	return nil
}

func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// DisableSync makes the store leave it to the system when a body reaches the disk: a power cut may take the newest, a crash of the program
// none. It is for a world whose answers are made up, where forcing each to the disk would take most of the time. It is called before
// the store is used.
func (s *Store) DisableSync() { s.durable = false }

// Close releases the bucket, and the colder store.
func (s *Store) Close() error {
	err := s.bucket.Close()
	if s.colder != nil {
		err = errors.Join(err, s.colder.Close())
	}
	return err
}

// Reach checks that the folder or bucket is reachable, and the colder one.
func (s *Store) Reach(ctx context.Context) error {
	there, err := s.bucket.IsAccessible(ctx)
	if err == nil {
		err = s.present()
	}
	if err == nil && there {
		err = s.Prove(ctx)
	}
	switch {
	case err != nil:
		return fmt.Errorf("reach the archive: %w", err)
	case !there:
		return errors.New("reach the archive: unknown folder or bucket, or it may not be listed")
	case s.colder != nil:
		return s.colder.Reach(ctx)
	}
	return nil
}

// blobKey is the name of a body below the root of an archive. A body stored compressed has ".gz" after it.
func blobKey(sha256 string) string { return "blobs/" + sha256[:2] + "/" + sha256 }

// Put stores a body under its digest and returns the digest. A body that is already stored intact is left alone; a broken one is
// replaced. The write is atomic: until the last byte is on the disk (or in the bucket), nothing has the final name. If the process is
// killed during a write, a file *.tmp can remain in the folder. Nothing reads it.
func (s *Store) Put(ctx context.Context, body []byte) (string, error) {
	digest := digestOf(body)
	if err := s.Prove(ctx); err != nil {
		return "", fmt.Errorf("archive body %s: %w", digest, err)
	}
	switch _, err := s.get(ctx, digest); {
	case err == nil:
		return digest, nil
	case !errors.Is(err, ingest.ErrNotArchived):
		return "", err
	}
	key, stored, err := compress(blobKey(digest), body)
	if err != nil {
		return "", fmt.Errorf("archive body %s: %w", digest, err)
	}
	if err := s.write(ctx, key, stored); err != nil {
		return "", fmt.Errorf("archive body %s: %w", digest, err)
	}
	return digest, nil
}

// Get returns the body with a digest, from the colder store if it is not here. If the error is ingest.ErrNotArchived, the body is missing
// or broken.
func (s *Store) Get(ctx context.Context, digest string) ([]byte, error) {
	body, err := s.get(ctx, digest)
	if s.colder == nil || !errors.Is(err, ingest.ErrNotArchived) {
		return body, err
	}
	body, cold := s.colder.get(ctx, digest)
	switch {
	case cold == nil:
		return body, nil
	case errors.Is(cold, ingest.ErrNotArchived):
		return nil, err // which is not less than what the colder archive says
	default:
		return nil, fmt.Errorf("the colder archive: %w", cold) // it may be there
	}
}

// Missing tells of an error of Get that there is no such body, or none that is whole.
func Missing(err error) bool { return errors.Is(err, ingest.ErrNotArchived) }

// get is Get without the colder store.
func (s *Store) get(ctx context.Context, digest string) ([]byte, error) {
	if !digestForm.MatchString(digest) {
		return nil, fmt.Errorf("%w: %q is not a lower-case hex SHA-256", ingest.ErrNotArchived, digest)
	}
	// A body has one of two names. Both are looked at before one is called broken.
	var broken error
	for _, key := range []string{blobKey(digest) + gzipExt, blobKey(digest)} {
		stored, err := s.bucket.ReadAll(ctx, key)
		if gcerrors.Code(err) == gcerrors.NotFound {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the archived body %s: %w", digest, err)
		}
		body, err := decompress(key, stored)
		if actual := digestOf(body); err == nil && actual != digest {
			err = fmt.Errorf("its SHA-256 is %s", actual)
		}
		if err == nil {
			return body, nil
		}
		broken = fmt.Errorf("%w: %s is corrupt: %w", ingest.ErrNotArchived, key, err)
	}
	if broken != nil {
		return nil, broken
	}
	return nil, fmt.Errorf("%w: %s is missing", ingest.ErrNotArchived, blobKey(digest))
}

// gzipPool holds idle compressors: making one takes longer than compressing a small body.
var gzipPool = sync.Pool{New: func() any {
	w, err := gzip.NewWriterLevel(nil, gzip.BestSpeed)
	if err != nil {
		panic(err) // the level is one of the package's own
	}
	return w
}}

// compress compresses a body if that saves space. The returned name says whether it did.
func compress(key string, body []byte) (string, []byte, error) {
	if len(body) < compressFrom {
		return key, body, nil
	}
	var packed bytes.Buffer
	w := gzipPool.Get().(*gzip.Writer)
	defer gzipPool.Put(w)
	w.Reset(&packed)
	if _, err := w.Write(body); err != nil {
		return "", nil, err
	}
	if err := w.Close(); err != nil {
		return "", nil, err
	}
	if packed.Len() > len(body)*9/10 {
		return key, body, nil
	}
	return key + gzipExt, packed.Bytes(), nil
}

func decompress(key string, stored []byte) ([]byte, error) {
	if !strings.HasSuffix(key, gzipExt) {
		return stored, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(stored))
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r, maxBody+1))
	switch {
	case err != nil:
		return nil, err
	case len(body) > maxBody:
		return nil, fmt.Errorf("it unpacks to more than %d bytes", maxBody)
	}
	return body, nil
}

// write stores one blob. The driver writes under a temporary name and renames when the writer is closed. A local file is synced to disk
// before the rename, and its name after it. So a row of the fetch log never outlives its body in a power cut.
func (s *Store) write(ctx context.Context, key string, stored []byte) (err error) {
	if err := s.present(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx) // a cancelled writer leaves nothing behind
	defer cancel()
	var file *os.File
	w, err := s.bucket.NewWriter(ctx, key, &blob.WriterOptions{
		ContentType:                 "application/octet-stream",
		DisableContentTypeDetection: true,
		BeforeWrite: func(as func(any) bool) error {
			if s.durable {
				as(&file)
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	_, err = w.Write(stored)
	if err == nil && file != nil {
		err = file.Sync()
	}
	if err != nil {
		cancel()
		_ = w.Close()
		return err
	}
	folder := ""
	if file != nil {
		folder = filepath.Dir(file.Name())
	}
	if err := w.Close(); err != nil {
		return err
	}
	switch {
	case folder == "":
		return nil
	case !strings.Contains(key, "/"): // the root itself stays
		return syncFolder(folder)
	}
	return s.settle(folder)
}

// settle syncs the name of a new body to disk. The first time that the store sees the folder, it also syncs the names of the folder and
// of its parent, which may be new as well: folders stay.
func (s *Store) settle(folder string) error {
	s.mu.Lock()
	lasting := s.lasting[folder]
	s.mu.Unlock()
	if err := syncFolder(folder); err != nil || lasting {
		return err
	}
	for above := folder; above != filepath.Dir(filepath.Dir(folder)); {
		above = filepath.Dir(above)
		if err := syncFolder(above); err != nil {
			return err
		}
	}
	s.mu.Lock()
	s.lasting[folder] = true
	s.mu.Unlock()
	return nil
}

// syncFolder forces a folder's entries to the disk.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
}
