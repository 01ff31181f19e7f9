package picks

import "golang.org/x/text/language"

//nolint:misspell // the words are Spanish
var spanish = voice{
	tag:     language.Spanish,
	phrases: spanishPhrases,
	units: map[Unit]string{
		Percent: "N\u00a0%", Points: "N puntos porcentuales", BasisPoint: "N puntos básicos", Dollars: "N dólares",
		Millions: "N millones de dólares", Billions: "N mil millones de dólares", Times: "N veces", Count: "N", Thousands: "N mil",
		Deviations: "N desviaciones típicas", Plain: "N",
	},
	months: [12]string{
		"enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto", "septiembre", "octubre", "noviembre", "diciembre",
	},
	date: "D de M de Y", monthOnly: "M de Y",
	terms: map[string]string{
		"and": "y",

		"sector.Technology": "tecnología", "sector.Communications and Media": "comunicaciones y medios", "sector.Health Care": "salud",
		"sector.Finance": "finanzas", "sector.Real Estate": "bienes inmuebles", "sector.Energy": "energía", "sector.Utilities": "servicios públicos",
		"sector.Chemicals": "química", "sector.Materials": "materiales", "sector.Industry": "industria", "sector.Transport": "transporte",
		"sector.Everyday Goods": "consumo cotidiano", "sector.Durable Goods": "bienes duraderos", "sector.Trade": "comercio",
		"sector.Services": "servicios", "sector.Other": "otras empresas",

		"signal.crack-spread-321":     "el margen de refino (crack spread)",
		"signal.eia-weekly-petroleum": "las existencias de crudo de Estados Unidos",
		"signal.hormuz-transit":       "el paso de petroleros por el estrecho de Ormuz",
		"signal.iowa-corn-yield":      "el rendimiento previsto del maíz en Iowa",
		"signal.lng-arbitrage":        "la diferencia entre el precio del gas en Europa y en Estados Unidos",
		"signal.tropomi-no2-economic": "el dióxido de nitrógeno sobre las regiones industriales",

		"indicator.fomc":                  "el tipo de los fondos federales",
		"indicator.cpi":                   "los precios de consumo de Estados Unidos, variación mensual",
		"indicator.payrolls":              "la variación del empleo no agrícola de Estados Unidos",
		"indicator.unemployment":          "la tasa de paro de Estados Unidos",
		"indicator.gdp":                   "el crecimiento económico de Estados Unidos, anualizado",
		"indicator.industrial-production": "la producción industrial de Estados Unidos, variación mensual",
		"indicator.jobless-claims":        "las peticiones iniciales de subsidio de paro en Estados Unidos",

		"quarter.1": "primer trimestre", "quarter.2": "segundo trimestre", "quarter.3": "tercer trimestre", "quarter.4": "cuarto trimestre",

		"closed.held": "terminó su período de tenencia", "closed.replaced": "una selección más reciente ocupó su lugar",
		"closed.merger": "otra empresa la compró", "closed.delisted": "sus acciones dejaron de cotizar", "closed.silent": "ya no tenía precio",

		"industry.agriculture": "la agricultura", "industry.gold": "la minería de oro", "industry.metal_mining": "la minería de metales",
		"industry.coal": "la minería de carbón", "industry.oil_services": "los servicios para productores de petróleo y gas",
		"industry.oil_gas": "la producción de petróleo y gas", "industry.quarrying": "las canteras y los minerales",
		"industry.homebuilding": "la construcción de viviendas", "industry.construction": "la construcción", "industry.beverages": "las bebidas",
		"industry.food": "la alimentación", "industry.tobacco": "el tabaco", "industry.apparel": "la ropa y el calzado",
		"industry.wood_paper": "la madera, el papel y los envases", "industry.furniture": "los muebles", "industry.publishing": "la edición",
		"industry.medicines": "los medicamentos y la biotecnología", "industry.household_products": "los productos de limpieza e higiene",
		"industry.fertilizers": "los fertilizantes y fitosanitarios", "industry.chemicals": "los productos químicos", "industry.refining": "el refino de petróleo",
		"industry.plastics": "los plásticos y el caucho", "industry.glass_cement": "el vidrio, el cemento y la piedra",
		"industry.metals": "el acero y otros metales", "industry.metal_products": "los productos metálicos",
		"industry.farm_machinery": "la maquinaria agrícola y de jardín", "industry.computers": "los ordenadores y equipos de oficina",
		"industry.machinery": "la maquinaria", "industry.appliances": "los electrodomésticos", "industry.consumer_electronics": "la electrónica de consumo",
		"industry.network_equipment": "los equipos de comunicaciones", "industry.semiconductors": "los semiconductores y componentes electrónicos",
		"industry.medical_devices": "los dispositivos médicos", "industry.electrical_equipment": "los equipos eléctricos",
		"industry.cars": "los automóviles y sus piezas", "industry.aerospace": "la industria aeroespacial y de defensa",
		"industry.transport_equipment": "los barcos, trenes y otros vehículos", "industry.instruments": "los instrumentos de medida",
		"industry.leisure_goods": "los artículos deportivos, juguetes y cámaras", "industry.railways": "los ferrocarriles",
		"industry.trucking": "el transporte por carretera y la paquetería", "industry.shipping": "el transporte marítimo", "industry.airlines": "el transporte aéreo",
		"industry.pipelines": "los oleoductos y gasoductos", "industry.logistics": "la logística y los viajes",
		"industry.broadcasting": "la radio, la televisión y el cable", "industry.telecoms": "las telecomunicaciones", "industry.gas_utilities": "el suministro de gas",
		"industry.water": "el suministro de agua", "industry.waste": "la gestión de residuos", "industry.power": "la electricidad",
		"industry.wholesale": "el comercio mayorista", "industry.home_stores": "las tiendas de materiales para el hogar",
		"industry.general_stores": "los grandes almacenes y las tiendas generales", "industry.grocers": "los supermercados", "industry.restaurants": "los restaurantes",
		"industry.online_stores": "la venta por internet y por catálogo", "industry.shops": "las tiendas especializadas", "industry.banks": "la banca",
		"industry.lenders": "el crédito a consumidores y empresas", "industry.brokers": "la intermediación bursátil y la gestión de activos",
		"industry.health_plans": "los seguros de salud", "industry.insurance": "los seguros", "industry.property_trusts": "los fondos de inversión inmobiliaria",
		"industry.property": "los bienes inmuebles", "industry.shells": "las sociedades sin actividad para adquisiciones",
		"industry.holdings": "las sociedades de cartera", "industry.hotels": "los hoteles y casinos", "industry.advertising": "la publicidad",
		"industry.software": "los programas y servicios informáticos", "industry.film": "el cine y el vídeo en línea",
		"industry.leisure": "el ocio y el entretenimiento", "industry.business_services": "los servicios a empresas",
		"industry.personal_services": "los servicios personales y las reparaciones", "industry.health_services": "los hospitales y servicios sanitarios",
		"industry.education": "la educación", "industry.consulting": "la ingeniería, la investigación y la consultoría",
		"industry.other": "una actividad sin código propio",
	},
}
