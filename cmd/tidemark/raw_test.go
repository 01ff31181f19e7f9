package main

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tidemark/api"
	"tidemark/internal/config"
)

func TestWhoseBytesAreShown(t *testing.T) {
	t.Parallel()
	shown := func(setting string) ([]string, error) {
		p := &program{settings: config.Settings{All: config.All{Raw: config.Raw{RawBytes: setting}}}}
		list, err := p.rawSources()
		maps.DeleteFunc(list, func(id string, _ api.RawSource) bool { return !list[id].Shown })
		return slices.Sorted(maps.Keys(list)), err
	}
	for setting, want := range map[string][]string{
		"":     {"eia-petroleum-weekly", "nass-iowa-corn", "temis-no2", "worldbank-pink-sheet"}, // not the prices of a third party, nor PortWatch
		"none": nil, "portwatch-hormuz, temis-no2": {"portwatch-hormuz", "temis-no2"},
	} {
		got, err := shown(setting)
		if err != nil || !cmp.Equal(want, got) {
			t.Errorf("RAW_BYTES=%s shows %v (%v), want %v", setting, got, err, want)
		}
	}
	if _, err := shown("temis-no3"); !errors.As(err, &usageError{}) || !strings.Contains(err.Error(), "temis-no2") {
		t.Errorf("an unknown source: %v", err)
	}
}
