package en

// annotations are the sentences of the reviewed events by the id of the event. signals.Annotations lists the events.
var annotations = map[string]string{
	"katrina":        "Hurricane Katrina makes landfall in Louisiana. Refineries and oil production on the Gulf Coast shut down.",
	"rita":           "Hurricane Rita makes landfall near the border of Texas and Louisiana. All refineries between Sweeny and Lake Charles shut down.",
	"opec-2014":      "OPEC keeps its production target at 30 million barrels a day despite falling prices.",
	"opec-2016":      "OPEC agrees to cut production by 1.2 million barrels a day from January 2017.",
	"harvey":         "Hurricane Harvey makes landfall in Texas, then stalls.",
	"wuhan":          "China halts transport into and out of Wuhan. Other cities follow.",
	"pandemic":       "The World Health Organization declares COVID-19 a pandemic.",
	"opec-2020":      "OPEC and its allies agree to cut production by 9.7 million barrels a day from May.",
	"wti-negative":   "The front-month WTI futures contract trades below zero for the first time.",
	"derecho":        "A derecho, a line of severe windstorms, crosses Iowa and damages crops. Gusts reach 99 miles an hour.",
	"ida":            "Hurricane Ida makes landfall in Louisiana.",
	"freeport":       "An explosion shuts down the Freeport LNG export terminal in Texas.",
	"nord-stream":    "Gazprom halts gas supplies through Nord Stream 1 indefinitely.",
	"opec-2022":      "OPEC and its allies agree to cut production targets by 2 million barrels a day from November.",
	"hormuz-2026":    "The United States and Israel strike Iran. Iran says that the Strait of Hormuz is closed, and shipowners halt their vessels.",
	"iea-2026":       "Members of the International Energy Agency agree to release 400 million barrels of emergency stocks.",
	"ceasefire-2026": "The first ships pass through the Strait of Hormuz after the United States and Iran agree to a two-week ceasefire.",
}
