package synth

// business is a kind of company books, as ratios around which its figures vary. They are set by eye to the reports of such companies;
// none of them is a fit.
type business struct {
	// sales is a year's sales over the market value at the beginning; the margins are shares of sales.
	sales, gross, operating, net float64
	// assets is the balance sheet over a year's sales; what follows are shares of it: what is current, what is owed within the year,
	// long-term debt, cash.
	assets, current, owed, debt, cash float64
	// spending is capital spending over sales, growth the growth of sales and price in a year.
	spending, growth float64
	// volatility is the volatility of the company's own share of a day's price move, yield its dividends over a year.
	volatility, yield float64
}

var (
	software  = business{.16, .72, .24, .19, 1.8, .42, .22, .15, .22, .04, .09, .015, .006}
	chips     = business{.25, .52, .22, .18, 1.6, .45, .18, .20, .20, .08, .08, .018, .010}
	hardware  = business{.60, .36, .13, .10, 1.1, .48, .33, .22, .18, .04, .05, .014, .012}
	media     = business{.55, .55, .16, .09, 2.2, .18, .17, .38, .05, .13, .02, .012, .035}
	drugs     = business{.30, .68, .22, .17, 2.1, .36, .20, .25, .14, .05, .05, .013, .020}
	care      = business{1.6, .28, .07, .045, .6, .35, .28, .28, .10, .03, .05, .013, .010}
	bank      = business{.28, 0, 0, .27, 14, 0, 0, .08, .08, .01, .04, .012, .028}
	insurer   = business{.70, 0, 0, .09, 4, 0, 0, .06, .05, .01, .04, .011, .020}
	property  = business{.12, .62, .32, .22, 6.5, .05, .04, .42, .02, .25, .03, .011, .040}
	oil       = business{.80, .34, .14, .09, 1.5, .20, .16, .20, .05, .13, .02, .018, .035}
	utility   = business{.35, .45, .21, .12, 3.6, .09, .11, .40, .02, .28, .03, .008, .036}
	materials = business{.70, .30, .12, .08, 1.3, .36, .20, .27, .08, .07, .03, .014, .022}
	machines  = business{.55, .33, .14, .10, 1.2, .45, .28, .22, .10, .03, .04, .012, .015}
	transport = business{.70, .30, .12, .08, 1.4, .20, .20, .33, .07, .10, .04, .015, .012}
	goods     = business{.50, .42, .16, .11, 1.2, .35, .27, .28, .08, .04, .03, .009, .024}
	durables  = business{1.1, .22, .07, .05, 1.1, .45, .30, .25, .12, .05, .03, .016, .012}
	shops     = business{1.6, .28, .065, .045, .55, .45, .35, .20, .09, .025, .05, .012, .014}
	shell     = business{growth: .03, volatility: .001}
	services  = business{.50, .40, .16, .10, 1.5, .25, .22, .33, .08, .06, .05, .013, .012}
)

// profile is one invented company. Names end in "(synthetic)" and tickers in SYN, six letters that no exchange gives.
type profile struct {
	name, ticker, later, exchange string
	sic                           int
	industry, location            string
	yearEnd                       int // the month
	price, shares                 float64
	books                         Books
	business                      business
}

const (
	nyse   = "NYSE"
	nasdaq = "Nasdaq"
)

// profiles are the companies: all kinds of business, addresses in several countries, prices in dollars and shares in millions of the
// first day.
var profiles = []profile{
	{"Northlight Ledger Software", "NLS", "NLI", nasdaq, 7372, "Services-Prepackaged Software", "WA", 12, 118, 940, Commercial, software},
	{"Quillmark Cloud Systems", "QCS", "QMK", nasdaq, 7372, "Services-Prepackaged Software", "CA", 1, 64, 310, Commercial, software},
	{"Harbour Lantern Data", "HLD", "HLN", nyse, 7374, "Services-Computer Processing & Data Preparation", "MA", 6, 92, 145, Commercial, software},
	{"Siltstone Microdevices", "SMD", "SLT", nasdaq, 3674, "Semiconductors & Related Devices", "CA", 9, 141, 520, Commercial, chips},
	{"Pelican Analog", "PAN", "PLC", nasdaq, 3674, "Semiconductors & Related Devices", "TX", 12, 48, 260, Commercial, chips},
	{"Meridian Example Computers", "MEC", "MDN", nyse, 3571, "Electronic Computers", "NC", 10, 31, 690, Commercial, hardware},
	{"Fjordglass Instruments", "FGI", "FJG", nyse, 3826, "Laboratory Analytical Instruments", "V8", 12, 77, 118, Commercial, hardware},
	{"Copperline Telecom", "CLT", "CPL", nyse, 4813, "Telephone Communications (No Radiotelephone)", "NJ", 12, 36, 2100, Commercial, media},
	{"Brightmast Broadcasting", "BMB", "BRM", nasdaq, 4833, "Television Broadcasting Stations", "GA", 12, 22, 280, Commercial, media},
	{"Papertide Publishing", "PTP", "PPT", nyse, 2711, "Newspapers: Publishing or Publishing & Printing", "NY", 12, 18, 165, Commercial, media},
	{"Signpost Advertising Group", "SAG", "SPG", nyse, 7311, "Services-Advertising Agencies", "X0", 12, 41, 230, Commercial, services},
	{"Alderbrook Medicines", "ALB", "ADB", nyse, 2834, "Pharmaceutical Preparations", "NJ", 12, 84, 1250, Commercial, drugs},
	{"Caduceus Example Therapeutics", "CET", "CDX", nasdaq, 2836, "Biological Products (No Diagnostic Substances)", "MA", 12, 55, 190, Commercial, drugs},
	{"Kestrel Surgical", "KSL", "KST", nyse, 3841, "Surgical & Medical Instruments & Apparatus", "MN", 4, 103, 410, Commercial, drugs},
	{"Willowmere Implants", "WMI", "WLM", nyse, 3842, "Orthopedic, Prosthetic & Surgical Appliances & Supplies", "L2", 12, 66, 205, Commercial, drugs},
	{"Riverbend Hospitals", "RBH", "RVB", nyse, 8062, "Services-General Medical & Surgical Hospitals", "TN", 12, 88, 240, Commercial, care},
	{"Commonpool Health Plans", "CHP", "CMP", nyse, 6324, "Hospital & Medical Service Plans", "CT", 12, 210, 170, Commercial, care},
	{"First Ferry Bancorp", "FFB", "FRY", nyse, 6021, "National Commercial Banks", "NY", 12, 54, 1650, Financial, bank},
	{"Tidewater Savings Group", "TSG", "TWS", nyse, 6022, "State Commercial Banks", "VA", 12, 33, 320, Financial, bank},
	{"Granite Ridge Bancshares", "GRB", "GRG", nasdaq, 6022, "State Commercial Banks", "UT", 12, 47, 140, Financial, bank},
	{"Lodestone Life", "LLF", "LDL", nyse, 6311, "Life Insurance", "IA", 12, 58, 260, Financial, insurer},
	{"Bellwether Casualty", "BWC", "BLW", nyse, 6331, "Fire, Marine & Casualty Insurance", "IL", 12, 79, 290, Financial, insurer},
	{"Threadneedle Example Brokers", "TEB", "TNE", nasdaq, 6211, "Security Brokers, Dealers & Flotation Companies", "NE", 9, 52, 380, Financial, bank},
	{"Orchard Gate Properties", "OGP", "OGT", nyse, 6798, "Real Estate Investment Trusts", "CA", 12, 71, 310, Commercial, property},
	{"Longspan Warehouse Trust", "LWT", "LSP", nyse, 6798, "Real Estate Investment Trusts", "CO", 12, 62, 560, Commercial, property},
	{"Cedarpoint Towers", "CPT", "CDP", nyse, 6798, "Real Estate Investment Trusts", "TX", 12, 104, 210, Commercial, property},
	{"Marrow Creek Petroleum", "MCP", "MRC", nyse, 1311, "Crude Petroleum & Natural Gas", "TX", 12, 76, 980, Commercial, oil},
	{"Saltflat Resources", "SFR", "SLF", nyse, 1311, "Crude Petroleum & Natural Gas", "OK", 12, 24, 290, Commercial, oil},
	{"Gantry Refining", "GRF", "GTY", nyse, 2911, "Petroleum Refining", "TX", 12, 89, 420, Commercial, oil},
	{"Boreal Drilling Services", "BDS", "BRL", nyse, 1381, "Drilling Oil & Gas Wells", "A0", 12, 17, 360, Commercial, oil},
	{"Trunkline Example Partners", "TEP", "TKL", nyse, 4610, "Pipe Lines (No Natural Gas)", "TX", 12, 38, 720, Commercial, utility},
	{"Cloverdale Power & Light", "CPW", "CVD", nyse, 4911, "Electric Services", "OH", 12, 61, 480, Commercial, utility},
	{"Desert Mesa Electric", "DME", "DSM", nyse, 4911, "Electric Services", "AZ", 12, 78, 112, Commercial, utility},
	{"Sound Shore Energy", "SSE", "SDS", nyse, 4931, "Electric & Other Services Combined", "WA", 12, 44, 205, Commercial, utility},
	{"Prairie Mains Gas", "PMG", "PRM", nyse, 4924, "Natural Gas Distribution", "MO", 9, 68, 98, Commercial, utility},
	{"Clearcistern Water", "CCW", "CLC", nyse, 4941, "Water Supply", "PA", 12, 83, 180, Commercial, utility},
	{"Helix Basin Chemicals", "HBC", "HLX", nyse, 2860, "Industrial Organic Chemicals", "DE", 12, 58, 440, Commercial, materials},
	{"Greenfurrow Nutrients", "GFN", "GNF", nyse, 2870, "Agricultural Chemicals", "A9", 12, 46, 510, Commercial, materials},
	{"Varnish & Vale Coatings", "VVC", "VNV", nyse, 2851, "Paints, Varnishes, Lacquers, Enamels & Allied Prods", "P7", 12, 97, 260, Commercial, materials},
	{"Goldenrod Mining", "GDR", "GRD", nyse, 1040, "Gold and Silver Ores", "A1", 12, 33, 620, Commercial, materials},
	{"Anvil Forge Steel", "AFS", "ANV", nyse, 3312, "Steel Works, Blast Furnaces & Rolling Mills", "IN", 12, 59, 250, Commercial, materials},
	{"Tamarack Paperboard", "TMP", "TRK", nyse, 2621, "Paper Mills", "ME", 12, 51, 270, Commercial, materials},
	{"Furrow & Field Machinery", "FFM", "FFD", nyse, 3523, "Farm Machinery & Equipment", "IL", 10, 132, 310, Commercial, machines},
	{"Ironquay Pumps", "IQP", "IRQ", nyse, 3561, "Pumps & Pumping Equipment", "OH", 12, 71, 180, Commercial, machines},
	{"Skylark Aerostructures", "SKA", "SKY", nyse, 3728, "Aircraft Parts & Auxiliary Equipment, NEC", "KS", 12, 94, 230, Commercial, machines},
	{"Fuseboard Electric", "FBE", "FUS", nyse, 3613, "Switchgear & Switchboard Apparatus", "WI", 9, 86, 210, Commercial, machines},
	{"Causeway Construction", "CWC", "CSW", nyse, 1600, "Heavy Construction Other Than Bldg Const - Contractors", "FL", 12, 39, 150, Commercial, machines},
	{"Crossties Railway", "CTR", "CRT", nyse, 4011, "Railroads, Line-Haul Operating", "NE", 12, 126, 480, Commercial, transport},
	{"Longhaul Example Freight", "LEF", "LHF", nasdaq, 4213, "Trucking (No Local)", "AR", 12, 74, 160, Commercial, transport},
	{"Example Marine Holdings", "EMH", "EXM", nyse, 4412, "Deep Sea Foreign Transportation of Freight", "J3", 12, 27, 190, Foreign, transport},
	{"Kittiwake Airways", "KTW", "KWA", nasdaq, 4512, "Air Transportation, Scheduled", "MN", 12, 43, 330, Commercial, transport},
	{"Brightwater Foods", "BWF", "BWT", nyse, 2033, "Canned, Frozen & Preserved Fruit, Veg & Food Specialties", "MN", 5, 52, 560, Commercial, goods},
	{"Old Orchard Beverages", "OOB", "ORB", nyse, 2086, "Bottled & Canned Soft Drinks & Carbonated Waters", "GA", 12, 47, 1900, Commercial, goods},
	{"Soapstone Household", "SSH", "STN", nyse, 2844, "Perfumes, Cosmetics & Other Toilet Preparations", "OH", 6, 88, 1100, Commercial, goods},
	{"Loomworks Apparel", "LWA", "LMW", nyse, 2300, "Apparel & Other Finished Prods of Fabrics & Similar Matl", "NC", 3, 63, 260, Commercial, goods},
	{"Nordhavn Breweries", "NHB", "NDH", nyse, 2082, "Malt Beverages", "G7", 12, 58, 410, Foreign, goods},
	{"Switchback Motors", "SBM", "SWB", nyse, 3711, "Motor Vehicles & Passenger Car Bodies", "MI", 12, 29, 1300, Commercial, durables},
	{"Hearthside Furniture", "HSF", "HRT", nyse, 2511, "Wood Household Furniture", "VA", 12, 34, 98, Commercial, durables},
	{"Marionette Toys", "MNT", "MTY", nasdaq, 3944, "Games, Toys & Children's Vehicles (No Dolls & Bicycles)", "RI", 12, 54, 140, Commercial, durables},
	{"Commonwealth General Stores", "CGS", "CWG", nyse, 5331, "Retail-Variety Stores", "TN", 1, 97, 480, Commercial, shops},
	{"Larder Lane Grocers", "LLG", "LRD", nyse, 5411, "Retail-Grocery Stores", "FL", 12, 31, 640, Commercial, shops},
	{"Timber & Tile Home Centers", "TTH", "TTC", nyse, 5211, "Retail-Lumber & Other Building Materials Dealers", "NC", 1, 151, 420, Commercial, shops},
	{"Parcelpost Online", "PPO", "PCP", nasdaq, 5961, "Retail-Catalog & Mail-Order Houses", "WA", 12, 390, 210, Commercial, shops},
	{"Junction Wholesale Electronics", "JWE", "JNC", nyse, 5065, "Wholesale-Electronic Parts & Equipment, NEC", "CO", 12, 66, 92, Commercial, shops},
	{"Griddle & Grain Restaurants", "GGR", "GDL", nyse, 5812, "Retail-Eating Places", "KY", 12, 82, 310, Commercial, services},
	{"Wayfarer Example Hotels", "WEH", "WYF", nyse, 7011, "Hotels & Motels", "MD", 12, 93, 260, Commercial, services},
	{"Campus Road Education", "CRE", "CPR", nasdaq, 8200, "Services-Educational Services", "AZ", 8, 61, 85, Commercial, services},
	{"Empty Chair Acquisition", "ECA", "ECR", nasdaq, 6770, "Blank Checks", "DE", 12, 10, 240, Unreported, shell},
}
