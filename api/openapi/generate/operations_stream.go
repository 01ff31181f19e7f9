package generate

import (
	"net/http"

	"tidemark/api/view"
)

const (
	streamSample = "retry: 2000\nid: 812\n\nid: 813\nevent: signal\ndata: {\"cursor\":\"813\",\"topic\":\"signal:crack-spread-321\",\"kind\":\"new_print\",\"subject\":\"crack-spread-321\"," +
		"\"at\":\"2026-11-23T10:00:00Z\",\"url\":\"https://tidemark.example/api/signals/crack-spread-321\",\"data\":{\"status\":\"live\",\"value\":16.206}}\n\n"
	feedSample = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed xmlns=\"http://www.w3.org/2005/Atom\"><id>https://tidemark.example/api/stream/atom</id>" +
		"<title>Tidemark Signals: changes</title><updated>2026-11-23T10:00:00Z</updated></feed>"
)

func streamEndpoints() []route {
	return []route{
		{
			id: "streamChanges", method: http.MethodGet, path: "/api/stream", tag: "Changes",
			summary: "Follow what becomes known, as server-sent events",
			description: "Each event is one change: a print, revision or status of a signal, an announced pick, an event of the portfolio, a forecast that was issued or graded. Its `id` is the " +
				"cursor. With the header `Last-Event-ID`, or `after`, the stream begins after that event: nothing is lost over a reconnect within 14 days. Older cursors get an event `gap` with the oldest " +
				"cursor that there is. A cursor that no event has gets a `gap`, too, and the stream begins at the present. A reader that is too slow gets an event `dropped` and the end of the stream; it goes on after its last event. " +
				"A client that accepts only `text/event-stream`, as the `EventSource` of a browser, gets no 429 or 503, after which it would never reconnect: " +
				"its stream ends at once, and `retry` is the pause before the next attempt. Where pages show only what is free (`PAGES=free`), an event of the portfolio has only its " +
				"type: the whole of it is at `/api/v1/events`.",
			takes: []string{"topics", "after_event", "seconds"},
			answers: []answer{{
				status: http.StatusOK, description: "The stream. It has no end unless `seconds` sets one.", headers: []string{"Cache-Control", "X-Request-Id"},
				mediaType: "text/event-stream", sample: streamSample,
			}},
			codes: append([]string{view.CodeInvalidParameter, view.CodeRateLimited}, reads...),
		},
		{
			id: "getChangesFeed", method: http.MethodGet, path: "/api/stream/atom", tag: "Changes",
			summary:     "Get the newest changes as an Atom feed",
			description: "The newest 100 changes, the newest first, for feed readers. Each entry's content is the data of the same event in JSON.",
			takes:       []string{"topics"},
			answers:     []answer{{status: http.StatusOK, description: "The feed.", headers: cached, mediaType: view.TypeAtom, sample: feedSample}, unchanged},
			codes:       append([]string{view.CodeInvalidParameter, view.CodeRateLimited}, reads...),
		},
	}
}
