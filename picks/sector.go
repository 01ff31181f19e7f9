package picks

// Sector is a group of industries whose companies are compared with each other. The sectors and their names are our own, made from SIC
// codes in the manner of the twelve-industry portfolios of Fama and French; they are not another publisher's classification.
type Sector string

// The sectors.
const (
	Technology     Sector = "Technology"
	Communications Sector = "Communications and Media"
	HealthCare     Sector = "Health Care"
	Finance        Sector = "Finance"
	RealEstate     Sector = "Real Estate"
	Energy         Sector = "Energy"
	Utilities      Sector = "Utilities"
	Chemicals      Sector = "Chemicals"
	Materials      Sector = "Materials"
	Industry       Sector = "Industry"
	Transport      Sector = "Transport"
	EverydayGoods  Sector = "Everyday Goods"
	DurableGoods   Sector = "Durable Goods"
	Trade          Sector = "Trade"
	Services       Sector = "Services"
	OtherSector    Sector = "Other"
)

// industry is a line of business. Its id is the key of its name in each language.
type industry struct {
	id          string
	sector      Sector
	first, last int
}

// industries maps ranges of SIC codes to lines of business. The first range that holds a code counts, so exceptions precede the rule.
var industries = []industry{
	{"agriculture", EverydayGoods, 100, 999},
	{"gold", Materials, 1040, 1049},
	{"metal_mining", Materials, 1000, 1099},
	{"coal", Energy, 1200, 1299},
	{"oil_services", Energy, 1380, 1389},
	{"oil_gas", Energy, 1300, 1399},
	{"quarrying", Materials, 1400, 1499},
	{"homebuilding", DurableGoods, 1520, 1539},
	{"construction", Industry, 1500, 1799},
	{"beverages", EverydayGoods, 2080, 2089},
	{"food", EverydayGoods, 2000, 2099},
	{"tobacco", EverydayGoods, 2100, 2199},
	{"apparel", EverydayGoods, 2200, 2399},
	{"wood_paper", Materials, 2400, 2499},
	{"furniture", DurableGoods, 2500, 2599},
	{"wood_paper", Materials, 2600, 2699},
	{"publishing", Communications, 2700, 2799},
	{"medicines", HealthCare, 2830, 2839},
	{"household_products", EverydayGoods, 2840, 2849},
	{"fertilizers", Chemicals, 2870, 2879},
	{"chemicals", Chemicals, 2800, 2899},
	{"refining", Energy, 2900, 2999},
	{"apparel", EverydayGoods, 3020, 3029},
	{"plastics", Materials, 3000, 3099},
	{"apparel", EverydayGoods, 3100, 3199},
	{"glass_cement", Materials, 3200, 3299},
	{"metals", Materials, 3300, 3399},
	{"metal_products", Industry, 3400, 3499},
	{"farm_machinery", Industry, 3520, 3529},
	{"computers", Technology, 3570, 3579},
	{"machinery", Industry, 3500, 3599},
	{"appliances", DurableGoods, 3630, 3639},
	{"consumer_electronics", DurableGoods, 3650, 3659},
	{"network_equipment", Technology, 3660, 3669},
	{"semiconductors", Technology, 3670, 3679},
	{"medical_devices", HealthCare, 3693, 3693},
	{"electrical_equipment", Industry, 3600, 3699},
	{"cars", DurableGoods, 3710, 3719},
	{"aerospace", Industry, 3720, 3729},
	{"cars", DurableGoods, 3750, 3759},
	{"aerospace", Industry, 3760, 3769},
	{"transport_equipment", Industry, 3700, 3799},
	{"aerospace", Industry, 3810, 3819},
	{"medical_devices", HealthCare, 3840, 3859},
	{"leisure_goods", DurableGoods, 3860, 3879},
	{"instruments", Technology, 3800, 3899},
	{"leisure_goods", DurableGoods, 3900, 3999},
	{"railways", Transport, 4000, 4099},
	{"trucking", Transport, 4100, 4299},
	{"shipping", Transport, 4400, 4499},
	{"airlines", Transport, 4500, 4599},
	{"pipelines", Energy, 4600, 4699},
	{"logistics", Transport, 4700, 4799},
	{"broadcasting", Communications, 4830, 4849},
	{"telecoms", Communications, 4800, 4899},
	{"gas_utilities", Utilities, 4920, 4929},
	{"water", Utilities, 4940, 4949},
	{"waste", Services, 4950, 4959},
	{"power", Utilities, 4900, 4999},
	{"wholesale", Trade, 5000, 5199},
	{"home_stores", Trade, 5200, 5299},
	{"general_stores", Trade, 5300, 5399},
	{"grocers", Trade, 5400, 5499},
	{"restaurants", Services, 5800, 5899},
	{"online_stores", Trade, 5960, 5969},
	{"shops", Trade, 5500, 5999},
	{"banks", Finance, 6000, 6099},
	{"lenders", Finance, 6100, 6199},
	{"brokers", Finance, 6200, 6299},
	{"health_plans", HealthCare, 6324, 6324},
	{"insurance", Finance, 6300, 6499},
	{"property_trusts", RealEstate, 6798, 6798},
	{"property", RealEstate, 6500, 6599},
	{"shells", Finance, 6770, 6770},
	{"holdings", Finance, 6700, 6799},
	{"hotels", Services, 7000, 7099},
	{"advertising", Communications, 7310, 7319},
	{"software", Technology, 7370, 7379},
	{"film", Communications, 7800, 7899},
	{"leisure", Services, 7900, 7999},
	{"business_services", Services, 7300, 7399},
	{"personal_services", Services, 7200, 7699},
	{"health_services", HealthCare, 8000, 8099},
	{"education", Services, 8200, 8299},
	{"consulting", Services, 8700, 8799},
}

// industryOf finds the line of business of an SIC code.
func industryOf(sic int) industry {
	for _, i := range industries {
		if sic >= i.first && sic <= i.last {
			return i
		}
	}
	return industry{id: "other", sector: OtherSector}
}

// SectorOf is the sector of an SIC code; OtherSector for a code that is unknown or belongs to none.
func SectorOf(sic int) Sector { return industryOf(sic).sector }
