package picks

import "golang.org/x/text/language"

var hindi = voice{
	tag:     language.Hindi,
	phrases: hindiPhrases,
	units: map[Unit]string{
		Percent: "N%", Points: "N प्रतिशत अंक", BasisPoint: "N आधार अंक", Dollars: "N डॉलर", Millions: "N मिलियन डॉलर", Billions: "N अरब डॉलर",
		Times: "N गुना", Count: "N", Thousands: "N हज़ार", Deviations: "N मानक विचलन", Plain: "N", Barrels: "N मिलियन बैरल",
	},
	months: [12]string{
		"जनवरी", "फ़रवरी", "मार्च", "अप्रैल", "मई", "जून", "जुलाई", "अगस्त", "सितंबर", "अक्टूबर", "नवंबर", "दिसंबर",
	},
	date: "D M Y", monthOnly: "M Y",
	terms: map[string]string{
		"and": "और",

		"sector.Technology": "प्रौद्योगिकी", "sector.Communications and Media": "संचार और मीडिया", "sector.Health Care": "स्वास्थ्य",
		"sector.Finance": "वित्त", "sector.Real Estate": "रियल एस्टेट", "sector.Energy": "ऊर्जा", "sector.Utilities": "जन-उपयोगी सेवाएँ",
		"sector.Chemicals": "रसायन", "sector.Materials": "कच्चा माल", "sector.Industry": "उद्योग", "sector.Transport": "परिवहन",
		"sector.Everyday Goods": "रोज़मर्रा का सामान", "sector.Durable Goods": "टिकाऊ सामान", "sector.Trade": "व्यापार",
		"sector.Services": "सेवाएँ", "sector.Other": "अन्य कंपनियाँ",

		"indicator.fomc":                  "फ़ेडरल फ़ंड्स दर",
		"indicator.cpi":                   "अमेरिका में उपभोक्ता कीमतें, माह-दर-माह",
		"indicator.payrolls":              "अमेरिका में ग़ैर-कृषि रोज़गार में बदलाव",
		"indicator.unemployment":          "अमेरिका की बेरोज़गारी दर",
		"indicator.gdp":                   "अमेरिका की आर्थिक वृद्धि, वार्षिक दर",
		"indicator.industrial-production": "अमेरिका का औद्योगिक उत्पादन, माह-दर-माह",
		"indicator.jobless-claims":        "अमेरिका में बेरोज़गारी भत्ते के शुरुआती दावे",
		"indicator.core-cpi":              "अमेरिका में खाद्य और ऊर्जा के बिना उपभोक्ता कीमतें, माह-दर-माह",
		"indicator.ecb":                   "यूरोपीय केंद्रीय बैंक की जमा दर",
		"indicator.hourly-earnings":       "अमेरिका में प्रति घंटा वेतन, माह-दर-माह",
		"indicator.producer-prices":       "अमेरिका में उत्पादक कीमतें, माह-दर-माह",
		"indicator.job-openings":          "अमेरिका में नौकरियों के ख़ाली पद",
		"indicator.crude-stocks":          "अमेरिका के कच्चे तेल के भंडार में बदलाव",

		"quarter.1": "पहली तिमाही", "quarter.2": "दूसरी तिमाही", "quarter.3": "तीसरी तिमाही", "quarter.4": "चौथी तिमाही",

		"closed.held": "इसे रखने की अवधि पूरी हो गई", "closed.replaced": "इसकी जगह एक नए चयन ने ले ली",
		"closed.merger": "इसे दूसरी कंपनी ने ख़रीद लिया", "closed.delisted": "इसके शेयर सूची से हट गए", "closed.silent": "इसका अब कोई भाव नहीं था",

		"industry.agriculture": "खेती", "industry.gold": "सोने का खनन", "industry.metal_mining": "धातुओं का खनन", "industry.coal": "कोयले का खनन",
		"industry.oil_services": "तेल और गैस उत्पादकों के लिए सेवाएँ", "industry.oil_gas": "तेल और गैस का उत्पादन", "industry.quarrying": "खदान और खनिज",
		"industry.homebuilding": "मकान निर्माण", "industry.construction": "निर्माण", "industry.beverages": "पेय पदार्थ", "industry.food": "खाद्य पदार्थ",
		"industry.tobacco": "तंबाकू", "industry.apparel": "कपड़े और जूते", "industry.wood_paper": "लकड़ी, काग़ज़ और पैकेजिंग", "industry.furniture": "फ़र्नीचर",
		"industry.publishing": "प्रकाशन", "industry.medicines": "दवाएँ और जैव प्रौद्योगिकी", "industry.household_products": "घरेलू और निजी देखभाल के उत्पाद",
		"industry.fertilizers": "उर्वरक और कृषि रसायन", "industry.chemicals": "रसायन", "industry.refining": "तेल शोधन", "industry.plastics": "प्लास्टिक और रबर",
		"industry.glass_cement": "काँच, सीमेंट और पत्थर", "industry.metals": "इस्पात और अन्य धातुएँ", "industry.metal_products": "धातु के उत्पाद",
		"industry.farm_machinery": "कृषि और बाग़वानी मशीनें", "industry.computers": "कंप्यूटर और कार्यालय उपकरण", "industry.machinery": "मशीनें",
		"industry.appliances": "घरेलू उपकरण", "industry.consumer_electronics": "उपभोक्ता इलेक्ट्रॉनिक्स", "industry.network_equipment": "संचार उपकरण",
		"industry.semiconductors": "सेमीकंडक्टर और इलेक्ट्रॉनिक पुर्ज़े", "industry.medical_devices": "चिकित्सा उपकरण",
		"industry.electrical_equipment": "बिजली के उपकरण", "industry.cars": "कारें और उनके पुर्ज़े", "industry.aerospace": "विमानन और रक्षा",
		"industry.transport_equipment": "जहाज़, रेल और अन्य वाहन", "industry.instruments": "मापन उपकरण", "industry.leisure_goods": "खेल का सामान, खिलौने और कैमरे",
		"industry.railways": "रेल", "industry.trucking": "सड़क परिवहन और पार्सल", "industry.shipping": "समुद्री परिवहन", "industry.airlines": "हवाई परिवहन",
		"industry.pipelines": "पाइपलाइन", "industry.logistics": "लॉजिस्टिक्स और यात्रा", "industry.broadcasting": "प्रसारण और केबल", "industry.telecoms": "दूरसंचार",
		"industry.gas_utilities": "गैस आपूर्ति", "industry.water": "जल आपूर्ति", "industry.waste": "कचरा प्रबंधन", "industry.power": "बिजली",
		"industry.wholesale": "थोक व्यापार", "industry.home_stores": "भवन सामग्री की दुकानें", "industry.general_stores": "सामान्य वस्तुओं की दुकानें",
		"industry.grocers": "किराना दुकानें", "industry.restaurants": "रेस्तराँ", "industry.online_stores": "ऑनलाइन और कैटलॉग बिक्री",
		"industry.shops": "विशेष वस्तुओं की दुकानें", "industry.banks": "बैंकिंग", "industry.lenders": "उपभोक्ता और व्यावसायिक ऋण",
		"industry.brokers": "ब्रोकरेज और संपत्ति प्रबंधन", "industry.health_plans": "स्वास्थ्य बीमा", "industry.insurance": "बीमा",
		"industry.property_trusts": "रियल एस्टेट निवेश ट्रस्ट", "industry.property": "रियल एस्टेट", "industry.shells": "अधिग्रहण के लिए बनी कंपनियाँ",
		"industry.holdings": "होल्डिंग कंपनियाँ", "industry.hotels": "होटल और कैसीनो", "industry.advertising": "विज्ञापन",
		"industry.software": "सॉफ़्टवेयर और कंप्यूटर सेवाएँ", "industry.film": "फ़िल्म और स्ट्रीमिंग", "industry.leisure": "मनोरंजन",
		"industry.business_services": "व्यावसायिक सेवाएँ", "industry.personal_services": "निजी सेवाएँ और मरम्मत",
		"industry.health_services": "अस्पताल और स्वास्थ्य सेवाएँ", "industry.education": "शिक्षा", "industry.consulting": "इंजीनियरिंग, शोध और परामर्श",
		"industry.other": "ऐसा काम जिसका अपना कोड नहीं",
	},
}
