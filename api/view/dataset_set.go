package view

import (
	"slices"
	"strconv"
	"time"

	"tidemark/internal/postgres"
	"tidemark/signals"
)

// DatasetManifest lists the files of a daily data set.
type DatasetManifest struct {
	Date        string    `json:"date"`
	AsOf        time.Time `json:"as_of"`
	PublishedAt time.Time `json:"published_at"`
	// Days are the days whose sets are kept, the newest first: the newest seven and the first of each month. It is only in the newest manifest.
	// The files of a day are in the folder of its name, beside that manifest.
	Days        []string      `json:"days,omitempty"`
	Files       []DatasetFile `json:"files"`
	Synthetic   bool          `json:"synthetic"`
	Environment string        `json:"environment"`
	Disclaimer  string        `json:"disclaimer"`
	// ContentsURL is the address of the set's description of itself. The transparency log has the hash of these bytes. It is null for sets
	// from before. LogIndex is the number of the leaf, ProofURL the file that proves it offline; both are null while no signed size has it.
	ContentsURL *string `json:"contents_url"`
	LogIndex    *int64  `json:"log_index"`
	ProofURL    *string `json:"proof_url"`
}

// DatasetFile is a Parquet file of a data set.
type DatasetFile struct {
	postgres.DatasetFileFacts

	// URL is the address of these bytes, which never change. In a copy that the command publish made it is relative to the manifest.
	URL string `json:"url"`
}

// DatasetManifest returns the manifest of a set whose files are at a place. days may be nil.
func (v *View) DatasetManifest(d postgres.Dataset, at SetPlace, days []string) DatasetManifest {
	out := DatasetManifest{
		Date: d.Day, AsOf: d.AsOf, PublishedAt: d.PublishedAt, Days: days, Files: []DatasetFile{}, Synthetic: v.synthetic(d), Environment: v.o.environment(),
		Disclaimer: v.o.disclaimer(v.synthetic(d)),
	}
	for _, f := range d.Facts() {
		out.Files = append(out.Files, DatasetFile{DatasetFileFacts: f, URL: at.Prefix + f.Path})
	}
	if d.Contents != nil {
		out.ContentsURL = new(at.Prefix + "contents.json")
		out.LogIndex, out.ProofURL = d.LogIndex, at.Proof
	}
	return out
}

// SetPlace says where the files of a set are.
type SetPlace struct {
	// Prefix is the beginning of their addresses. Proof is the address of the proof that the log has the set, nil without one.
	Prefix string
	Proof  *string
}

// SetPlace returns the addresses of a set at this service.
func (v *View) SetPlace(d postgres.Dataset) SetPlace {
	out := SetPlace{Prefix: v.o.PublicURL + "/data/" + d.Day + "/"}
	if d.Contents != nil {
		out.Proof = proofURL(v.o.PublicURL, d.LogIndex)
	}
	return out
}

// SetCache returns the Cache-Control of a set's files, and of the files that lead to its leaf in the log. The number of the leaf may come later.
// newest reports whether the address is the newest set's rather than a day's.
func SetCache(d postgres.Dataset, newest bool) (files, leads string) {
	files, leads = CacheImmutable, CacheImmutable
	if newest {
		files = CachePublic
	}
	if newest || d.Contents != nil && d.LogIndex == nil {
		leads = CachePublic
	}
	return files, leads
}

// synthetic reports whether a table of a set has generated data.
func (v *View) synthetic(d postgres.Dataset) bool {
	made := v.o.World == WorldSandbox
	for _, t := range d.Tables {
		made = made || t.Synthetic
	}
	return made
}

const setName, setTitle = "tidemark", "Tidemark: signals, forecasts and the hash chain of the picks"

// aboutSet returns the description of a set, with a warning first if it has generated data.
func (v *View) aboutSet(d postgres.Dataset) string {
	text := "Every version of every point of the market signals, the forecasts with their grades, and the hash chain of the announced picks, as known at " +
		d.AsOf.Format(time.RFC3339) + "."
	if v.synthetic(d) {
		return syntheticDescription + text
	}
	return text
}

// DataPackage is a description in the format of Frictionless (Data Package, version 1).
type DataPackage struct {
	Profile     string                `json:"profile"`
	Name        string                `json:"name"`
	Title       string                `json:"title"`
	Description string                `json:"description"`
	Homepage    string                `json:"homepage"`
	Version     string                `json:"version"`
	Created     time.Time             `json:"created"`
	Resources   []DataPackageResource `json:"resources"`
}

// DataPackageResource is a file of a Data Package.
type DataPackageResource struct {
	Profile   string               `json:"profile"`
	Name      string               `json:"name"`
	Title     string               `json:"title"`
	Path      string               `json:"path"`
	Format    string               `json:"format"`
	MediaType string               `json:"mediatype"`
	Bytes     int64                `json:"bytes"`
	Hash      string               `json:"hash"`
	Licenses  []DataPackageLicense `json:"licenses,omitempty"`
	Schema    DataPackageSchema    `json:"schema"`
}

// DataPackageLicense is a license by its address.
type DataPackageLicense struct {
	Path string `json:"path"`
}

// DataPackageSchema is a Table Schema.
type DataPackageSchema struct {
	Fields []DataPackageField `json:"fields"`
}

// DataPackageField is a column.
type DataPackageField struct {
	Name        string                  `json:"name"`
	Type        string                  `json:"type"`
	Description string                  `json:"description,omitempty"`
	Constraints *DataPackageConstraints `json:"constraints,omitempty"`
}

// DataPackageConstraints say whether each row has a value, and which values there are.
type DataPackageConstraints struct {
	Required bool     `json:"required,omitempty"`
	Enum     []string `json:"enum,omitempty"`
}

// aboutColumns describe the columns whose names do not say enough.
var aboutColumns = map[string]string{
	"uncertainty_lo": "The lower bound of the interval, null if there is none. The columns bounds and basis say what it is.",
	"uncertainty_hi": "The upper bound of the interval, null if there is none. The columns bounds and basis say what it is.",
	"bounds":         "What the interval bounds, as uncertainty.bounds of the signal at the instant of the set: the next first print of the figure, the publisher's next estimate of the same figure, or a true value that is never published. Null where there is no interval.",
	"basis":          "On what the interval rests, as uncertainty.basis of the signal at the instant of the set: measured, with a record of how often it held, or assumed, so that no probability is claimed. Null where there is no interval.",
}

// columnValues are the values of the columns that have few.
var columnValues = map[string][]string{"bounds": signals.IntervalBounds(), "basis": signals.IntervalBases()}

// DataPackage returns the Frictionless description of a set whose files are at a place.
func (v *View) DataPackage(d postgres.Dataset, at SetPlace) DataPackage {
	out := DataPackage{
		Profile: "data-package", Name: setName, Title: setTitle, Description: v.aboutSet(d), Homepage: v.o.PublicURL + "/", Version: d.Day, Created: d.PublishedAt,
		Resources: []DataPackageResource{},
	}
	for _, t := range d.Tables {
		r := DataPackageResource{
			Profile: "data-resource", Name: t.Name, Title: t.Title, Path: at.Prefix + t.Name + ".parquet", Format: "parquet", MediaType: TypeParquet, Bytes: t.Bytes,
			Hash: "sha256:" + t.SHA256, Schema: DataPackageSchema{Fields: []DataPackageField{}},
		}
		if t.License != "" {
			r.Licenses = []DataPackageLicense{{Path: t.License}}
		}
		for _, c := range t.Columns {
			f := DataPackageField{Name: c.Name, Type: c.Type, Description: aboutColumns[c.Name]}
			if rule := (DataPackageConstraints{!c.Nullable, columnValues[c.Name]}); rule.Required || rule.Enum != nil {
				f.Constraints = &rule
			}
			r.Schema.Fields = append(r.Schema.Fields, f)
		}
		out.Resources = append(out.Resources, r)
	}
	return out
}

// croissantTypes are the types of columns in Croissant.
var croissantTypes = map[string]string{
	"string": "sc:Text", "number": "sc:Float", "integer": "sc:Integer", "boolean": "sc:Boolean", "date": "sc:Date", "datetime": "sc:DateTime",
}

// Croissant returns the description of a set whose files are at a place, in the format Croissant 1.0 (JSON-LD).
func (v *View) Croissant(d postgres.Dataset, at SetPlace) map[string]any {
	files, records := []any{}, []any{}
	licenses, based := []string{}, []string{}
	for _, t := range d.Tables {
		file := t.Name + ".parquet"
		files = append(files, map[string]any{
			"@type": "cr:FileObject", "@id": file, "name": file, "description": t.Title, "contentUrl": at.Prefix + file, "encodingFormat": TypeParquet,
			"sha256": t.SHA256, "contentSize": strconv.FormatInt(t.Bytes, 10) + " B",
		})
		var fields []any
		for _, c := range t.Columns {
			field := map[string]any{
				"@type": "cr:Field", "@id": t.Name + "/" + c.Name, "name": t.Name + "/" + c.Name, "dataType": croissantTypes[c.Type],
				"source": map[string]any{"fileObject": map[string]any{"@id": file}, "extract": map[string]any{"column": c.Name}},
			}
			if about := aboutColumns[c.Name]; about != "" {
				field["description"] = about
			}
			fields = append(fields, field)
		}
		records = append(records, map[string]any{"@type": "cr:RecordSet", "@id": t.Name, "name": t.Name, "description": t.Title, "field": fields})
		if t.License != "" && !slices.Contains(licenses, t.License) {
			licenses = append(licenses, t.License)
		}
		if t.Source != "" && !v.synthetic(d) && !slices.Contains(based, t.Source) { // generated data are not derived from the publisher's
			based = append(based, t.Source)
		}
	}
	licenses = append(licenses, v.o.PublicURL+"/terms")
	out := map[string]any{
		"@context": croissantContext, "@type": "sc:Dataset", "conformsTo": "http://mlcommons.org/croissant/1.0", "name": setName, "alternateName": setTitle,
		"description": v.aboutSet(d), "url": v.SetPlace(d).Prefix + "manifest.json", "version": d.Day, "datePublished": d.PublishedAt.Format(time.DateOnly), "license": licenses,
		"creator":      map[string]any{"@type": "sc:Organization", "name": "Tidemark", "url": v.o.PublicURL},
		"distribution": files, "recordSet": records,
	}
	if len(based) > 0 {
		out["isBasedOn"] = based
	}
	if at.Proof != nil {
		out["subjectOf"] = map[string]any{
			"@type": "sc:CreativeWork", "name": "Proof that the transparency log has the hash of contents.json of this set", "encodingFormat": "text/plain", "url": *at.Proof,
		}
	}
	return out
}

// croissantContext is the context that the specification of Croissant 1.0 prescribes.
var croissantContext = map[string]any{
	"@language": "en", "@vocab": "https://schema.org/", "citeAs": "cr:citeAs", "column": "cr:column", "conformsTo": "dct:conformsTo",
	"cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/", "data": map[string]any{"@id": "cr:data", "@type": "@json"},
	"dataType": map[string]any{"@id": "cr:dataType", "@type": "@vocab"}, "dct": "http://purl.org/dc/terms/",
	"examples": map[string]any{"@id": "cr:examples", "@type": "@json"}, "extract": "cr:extract", "field": "cr:field", "fileProperty": "cr:fileProperty",
	"fileObject": "cr:fileObject", "fileSet": "cr:fileSet", "format": "cr:format", "includes": "cr:includes", "isLiveDataset": "cr:isLiveDataset",
	"jsonPath": "cr:jsonPath", "key": "cr:key", "md5": "cr:md5", "parentField": "cr:parentField", "path": "cr:path", "recordSet": "cr:recordSet",
	"references": "cr:references", "regex": "cr:regex", "repeated": "cr:repeated", "replace": "cr:replace", "sc": "https://schema.org/",
	"separator": "cr:separator", "source": "cr:source", "subField": "cr:subField", "transform": "cr:transform",
}
