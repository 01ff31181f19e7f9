package archive

import (
	"context"
	"errors"
	"fmt"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// Bucket is a folder or bucket for files that others read, under names of the caller's.
type Bucket struct{ bucket *blob.Bucket }

// OpenBucket opens a bucket at a folder path or a bucket URL, as Open does. The caller closes it.
func OpenBucket(ctx context.Context, location string) (*Bucket, error) {
	s, err := openAt(ctx, location, true)
	if err != nil {
		return nil, err
	}
	return &Bucket{s.bucket}, nil
}

// Put writes a file. Readers never see a part of it.
func (b *Bucket) Put(ctx context.Context, name, mediaType, cacheControl string, content []byte) error {
	err := b.bucket.WriteAll(ctx, name, content, &blob.WriterOptions{ContentType: mediaType, CacheControl: cacheControl})
	if err != nil {
		return fmt.Errorf("write %s to the bucket: %w", name, err)
	}
	return nil
}

// Get returns a file, and false if it does not exist.
func (b *Bucket) Get(ctx context.Context, name string) ([]byte, bool, error) {
	content, err := b.bucket.ReadAll(ctx, name)
	switch {
	case gcerrors.Code(err) == gcerrors.NotFound:
		return nil, false, nil
	case err != nil:
		return nil, false, fmt.Errorf("read %s of the bucket: %w", name, err)
	}
	return content, true, nil
}

// Close releases the bucket.
func (b *Bucket) Close() error {
	if err := b.bucket.Close(); err != nil && !errors.Is(err, context.Canceled) {
		return fmt.Errorf("close the bucket: %w", err)
	}
	return nil
}
