package chain

// The longest values that the rules allow, in bytes.
const (
	maxTicker        = 16
	maxPriceIntegers = 12
	minDecimals      = 2
	maxDecimals      = 4
	dateLength       = len("2026-11-20")
	hashLength       = len(Genesis)
	maxPrice         = maxPriceIntegers + 1 + maxDecimals
	maxPreimage      = maxTicker + 1 + maxPrice + 1 + dateLength + 1 + hashLength
)

// text is a value as it comes: a string, or bytes straight from a database's wire.
type text interface{ ~string | ~[]byte }

// checkFields checks the rules for the three values of a link that can be checked alone, and returns the date as dayOf reads it. It
// allocates only if a rule is broken.
func checkFields[T text](seq int64, ticker, price, date T) (int, *Error) {
	if reason := tickerFault(ticker); reason != "" {
		return 0, &Error{Seq: seq, Field: "ticker", Reason: reason}
	}
	if reason := priceFault(price); reason != "" {
		return 0, &Error{Seq: seq, Field: "price", Reason: reason}
	}
	day := dayOf(date)
	if day == 0 {
		return 0, &Error{Seq: seq, Field: "date", Reason: "must be a real day as YYYY-MM-DD"}
	}
	return day, nil
}

// tickerFault says what is wrong with a ticker, empty for nothing. Dots, hyphens and digits occur in real symbols ("BRK.B",
// "BRK-B", "7203.T"); anything else, above all the separator, is refused.
func tickerFault[T text](t T) string {
	if len(t) == 0 || len(t) > maxTicker {
		return "must have 1 to 16 characters"
	}
	for i := range len(t) {
		c := t[i]
		switch {
		case 'A' <= c && c <= 'Z', '0' <= c && c <= '9':
		case (c == '.' || c == '-') && i > 0 && i < len(t)-1:
		default:
			return "may hold A to Z, 0 to 9, and a dot or a hyphen between them"
		}
	}
	return ""
}

// priceFault says what is wrong with a price, empty for nothing.
func priceFault[T text](p T) string {
	const form = "must be a plain decimal with 2 to 4 decimals"
	// Nearly all prices begin with 1 to 9 and have two decimals. Of these the last four bytes are compared at once: a digit is then 0 to 9, so that
	// neither it nor six more has a high bit, and the point is 0.
	if n := len(p); n >= len("1.00") && n <= maxPriceIntegers+len(".00") && p[0] != '0' {
		last := loadFour(p, n-4) ^ 0x30302e30
		wrong := (last | (last + 0x06060006)) & 0xf0f0fff0
		for i := range n - 4 {
			digit := uint32(p[i] - '0')
			wrong |= (digit | (digit + 6)) & 0xf0
		}
		if wrong == 0 {
			return ""
		}
	}
	point, value := -1, byte(0)
	for i := range len(p) {
		digit := p[i] - '0' // above 9 for every byte that is not a digit
		switch {
		case digit <= 9:
			value |= digit
		case p[i] == '.' && point < 0:
			point = i
		default:
			return form
		}
	}
	if point < 1 {
		return form
	}
	if decimals := len(p) - point - 1; decimals < minDecimals || decimals > maxDecimals {
		return form
	}
	if point > maxPriceIntegers {
		return "may have at most 12 digits before the point"
	}
	if p[0] == '0' && point > 1 {
		return "may not begin with a zero before another digit"
	}
	if value == 0 {
		return "must be above zero"
	}
	return ""
}

// dayOf reads a day of the Gregorian calendar written YYYY-MM-DD, from year 0001 on, as the number yyyymmdd, so that later days are
// larger numbers. Anything else is 0.
func dayOf[T text](d T) int {
	if len(d) != dateLength || d[4] != '-' || d[7] != '-' {
		return 0
	}
	// A byte that is not a digit is above 9 after '0' is subtracted; one below '0' wraps around.
	y1, y2, y3, y4 := d[0]-'0', d[1]-'0', d[2]-'0', d[3]-'0'
	m1, m2, d1, d2 := d[5]-'0', d[6]-'0', d[8]-'0', d[9]-'0'
	if y1 > 9 || y2 > 9 || y3 > 9 || y4 > 9 || m1 > 9 || m2 > 9 || d1 > 9 || d2 > 9 {
		return 0
	}
	year := int(y1)*1000 + int(y2)*100 + int(y3)*10 + int(y4)
	month, day := int(m1)*10+int(m2), int(d1)*10+int(d2)
	if year == 0 || month < 1 || month > 12 || day < 1 || day > daysIn(year, month) {
		return 0
	}
	return year*10000 + month*100 + day
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	default:
		return 31
	}
}

// isHash reports whether h is 64 lower-case hex digits.
func isHash[T text](h T) bool {
	if len(h) != hashLength {
		return false
	}
	for i := range len(h) {
		if c := h[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
