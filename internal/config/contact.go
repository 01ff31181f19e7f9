package config

import (
	"net"
	"net/url"
)

// SecurityContact returns Contact, or the mailbox that RFC 2142 reserves for security at the host of the public address.
func (s Settings) SecurityContact() string {
	if s.Contact != "" {
		return s.Contact
	}
	host := "localhost"
	if u, err := url.Parse(s.BaseURL()); err == nil && u.Hostname() != "" {
		host = u.Hostname()
	}
	if net.ParseIP(host) != nil { // RFC 5321, section 4.1.3
		host = "[" + host + "]"
	}
	return "mailto:security@" + host
}

// contactFault returns the fault of Contact, empty if Contact is valid.
func (s Settings) contactFault() string {
	u, err := url.Parse(s.Contact)
	switch {
	case s.Contact == "":
		return ""
	case err == nil && u.Scheme == "mailto" && u.Opaque != "", err == nil && u.Scheme == "https" && u.Host != "":
		return ""
	}
	return "it is not an address of the form mailto:security@example.com or https://example.com/security"
}
