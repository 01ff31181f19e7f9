package api

import (
	"context"

	"tidemark/internal/telemetry"
)

// The metrics of payments by request.
var (
	x402Payments = &telemetry.Family{
		Name: "tidemark_x402_payments_total", Help: "Answers to requests that carried a payment, by what became of them.",
		Labels: []string{"outcome"}, Counter: true,
	}
	x402Calls = &telemetry.Family{
		Name: "tidemark_x402_facilitator_calls_total", Help: "Calls of the facilitator, by how it answered.",
		Labels: []string{"outcome"}, Counter: true,
	}
	x402Open = &telemetry.Family{
		Name: "tidemark_x402_facilitator_breaker_open", Help: "1 while the facilitator is not called, because too many calls failed in a row.",
	}
	x402Fault = &telemetry.Family{Name: "tidemark_x402_fault", Help: "1 while nothing can be sold by request."}
)

// Watch adds the state of the payments to the metrics of a process.
func (p *Payments) Watch(m *telemetry.Metrics) {
	m.Watch(func(context.Context) (list []telemetry.Reading, _ error) {
		h := p.Health()
		for outcome, n := range h.Outcomes {
			list = append(list, telemetry.Reading{Of: x402Payments, Value: float64(n), Labels: []string{outcome}})
		}
		f := h.Facilitator
		for outcome, n := range map[string]int64{"verified": f.Verified, "refused": f.Refused, "settled": f.Settled, "failed": f.Failed} {
			list = append(list, telemetry.Reading{Of: x402Calls, Value: float64(n), Labels: []string{outcome}})
		}
		for of, is := range map[*telemetry.Family]bool{x402Open: f.Open, x402Fault: h.Fault != ""} {
			value := 0.0
			if is {
				value = 1
			}
			list = append(list, telemetry.Reading{Of: of, Value: value})
		}
		return list, nil
	}, x402Payments, x402Calls, x402Open, x402Fault)
}
