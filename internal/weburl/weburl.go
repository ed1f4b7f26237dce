//go:build !obstat_quick

// Package weburl reads web addresses as net/url does.
//
// It owns nothing but the choice: a program that is built with the tag
// obstat_quick starts for every call anew, and leaves the few calls that are
// about an address to another one.
package weburl

import "net/url"

// A URL is an address in its parts.
type URL = url.URL

// Parse reads an address.
func Parse(s string) (*URL, error) { return url.Parse(s) }
