package ingest

// Place is where a response states a value, for readers who want to see it in the bytes.
type Place struct {
	// Part is the part of the body that Offset counts in. It is empty for the body itself, PartGzip for unpacked text, and otherwise the
	// name of a file in the body, which is a zip archive.
	Part string `json:"part"`
	// From and To are the range of the body that is unpacked, where Part is PartGzip: a body may be several files in a row.
	From int `json:"from"`
	To   int `json:"to"`
	// Offset and Length are in bytes.
	Offset int `json:"offset"`
	Length int `json:"length"`
	// Where describes the place in words.
	Where string `json:"where"`
}

// PartGzip is the unpacked text of a range of a body that is packed with gzip.
const PartGzip = "gzip"
