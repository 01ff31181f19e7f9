package equity

// RiskState says what was read of the section "Risk Factors" in a report.
type RiskState string

const (
	// RisksRead means that the section was found and has risks in it.
	RisksRead RiskState = "read"
	// RisksUnchanged means that the section of a quarterly report says that nothing material changed since the annual report.
	RisksUnchanged RiskState = "unchanged"
	// RisksOmitted means that the section says that smaller companies need not give risks.
	RisksOmitted RiskState = "omitted"
	// RisksElsewhere means that the section names another section or document instead of risks.
	RisksElsewhere RiskState = "elsewhere"
	// RisksNotFound means that no such section was found, or that it could not be divided into risks. It says nothing about the report.
	RisksNotFound RiskState = "not_found"
)

// RiskReader is the version of the reader of the section. A change that reads a document otherwise makes it one more, and the reports that an older one has
// read are read again.
const RiskReader = 2

// RiskFactors is the content of the section "Risk Factors" (item 1A) in a report's document.
type RiskFactors struct {
	CIK       CIK
	Accession string
	// Reader is the version of the reader, RiskReader when it was read.
	Reader int
	State  RiskState
	// ByParagraph reports whether the section has no headings, so that its paragraphs are listed instead.
	ByParagraph bool
	// Risks are the headings of the risks, or the paragraphs, in the order of the document and without repetitions. Only RisksRead has some.
	Risks []string
	// Words is the number of words of the section.
	Words int
}
