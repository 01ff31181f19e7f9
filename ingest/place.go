package ingest

// Place is where a response states a value, for readers who want to see it in the bytes.
type Place struct {
	// Part is the part of the body that Offset counts in. It is empty for the body itself, PartGzip for its unpacked text, and otherwise the
	// name of a file in the body, which is a zip archive.
	Part string `json:"part"`
	// Offset and Length are in bytes.
	Offset int `json:"offset"`
	Length int `json:"length"`
	// Where says in words where that is.
	Where string `json:"where"`
}

// PartGzip is the unpacked text of a body that is packed with gzip.
const PartGzip = "gzip"
