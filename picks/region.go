package picks

import (
	"strings"
	"sync"
)

// Region is a part of the world.
type Region string

// The regions.
const (
	NorthAmerica Region = "North America"
	LatinAmerica Region = "Latin America and Caribbean"
	Europe       Region = "Europe"
	AsiaPacific  Region = "Asia Pacific"
	MiddleEast   Region = "Middle East and Africa"
	OtherRegion  Region = "Other"
)

// EDGAR writes the place of a business address as a code of two characters. It resembles other codes but differs from them: "CA" is
// California and not Canada, "DE" Delaware and not Germany, "IL" Illinois and not Israel. Source: the SEC's list "EDGAR State and Country
// Codes" (sec.gov/edgar/searchedgar/edgarstatecodes.htm). Territories count as their country if ISO 3166 has no code for them.

// unitedStates holds the codes of states, of the district and of territories. X1 is the country as such.
const unitedStates = "AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH " +
	"OK OR PA RI SC SD TN TX UT VT VA WA WV WI WY X1"

// canada holds the codes of provinces. Z4 is the country as such.
const canada = "A0 A1 A2 A3 A4 A5 A6 A7 A8 A9 B0 Z4"

// edgarCountries pairs EDGAR's codes with ISO 3166-1 codes, by region.
var edgarCountries = map[Region]string{
	NorthAmerica: "D0:BM J4:GL V0:PM",
	LatinAmerica: "1A:AI B9:AG C1:AR 1C:AW C5:BS C8:BB D1:BZ D3:BO D5:BR E9:KY F3:CL F8:CO G2:CR G3:CU G9:DM G8:DO H1:EC H3:SV H7:FK " +
		"I3:GF J5:GD J6:GP J8:GT K0:GY K1:HT K2:HN L8:JM O2:MQ O5:MX P1:MS P8:CW Q3:NI R1:PA R4:PY R5:PE PR:PR Z0:BL U7:KN U9:LC " +
		"Z1:MF V1:VC V3:SR W5:TT W7:TC X3:UY X5:VE D8:VG VI:VI",
	Europe: "Y6:AX B3:AL B6:AD 1B:AM C4:AT 1D:AZ 1F:BY C9:BE 1E:BA E0:BG 1M:HR G4:CY 2N:CZ G7:DK 1H:EE H6:FO H9:FI I0:FR 2Q:GE 2M:DE " +
		"J1:GI J3:GR Y7:GG X4:VA K5:HU K6:IS L2:IE Y8:IM L6:IT Y9:JE 1R:LV N2:LI 1Q:LT N4:LU 1U:MK O1:MT 1S:MD O9:MC Z5:ME P7:NL " +
		"Q8:NO R9:PL S1:PT S5:RO 1Z:RU S8:SM Z2:RS 2B:SK 2A:SI U3:ES L9:SJ V7:SE V8:CH 2H:UA X0:GB",
	AsiaPacific: "B2:AF C3:AU C7:BD D2:BT D9:BN E3:KH F4:CN F6:CX F7:CC G1:CK H8:FJ I4:PF K3:HK K7:IN K8:ID M0:JP 1P:KZ J2:KI M4:KP " +
		"M5:KR 1N:KG M7:LA N5:MO N8:MY N9:MV 1T:MH 1K:FM P0:MN E1:MM P5:NR P6:NP 1W:NC Q2:NZ Q6:NU Q7:NF R0:PK 1Y:PW R2:PG R6:PH " +
		"R8:PN Y0:WS U0:SG D7:SB F1:LK F5:TW 2D:TJ W1:TH Z3:TL W3:TK W4:TO 2E:TM 2G:TV 2K:UZ 2L:VU Q1:VN X8:WF GU:GU B5:AS 1V:MP",
	MiddleEast: "B4:DZ B7:AO C6:BH G6:BJ B1:BW X2:BF E2:BI E4:CM E8:CV F0:CF F2:TD F9:KM G0:CG Y3:CD L7:CI 1G:DJ H2:EG H4:GQ 1J:ER " +
		"H5:ET I5:GA I6:GM J0:GH J9:GN S0:GW K9:IR L0:IQ L3:IL M2:JO M3:KE M6:KW M8:LB M9:LS N0:LR N1:LY N6:MG N7:MW O0:ML O3:MR " +
		"O4:MU 2P:YT P2:MA P3:MZ T6:NA Q4:NE Q5:NG P4:OM 1X:PS S3:QA S4:RE S6:RW U8:SH S9:ST T0:SA T1:SN T2:SC T8:SL U1:SO T3:ZA " +
		"V2:SD V6:SZ V9:SY W0:TZ W2:TG W6:TN W8:TR W9:UG C0:AE U5:EH T7:YE Y4:ZM Y5:ZW",
}

type place struct {
	country string
	region  Region
}

var places = sync.OnceValue(func() map[string]place {
	all := map[string]place{}
	for code := range strings.FieldsSeq(unitedStates) {
		all[code] = place{"US", NorthAmerica}
	}
	for code := range strings.FieldsSeq(canada) {
		all[code] = place{"CA", NorthAmerica}
	}
	for region, pairs := range edgarCountries {
		for pair := range strings.FieldsSeq(pairs) {
			code, country, _ := strings.Cut(pair, ":")
			all[code] = place{country, region}
		}
	}
	return all
})

// CountryOf is the ISO 3166-1 code of a place as EDGAR writes it; empty for a code that is unknown. It is never guessed: a company
// whose address is missing has no country.
func CountryOf(location string) string { return places()[strings.ToUpper(location)].country }

// RegionOf is the region of a place as EDGAR writes it; OtherRegion for a code that is unknown.
func RegionOf(location string) Region {
	p, ok := places()[strings.ToUpper(location)]
	if !ok {
		return OtherRegion
	}
	return p.region
}
