package main

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	"tidemark/api/view"
)

// maxVersions is how many versions of the history's newest points are compared: the largest page that the server gives.
const maxVersions = 500

// versionsAsOf reads versions of points as of an instant, the newest points first. A zero observed selects all points.
func (o *outside) versionsAsOf(ctx context.Context, path string, at, observed time.Time) ([]view.SignalHistoryPoint, error) {
	query := url.Values{"vintages": {"all"}, "order": {"desc"}, "limit": {strconv.Itoa(maxVersions)}, "as_of": {at.UTC().Format(time.RFC3339Nano)}}
	if !observed.IsZero() {
		query.Set("from", observed.UTC().Format(time.RFC3339Nano))
		query.Set("to", query.Get("from"))
	}
	var history view.SignalHistory
	if err := o.reader.JSON(ctx, path+"/history?"+query.Encode(), maxEvidenceAnswer, &history); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	if len(history.Data) > maxVersions {
		return nil, fmt.Errorf("the history of %s has %d rows on a page of %d", o.reader.Base(), len(history.Data), maxVersions)
	}
	return history.Data, nil
}

// inForce returns the version of a point that no other version has replaced, or nil.
func inForce(versions []view.SignalHistoryPoint, observed time.Time) *view.SignalHistoryPoint {
	i := slices.IndexFunc(versions, func(p view.SignalHistoryPoint) bool { return p.ObservedAt.Equal(observed) && p.KnownTo == nil })
	if i < 0 {
		return nil
	}
	return &versions[i]
}

// versions compares the times of the history's versions with each other, with the instant, and with the times that the bytes make. Otherwise a
// version that was moved to an earlier instant would show a number before its bytes came.
func (o *outside) versions(ctx context.Context, path string, snapshot view.SignalSnapshot) error {
	page, err := o.versionsAsOf(ctx, path, o.stated.AsOf, time.Time{})
	if err != nil {
		return err
	}
	differed := o.count("list", differ)
	if o.stated.Newest {
		o.point = inForce(page, *o.stated.ObservedAt)
		if o.point == nil {
			o.say("list", differ, "history", "as of %s it has no value of %s, and the snapshot has", instant(&o.stated.AsOf), instant(o.stated.ObservedAt))
		}
	}
	if p := o.point; p != nil && !o.knownAt.IsZero() && !p.PublishedAt.Equal(o.knownAt) {
		o.say("list", differ, "history.published_at", "the history says that the newest input of the number became known at %s, the cells make it %s", instant(&p.PublishedAt), instant(&o.knownAt))
	}
	compared := map[[2]int64]bool{}
	for _, p := range slices.Concat(page, o.earlier, o.own) {
		if p.KnownFrom == nil {
			o.say("list", differ, "history of "+p.ObservedAt.UTC().Format(time.DateOnly), "the server does not say from when on it is known")
			continue
		}
		key := [2]int64{p.ObservedAt.UnixMicro(), p.KnownFrom.UnixMicro()}
		if !compared[key] {
			compared[key] = true
			o.version(p, snapshot)
		}
	}
	if o.count("list", differ) == differed {
		o.say("list", agrees, "history", "of %d versions: none is known before its numbers were published, and none from after %s", len(compared), instant(&o.stated.AsOf))
	}
	return nil
}

// version compares the times of one version.
func (o *outside) version(p view.SignalHistoryPoint, snapshot view.SignalSnapshot) {
	name := "history of " + p.ObservedAt.UTC().Format(time.DateOnly)
	switch {
	case p.KnownFrom.After(o.stated.AsOf):
		o.say("list", differ, name, "the history has it as known from %s on, and the newest snapshot of that instant is of %s", instant(p.KnownFrom), instant(&o.stated.AsOf))
	case snapshot.ObservedAt != nil && p.ObservedAt.After(*snapshot.ObservedAt):
		o.say("list", differ, name, "the history has it as known from %s on, and the newest value of the snapshot of %s is of %s", instant(p.KnownFrom), instant(&o.stated.AsOf),
			instant(snapshot.ObservedAt))
	case p.PublishedAt.After(*p.KnownFrom) && p.PublishedAt.After(p.ObservedAt): // an estimate that is dated ahead is published at its date
		o.say("list", differ, name, "the history has it as known from %s on, and says that it was published at %s and its bytes came at %s: later", instant(p.KnownFrom),
			instant(&p.PublishedAt), instant(&p.IngestedAt))
	case p.IngestedAt.Before(p.PublishedAt), !p.PublishedAtAssumed && !p.IngestedAt.Equal(p.PublishedAt):
		o.say("list", differ, name, "the history says that it was published at %s (assumed: %t), and its bytes came at %s", instant(&p.PublishedAt), p.PublishedAtAssumed, instant(&p.IngestedAt))
	case p.KnownTo != nil && !p.KnownTo.After(*p.KnownFrom):
		o.say("list", differ, name, "the history has it as known from %s to %s", instant(p.KnownFrom), instant(p.KnownTo))
	case p.KnownTo == nil && p.PublishedAt.Before(o.made[p.ObservedAt.UnixMicro()]):
		made := o.made[p.ObservedAt.UnixMicro()]
		o.say("list", differ, name, "the history says that it was published at %s, and the bytes make it %s", instant(&p.PublishedAt), instant(&made))
	}
}
