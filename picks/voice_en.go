package picks

import "golang.org/x/text/language"

var english = voice{
	tag:     language.English,
	phrases: englishPhrases,
	units: map[Unit]string{
		Percent: "N%", Points: "N percentage points", BasisPoint: "N basis points", Dollars: "$N", Millions: "$N million", Billions: "$N billion",
		Times: "N times", Count: "N", Thousands: "N thousand", Deviations: "N standard deviations", Plain: "N", Barrels: "N million barrels",
	},
	months: [12]string{
		"January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
	},
	date: "M D, Y", monthOnly: "M Y",
	terms: map[string]string{
		"and": "and",

		"sector.Technology": "technology", "sector.Communications and Media": "communications and media", "sector.Health Care": "health care",
		"sector.Finance": "finance", "sector.Real Estate": "real estate", "sector.Energy": "energy", "sector.Utilities": "utilities",
		"sector.Chemicals": "chemicals", "sector.Materials": "materials", "sector.Industry": "industry", "sector.Transport": "transport",
		"sector.Everyday Goods": "everyday goods", "sector.Durable Goods": "durable goods", "sector.Trade": "trade",
		"sector.Services": "services", "sector.Other": "other companies",

		"indicator.fomc":                  "the federal funds rate",
		"indicator.cpi":                   "US consumer prices, month on month",
		"indicator.payrolls":              "the change in US payrolls",
		"indicator.unemployment":          "the US unemployment rate",
		"indicator.gdp":                   "US economic growth, annualized",
		"indicator.industrial-production": "US industrial production, month on month",
		"indicator.jobless-claims":        "initial claims for US unemployment benefits",
		"indicator.core-cpi":              "US consumer prices without food and energy, month on month",
		"indicator.ecb":                   "the European Central Bank's deposit rate",
		"indicator.hourly-earnings":       "US hourly earnings, month on month",
		"indicator.producer-prices":       "US producer prices, month on month",
		"indicator.job-openings":          "US job openings",
		"indicator.crude-stocks":          "the change in US crude oil stocks",

		"quarter.1": "first quarter", "quarter.2": "second quarter", "quarter.3": "third quarter", "quarter.4": "fourth quarter",

		"closed.held": "its holding period was over", "closed.replaced": "a newer pick took its place",
		"closed.merger": "another company bought it", "closed.delisted": "its shares were delisted", "closed.silent": "it no longer had a price",

		"industry.agriculture": "agriculture", "industry.gold": "gold mining", "industry.metal_mining": "metal mining", "industry.coal": "coal mining",
		"industry.oil_services": "services for oil and gas producers", "industry.oil_gas": "oil and gas production",
		"industry.quarrying": "quarrying and minerals", "industry.homebuilding": "homebuilding", "industry.construction": "construction",
		"industry.beverages": "beverages", "industry.food": "food", "industry.tobacco": "tobacco", "industry.apparel": "clothing and footwear",
		"industry.wood_paper": "wood, paper and packaging", "industry.furniture": "furniture", "industry.publishing": "publishing",
		"industry.medicines": "medicines and biotechnology", "industry.household_products": "household and personal care products",
		"industry.fertilizers": "fertilizers and crop chemicals", "industry.chemicals": "chemicals", "industry.refining": "oil refining",
		"industry.plastics": "plastics and rubber", "industry.glass_cement": "glass, cement and stone", "industry.metals": "steel and other metals",
		"industry.metal_products": "metal products", "industry.farm_machinery": "farm and garden machinery", "industry.computers": "computers and office equipment",
		"industry.machinery": "machinery", "industry.appliances": "household appliances", "industry.consumer_electronics": "consumer electronics",
		"industry.network_equipment": "communications equipment", "industry.semiconductors": "semiconductors and electronic parts",
		"industry.medical_devices": "medical devices", "industry.electrical_equipment": "electrical equipment", "industry.cars": "cars and car parts",
		"industry.aerospace": "aerospace and defense", "industry.transport_equipment": "ships, trains and other vehicles",
		"industry.instruments": "measuring instruments", "industry.leisure_goods": "sporting goods, toys and cameras", "industry.railways": "railways",
		"industry.trucking": "trucking and parcels", "industry.shipping": "shipping", "industry.airlines": "air transport", "industry.pipelines": "pipelines",
		"industry.logistics": "logistics and travel", "industry.broadcasting": "broadcasting and cable", "industry.telecoms": "telecommunications",
		"industry.gas_utilities": "gas supply", "industry.water": "water supply", "industry.waste": "waste management", "industry.power": "electric power",
		"industry.wholesale": "wholesale trade", "industry.home_stores": "building supply stores", "industry.general_stores": "general merchandise stores",
		"industry.grocers": "grocery stores", "industry.restaurants": "restaurants", "industry.online_stores": "online and catalog retail",
		"industry.shops": "specialty stores", "industry.banks": "banking", "industry.lenders": "consumer and business credit",
		"industry.brokers": "brokerage and asset management", "industry.health_plans": "health insurance", "industry.insurance": "insurance",
		"industry.property_trusts": "real estate investment trusts", "industry.property": "real estate", "industry.shells": "blank check companies",
		"industry.holdings": "holdings and investment offices", "industry.hotels": "hotels and casinos", "industry.advertising": "advertising",
		"industry.software": "software and computer services", "industry.film": "film and streaming", "industry.leisure": "amusement and recreation",
		"industry.business_services": "business services", "industry.personal_services": "personal services and repair",
		"industry.health_services": "hospitals and health services", "industry.education": "education",
		"industry.consulting": "engineering, research and consulting", "industry.other": "a line of business without a code of its own",
	},
}
