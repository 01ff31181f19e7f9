package picks

import "golang.org/x/text/language"

//nolint:misspell // the words are Portuguese
var portuguese = voice{
	tag:     language.Portuguese,
	phrases: portuguesePhrases,
	units: map[Unit]string{
		Percent: "N%", Points: "N pontos percentuais", BasisPoint: "N pontos-base", Dollars: "US$\u00a0N",
		Millions: "US$\u00a0N milhões", Billions: "US$\u00a0N bilhões", Times: "N vezes", Count: "N", Thousands: "N mil",
		Deviations: "N desvios-padrão", Plain: "N", Barrels: "N milhões de barris",
	},
	months: [12]string{
		"janeiro", "fevereiro", "março", "abril", "maio", "junho", "julho", "agosto", "setembro", "outubro", "novembro", "dezembro",
	},
	date: "D de M de Y", monthOnly: "M de Y",
	terms: map[string]string{
		"and": "e",

		"sector.Technology": "tecnologia", "sector.Communications and Media": "comunicações e mídia", "sector.Health Care": "saúde",
		"sector.Finance": "finanças", "sector.Real Estate": "imóveis", "sector.Energy": "energia", "sector.Utilities": "serviços públicos",
		"sector.Chemicals": "química", "sector.Materials": "materiais", "sector.Industry": "indústria", "sector.Transport": "transporte",
		"sector.Everyday Goods": "consumo diário", "sector.Durable Goods": "bens duráveis", "sector.Trade": "comércio",
		"sector.Services": "serviços", "sector.Other": "outras empresas",

		"indicator.fomc":                  "a taxa dos fundos federais",
		"indicator.cpi":                   "a inflação ao consumidor dos Estados Unidos, variação mensal",
		"indicator.payrolls":              "a variação do emprego não agrícola dos Estados Unidos",
		"indicator.unemployment":          "a taxa de desemprego dos Estados Unidos",
		"indicator.gdp":                   "o crescimento econômico dos Estados Unidos, anualizado",
		"indicator.industrial-production": "a produção industrial dos Estados Unidos, variação mensal",
		"indicator.jobless-claims":        "o número de pedidos iniciais de seguro-desemprego nos Estados Unidos",
		"indicator.core-cpi":              "a inflação ao consumidor dos Estados Unidos sem alimentos e energia, variação mensal",
		"indicator.ecb":                   "a taxa de depósito do Banco Central Europeu",
		"indicator.hourly-earnings":       "a variação mensal do salário por hora nos Estados Unidos",
		"indicator.producer-prices":       "a variação mensal dos preços ao produtor nos Estados Unidos",
		"indicator.job-openings":          "o número de vagas de emprego abertas nos Estados Unidos",
		"indicator.crude-stocks":          "a variação dos estoques de petróleo dos Estados Unidos",

		"quarter.1": "primeiro trimestre", "quarter.2": "segundo trimestre", "quarter.3": "terceiro trimestre", "quarter.4": "quarto trimestre",

		"closed.held": "seu prazo de permanência terminou", "closed.replaced": "uma escolha mais recente tomou seu lugar",
		"closed.merger": "outra empresa a comprou", "closed.delisted": "suas ações deixaram de ser negociadas", "closed.silent": "já não tinha preço",

		"industry.agriculture": "agricultura", "industry.gold": "mineração de ouro", "industry.metal_mining": "mineração de metais",
		"industry.coal": "mineração de carvão", "industry.oil_services": "serviços para produtores de petróleo e gás",
		"industry.oil_gas": "produção de petróleo e gás", "industry.quarrying": "pedreiras e minerais", "industry.homebuilding": "construção de moradias",
		"industry.construction": "construção", "industry.beverages": "bebidas", "industry.food": "alimentos", "industry.tobacco": "tabaco",
		"industry.apparel": "roupas e calçados", "industry.wood_paper": "madeira, papel e embalagens", "industry.furniture": "móveis",
		"industry.publishing": "editoras", "industry.medicines": "medicamentos e biotecnologia",
		"industry.household_products": "produtos de limpeza e higiene", "industry.fertilizers": "fertilizantes e defensivos agrícolas",
		"industry.chemicals": "produtos químicos", "industry.refining": "refino de petróleo", "industry.plastics": "plásticos e borracha",
		"industry.glass_cement": "vidro, cimento e pedra", "industry.metals": "aço e outros metais", "industry.metal_products": "produtos de metal",
		"industry.farm_machinery": "máquinas agrícolas e de jardim", "industry.computers": "computadores e equipamentos de escritório",
		"industry.machinery": "máquinas", "industry.appliances": "eletrodomésticos", "industry.consumer_electronics": "eletrônicos de consumo",
		"industry.network_equipment": "equipamentos de comunicação", "industry.semiconductors": "semicondutores e componentes eletrônicos",
		"industry.medical_devices": "dispositivos médicos", "industry.electrical_equipment": "equipamentos elétricos",
		"industry.cars": "automóveis e autopeças", "industry.aerospace": "aeroespacial e defesa",
		"industry.transport_equipment": "navios, trens e outros veículos", "industry.instruments": "instrumentos de medição",
		"industry.leisure_goods": "artigos esportivos, brinquedos e câmeras", "industry.railways": "ferrovias",
		"industry.trucking": "transporte rodoviário e encomendas", "industry.shipping": "transporte marítimo", "industry.airlines": "transporte aéreo",
		"industry.pipelines": "oleodutos e gasodutos", "industry.logistics": "logística e viagens",
		"industry.broadcasting": "rádio, televisão e TV a cabo", "industry.telecoms": "telecomunicações", "industry.gas_utilities": "fornecimento de gás",
		"industry.water": "fornecimento de água", "industry.waste": "gestão de resíduos", "industry.power": "energia elétrica",
		"industry.wholesale": "comércio atacadista", "industry.home_stores": "lojas de materiais para a casa",
		"industry.general_stores": "lojas de departamentos e variedades", "industry.grocers": "supermercados", "industry.restaurants": "restaurantes",
		"industry.online_stores": "vendas pela internet e por catálogo", "industry.shops": "lojas especializadas", "industry.banks": "bancos",
		"industry.lenders": "crédito a consumidores e empresas", "industry.brokers": "corretagem e gestão de ativos",
		"industry.health_plans": "planos de saúde", "industry.insurance": "seguros", "industry.property_trusts": "fundos de investimento imobiliário",
		"industry.property": "imóveis", "industry.shells": "empresas sem atividade para aquisições", "industry.holdings": "empresas de participações",
		"industry.hotels": "hotéis e cassinos", "industry.advertising": "publicidade", "industry.software": "software e serviços de informática",
		"industry.film": "cinema e vídeo on-line", "industry.leisure": "lazer e entretenimento", "industry.business_services": "serviços para empresas",
		"industry.personal_services": "serviços pessoais e reparos", "industry.health_services": "hospitais e serviços de saúde",
		"industry.education": "educação", "industry.consulting": "engenharia, pesquisa e consultoria", "industry.other": "uma atividade sem código próprio",
	},
}
