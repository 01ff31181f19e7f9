package pages

import "strings"

// codes are the languages of the examples. The first is the default. plain asks without a key and keyed with one. Both print JSON; text
// prints a table, without a key. ADDRESS is the URL, COLUMNS are the names of the columns to print, and CELLS are
// a row's cells of them in Python.
var codes = []struct{ id, name, plain, keyed, text string }{
	{
		"curl", "curl",
		`curl 'ADDRESS'`,
		`curl -H "Authorization: Bearer $TIDEMARK_KEY" 'ADDRESS'`,
		`curl 'ADDRESS'`,
	},
	{
		"python", "Python",
		`import json, urllib.request

with urllib.request.urlopen("ADDRESS") as answer:
    print(json.dumps(json.load(answer), indent=2))`,
		`import json, os, urllib.request

request = urllib.request.Request("ADDRESS",
    headers={"Authorization": "Bearer " + os.environ["TIDEMARK_KEY"]})
with urllib.request.urlopen(request) as answer:
    print(json.dumps(json.load(answer), indent=2))`,
		`import csv, io, urllib.request

with urllib.request.urlopen("ADDRESS") as answer:
    for row in csv.DictReader(io.TextIOWrapper(answer)):
        print(CELLS)`,
	},
	{
		"go", "Go",
		goStart + `	answer, err := http.Get("ADDRESS")
` + goEnd,
		strings.Replace(goStart, `	"net/http"
`, `	"net/http"
	"os"
`, 1) + `	request, err := http.NewRequest(http.MethodGet, "ADDRESS", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+os.Getenv("TIDEMARK_KEY"))
	answer, err := http.DefaultClient.Do(request)
` + goEnd,
		goStart + `	answer, err := http.Get("ADDRESS")
` + goEnd,
	},
	{
		"typescript", "TypeScript",
		`const answer = await fetch("ADDRESS");
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.json());`,
		`const answer = await fetch("ADDRESS", {
  headers: { Authorization: ` + "`Bearer ${process.env.TIDEMARK_KEY}`" + ` },
});
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.json());`,
		`const answer = await fetch("ADDRESS");
if (!answer.ok) throw new Error(await answer.text());
console.log(await answer.text());`,
	},
	{
		"r", "R",
		`library(jsonlite)

answer <- fromJSON("ADDRESS")
str(answer)`,
		`library(httr2)

answer <- request("ADDRESS") |>
  req_auth_bearer_token(Sys.getenv("TIDEMARK_KEY")) |>
  req_perform() |>
  resp_body_json()
str(answer)`,
		`answer <- read.csv("ADDRESS")
head(answer[c(COLUMNS)])`,
	},
}

const goStart = `package main

import (
	"fmt"
	"io"
	"log"
	"net/http"
)

func main() {
`

const goEnd = `	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Status, string(body))
}`

// codeOf returns the code of an example.
func codeOf(id, publicURL string, e example) string {
	for _, c := range codes {
		if c.id != id {
			continue
		}
		code := c.plain
		switch {
		case e.Keyed:
			code = c.keyed
		case e.Columns != nil:
			code = c.text
		}
		columns, cells := `"`+strings.Join(e.Columns, `", "`)+`"`, `row["`+strings.Join(e.Columns, `"], row["`)+`"]`
		return strings.NewReplacer("ADDRESS", publicURL+e.Path, "COLUMNS", columns, "CELLS", cells).Replace(code)
	}
	return ""
}
