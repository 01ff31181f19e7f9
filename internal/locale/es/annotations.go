package es

// annotations are the sentences of the reviewed events by the id of the event. signals.Annotations lists the events.
var annotations = map[string]string{
	"katrina":        "El huracán Katrina toca tierra en Luisiana. Cierran refinerías y la producción de petróleo de la costa del Golfo.",
	"rita":           "El huracán Rita llega a Texas y Luisiana. Cierran todas las refinerías entre Sweeny y Lake Charles.",
	"opec-2014":      "La OPEP mantiene su objetivo de producción en 30 millones de barriles diarios pese a la caída de los precios.",
	"opec-2016":      "La OPEP acuerda recortar la producción en 1,2 millones de barriles diarios desde enero de 2017.",
	"harvey":         "El huracán Harvey toca tierra en Texas y después apenas se desplaza.",
	"wuhan":          "China suspende el transporte de entrada y salida de Wuhan. Otras ciudades hacen lo mismo.",
	"pandemic":       "La Organización Mundial de la Salud califica la COVID-19 de pandemia.",
	"opec-2020":      "La OPEP y sus aliados acuerdan recortar la producción en 9,7 millones de barriles diarios desde mayo.",
	"wti-negative":   "El futuro del WTI con el vencimiento más próximo cotiza por debajo de cero por primera vez.",
	"derecho":        "Un derecho, un temporal de viento muy extenso, cruza Iowa y daña los cultivos. Las rachas alcanzan 159 km/h.",
	"ida":            "El huracán Ida toca tierra en Luisiana.",
	"freeport":       "Una explosión obliga a cerrar la terminal de exportación de GNL de Freeport, en Texas.",
	"nord-stream":    "Gazprom suspende indefinidamente el suministro de gas por el Nord Stream 1.",
	"opec-2022":      "La OPEP y sus aliados acuerdan recortar sus objetivos de producción en 2 millones de barriles diarios desde noviembre.",
	"hormuz-2026":    "Estados Unidos e Israel atacan Irán. Irán declara cerrado el estrecho de Ormuz y los armadores detienen sus buques.",
	"iea-2026":       "Los miembros de la Agencia Internacional de la Energía acuerdan liberar 400 millones de barriles de reservas de emergencia.",
	"ceasefire-2026": "Los primeros buques cruzan el estrecho de Ormuz tras una tregua de dos semanas entre Estados Unidos e Irán.",
}
