package pt

import "tidemark/internal/locale"

// signalTexts are the texts of each signal by its id.
var signalTexts = map[string]locale.SignalTexts{
	"crack-spread-321": {
		Short: "Margem de refino", Figure: "US$\u00a0%s por barril", Gap: "US$\u00a0%s", Decimals: 2, Normal: "do normal", At: "no nível normal",
		Baseline: "média da mesma época nos cinco anos anteriores",
		Interval: "passeio aleatório desde o último preço",
		Truth:    "a margem do dia da leitura, ou do último dia anterior com os três preços, como a EIA a publicar pela primeira vez",
		Lead:     "Margem bruta de uma refinaria-modelo que transforma três barris de petróleo em dois de gasolina e um de diesel, em dólares por barril de petróleo, com preços diários à vista de Cushing (Oklahoma) e do porto de Nova York.",
		Parts: map[string]string{
			"wti_cushing":        "Petróleo WTI, Cushing (Oklahoma), à vista",
			"gasoline_ny_harbor": "Gasolina comum convencional, porto de Nova York, à vista",
			"ulsd_ny_harbor":     "Diesel de ultrabaixo enxofre, porto de Nova York, à vista",
			"previous_252_days":  "Margem ante os 252 pregões anteriores",
		},
		Figures: map[string]string{
			"spread": "Margem de refino 3:2:1, porto de Nova York, no último dia com preços até segunda-feira",
		},
	},
	"eia-weekly-petroleum": {
		Short: "Petróleo nos EUA", Figure: "%s milhões de barris", PerUnit: 1000, Decimals: 1, Normal: "do normal", At: "no nível normal",
		Baseline: "média da mesma semana nos cinco anos anteriores",
		Interval: "surpresas semanais dos cinco anos anteriores",
		Truth:    "os estoques da semana seguinte, como a EIA os publicar pela primeira vez",
		Lead:     "Estoques comerciais de petróleo dos Estados Unidos no fim da semana, sem a reserva estratégica, segundo o relatório semanal da EIA, comparados com a mesma semana dos cinco anos anteriores.",
		Parts: map[string]string{
			"week_change":          "Variação semanal dos estoques de petróleo",
			"seasonal_surprise":    "Variação menos a média da mesma semana nos cinco anos anteriores",
			"five_year_low":        "Mínimo da mesma semana nos cinco anos anteriores",
			"five_year_high":       "Máximo da mesma semana nos cinco anos anteriores",
			"gasoline_stocks":      "Estoques de gasolina",
			"distillate_stocks":    "Estoques de destilados",
			"refinery_utilisation": "Uso da capacidade de refino",
		},
		Figures: map[string]string{
			"crude_stocks_change":      "Variação semanal dos estoques comerciais de petróleo dos EUA",
			"gasoline_stocks_change":   "Variação semanal dos estoques de gasolina dos EUA",
			"distillate_stocks_change": "Variação semanal dos estoques de destilados dos EUA",
		},
	},
	"hormuz-transit": {
		Short: "Ormuz", Figure: "%s navios por dia", Normal: "do normal", At: "no nível normal",
		Baseline: "média da mesma época, de 2019 a 2024",
		Interval: "reestimativas das semanas passadas",
		Truth:    "a média dos mesmos sete dias como o PortWatch a reestimar da próxima vez, e não o número verdadeiro de navios",
		Lead:     "Navios que passam por dia pelo estreito de Ormuz, em média de sete dias, segundo as estimativas do PortWatch (FMI) com os sinais de rádio dos navios (AIS), comparados com a mesma época de 2019 a 2024.",
		Parts: map[string]string{
			"tankers":              "Petroleiros, média de sete dias",
			"previous_364_days":    "Todos os navios, média de sete dias, ante a de 364 dias antes",
			"days_of_bad_coverage": "Dias, entre os sete, em que passaram petroleiros e nenhum levava carga",
		},
		Figures: map[string]string{
			"ships_week": "Navios por dia no estreito de Ormuz, média da semana de segunda a domingo",
		},
	},
	"iowa-corn-yield": {
		Short: "Milho em Iowa", Figure: "%s toneladas por hectare", PerUnit: locale.BushelsPerTonne, Decimals: 2, Normal: "da sua tendência", At: "na sua tendência",
		Baseline: "tendência linear de 25 anos",
		Interval: "erros passados nesta etapa da safra",
		Truth:    "a produtividade final da safra, como o NASS a publicar pela primeira vez em janeiro; um número final não tem intervalo",
		Lead:     "Produtividade do milho em grão em Iowa, como pode ser prevista em cada etapa da safra: a tendência de 25 anos, a partir de agosto combinada com a previsão do NASS, e a partir de janeiro o número final.",
		Parts: map[string]string{
			"trend_25_years": "Tendência das 25 produtividades finais anteriores",
			"trend_slope":    "Inclinação da tendência",
			"nass_forecast":  "Previsão do NASS (USDA)",
			"forecast_share": "Peso da previsão na combinação",
			"newest_final":   "Última produtividade final",
		},
		Figures: map[string]string{
			"next_print": "Próximo número do USDA para a produtividade do milho em Iowa",
		},
	},
	"lng-arbitrage": {
		Short: "GNL dos EUA à Europa", Figure: "US$\u00a0%s por MMBtu", Gap: "US$\u00a0%s", Decimals: 2, Normal: "da sua mediana de cinco anos", At: "na sua mediana de cinco anos",
		Baseline: "mediana dos 60 meses anteriores",
		Interval: "faixa estimada dos custos",
		Truth:    "a margem com os custos verdadeiros de liquefação, frete e terminal, que não têm fonte gratuita",
		Lead:     "O que rende na Europa uma carga de gás natural liquefeito da costa americana do Golfo: o preço europeu do gás (TTF) menos 115% do Henry Hub, a liquefação, o frete e a regaseificação, com preços médios mensais do Banco Mundial.",
		Parts: map[string]string{
			"asia_proxy_japan_import":       "Margem para a Ásia com o preço de importação do Japão, um indicador lento que não é o JKM",
			"europe_short_run":              "Margem para a Europa sem a tarifa fixa de liquefação",
			"asia_proxy_short_run":          "Margem para a Ásia (preço de importação do Japão, não o JKM) sem a tarifa fixa de liquefação",
			"henry_hub":                     "Gás natural, Estados Unidos, Henry Hub, média mensal",
			"europe_gas":                    "Gás natural, Europa, TTF, média mensal",
			"japan_lng":                     "Gás natural liquefeito, Japão, preço de importação cif, média mensal",
			"assumed_hub_share":             "Premissa: preço do gás, em parte do Henry Hub",
			"assumed_tolling_fee":           "Premissa: tarifa fixa de liquefação",
			"assumed_shipping_europe":       "Premissa: frete para a Europa",
			"assumed_shipping_asia":         "Premissa: frete para a Ásia",
			"assumed_regasification_europe": "Premissa: regaseificação na Europa",
			"assumed_regasification_asia":   "Premissa: regaseificação na Ásia",
		},
		Figures: map[string]string{
			"margin_europe": "Margem do GNL dos EUA na Europa, com preços médios mensais",
		},
	},
	"tropomi-no2-economic": {
		Short: "NO2 sobre a indústria", Figure: "índice %s", Decimals: 1, Normal: "do normal", At: "no nível normal",
		Baseline: "média do mesmo mês nos anos anteriores",
		Interval: "anomalias passadas e dispersão das regiões",
		Truth:    "a parte do índice que não se deve nem ao tempo nem à escolha das regiões, e que nenhum instrumento mostra",
		Lead:     "Índice do dióxido de nitrogênio troposférico sobre oito regiões industriais da Ásia, da Europa e da América do Norte, com as médias mensais do instrumento TROPOMI: 100 é um mês habitual.",
		Parts: map[string]string{
			"yangtze": "Delta do Yangtzé, 30-33 N 118-122 L", "pearl": "Delta do rio das Pérolas, 22-23,5 N 112,5-114,5 L",
			"benelux_ruhr": "Benelux e Ruhr, 50,5-52,5 N 3,5-8 L", "po": "Vale do Pó, 44,5-46 N 8-12 L", "delhi": "Délhi, 28-29,2 N 76,5-78 L",
			"tokyo": "Baía de Tóquio, 35-36,2 N 139-140,5 L", "houston": "Houston, 29-30,5 N 96-94,5 O", "new_york": "Nova York, 40-41,5 N 75-73 O",
		},
		Figures: map[string]string{
			"index": "Índice do dióxido de nitrogênio sobre regiões industriais, mês seguinte",
		},
	},
}
