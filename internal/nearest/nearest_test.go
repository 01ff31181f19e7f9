package nearest

import "testing"

func TestTheNearestWordIsFound(t *testing.T) {
	t.Parallel()
	statuses := []string{"due", "queued", "running", "succeeded", "failed", "skipped"}
	for word, want := range map[string]string{
		"faild": "failed", "FAILED": "failed", "sucxeeded": "succeeded", "runnin": "running", "qeuued": "queued",
		"done": "", "x": "", "": "",
	} {
		if got := Of(word, statuses...); got != want {
			t.Errorf("the nearest of %q is %q, want %q", word, got, want)
		}
	}
	for word, want := range map[string]string{
		"crack-spread": "crack-spread-321", "Hormuz": "hormuz-transit", "petroleum": "eia-weekly-petroleum", "arbitrage": "lng-arbitrage", "eia": "eia-weekly-petroleum", "-": "", "ro": "",
		"-no": "",
	} {
		if got := Of(word, "iowa-corn-yield", "tropomi-no2", "crack-spread-321-old", "crack-spread-321", "eia-weekly-petroleum", "lng-arbitrage", "hormuz-transit", "x-no-y"); got != want {
			t.Errorf("the whole of %q is %q, want %q", word, got, want)
		}
	}
	if got := SuggestOr("done", statuses...); got != "; there are due, queued, running, succeeded, failed, skipped" {
		t.Errorf("nothing is near: %q", got)
	}
	if got := SuggestOr("as_of"); got != "" {
		t.Errorf("there is nothing: %q", got)
	}
}
