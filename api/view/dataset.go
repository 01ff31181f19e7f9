package view

import (
	"time"

	"tidemark/signals"
)

// Dataset describes a signal as a schema.org Dataset, in JSON-LD. A member that is unknown is absent: that is how JSON-LD says it.
type Dataset struct {
	Context             string         `json:"@context"`
	Type                string         `json:"@type"`
	ID                  string         `json:"@id"`
	Name                string         `json:"name"`
	AlternateName       string         `json:"alternateName"`
	Description         string         `json:"description"`
	URL                 string         `json:"url"`
	SameAs              []string       `json:"sameAs"`
	Identifier          string         `json:"identifier"`
	Version             string         `json:"version,omitempty"`
	License             string         `json:"license"`
	CreditText          string         `json:"creditText,omitempty"`
	Creator             Organization   `json:"creator"`
	Publisher           Organization   `json:"publisher"`
	IsAccessibleForFree bool           `json:"isAccessibleForFree"`
	Keywords            []string       `json:"keywords,omitempty"`
	TemporalCoverage    string         `json:"temporalCoverage,omitempty"`
	SpatialCoverage     *Place         `json:"spatialCoverage,omitempty"`
	DateModified        *time.Time     `json:"dateModified,omitempty"`
	VariableMeasured    Property       `json:"variableMeasured"`
	Technique           string         `json:"measurementTechnique"`
	IsBasedOn           string         `json:"isBasedOn,omitempty"`
	Catalog             DataCatalog    `json:"includedInDataCatalog"`
	IsPartOf            *DatasetPart   `json:"isPartOf,omitempty"`
	SubjectOf           *CreativeWork  `json:"subjectOf,omitempty"`
	Distribution        []DataDownload `json:"distribution"`
}

// Organization is a schema.org Organization.
type Organization struct {
	Type string `json:"@type"`
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Place is a schema.org Place.
type Place struct {
	Type string `json:"@type"`
	Name string `json:"name"`
}

// Property is a schema.org PropertyValue.
type Property struct {
	Type      string   `json:"@type"`
	Name      string   `json:"name"`
	UnitText  string   `json:"unitText"`
	Value     *float64 `json:"value,omitempty"`
	Technique string   `json:"measurementTechnique"`
}

// DataCatalog is a schema.org DataCatalog.
type DataCatalog struct {
	Type string `json:"@type"`
	Name string `json:"name"`
	URL  string `json:"url"`
}

// DatasetPart is a schema.org Dataset that another one is a part of.
type DatasetPart struct {
	Type string `json:"@type"`
	Name string `json:"name"`
	URL  string `json:"url"`
}

// CreativeWork is a schema.org CreativeWork about a dataset: what proves it.
type CreativeWork struct {
	Type     string `json:"@type"`
	Name     string `json:"name"`
	Encoding string `json:"encodingFormat"`
	URL      string `json:"url"`
}

// DataDownload is a schema.org DataDownload.
type DataDownload struct {
	Type       string `json:"@type"`
	Encoding   string `json:"encodingFormat"`
	ContentURL string `json:"contentUrl"`
}

// Google Dataset Search requires a description with 50 to 5000 characters.
const minDescription, maxDescription = 50, 5000

const (
	syntheticName        = "Synthetic data: "
	syntheticDescription = "Synthetic data made by a sandbox; no number in it describes a real market. "
)

// description returns a definition's description, with a warning first if the data are synthetic.
func description(d signals.Definition, synthetic bool) string {
	if synthetic {
		return syntheticDescription + d.Description
	}
	return d.Description
}

// dataset describes a signal. s is its newest state.
func (o Options) dataset(d signals.Definition, s SignalSnapshot) Dataset {
	us := Organization{Type: "Organization", Name: "Tidemark", URL: o.PublicURL}
	machine := o.machineURL(d.ID)
	out := Dataset{
		Context:             "https://schema.org",
		Type:                "Dataset",
		ID:                  s.PageURL,
		Name:                d.Name,
		AlternateName:       d.ID,
		Description:         description(d, s.Synthetic),
		URL:                 s.PageURL,
		SameAs:              []string{machine},
		Identifier:          d.ID,
		License:             d.LicenseURL,
		Creator:             us,
		Publisher:           us,
		IsAccessibleForFree: true,
		Keywords:            d.Keywords,
		DateModified:        s.IngestedAt,
		VariableMeasured: Property{
			Type: "PropertyValue", Name: d.Name, UnitText: d.Unit, Value: s.Value, Technique: d.Technique,
		},
		Technique: d.Technique,
		Catalog:   DataCatalog{Type: "DataCatalog", Name: Product, URL: o.catalogURL()},
		IsPartOf:  &DatasetPart{Type: "Dataset", Name: setTitle, URL: o.PublicURL + "/data/manifest.json"},
		Distribution: []DataDownload{
			{Type: "DataDownload", Encoding: TypeJSON, ContentURL: s.HistoryURL},
			{Type: "DataDownload", Encoding: TypeCSV, ContentURL: s.HistoryURL + "?format=" + FormatCSV},
			{Type: "DataDownload", Encoding: TypeNDJSON, ContentURL: s.HistoryURL + "?format=" + FormatNDJSON},
			{Type: "DataDownload", Encoding: TypeParquet, ContentURL: s.HistoryURL + "?format=" + FormatParquet},
			{Type: "DataDownload", Encoding: TypeArrow, ContentURL: s.HistoryURL + "?format=" + FormatArrow},
			{Type: "DataDownload", Encoding: TypeJSON, ContentURL: machine},
		},
	}
	if d.Place != "" {
		out.SpatialCoverage = &Place{Type: "Place", Name: d.Place}
	}
	if s.ObservedAt != nil {
		out.TemporalCoverage = s.ObservedAt.Format(time.DateOnly)
		if s.coversFrom != nil && s.coversFrom.Before(*s.ObservedAt) {
			out.TemporalCoverage = s.coversFrom.Format(time.DateOnly) + "/" + out.TemporalCoverage
		}
	}
	if s.AsOf != nil {
		out.Version = s.AsOf.Format(time.RFC3339)
		out.SubjectOf = &CreativeWork{
			Type: "CreativeWork", Name: "The archived bodies behind the value, with their leaves in the transparency log", Encoding: TypeJSON, URL: s.Provenance.URL,
		}
	}
	if s.Synthetic {
		out.Name = syntheticName + d.Name
	} else { // generated data are neither the publisher's nor derived from the publisher's data
		out.CreditText = d.License
		out.IsBasedOn = d.SourceURL
	}
	return out
}
