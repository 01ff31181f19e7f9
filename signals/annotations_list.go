//nolint:misspell // some of the words are Spanish and Portuguese
package signals

import "time"

// Annotations lists the annotations in ascending time.
func Annotations() []Annotation {
	const crack, stocks, gas, ships, air, corn = "crack-spread-321", "eia-weekly-petroleum", "lng-arbitrage", "hormuz-transit", "tropomi-no2-economic", "iowa-corn-yield"
	return []Annotation{
		{
			ID: "katrina", Day: eventDay(2005, time.August, 29), Signals: []string{crack, stocks},
			Text: map[string]string{
				"en": "Hurricane Katrina reaches Louisiana. Refineries and oil production on the Gulf Coast shut down.",
				"es": "El huracán Katrina llega a Luisiana. Cierran refinerías y la producción de petróleo de la costa del Golfo.",
				"pt": "O furacão Katrina chega à Louisiana. Refinarias e a produção de petróleo da costa do Golfo param.",
				"hi": "तूफ़ान कैटरीना लुइज़ियाना पहुँचा। खाड़ी तट की रिफ़ाइनरियाँ और तेल उत्पादन बंद हुए।",
			},
			Source: "https://www.everycrsreport.com/files/20050916_RS22233_d78004fb03271702ada23dfec1c87b7b4fc2c672.html",
		},
		{
			ID: "rita", Day: eventDay(2005, time.September, 24), Signals: []string{crack, stocks},
			Text: map[string]string{
				"en": "Hurricane Rita reaches Texas and Louisiana. All refineries between Sweeny and Lake Charles shut down.",
				"es": "El huracán Rita llega a Texas y Luisiana. Cierran todas las refinerías entre Sweeny y Lake Charles.",
				"pt": "O furacão Rita chega ao Texas e à Louisiana. Todas as refinarias entre Sweeny e Lake Charles param.",
				"hi": "तूफ़ान रीटा टेक्सस और लुइज़ियाना पहुँचा। स्वीनी से लेक चार्ल्स तक की सभी रिफ़ाइनरियाँ बंद हुईं।",
			},
			Source: "https://webarchive.library.unt.edu/eot2008/20090313034213/http:/tonto.eia.doe.gov/oog/info/twip/twiparch/050928/twipprint.html",
		},
		{
			ID: "opec-2014", Day: eventDay(2014, time.November, 27), Signals: []string{crack, stocks},
			Text: map[string]string{
				"en": "OPEC keeps its production target at 30 million barrels a day although prices fall.",
				"es": "La OPEP mantiene su objetivo de producción en 30 millones de barriles diarios pese a la caída de los precios.",
				"pt": "A Opep mantém a meta de produção em 30 milhões de barris por dia apesar da queda dos preços.",
				"hi": "क़ीमतें गिरने के बावजूद ओपेक ने उत्पादन लक्ष्य 3 करोड़ बैरल प्रतिदिन पर बनाए रखा।",
			},
			Source: "https://www.dw.com/en/oil-prices-plunge-after-opec-leaves-output-stable/a-18095567",
		},
		{
			ID: "opec-2016", Day: eventDay(2016, time.November, 30), Signals: []string{crack, stocks},
			Text: map[string]string{
				"en": "OPEC agrees to cut production by 1.2 million barrels a day from January 2017.",
				"es": "La OPEP acuerda recortar la producción en 1,2 millones de barriles diarios desde enero de 2017.",
				"pt": "A Opep decide cortar a produção em 1,2 milhão de barris por dia a partir de janeiro de 2017.",
				"hi": "ओपेक ने जनवरी 2017 से उत्पादन में 12 लाख बैरल प्रतिदिन की कटौती पर सहमति दी।",
			},
			Source: "https://fueloilnews.com/2016/12/08/opec-to-cut-production-effective-jan-1-2017/",
		},
		{
			ID: "harvey", Day: eventDay(2017, time.August, 25), Signals: []string{crack, stocks},
			Text: map[string]string{
				"en": "Hurricane Harvey reaches Texas and then hardly moves.",
				"es": "El huracán Harvey llega a Texas y después apenas se desplaza.",
				"pt": "O furacão Harvey chega ao Texas e depois quase não se desloca.",
				"hi": "तूफ़ान हार्वी टेक्सस पहुँचा और उसके बाद बहुत धीमे बढ़ा।",
			},
			Source: "https://www.nhc.noaa.gov/archive/2017/al09/al092017.discus.025.shtml",
		},
		{
			ID: "wuhan", Day: eventDay(2020, time.January, 23), Signals: []string{air},
			Text: map[string]string{
				"en": "China stops transport into and out of Wuhan. Other cities follow.",
				"es": "China suspende el transporte de entrada y salida de Wuhan. Otras ciudades siguen.",
				"pt": "A China suspende o transporte de entrada e saída de Wuhan. Outras cidades seguem.",
				"hi": "चीन ने वुहान में आवाजाही रोकी। इसके बाद दूसरे शहरों में भी रोक लगी।",
			},
			Source: "https://earthobservatory.nasa.gov/images/146362/airborne-nitrogen-dioxide-plummets-over-china",
		},
		{
			ID: "pandemic", Day: eventDay(2020, time.March, 11), Signals: []string{crack, stocks, gas, ships, air},
			Text: map[string]string{
				"en": "The World Health Organization calls COVID-19 a pandemic.",
				"es": "La Organización Mundial de la Salud califica la COVID-19 de pandemia.",
				"pt": "A Organização Mundial da Saúde classifica a covid-19 como pandemia.",
				"hi": "विश्व स्वास्थ्य संगठन ने कोविड-19 को महामारी घोषित किया।",
			},
			Source: "https://reliefweb.int/report/china/coronavirus-disease-2019-covid-19-situation-report-51-11-march-2020",
		},
		{
			ID: "opec-2020", Day: eventDay(2020, time.April, 12), Signals: []string{crack, stocks},
			Text: map[string]string{
				"en": "OPEC and its allies agree to cut production by 9.7 million barrels a day from May.",
				"es": "La OPEP y sus aliados acuerdan recortar la producción en 9,7 millones de barriles diarios desde mayo.",
				"pt": "A Opep e aliados decidem cortar a produção em 9,7 milhões de barris por dia a partir de maio.",
				"hi": "ओपेक और सहयोगियों ने मई से उत्पादन में 97 लाख बैरल प्रतिदिन की कटौती पर सहमति दी।",
			},
			Source: "https://www.thevaluechainng.com/10th-extraordinary-opec-non-opec-ministerial-meeting-concludes/",
		},
		{
			ID: "wti-negative", Day: eventDay(2020, time.April, 20), Signals: []string{crack, stocks},
			Text: map[string]string{
				"en": "The front-month WTI future trades below zero for the first time.",
				"es": "El futuro del WTI con el vencimiento más próximo cotiza por debajo de cero por primera vez.",
				"pt": "O contrato futuro do WTI de vencimento mais próximo é negociado abaixo de zero pela primeira vez.",
				"hi": "डब्ल्यूटीआई का निकटतम वायदा पहली बार शून्य से नीचे गया।",
			},
			Source: "https://www.eia.gov/petroleum/weekly/archive/2020/200422/includes/analysis_print.php",
		},
		{
			ID: "derecho", Day: eventDay(2020, time.August, 10), Signals: []string{corn},
			Text: map[string]string{
				"en": "A derecho crosses Iowa and damages crops. Gusts reach 99 miles an hour.",
				"es": "Un derecho cruza Iowa y daña los cultivos. Las rachas alcanzan 159 km/h.",
				"pt": "Um derecho atravessa Iowa e danifica lavouras. As rajadas chegam a 159 km/h.",
				"hi": "डेरेचो आँधी आयोवा से गुज़री और फ़सलों को नुक़सान हुआ। झोंके 159 किमी प्रति घंटे तक पहुँचे।",
			},
			Source: "https://www.weather.gov/dmx/2020derecho",
		},
		{
			ID: "ida", Day: eventDay(2021, time.August, 29), Signals: []string{crack, stocks},
			Text: map[string]string{
				"en": "Hurricane Ida reaches Louisiana.",
				"es": "El huracán Ida llega a Luisiana.",
				"pt": "O furacão Ida chega à Louisiana.",
				"hi": "तूफ़ान आइडा लुइज़ियाना पहुँचा।",
			},
			Source: "https://www.nhc.noaa.gov/archive/2021/al09/al092021.discus.015.shtml",
		},
		{
			ID: "freeport", Day: eventDay(2022, time.June, 8), Signals: []string{gas},
			Text: map[string]string{
				"en": "An explosion shuts down the Freeport LNG export terminal in Texas.",
				"es": "Una explosión obliga a cerrar la terminal de exportación de GNL de Freeport, en Texas.",
				"pt": "Uma explosão paralisa o terminal de exportação de GNL de Freeport, no Texas.",
				"hi": "विस्फोट के बाद टेक्सस का फ़्रीपोर्ट एलएनजी निर्यात टर्मिनल बंद हुआ।",
			},
			Source: "https://jepic-usa.org/digests/2022/6/14/usa-texas-lng-export-processing-plant-to-shut-down-for-at-least-three-weeks-following-explosion",
		},
		{
			ID: "nord-stream", Day: eventDay(2022, time.September, 2), Signals: []string{gas},
			Text: map[string]string{
				"en": "Gazprom halts gas supplies through Nord Stream 1 indefinitely.",
				"es": "Gazprom suspende indefinidamente el suministro de gas por el Nord Stream 1.",
				"pt": "A Gazprom suspende por tempo indeterminado o fornecimento de gás pelo Nord Stream 1.",
				"hi": "गज़प्रोम ने नॉर्ड स्ट्रीम 1 से गैस की आपूर्ति अनिश्चित काल के लिए रोकी।",
			},
			Source: "https://kyivindependent.com/news-feed/russia-halts-gas-supplies-via-nord-stream-1-pipeline-indefinitely",
		},
		{
			ID: "opec-2022", Day: eventDay(2022, time.October, 5), Signals: []string{crack, stocks},
			Text: map[string]string{
				"en": "OPEC and its allies agree to cut production targets by 2 million barrels a day from November.",
				"es": "La OPEP y sus aliados acuerdan recortar sus objetivos de producción en 2 millones de barriles diarios desde noviembre.",
				"pt": "A Opep e aliados decidem cortar as metas de produção em 2 milhões de barris por dia a partir de novembro.",
				"hi": "ओपेक और सहयोगियों ने नवंबर से उत्पादन लक्ष्य में 20 लाख बैरल प्रतिदिन की कटौती पर सहमति दी।",
			},
			Source: "https://www.en.portnews.ru/news/336618/",
		},
		{
			ID: "hormuz-2026", Day: eventDay(2026, time.February, 28), Signals: []string{crack, stocks, gas, ships},
			Text: map[string]string{
				"en": "The United States and Israel strike Iran. Iran says that the Strait of Hormuz is closed, and owners stop their ships.",
				"es": "Estados Unidos e Israel atacan Irán. Irán declara cerrado el estrecho de Ormuz y los armadores detienen sus buques.",
				"pt": "Estados Unidos e Israel atacam o Irã. O Irã declara fechado o Estreito de Ormuz, e armadores param seus navios.",
				"hi": "अमेरिका और इज़राइल ने ईरान पर हमला किया। ईरान ने होर्मुज़ जलडमरूमध्य बंद घोषित किया और जहाज़ मालिकों ने जहाज़ रोके।",
			},
			Source: "https://arynews.tv/hormuz-oil-and-gas-majors-and-traders-suspend-shipments-as-us-attacks-iran",
		},
		{
			ID: "iea-2026", Day: eventDay(2026, time.March, 11), Signals: []string{crack, stocks},
			Text: map[string]string{
				"en": "Members of the International Energy Agency agree to release 400 million barrels of emergency stocks.",
				"es": "Los miembros de la Agencia Internacional de la Energía acuerdan liberar 400 millones de barriles de reservas de emergencia.",
				"pt": "Membros da Agência Internacional de Energia decidem liberar 400 milhões de barris de estoques de emergência.",
				"hi": "अंतरराष्ट्रीय ऊर्जा एजेंसी के सदस्यों ने आपात भंडार से 40 करोड़ बैरल जारी करने पर सहमति दी।",
			},
			Source: "https://www.semafor.com/article/03/11/2026/ieas-plan-to-release-oil-reserves-fails-to-calm-markets",
		},
		{
			ID: "ceasefire-2026", Day: eventDay(2026, time.April, 8), Signals: []string{ships},
			Text: map[string]string{
				"en": "First ships pass the Strait of Hormuz after the United States and Iran agree on a ceasefire of two weeks.",
				"es": "Los primeros buques cruzan el estrecho de Ormuz tras una tregua de dos semanas entre Estados Unidos e Irán.",
				"pt": "Os primeiros navios cruzam o Estreito de Ormuz após um cessar-fogo de duas semanas entre Estados Unidos e Irã.",
				"hi": "अमेरिका और ईरान के दो हफ़्ते के युद्धविराम के बाद पहले जहाज़ होर्मुज़ जलडमरूमध्य से गुज़रे।",
			},
			Source: "https://www.gbnews.com/news/iran-ships-strait-hormuz-donald-trump-strikes",
		},
	}
}
