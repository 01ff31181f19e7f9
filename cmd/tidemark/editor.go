package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v3"

	"tidemark/internal/config"
	"tidemark/internal/equity"
	"tidemark/internal/postgres"
	"tidemark/internal/task"
)

type picksPublish struct {
	config.Clock

	File string `arg:"" type:"existingfile" help:"A YAML file: date, ticker, reason, and where wanted price and by."`
}

// editorFile is an editor's choice in its file format.
type editorFile struct {
	// Date is today in New York, YYYY-MM-DD.
	Date   string `yaml:"date"`
	Ticker string `yaml:"ticker"`
	// Price is the close that the editor expects. If the close differs, the choice is refused. Empty accepts any close.
	Price string `yaml:"price"`
	// Reason is one line, which is published with the pick.
	Reason string `yaml:"reason"`
	// By is for the operator. Empty means the user of the operating system.
	By string `yaml:"by"`
}

// maxReason is the maximum length of a reason that the record accepts, in bytes.
const maxReason = 2000

// readEditorFile reads a choice and reports every fault at once.
func readEditorFile(path string) (postgres.EditorChoice, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return postgres.EditorChoice{}, fmt.Errorf("read the choice: %w", err)
	}
	var f editorFile
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	if err := d.Decode(&f); err != nil && !errors.Is(err, io.EOF) {
		return postgres.EditorChoice{}, fmt.Errorf("%s: %w", path, err)
	}
	c := postgres.EditorChoice{Ticker: strings.ToUpper(strings.TrimSpace(f.Ticker)), Reason: strings.TrimSpace(f.Reason)}
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(path+": "+format, args...)) }
	if c.Date, err = time.Parse(time.DateOnly, f.Date); err != nil {
		bad("date: %q is not a date such as 2026-11-20", f.Date)
	}
	if c.Ticker == "" {
		bad("ticker is missing")
	}
	if f.Price != "" {
		price, err := equity.ParsePrice(f.Price)
		if err != nil {
			bad("price: %w", err)
		}
		c.Price = new(string(price))
	}
	if c.Reason == "" || len(c.Reason) > maxReason || strings.ContainsFunc(c.Reason, unicode.IsControl) {
		bad("reason: one line of at most %d bytes says why, it is published with the pick", maxReason)
	}
	if c.By, err = operatorName(f.By); err != nil {
		errs = append(errs, err)
	}
	return c, errors.Join(errs...)
}

// Run checks an editor's choice by the rules of the pick, as far as possible at this time, and stores it for the day's job.
func (c picksPublish) Run(ctx context.Context, p *program) error {
	choice, err := readEditorFile(c.File)
	if err != nil {
		return usageError{err}
	}
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	daily, err := p.newPicks(db, p.log)
	if err != nil {
		return err
	}
	checked, err := daily.CheckChoice(ctx, choice)
	if err != nil {
		return fmt.Errorf("the choice of %s for %s: %w", choice.Ticker, choice.Date.Format(time.DateOnly), err)
	}
	id, err := db.AddEditorChoice(ctx, choice)
	if errors.Is(err, postgres.ErrUnderWay) {
		return fmt.Errorf("there is a choice for %[1]s already: `tidemark picks withdraw %[1]s` withdraws it", choice.Date.Format(time.DateOnly))
	}
	if err != nil {
		return err
	}
	how := "it is checked again when the day's prices are there"
	if checked {
		how = "by today's prices the rules speak for it"
	}
	_, err = fmt.Fprintf(p.stdout, "choice %d: %s on %s; %s, and the job at %s New York takes it\n", id, choice.Ticker,
		choice.Date.Format(time.DateOnly), how, p.settings.PickAt)
	return err
}

type picksWithdraw struct {
	Date   time.Time `arg:"" format:"2006-01-02" help:"The day that it was for."`
	Reason reason    `default:"taken back on the command line" help:"Why. It is kept."`
}

// Run withdraws a choice.
func (c picksWithdraw) Run(ctx context.Context, p *program) error {
	db, err := p.openDB(ctx, postgres.RoleWorker)
	if err != nil {
		return err
	}
	defer db.Close()
	choice, err := db.EditorChoice(ctx, c.Date)
	if err != nil {
		return err
	}
	if choice.State == postgres.ChoiceTaken {
		return fmt.Errorf("%s is the pick of %s: a recorded pick stays", choice.Ticker, c.Date.Format(time.DateOnly))
	}
	if err := db.SettleEditorChoice(ctx, task.Fence{}, choice.ID, postgres.ChoiceWithdrawn, string(c.Reason)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "the choice of %s for %s is withdrawn\n", choice.Ticker, c.Date.Format(time.DateOnly))
	return err
}
