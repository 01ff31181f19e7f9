package telemetry

import "testing"

// A client's traceparent is read as a valid trace or as none.
func FuzzTraceparent(f *testing.F) {
	f.Add("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	f.Fuzz(func(t *testing.T, text string) {
		if at := parse(text); at.IsValid() && (!at.TraceID().IsValid() || !at.SpanID().IsValid()) {
			t.Errorf("%q is read as %+v", text, at)
		}
	})
}
