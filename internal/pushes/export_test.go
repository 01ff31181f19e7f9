package pushes

import "context"

// SendUnchecked sends without a look at the address as it is written, so that a test reaches the check of the dialled address.
func (s *Sender) SendUnchecked(ctx context.Context, m Message) (Outcome, error) {
	return s.send(ctx, m)
}
