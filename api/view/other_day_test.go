package view

import (
	"testing"
	"time"

	"tidemark/internal/locale"
	"tidemark/internal/locale/languages"
	"tidemark/signals"
)

func TestAnotherMonthIsNamedAsAMonth(t *testing.T) {
	t.Parallel()
	day := func(month time.Month, day int) time.Time { return time.Date(2026, month, day, 0, 0, 0, 0, time.UTC) }
	for _, c := range []struct {
		lang         locale.Lang
		id, word     string
		asked, shown time.Time
		want         string
	}{
		{"en", "iowa-corn-yield", "day.missing", day(11, 15), day(11, 1), "No value for November 15, 2026; showing the value for November 2026 instead."},
		{"es", "iowa-corn-yield", "day.missing", day(11, 15), day(11, 1), "No hay valor para el 15 de noviembre de 2026; se muestra el de noviembre de 2026."},
		{"pt", "iowa-corn-yield", "day.missing", day(3, 15), day(1, 1), "Não há valor para 15 de março de 2026; é exibido o de safra de 2025."},
		{"hi", "iowa-corn-yield", "day.missing", day(11, 15), day(11, 1), "15 नवंबर 2026 का कोई मान नहीं है; यहाँ नवंबर 2026 का मान है।"},
		{
			"es", "iowa-corn-yield", "day.together", day(10, 1), day(9, 1),
			"El valor de octubre de 2026 llegó junto con otros posteriores y ninguna cifra publicada se refiere a él; se muestra el de septiembre de 2026.",
		},
		{"en", "hormuz-transit", "day.missing", day(11, 2), day(11, 1), "No value for November 2, 2026; showing November 1, 2026 instead."},
	} {
		d, _ := signals.ByID(c.id)
		if got := otherDayText(languages.Or(c.lang), d, c.word, c.asked, c.shown); got != c.want {
			t.Errorf("%s in %s: %q, want %q", c.id, c.lang, got, c.want)
		}
	}
}
