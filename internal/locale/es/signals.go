package es

import "tidemark/internal/locale"

// signalTexts are the texts of each signal by its id.
var signalTexts = map[string]locale.SignalTexts{
	"crack-spread-321": {
		Short: "Margen de refino", Figure: "%s dólares por barril", Gap: "%s dólares", Decimals: 2, Normal: "de lo normal", At: "en lo normal",
		Baseline: "media de la misma época en los cinco años anteriores",
		Interval: "paseo aleatorio desde el último precio",
		Truth:    "el margen del día de la lectura, o del último día anterior con los tres precios, tal como la EIA lo publique por primera vez",
		Lead:     "Margen bruto de una refinería modelo que convierte tres barriles de crudo en dos de gasolina y uno de diésel, en dólares por barril de crudo, con precios diarios al contado de Cushing (Oklahoma) y del puerto de Nueva York.",
		Parts: map[string]string{
			"wti_cushing":        "Crudo WTI, Cushing (Oklahoma), al contado",
			"gasoline_ny_harbor": "Gasolina regular convencional, puerto de Nueva York, al contado",
			"ulsd_ny_harbor":     "Diésel de ultrabajo azufre, puerto de Nueva York, al contado",
			"previous_252_days":  "Margen frente a las 252 sesiones anteriores",
		},
		Figures: map[string]string{
			"spread": "Margen de refino 3:2:1, puerto de Nueva York, del último día con precios hasta el lunes",
		},
	},
	"eia-weekly-petroleum": {
		Short: "Crudo en EE. UU.", Figure: "%s millones de barriles", PerUnit: 1000, Decimals: 1, Normal: "de lo normal", At: "en lo normal",
		Baseline: "media de la misma semana en los cinco años anteriores",
		Interval: "sorpresas semanales de los cinco años anteriores",
		Truth:    "las existencias de la semana siguiente, tal como la EIA las publique por primera vez",
		Lead:     "Existencias comerciales de crudo de Estados Unidos al final de la semana, sin la reserva estratégica, según el informe semanal de la EIA, comparadas con la misma semana de los cinco años anteriores.",
		Parts: map[string]string{
			"week_change":          "Variación semanal de las existencias de crudo",
			"seasonal_surprise":    "Variación menos la media de la misma semana en los cinco años anteriores",
			"five_year_low":        "Mínimo de la misma semana en los cinco años anteriores",
			"five_year_high":       "Máximo de la misma semana en los cinco años anteriores",
			"gasoline_stocks":      "Existencias de gasolina",
			"distillate_stocks":    "Existencias de destilados",
			"refinery_utilisation": "Uso de la capacidad de refino",
		},
		Figures: map[string]string{
			"crude_stocks_change":      "Variación semanal de las existencias comerciales de crudo en EE. UU.",
			"gasoline_stocks_change":   "Variación semanal de las existencias de gasolina en EE. UU.",
			"distillate_stocks_change": "Variación semanal de las existencias de destilados en EE. UU.",
		},
	},
	"hormuz-transit": {
		Short: "Ormuz", Figure: "%s buques al día", Normal: "de lo normal", At: "en lo normal",
		Baseline: "media de la misma época, de 2019 a 2024",
		Interval: "reestimaciones de las semanas pasadas",
		Truth:    "la media de los mismos siete días tal como PortWatch la reestime la próxima vez, y no el número verdadero de buques",
		Lead:     "Buques que cruzan cada día el estrecho de Ormuz, en media de siete días, según las estimaciones de PortWatch (FMI) a partir de las señales de radio de los buques (AIS), comparados con la misma época de 2019 a 2024.",
		Parts: map[string]string{
			"tankers":              "Petroleros, media de siete días",
			"previous_364_days":    "Todos los buques, media de siete días, frente a la de 364 días antes",
			"days_of_bad_coverage": "Días, de los siete, en que pasaron petroleros y ninguno llevaba carga",
		},
		Figures: map[string]string{
			"ships_week": "Buques al día por el estrecho de Ormuz, media de la semana de lunes a domingo",
		},
	},
	"iowa-corn-yield": {
		Short: "Maíz en Iowa", Figure: "%s toneladas por hectárea", PerUnit: locale.BushelsPerTonne, Decimals: 2, Normal: "de su tendencia", At: "en su tendencia",
		Baseline: "tendencia lineal de 25 años",
		Interval: "errores pasados en esta etapa de la campaña",
		Truth:    "el rendimiento final de la campaña, tal como el NASS lo publique por primera vez en enero; un dato final no tiene intervalo",
		Lead:     "Rendimiento del maíz de grano en Iowa, tal como puede preverse en cada etapa de la campaña: la tendencia de 25 años, desde agosto combinada con la previsión del NASS, y desde enero el dato final.",
		Parts: map[string]string{
			"trend_25_years": "Tendencia de los 25 rendimientos finales anteriores",
			"trend_slope":    "Pendiente de la tendencia",
			"nass_forecast":  "Previsión del NASS (USDA)",
			"forecast_share": "Peso de la previsión en la combinación",
			"newest_final":   "Último rendimiento final",
		},
		Figures: map[string]string{
			"next_print": "Próxima cifra del USDA del rendimiento del maíz en Iowa",
		},
	},
	"lng-arbitrage": {
		Short: "GNL de EE. UU. a Europa", Figure: "%s dólares por MMBtu", Gap: "%s dólares", Decimals: 2, Normal: "de su mediana de cinco años", At: "en su mediana de cinco años",
		Baseline: "mediana de los 60 meses anteriores",
		Interval: "rango estimado de los costes",
		Truth:    "el margen con los costes verdaderos de licuefacción, flete y terminal, que no tienen fuente gratuita",
		Lead:     "Lo que gana en Europa un cargamento de gas natural licuado de la costa estadounidense del golfo: el precio europeo del gas (TTF) menos el 115\u00a0% del Henry Hub, la licuefacción, el flete y la regasificación, con precios medios mensuales del Banco Mundial.",
		Parts: map[string]string{
			"asia_proxy_japan_import":       "Margen hacia Asia con el precio de importación de Japón, un indicador lento que no es el JKM",
			"europe_short_run":              "Margen hacia Europa sin la tarifa fija de licuefacción",
			"asia_proxy_short_run":          "Margen hacia Asia (precio de importación de Japón, no el JKM) sin la tarifa fija de licuefacción",
			"henry_hub":                     "Gas natural, Estados Unidos, Henry Hub, media mensual",
			"europe_gas":                    "Gas natural, Europa, TTF, media mensual",
			"japan_lng":                     "Gas natural licuado, Japón, precio de importación cif, media mensual",
			"assumed_hub_share":             "Supuesto: precio del gas, en parte del Henry Hub",
			"assumed_tolling_fee":           "Supuesto: tarifa fija de licuefacción",
			"assumed_shipping_europe":       "Supuesto: flete a Europa",
			"assumed_shipping_asia":         "Supuesto: flete a Asia",
			"assumed_regasification_europe": "Supuesto: regasificación en Europa",
			"assumed_regasification_asia":   "Supuesto: regasificación en Asia",
		},
		Figures: map[string]string{
			"margin_europe": "Margen del GNL de EE. UU. en Europa, con precios medios mensuales",
		},
	},
	"tropomi-no2-economic": {
		Short: "NO2 sobre la industria", Figure: "índice %s", Decimals: 1, Normal: "de lo normal", At: "en lo normal",
		Baseline: "media del mismo mes en los años anteriores",
		Interval: "anomalías pasadas y dispersión de las regiones",
		Truth:    "la parte del índice que no se debe ni al tiempo ni a la elección de las regiones, y que ningún instrumento muestra",
		Lead:     "Índice del dióxido de nitrógeno troposférico sobre ocho regiones industriales de Asia, Europa y América del Norte, con las medias mensuales del instrumento TROPOMI: 100 es un mes habitual.",
		Parts: map[string]string{
			"yangtze": "Delta del Yangtsé, 30-33 N 118-122 E", "pearl": "Delta del río de las Perlas, 22-23,5 N 112,5-114,5 E",
			"benelux_ruhr": "Benelux y Ruhr, 50,5-52,5 N 3,5-8 E", "po": "Valle del Po, 44,5-46 N 8-12 E", "delhi": "Delhi, 28-29,2 N 76,5-78 E",
			"tokyo": "Bahía de Tokio, 35-36,2 N 139-140,5 E", "houston": "Houston, 29-30,5 N 96-94,5 O", "new_york": "Nueva York, 40-41,5 N 75-73 O",
		},
		Figures: map[string]string{
			"index": "Índice del dióxido de nitrógeno sobre regiones industriales, mes siguiente",
		},
	},
}
