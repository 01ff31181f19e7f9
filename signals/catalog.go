package signals

// All lists the signals in the order in which they are shown.
func All() []Definition {
	return []Definition{
		iowaCornYield(),
		tropomiNO2Economic(),
		crackSpread321(),
		eiaWeeklyPetroleum(),
		lngArbitrage(),
		hormuzTransit(),
	}
}

// ByID finds the signal with an id, and whether there is one.
func ByID(id string) (Definition, bool) {
	for _, d := range All() {
		if d.ID == id {
			return d, true
		}
	}
	return Definition{}, false
}

// What EIA states about its data, and what its own metadata say of the spot prices.
const (
	eiaLicenseURL = "https://www.eia.gov/about/copyrights_reuse.php"
	eiaLicense    = "Source: U.S. Energy Information Administration (EIA). Public domain as a work of the U.S. government; " +
		"acknowledgement with the date of publication requested."
	eiaSpotLicense = eiaLicense + " The daily spot assessments are supplied to EIA by a third party (EIA's metadata mark these series " +
		"\"copyright: Thomson-Reuters\", now LSEG): check before redistribution."
)
