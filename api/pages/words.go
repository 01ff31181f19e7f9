package pages

import "tidemark/picks"

// words are what the frame of a page says, in one language.
type words struct {
	Skip, Main, Signals, Account, Catalog string
}

var allWords = map[picks.Lang]words{
	picks.English:    {Skip: "Skip to content", Main: "Main", Signals: "Signals", Account: "Account", Catalog: "Catalog as JSON"},
	picks.Spanish:    {Skip: "Ir al contenido", Main: "Principal", Signals: "Señales", Account: "Cuenta", Catalog: "Catálogo en JSON"},
	picks.Portuguese: {Skip: "Ir para o conteúdo", Main: "Principal", Signals: "Sinais", Account: "Conta", Catalog: "Catálogo em JSON"},
	picks.Hindi:      {Skip: "मुख्य सामग्री पर जाएँ", Main: "मुख्य", Signals: "संकेत", Account: "खाता", Catalog: "सूची (JSON)"},
}

func wordsOf(lang picks.Lang) words { return allWords[lang] }
