package tlog

import "fmt"

// Forked says how two signed checkpoints of one log contradict each other; empty if they do not. rootAt has the roots of the leaves that were
// read, by their sizes. Leaves with the root of the larger checkpoint fix the root of each smaller size. Without such leaves nothing is
// proven but two roots of one size: the bytes then accuse who carried them.
func Forked(a, b *Opened, rootAt map[int64]Hash) string {
	if a.Size > b.Size {
		a, b = b, a
	}
	same := a.Size == b.Size
	if a.Origin != b.Origin || same && a.Root == b.Root || !same && (rootAt[b.Size] != b.Root || rootAt[a.Size] == a.Root) {
		return ""
	}
	return fmt.Sprintf("The log %s signed two checkpoints that are not of one history: of %d leaves with the root %s, and of %d leaves with the root %s.",
		a.Origin, a.Size, a.Root, b.Size, b.Root)
}
