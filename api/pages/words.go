package pages

import (
	"fmt"
	"math"
	"strings"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	xnumber "golang.org/x/text/number"

	"tidemark/picks"
)

// words are what the pages say around the data: each in Spanish, English, Portuguese and Hindi.
var words = map[string][4]string{
	// The frame.
	"skip":      {"Ir al contenido", "Skip to content", "Ir para o conteúdo", "मुख्य सामग्री पर जाएँ"},
	"main":      {"Principal", "Main", "Principal", "मुख्य"},
	"signals":   {"Señales", "Signals", "Sinais", "संकेत"},
	"picks":     {"Selecciones", "Picks", "Seleções", "चयन"},
	"portfolio": {"Cartera", "Portfolio", "Carteira", "पोर्टफ़ोलियो"},
	"events":    {"Eventos", "Events", "Eventos", "घटनाएँ"},
	"economy":   {"Economía", "Economy", "Economia", "अर्थव्यवस्था"},
	"digest":    {"Resumen", "Digest", "Resumo", "सार"},
	"verify":    {"Verificar", "Verify", "Verificar", "जाँचें"},
	"docs":      {"Documentación", "Docs", "Documentação", "दस्तावेज़"},
	"account":   {"Cuenta", "Account", "Conta", "खाता"},
	"catalog":   {"Catálogo en JSON", "Catalog as JSON", "Catálogo em JSON", "सूची (JSON)"},
	"status":    {"Estado", "Status", "Situação", "स्थिति"},
	"changelog": {"Cambios", "Changelog", "Alterações", "बदलाव"},
	"terms":     {"Condiciones", "Terms", "Termos", "शर्तें"},
	"feed":      {"Canal Atom", "Atom feed", "Feed Atom", "एटम फ़ीड"},
	"language":  {"Idioma", "Language", "Idioma", "भाषा"},
	"unknown":   {"desconocido", "unknown", "desconhecido", "अज्ञात"},
	"newest":    {"Lo más reciente", "Newest", "Mais recentes", "सबसे नए"},
	"older":     {"Anteriores", "Older", "Anteriores", "पुराने"},
	"all":       {"Todas", "All", "Todas", "सभी"},
	"source":    {"Fuente", "Source", "Fonte", "स्रोत"},
	"sources":   {"Fuentes", "Sources", "Fontes", "स्रोत"},
	"disclaim": {
		"Información editorial, no asesoramiento de inversión personalizado.", "Editorial information, not personalized investment advice.",
		"Informação editorial, não recomendação de investimento personalizada.", "यह संपादकीय जानकारी है, व्यक्तिगत निवेश सलाह नहीं।",
	},
	"synthetic": {
		"Datos sintéticos: esto es una demostración. Ningún número de aquí describe un mercado real.", syntheticBanner,
		"Dados sintéticos: isto é uma demonstração. Nenhum número aqui descreve um mercado real.",
		"कृत्रिम आँकड़े: यह एक प्रदर्शन है। यहाँ का कोई अंक किसी असली बाज़ार का नहीं है।",
	},
	"replayed": {
		"Repetición de datos grabados: esto es una demostración. Los números son los de la grabación, no los de hoy.", replayBanner,
		"Repetição de dados gravados: isto é uma demonstração. Os números são os da gravação, não os de hoje.",
		"दर्ज आँकड़ों का पुनः प्रदर्शन: ये अंक रिकॉर्डिंग के हैं, आज के नहीं।",
	},

	// Picks.
	"picks.lead": {
		"Una acción cada día bursátil, elegida con un método publicado. Cada una se anota en una cadena que nadie puede reescribir, también cuando sale mal.",
		"One share each trading day, chosen by a published method. Each is written into a chain that nobody can rewrite, also when it turns out badly.",
		"Uma ação por dia de pregão, escolhida por um método publicado. Cada uma é gravada numa cadeia que ninguém pode reescrever, também quando dá errado.",
		"हर कारोबारी दिन एक शेयर, एक प्रकाशित पद्धति से चुना हुआ। हर चयन ऐसी शृंखला में दर्ज होता है जिसे कोई दोबारा नहीं लिख सकता, तब भी जब वह ग़लत निकले।",
	},
	"latest":      {"La selección más reciente", "The latest pick", "A seleção mais recente", "सबसे नया चयन"},
	"date":        {"Fecha", "Date", "Data", "तारीख़"},
	"company":     {"Empresa", "Company", "Empresa", "कंपनी"},
	"sector":      {"Sector", "Sector", "Setor", "क्षेत्र"},
	"country":     {"País", "Country", "País", "देश"},
	"price":       {"Precio", "Price", "Preço", "भाव"},
	"last price":  {"Último precio", "Last price", "Último preço", "ताज़ा भाव"},
	"return":      {"Rendimiento", "Return", "Retorno", "प्रतिफल"},
	"excess":      {"Frente al índice", "Against the index", "Contra o índice", "सूचकांक के मुक़ाबले"},
	"open":        {"abierta", "open", "aberta", "खुला"},
	"closed":      {"cerrada", "closed", "fechada", "बंद"},
	"attestation": {"Atestación", "Attestation", "Atestação", "सत्यापन"},
	"confirmed":   {"confirmada", "confirmed", "confirmada", "पुष्ट"},
	"submitted":   {"enviada", "submitted", "enviada", "भेजा गया"},
	"pending":     {"pendiente", "pending", "pendente", "लंबित"},
	"failed":      {"fallida", "failed", "falhou", "विफल"},
	"no picks":    {"Aún no se ha anunciado ninguna selección.", "No pick is announced yet.", "Nenhuma seleção foi anunciada ainda.", "अभी तक कोई चयन घोषित नहीं हुआ है।"},

	"number":   {"Número", "Number", "Número", "क्रमांक"},
	"in chain": {"Anteriores, en la cadena", "Older picks, in the chain", "Anteriores, na cadeia", "पुराने चयन, शृंखला में"},

	// How much of a page is shown.
	"note.picks": {
		"Aquí están las cinco selecciones más recientes con sus rendimientos. Las anteriores se muestran como están en la cadena; lo que fue de ellas se ve con una clave.",
		"The latest five picks are here with their returns. Older picks are shown as the chain has them; a key shows what became of them.",
		"Aqui estão as cinco seleções mais recentes com seus retornos. As anteriores aparecem como estão na cadeia; com uma chave vê-se o que foi feito delas.",
		"यहाँ सबसे नए पाँच चयन अपने प्रतिफल के साथ हैं। पुराने चयन वैसे दिखते हैं जैसे शृंखला में हैं; उनका आगे क्या हुआ, यह कुंजी से दिखता है।",
	},
	"note.research": {
		"Los textos sobre las selecciones anunciadas son gratuitos. Con una clave se ven las cifras y cada número con su fuente.",
		"The texts on announced picks are free. A key shows the figures, and every number with its source.",
		"Os textos sobre as seleções anunciadas são gratuitos. Com uma chave veem-se os números e a fonte de cada um.",
		"घोषित चयनों के लेख मुफ़्त हैं। कुंजी से आँकड़े और हर अंक का स्रोत दिखता है।",
	},
	"note.portfolio": {
		"El resumen, las mejores y peores posiciones y un punto por semana son gratuitos. Con una clave se ven cada día, todas las posiciones, los sectores y las regiones.",
		"The summary, the best and worst positions and a point a week are free. A key shows every day, all positions, the sectors and the regions.",
		"O resumo, as melhores e piores posições e um ponto por semana são gratuitos. Com uma chave veem-se cada dia, todas as posições, os setores e as regiões.",
		"सारांश, सबसे अच्छी और सबसे ख़राब होल्डिंग और हर सप्ताह का एक बिंदु मुफ़्त हैं। कुंजी से हर दिन, सभी होल्डिंग, क्षेत्र और इलाक़े दिखते हैं।",
	},
	"note.events": {
		"Lo que pasa en torno a las empresas de la cartera se ve con una clave. Aquí hay como ejemplo un evento de hace una semana o más.",
		"What happens around the companies of the portfolio is shown with a key. Here is one event as an example, a week old or older.",
		"O que acontece em torno das empresas da carteira é visto com uma chave. Aqui há, como exemplo, um evento de uma semana atrás ou mais.",
		"पोर्टफ़ोलियो की कंपनियों के आसपास की घटनाएँ कुंजी से दिखती हैं। यहाँ उदाहरण के लिए एक सप्ताह या उससे पुरानी एक घटना है।",
	},
	"note.digest": {
		"El resumen de cada semana se ve con una clave. Aquí están las cifras macro y las señales de la semana, que son gratuitas.",
		"The digest of each week is shown with a key. Here are the macro figures and the signals of the week, which are free.",
		"O resumo de cada semana é visto com uma chave. Aqui estão os números macro e os sinais da semana, que são gratuitos.",
		"हर सप्ताह का सार कुंजी से दिखता है। यहाँ सप्ताह के व्यापक आर्थिक आँकड़े और संकेत हैं, जो मुफ़्त हैं।",
	},
	"note.cost": {
		"Con una clave, toda la página cuesta %s USD, y nada más durante diez minutos.", "With a key the whole page costs %s USD, and nothing more for ten minutes.",
		"Com uma chave, a página inteira custa %s USD, e nada mais durante dez minutos.", "कुंजी से पूरा पृष्ठ %s USD का है, और दस मिनट तक दोबारा देखने पर कुछ नहीं लगता।",
	},
	"note.nothing": {
		"Con una clave, toda la página es gratuita.", "With a key the whole page costs nothing.", "Com uma chave, a página inteira é gratuita.", "कुंजी से पूरा पृष्ठ मुफ़्त है।",
	},
	"note.plan": {
		"Una clave del plan Pro muestra toda la página.", "A key on the Pro plan shows the whole page.", "Uma chave do plano Pro mostra a página inteira.", "प्रो योजना की कुंजी पूरा पृष्ठ दिखाती है।",
	},
	"note.paid": {
		"Usted ve esta página con su clave: cuesta %s USD, y nada más durante diez minutos.", "You see this page with your key: it costs %s USD, and nothing more for ten minutes.",
		"Você vê esta página com sua chave: ela custa %s USD, e nada mais durante dez minutos.", "आप यह पृष्ठ अपनी कुंजी से देख रहे हैं: यह %s USD का है, और दस मिनट तक दोबारा देखने पर कुछ नहीं लगता।",
	},
	"note.seen": {"Usted ve esta página con su clave.", "You see this page with your key.", "Você vê esta página com sua chave.", "आप यह पृष्ठ अपनी कुंजी से देख रहे हैं।"},
	"note.sandbox": {
		"Este entorno de prueba lo muestra todo (PAGES=full). Un servicio real muestra gratis las cinco selecciones más recientes, y el resto con una clave.",
		"This sandbox shows everything (PAGES=full). A live service shows the latest five picks for nothing, and the rest with a key.",
		"Este ambiente de teste mostra tudo (PAGES=full). Um serviço real mostra de graça as cinco seleções mais recentes, e o resto com uma chave.",
		"यह सैंडबॉक्स सब कुछ दिखाता है (PAGES=full)। असली सेवा सबसे नए पाँच चयन मुफ़्त दिखाती है, और बाक़ी कुंजी से।",
	},
	"get key": {"Obtener una clave", "Get a key", "Obter uma chave", "कुंजी लें"},
	"sign in": {"Entrar", "Sign in", "Entrar", "साइन इन करें"},

	// Research.
	"research":      {"Análisis", "Research", "Análise", "विश्लेषण"},
	"pick":          {"La selección", "The pick", "A seleção", "चयन"},
	"figures":       {"Cifras", "Figures", "Números", "आँकड़े"},
	"market value":  {"Valor en bolsa", "Market value", "Valor de mercado", "बाज़ार मूल्य"},
	"billion usd":   {"mil millones de dólares", "billion dollars", "bilhões de dólares", "अरब डॉलर"},
	"pe":            {"Precio entre beneficio", "Price to earnings", "Preço sobre lucro", "मुनाफ़े के मुक़ाबले भाव"},
	"growth":        {"Crecimiento de ingresos", "Revenue growth", "Crescimento da receita", "आमदनी में वृद्धि"},
	"record":        {"En el registro", "In the record", "No registro", "अभिलेख में"},
	"position":      {"Posición en la cadena", "Place in the chain", "Posição na cadeia", "शृंखला में स्थान"},
	"preimage":      {"Texto resumido", "What is hashed", "Texto resumido pelo hash", "जिसका हैश बना"},
	"commit":        {"Registro git", "Git ledger", "Registro git", "गिट बहीखाता"},
	"check it":      {"Compruébelo en su navegador", "Check it in your browser", "Confira no seu navegador", "अपने ब्राउज़र में जाँचें"},
	"correction":    {"Corrección", "Correction", "Correção", "सुधार"},
	"evidence":      {"Prueba", "Evidence", "Prova", "प्रमाण"},
	"facts":         {"Cada número del texto", "Every number in the text", "Cada número do texto", "लेख का हर अंक"},
	"fact":          {"Dato", "Fact", "Dado", "तथ्य"},
	"value":         {"Valor", "Value", "Valor", "मान"},
	"as of":         {"A fecha de", "As of", "Em", "तारीख़"},
	"computed":      {"calculado", "computed", "calculado", "गणना से"},
	"updated":       {"Actualizado", "Updated", "Atualizado", "अद्यतन"},
	"other picks":   {"Todas las selecciones de esta empresa", "All picks of this company", "Todas as seleções desta empresa", "इस कंपनी के सभी चयन"},
	"written rules": {"escrito por reglas publicadas", "written by published rules", "escrito por regras publicadas", "प्रकाशित नियमों से लिखा गया"},
	"written model": {"redactado por un modelo de lenguaje y comprobado número a número", "written by a language model and checked number by number", "redigido por um modelo de linguagem e conferido número a número", "भाषा मॉडल का लिखा, हर अंक जाँचा हुआ"},

	// Events, the economy, the digest.
	"events.lead": {
		"Lo que pasa en torno a las empresas de la cartera.", "What happens around the companies of the portfolio.",
		"O que acontece em torno das empresas da carteira.", "पोर्टफ़ोलियो की कंपनियों के आसपास क्या हो रहा है।",
	},
	"severity":   {"Importancia", "Severity", "Gravidade", "गंभीरता"},
	"severity 1": {"nota", "note", "nota", "सूचना"},
	"severity 2": {"baja", "low", "baixa", "कम"},
	"severity 3": {"notable", "notable", "notável", "उल्लेखनीय"},
	"severity 4": {"alta", "high", "alta", "ज़्यादा"},
	"severity 5": {"crítica", "critical", "crítica", "गंभीर"},
	"from":       {"desde", "from", "a partir de", "से ऊपर"},
	"nothing":    {"Aún no hay nada.", "There is nothing yet.", "Ainda não há nada.", "अभी कुछ नहीं है।"},
	"economy.lead": {
		"Las cifras macro tal como se publicaron la primera vez, frente a lo que esperaba una regla publicada.",
		"Macro figures as they were first published, against what a published rule expected.",
		"Os números macro como foram publicados pela primeira vez, contra o que uma regra publicada esperava.",
		"व्यापक आर्थिक आँकड़े जैसे पहली बार प्रकाशित हुए, और एक प्रकाशित नियम की अपेक्षा।",
	},
	"actual":    {"Dato", "Actual", "Resultado", "वास्तविक"},
	"expected":  {"Esperado", "Expected", "Esperado", "अपेक्षित"},
	"previous":  {"Anterior", "Previous", "Anterior", "पिछला"},
	"surprise":  {"Sorpresa (z)", "Surprise (z)", "Surpresa (z)", "अंतर (z)"},
	"analysis":  {"Análisis", "Analysis", "Análise", "विश्लेषण"},
	"week":      {"Semana", "Week", "Semana", "सप्ताह"},
	"benchmark": {"Índice", "Benchmark", "Índice", "सूचकांक"},
	"added":     {"Añadidas", "Added", "Adicionadas", "जोड़े गए"},
	"removed":   {"Retiradas", "Removed", "Removidas", "हटाए गए"},
	"z":         {"z", "z", "z", "z"},
}

// local writes in one language: words, dates, and numbers with the grouping of the language, which in Hindi is 12,34,567.
type local struct{ Lang picks.Lang }

// column is the place of a language among the words.
func (l local) column() int {
	for i, lang := range picks.Langs() {
		if lang == l.Lang {
			return i
		}
	}
	return 1
}

// T is a word. One that is not there is a programmer's error.
func (l local) T(id string) string {
	w, ok := words[id]
	if !ok {
		panic("there is no word for " + id)
	}
	return w[l.column()]
}

// tags are the languages as x/text knows them.
var tags = map[picks.Lang]language.Tag{
	picks.Spanish: language.Spanish, picks.English: language.English, picks.Portuguese: language.BrazilianPortuguese, picks.Hindi: language.Hindi,
}

func (l local) decimals(v float64, n int) string {
	s := message.NewPrinter(tags[l.Lang]).Sprint(xnumber.Decimal(math.Abs(v), xnumber.Scale(n)))
	return s
}

// Num writes a number with so many decimals.
func (l local) Num(f *float64, n int) string {
	if f == nil {
		return l.T("unknown")
	}
	s := l.decimals(*f, n)
	if *f < 0 && strings.Trim(s, "0.,") != "" {
		return "−" + s
	}
	return s
}

// Pct writes a percentage with its sign and two decimals.
func (l local) Pct(f *float64) string {
	if f == nil {
		return l.T("unknown")
	}
	s := l.Num(f, 2)
	if *f > 0 && strings.Trim(s, "0.,") != "" {
		s = "+" + s
	}
	return s + l.percent()
}

// Share writes a part of 100 with two decimals.
func (l local) Share(v float64) string { return l.Num(&v, 2) + l.percent() }

// percent is the sign, after the space that the language wants.
func (l local) percent() string {
	if l.Lang == picks.English || l.Lang == picks.Hindi {
		return "%"
	}
	return "\u00a0%"
}

// Price writes a price as it was recorded, with the grouping of the language. The hashed text itself is shown elsewhere.
func (l local) Price(text string) string {
	var v float64
	if _, err := fmt.Sscanf(text, "%g", &v); err != nil {
		return text
	}
	_, fraction, _ := strings.Cut(text, ".")
	return l.decimals(v, len(fraction))
}

// Fact writes a plain decimal text; a text that is no number stays as it is.
func (l local) Fact(text string) string {
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || strings.Trim(digits, "0123456789.") != "" || strings.Count(digits, ".") > 1 {
		return text
	}
	out := l.Price(digits)
	if digits != text {
		return "−" + out
	}
	return out
}

// Date writes a day that is given as YYYY-MM-DD, or as an instant, of which it is the day in UTC.
func (l local) Date(day any) string {
	var at time.Time
	switch d := day.(type) {
	case string:
		var err error
		if at, err = time.Parse(time.DateOnly, d); err != nil {
			return d
		}
	case *string:
		if d == nil {
			return l.T("unknown")
		}
		return l.Date(*d)
	default:
		at = timeOf(day).UTC()
	}
	return picks.WriteDate(l.Lang, at)
}

// Sector is the name of a sector.
func (l local) Sector(name string) string { return sentence(picks.WriteTerm(l.Lang, "sector."+name)) }

// Country is the name of a country by its code; an unknown one is said to be so.
func (l local) Country(code string) string {
	if code == "" {
		return l.T("unknown")
	}
	return picks.WriteTerm(l.Lang, "country."+code)
}

// Tone is the class of a number: up, down or none.
func (l local) Tone(f *float64) string {
	switch {
	case f == nil || *f == 0:
		return ""
	case *f > 0:
		return "up"
	}
	return "down"
}

// languages are the names of the languages, each in itself.
var languages = map[picks.Lang]string{picks.Spanish: "Español", picks.English: "English", picks.Portuguese: "Português", picks.Hindi: "हिन्दी"}
