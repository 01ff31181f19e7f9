package signals

import "time"

// Annotations lists the annotations in ascending time.
func Annotations() []Annotation {
	const crack, stocks, gas, ships, air, corn = "crack-spread-321", "eia-weekly-petroleum", "lng-arbitrage", "hormuz-transit", "tropomi-no2-economic", "iowa-corn-yield"
	return []Annotation{
		{
			ID: "katrina", Day: eventDay(2005, time.August, 29), Signals: []string{crack, stocks},
			Source: "https://www.everycrsreport.com/files/20050916_RS22233_d78004fb03271702ada23dfec1c87b7b4fc2c672.html",
		},
		{
			ID: "rita", Day: eventDay(2005, time.September, 24), Signals: []string{crack, stocks},
			Source: "https://webarchive.library.unt.edu/eot2008/20090313034213/http:/tonto.eia.doe.gov/oog/info/twip/twiparch/050928/twipprint.html",
		},
		{
			ID: "opec-2014", Day: eventDay(2014, time.November, 27), Signals: []string{crack, stocks},
			Source: "https://www.dw.com/en/oil-prices-plunge-after-opec-leaves-output-stable/a-18095567",
		},
		{
			ID: "opec-2016", Day: eventDay(2016, time.November, 30), Signals: []string{crack, stocks},
			Source: "https://fueloilnews.com/2016/12/08/opec-to-cut-production-effective-jan-1-2017/",
		},
		{
			ID: "harvey", Day: eventDay(2017, time.August, 25), Signals: []string{crack, stocks},
			Source: "https://www.nhc.noaa.gov/archive/2017/al09/al092017.discus.025.shtml",
		},
		{
			ID: "wuhan", Day: eventDay(2020, time.January, 23), Signals: []string{air},
			Source: "https://earthobservatory.nasa.gov/images/146362/airborne-nitrogen-dioxide-plummets-over-china",
		},
		{
			ID: "pandemic", Day: eventDay(2020, time.March, 11), Signals: []string{crack, stocks, gas, ships, air},
			Source: "https://reliefweb.int/report/china/coronavirus-disease-2019-covid-19-situation-report-51-11-march-2020",
		},
		{
			ID: "opec-2020", Day: eventDay(2020, time.April, 12), Signals: []string{crack, stocks},
			Source: "https://www.thevaluechainng.com/10th-extraordinary-opec-non-opec-ministerial-meeting-concludes/",
		},
		{
			ID: "wti-negative", Day: eventDay(2020, time.April, 20), Signals: []string{crack, stocks},
			Source: "https://www.eia.gov/petroleum/weekly/archive/2020/200422/includes/analysis_print.php",
		},
		{
			ID: "derecho", Day: eventDay(2020, time.August, 10), Signals: []string{corn},
			Source: "https://www.weather.gov/dmx/2020derecho",
		},
		{
			ID: "ida", Day: eventDay(2021, time.August, 29), Signals: []string{crack, stocks},
			Source: "https://www.nhc.noaa.gov/archive/2021/al09/al092021.discus.015.shtml",
		},
		{
			ID: "freeport", Day: eventDay(2022, time.June, 8), Signals: []string{gas},
			Source: "https://jepic-usa.org/digests/2022/6/14/usa-texas-lng-export-processing-plant-to-shut-down-for-at-least-three-weeks-following-explosion",
		},
		{
			ID: "nord-stream", Day: eventDay(2022, time.September, 2), Signals: []string{gas},
			Source: "https://kyivindependent.com/news-feed/russia-halts-gas-supplies-via-nord-stream-1-pipeline-indefinitely",
		},
		{
			ID: "opec-2022", Day: eventDay(2022, time.October, 5), Signals: []string{crack, stocks},
			Source: "https://www.en.portnews.ru/news/336618/",
		},
		{
			ID: "hormuz-2026", Day: eventDay(2026, time.February, 28), Signals: []string{crack, stocks, gas, ships},
			Source: "https://arynews.tv/hormuz-oil-and-gas-majors-and-traders-suspend-shipments-as-us-attacks-iran",
		},
		{
			ID: "iea-2026", Day: eventDay(2026, time.March, 11), Signals: []string{crack, stocks},
			Source: "https://www.semafor.com/article/03/11/2026/ieas-plan-to-release-oil-reserves-fails-to-calm-markets",
		},
		{
			ID: "ceasefire-2026", Day: eventDay(2026, time.April, 8), Signals: []string{ships},
			Source: "https://www.gbnews.com/news/iran-ships-strait-hormuz-donald-trump-strikes",
		},
	}
}
