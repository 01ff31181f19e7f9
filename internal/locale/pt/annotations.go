package pt

// annotations are the sentences of the reviewed events by the id of the event. signals.Annotations lists the events.
var annotations = map[string]string{
	"katrina":        "O furacão Katrina chega à Louisiana. Refinarias e a produção de petróleo da costa do Golfo param.",
	"rita":           "O furacão Rita chega ao Texas e à Louisiana. Todas as refinarias entre Sweeny e Lake Charles param.",
	"opec-2014":      "A Opep mantém a meta de produção em 30 milhões de barris por dia apesar da queda dos preços.",
	"opec-2016":      "A Opep decide cortar a produção em 1,2 milhão de barris por dia a partir de janeiro de 2017.",
	"harvey":         "O furacão Harvey chega ao Texas e depois quase não se desloca.",
	"wuhan":          "A China suspende o transporte de entrada e saída de Wuhan. Outras cidades fazem o mesmo.",
	"pandemic":       "A Organização Mundial da Saúde classifica a covid-19 como pandemia.",
	"opec-2020":      "A Opep e aliados decidem cortar a produção em 9,7 milhões de barris por dia a partir de maio.",
	"wti-negative":   "O contrato futuro do WTI de vencimento mais próximo é negociado abaixo de zero pela primeira vez.",
	"derecho":        "Um derecho atravessa Iowa e danifica lavouras. As rajadas chegam a 159 km/h.",
	"ida":            "O furacão Ida chega à Louisiana.",
	"freeport":       "Uma explosão paralisa o terminal de exportação de GNL de Freeport, no Texas.",
	"nord-stream":    "A Gazprom suspende por tempo indeterminado o fornecimento de gás pelo Nord Stream 1.",
	"opec-2022":      "A Opep e aliados decidem cortar as metas de produção em 2 milhões de barris por dia a partir de novembro.",
	"hormuz-2026":    "Estados Unidos e Israel atacam o Irã. O Irã declara fechado o estreito de Ormuz, e armadores param seus navios.",
	"iea-2026":       "Membros da Agência Internacional de Energia decidem liberar 400 milhões de barris de estoques de emergência.",
	"ceasefire-2026": "Os primeiros navios cruzam o estreito de Ormuz após um cessar-fogo de duas semanas entre Estados Unidos e Irã.",
}
